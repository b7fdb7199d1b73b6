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
	Refusals     int       `json:"refusals"`
	Live         bool      `json:"live"`
	LastLine     string    `json:"last_line"` // of the terminal; hostile, already cleaned
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
	Block    string // the policy's text block
	PolicyID string // its hash
	Events   []string
	Notes    []string // what a person should know of the copy
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
	TTY     bool
	Size    isolate.Size
	Timeout time.Duration // overrides limits.run_time when not 0
	Env     []string      // variables beside the allow-list, NAME=VALUE
	Hold    bool          // the command begins when the first client has come
	Bound   bool          // a captured command ends when that client goes
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
	Git       bool
	Write     []string // sentences
	Reach     []string
	Use       []string
	Warnings  []string // supplementary groups, sampled limits, and the like
	Block     string   // the policy's text block
	Err       string   // why a start would be refused
}

// Applied is the outcome of apply or undo.
type Applied struct {
	Session   string    `json:"session"`
	Applied   []string  `json:"applied"`
	Changes   []PathWhy `json:"changes"` // of applied: added, modified, deleted, type or mode
	Conflicts []PathWhy `json:"conflicts"`
	Skipped   []PathWhy `json:"skipped"`
}

// PathWhy is a path and a reason.
type PathWhy struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
