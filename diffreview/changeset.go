// Package diffreview owns the change set: what differs between a session's
// baseline and a snapshot of its workspace, cut into the units that a reviewer
// decides. It is pure: bytes come in through Source, nothing is read or
// written here, and nothing from a workspace is ever executed or interpreted.
package diffreview

import "time"

// Kind is what a path is.
type Kind string

// The kinds that a change set knows. Anything else (socket, fifo, device,
// nested repository) is never in a change set; it is listed as left out.
const (
	KindAbsent  Kind = ""
	KindFile    Kind = "file"
	KindSymlink Kind = "symlink"
)

// Blob names content by the SHA-256 of its raw bytes, in lower-case hex.
type Blob string

// Entry is one side of a change. The zero Entry is "absent".
type Entry struct {
	Kind   Kind   `json:"kind"`
	Exec   bool   `json:"exec,omitempty"`   // git's only mode bit: 100755 rather than 100644
	Blob   Blob   `json:"blob,omitempty"`   // content of a file
	Size   int64  `json:"size,omitempty"`   // bytes
	Target string `json:"target,omitempty"` // of a symlink, raw bytes
}

// Mode gives git's mode as it prints it: 100644, 100755, 120000, or "".
func (e Entry) Mode() string {
	switch {
	case e.Kind == KindSymlink:
		return "120000"
	case e.Kind == KindFile && e.Exec:
		return "100755"
	case e.Kind == KindFile:
		return "100644"
	}
	return ""
}

// Change is one path whose entry differs between baseline and snapshot. Path
// is raw bytes, slash-separated, relative, clean.
type Change struct {
	Path     string
	Old, New Entry
	// Ignored: the baseline's rules ignore the path; it was asked for by name.
	Ignored bool
}

// Source is a baseline and a snapshot to compare.
type Source interface {
	// Changes lists every differing path, sorted by bytes.
	Changes() []Change
	// Content reads a blob of either side, whole. It fails when the blob is
	// larger than limit bytes or its bytes do not hash to b. Build calls it from
	// several goroutines at once, and leaves what it gives as it is.
	Content(b Blob, limit int64) ([]byte, error)
}

// Status is how a file changed.
type Status string

// The statuses.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed" // and perhaps edited; OldPath is where it was
	TypeOf   Status = "type"    // file became link or the reverse
	ModeOnly Status = "mode"    // only the executable bit
)

// Severity orders findings.
type Severity string

// The severities, least first.
const (
	Note   Severity = "note"
	Warn   Severity = "warn"
	Danger Severity = "danger"
)

// Finding is what a risk rule says about a file or one of its lines.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line"` // in the new file, 1-based; 0 is the whole file, its path or mode
	Why      string   `json:"why"`  // one sentence: what would happen on this machine
	// Unit and Edit are set where it is about a reviewer's own text: the hunk that
	// it stands in the place of, and the text, whose lines are counted on from the
	// hunk's first.
	Unit string `json:"unit,omitempty"`
	Edit Blob   `json:"edit,omitempty"`
}

// Line is one row of a hunk. Text is raw bytes without the newline.
type Line struct {
	Text  []byte
	Old   int  // 1-based line number on the old side; 0 when Op is '+'
	New   int  // on the new side; 0 when Op is '-'
	Op    byte // ' ', '-' or '+'
	NoEOL bool // beside Op, so that a line takes 48 bytes rather than 56
}

// Hunk is a run of changed lines with context: one unit of decision.
type Hunk struct {
	// ID is a hash of paths, base blob, line endings, old start and lines. The one hunk of an
	// added or deleted file has the file's Whole: there is one decision.
	ID       string
	OldStart int
	OldLines int
	NewStart int
	NewLines int
	Lines    []Line
	Mark
	// Part has a verdict for each of Lines where they differ among the changed
	// ones, else it is nil. That of a context line is Undecided.
	Part []Verdict
	// Edit is the reviewer's own text for the new side of the hunk, context
	// included, "" where the agent's stands.
	Edit Blob
}

// Mark is what is known of a unit beside its bytes; Decisions and the session
// fill it in.
type Mark struct {
	Decision Verdict
	New      bool // it was not in the review before this one
	Applied  bool // the newest apply that stands wrote it, decided as it is now
}

