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
}

// Source is a baseline and a snapshot to compare.
type Source interface {
	// Changes lists every differing path, sorted by bytes.
	Changes() []Change
	// Content reads a blob of either side, whole. It fails when the blob is
	// larger than limit bytes or its bytes do not hash to b.
	Content(b Blob, limit int64) ([]byte, error)
}

// Status is how a file changed.
type Status string

// The statuses. A rename shows as a deletion and an addition: Renamed is kept
// for bundles from elsewhere and is never made here.
const (
	Added    Status = "added"
	Modified Status = "modified"
	Deleted  Status = "deleted"
	Renamed  Status = "renamed"
	TypeOf   Status = "type" // file became link or the reverse
	ModeOnly Status = "mode" // only the executable bit
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
}

// Line is one row of a hunk. Text is raw bytes without the newline.
type Line struct {
	Op    byte // ' ', '-' or '+'
	Text  []byte
	Old   int // 1-based line number on the old side; 0 when Op is '+'
	New   int // on the new side; 0 when Op is '-'
	NoEOL bool
}

// Hunk is a run of changed lines with context: one unit of decision.
type Hunk struct {
	// ID is a hash of path, base blob, old start and lines. The one hunk of an
	// added or deleted file has the file's Whole: there is one decision.
	ID       string
	OldStart int
	OldLines int
	NewStart int
	NewLines int
	Lines    []Line
	Decision Verdict // filled from Decisions
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
	Whole         string
	WholeDecision Verdict
	Findings      []Finding
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
}

// Verdict is what a reviewer said of one unit (a hunk or a whole-file part).
type Verdict string

// The verdicts. Undecided is the zero value.
const (
	Undecided Verdict = ""
	Approved  Verdict = "approved"
	Rejected  Verdict = "rejected"
)

// Decision is one recorded verdict. It belongs to a unit ID, hence to the
// bytes that it was made on.
type Decision struct {
	Verdict Verdict   `json:"verdict"`
	Path    string    `json:"path"`
	Comment string    `json:"comment,omitempty"`
	By      string    `json:"by"`  // account name
	TTY     string    `json:"tty"` // terminal, or "" when there was none
	At      time.Time `json:"at"`
}

// Decisions are the recorded verdicts of a session, by unit ID.
type Decisions struct {
	Version int                 `json:"version"`
	Units   map[string]Decision `json:"units"`
}
