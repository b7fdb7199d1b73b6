// Package session owns sessions: one sandbox, its workspace, its processes,
// its record. It is what the command line and the workbench call; a live
// session belongs to its supervisor process, reached over a socket, and
// everything that decides or writes to the host runs in the calling process.
package session

import (
	"time"

	"fumehood/diffreview"
	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/walls"
	"fumehood/session/wire"
)

// The words that the supervisor and its clients share; wire has their meaning.
type (
	State = wire.State
	Limit = wire.Limit
	Frame = wire.Frame
	Key   = wire.Key
	Mouse = wire.Mouse
)

// The states of a session.
const (
	StatePreparing = wire.StatePreparing
	StateRunning   = wire.StateRunning
	StateWaiting   = wire.StateWaiting
	StateExited    = wire.StateExited
	StateStopped   = wire.StateStopped
	StateLimit     = wire.StateLimit
	StateFailed    = wire.StateFailed
)

// Summary is one row of a list of sessions.
type Summary struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Repo         string    `json:"repo"`
	Agent        string    `json:"agent"`
	Policy       string    `json:"policy"`
	Command      []string  `json:"command"`
	State        State     `json:"state"`
	ExitCode     *int      `json:"exit_code"`
	Signal       string    `json:"signal"`
	Limit        *Limit    `json:"limit"`
	Error        string    `json:"error,omitempty"`
	Created      time.Time `json:"created"`
	Started      time.Time `json:"started"`
	Ended        time.Time `json:"ended"`
	ChangedFiles int       `json:"changed_files"` // of the newest snapshot; -1 when none was made
	Added        int       `json:"added"`
	Removed      int       `json:"removed"`
	Undecided    int       `json:"undecided"`
	Requests     int       `json:"requests"` // let through by the egress proxy; -1 when its record can't be read
	Refusals     int       `json:"refusals"` // refused by it
	Live         bool      `json:"live"`
	LastLine     string    `json:"last_line"`        // of the terminal; hostile, already cleaned
	TryOf        string    `json:"try_of,omitempty"` // it is a try of that session's approved changes
}

// Detail is one session in full, for the panel under the list.
type Detail struct {
	Summary
	Files    int   `json:"files"` // in the workspace at copy-in
	Bytes    int64 `json:"bytes"`
	LeftOut  []diffreview.LeftOut
	Layers   []layer.Fact
	Limits   []LimitLine
	Usage    isolate.Usage
	Reach    []string // what its policy lets through, one sentence each
	ReachErr string   // why that can't be told
	Block    string   // the policy's text block
	PolicyID string   // its hash
	Events   []string
	// Stands: an apply of it stands, or may after a kill, whatever Events tell.
	Stands bool
	Notes  []string // what a person should know of the copy
	// Elsewhere: it is the copy of a session of another machine, and what is proven
	// of its walls can be told there alone.
	Elsewhere bool
	// Walls is what is proven of its policy in this shape; WallsErr is why that
	// can't be said, and then nothing is.
	Walls    walls.Standing
	WallsErr string
}

// LimitLine is one limit as it stands: "processes", "2048", "enforced by the kernel".
type LimitLine struct{ Name, Value, How string }

// Request is what a new session is made of.
type Request struct {
	Repo    string // folder; the repository around it is used
	Policy  string // name or file; empty is "default"
	Agent   string // "shell", "demo" or "command"
	Name    string // empty: made from the agent
	Command []string
	// From is the host's folder that the command starts in the likes of, see
	// StartFolder; "" is the top. Note is told when that is not there.
	From    string
	Note    func(string)
	TTY     bool
	Size    isolate.Size
	Timeout time.Duration // overrides limits.run_time when not 0
	Env     []string      // variables beside the allow-list, NAME=VALUE
	Hold    bool          // the command begins when the first client has come
	Bound   bool          // a captured command ends when that client goes
	// Dependencies brings in the folders of package managers that git ignores, where
	// the policy includes nothing of what it ignores.
	Dependencies bool
	// Proving is for the sessions of the wall tests, which make the proof that a
	// policy can ask for. Only session/prove sets it.
	Proving bool
	// Stand is theirs too; see StandIn.
	Stand *StandIn
}

// Preview is what a new session would bring in and be able to do, before it exists.
type Preview struct {
	Repo      string
	Branch    string
	Dirty     int // changed and untracked files on the host
	Files     int
	Untracked int
	Bytes     int64
	LeftOut   []diffreview.LeftOut
	// Dependencies are those of LeftOut that Request.Dependencies would bring in.
	Dependencies []diffreview.LeftOut
	Git          bool
	Write        []string // sentences
	Reach        []string
	As           []string // its accounts, and where each is held
	Read         []string // host folders that go in read-only
	Caches       []string // language caches of the account, each under a layer of the session's own
	Use          []string
	Warnings     []string // supplementary groups, sampled limits, and the like
	Block        string   // the policy's text block
	Err          string   // why a start would be refused
	Unproven     bool     // that is for want of a proof only
	Walls        walls.Standing
	WallsErr     string // why the proof can't be told; then there is none
	// Repository is the repository's own policy, nil when it has none. What of it
	// waits for trust is not among the warnings.
	Repository *RepositoryPolicy
}

// Applied is the outcome of apply or undo.
type Applied struct {
	Session   string    `json:"session"`
	Applied   []string  `json:"applied"`
	Changes   []PathWhy `json:"changes"` // of applied: added, modified, deleted, type or mode
	Merged    []PathWhy `json:"merged"`  // of applied: joined with the host's own changes; what was joined
	Conflicts []PathWhy `json:"conflicts"`
	Skipped   []PathWhy `json:"skipped"`
	// Risks are above a note and in what reviewers wrote themselves, in a merge and
	// in neither of its sides, or in what is approved without the rest.
	Risks []Risk `json:"risks"`
	// Branch is what an apply to one makes, or its undo took away; Commit is then
	// made, and Parent the one that it follows.
	Branch string    `json:"branch,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Parent string    `json:"-"`
	Patch  string    `json:"patch,omitempty"` // the file that was written instead
	Notes  []PathWhy `json:"notes,omitempty"` // worth telling of paths that were written
	// MovedOn says that the repository has another branch or commit checked out than
	// when it was copied, "" when not.
	MovedOn string `json:"moved_on,omitempty"`
	// Plan names what a dry run would write: see ApplyOptions.
	Plan string `json:"-"`
}

// Risk is a finding that the agent's change as a whole does not have.
type Risk struct {
	Path string `json:"path"`
	In   string `json:"in"` // "edit", or "merge" or "part", whose lines are then counted
	diffreview.Finding
}

// PathWhy is a path and a reason.
type PathWhy struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