// File is one changed file.
type File struct {
	Path    string
	OldPath string // of a rename, else empty
	Status  Status
	Binary  bool // or too large to compare by lines; then Hunks is empty
	// Unshown says why a file that is not compared by lines is not, such as
	// "binary" or "larger than 16 MiB". Empty for links and for text.
	Unshown string
	Old     Entry
	New     Entry
	Added   int // lines
	Removed int
	// Hunks are the text changes of a modified file; for an added or deleted
	// text file the one hunk is shown but the decision is Whole's.
	Hunks []Hunk
	// Whole is the ID of the decision on all that is not in hunks: that the
	// file comes to be or goes, its mode, type, link target, binary content.
	// Empty when there is no such part (a plain edit of a text file).
	Whole     string
	WholeMark Mark
	// EndsFrom and EndsTo are the line endings before and after, "CRLF" and "LF",
	// when those of most lines changed: a part of Whole. Hunks are then what
	// changed besides. Ends counts the lines.
	EndsFrom, EndsTo string
	Ends             int
	// Ignored: the baseline's rules ignore the path; it was asked for by name.
	Ignored bool
	// Lapsed is a verdict on a part of the file whose bytes have changed since;
	// "" when there is none, or when all of the file was decided on again.
	Lapsed   Verdict
	Findings []Finding
}

// LeftOut is something that is not in the workspace or not in the change set.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Size   int64  `json:"size"`
}

// IgnoredChanges counts changes under paths that the baseline's rules ignore.
type IgnoredChanges struct {
	Count     int      `json:"count"`
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
}

// ChangeSet is all differences between baseline and snapshot, risky first.
type ChangeSet struct {
	Session    string
	Repo       string
	SnapshotAt time.Time
	Files      []File // risky first, then by Group, then by path
	Ignored    IgnoredChanges
	LeftOut    []LeftOut
	Trials     []Trial // oldest first
}

// Verdict is what a reviewer said of one unit (a hunk or a whole-file part), or
// of one line of it.
type Verdict string

// The verdicts. Undecided is the zero value. Mixed is never recorded: it is said
// of what holds several that are all decided, and differ.
const (
	Undecided Verdict = ""
	Approved  Verdict = "approved"
	Rejected  Verdict = "rejected"
	Mixed     Verdict = "mixed"
)

// Decision is one recorded verdict. It belongs to a unit ID, hence to the
// bytes that it was made on.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	// Lines has one letter for each changed line of a hunk where not all have
	// the same verdict: a approved, r rejected, "." undecided. Verdict is then "".
	Lines string `json:"lines,omitempty"`
	// Edit names the reviewer's own text in the session's store: see Hunk. Without
	// a verdict it is a proposal.
	Edit Blob      `json:"edit,omitempty"`
	Path string    `json:"path"`
	By   string    `json:"by"`  // account name
	TTY  string    `json:"tty"` // terminal, or "" when there was none
	At   time.Time `json:"at"`
	// Via is the bundle's hash when the decision was made on another machine.
	Via string `json:"via,omitempty"`
}

// Comment is what a reviewer says to the agent: of a line, a file, or the whole.
type Comment struct {
	ID      string    `json:"id"`   // random, in hexadecimal
	Path    string    `json:"path"` // empty: the whole change set
	Unit    string    `json:"unit,omitempty"`
	Line    int       `json:"line,omitempty"`     // of the new file, from 1; 0: the file
	OldLine int       `json:"old_line,omitempty"` // of the old file, on a removed line
	Quote   string    `json:"quote,omitempty"`    // the line, cut
	Was     Blob      `json:"was,omitempty"`      // the file's content when it was made
	Body    string    `json:"body"`
	By      string    `json:"by"`
	TTY     string    `json:"tty"`
	At      time.Time `json:"at"`
	Sent    time.Time `json:"sent,omitzero"` // zero: not yet
}

// Resolution is what a reviewer chose for one conflict of a merge. It belongs to
// the three texts of the conflict.
type Resolution struct {
	Take Take      `json:"take"`
	Edit Blob      `json:"edit,omitempty"` // of TakeEdit
	Path string    `json:"path"`
	By   string    `json:"by"`
	TTY  string    `json:"tty"`
	At   time.Time `json:"at"`
}

// Take is which text of a conflict stands.
type Take string

// The choices. TakeLeave leaves the whole file out of the apply.
const (
	TakeHost  Take = "host"
	TakeAgent Take = "agent"
	TakeBoth  Take = "both" // the host's, then the agent's
	TakeEdit  Take = "edit" // the reviewer's own
	TakeLeave Take = "leave"
)

// Decisions are what reviewers said of a session's change set.
type Decisions struct {
	Version     int
	Units       map[string]Decision // by unit ID
	Comments    []Comment
	Resolutions map[string]Resolution // by the conflict's ID
}
