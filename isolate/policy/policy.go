// Package policy owns the policy: the file that says what each wall must be.
// It parses (strictly: an unknown key is an error with line, column and the
// nearest known key), checks, and prints a policy as plain text. It opens no
// file except in find.go and enforces nothing; isolate and session do.
package policy

import "time"

// Policy says what every wall must be. The zero value is not usable; start
// from a built-in (Builtin) or Parse.
type Policy struct {
	Name     string // built-in name or file path it came from; not a key
	Tool     string
	Owner    string
	Reviewed string // a date, YYYY-MM-DD; empty when absent
	Tenant   string // on every record line; empty means the account's name

	Boundary    Boundary
	Filesystem  Filesystem
	Network     Network
	Credentials []Credential
	Limits      Limits
	Terminal    Terminal
	Results     Results
	Lifecycle   Lifecycle
}

// Boundary is what the walls are made of.
type Boundary struct {
	EnforcedBy string   // only "process restriction" so far
	Require    []string // layer names, a level as in "landlock>=6"
	Proven     string   // ProvenShown or ProvenRequired
	Debuggers  bool     // ptrace among the session's own processes; refused until built
}

// What a start does about the wall tests: say how they came out with this
// policy, or refuse unless they held in this deployment shape.
const (
	ProvenShown    = "shown"
	ProvenRequired = "required"
)

// Filesystem is what goes in.
type Filesystem struct {
	Include    Choice   // ignored by git, brought in all the same
	Exclude    []string // glob patterns never brought in, tracked or not
	History    string   // "head", "all" or "none"
	Inputs     []string // host paths, read-only inside
	Toolchains Choice   // host toolchain folders, read-only inside
}

// Choice is a key that is either one of a few words or a list of paths.
type Choice struct {
	Word string // "auto" or "none"; empty when List is meant
	List []string
}

// Network is the [[network.allow]] entries; none means no network at all.
type Network struct{ Allow []Allow }

// Allow is one egress entry: a destination, the operations that it grants there
// and the account they are done as. isolate/egress/rule says how each is read.
type Allow struct {
	Destination   string
	Operations    []string
	Query         string // "any", "none" or a glob; empty is "any"
	Account       string // a credential's name; "none" or empty is none
	Upgrade       bool   // websockets
	MaxUpload     Bytes  // of a session
	PerMinute     int
	Addresses     []string // of a class that is refused otherwise, where the destination may be all the same
	ReturnsSecret bool     // the operation is meant to return a credential
}

// Credential is one [[credentials]] entry. Its secret is read at use and never
// enters a session, which sees a placeholder.
type Credential struct {
	Name              string
	Source            string // env:NAME, file:PATH[#pointer] or command:ABSOLUTE ARGV
	Attach            string // "Authorization: Bearer {secret}" or "query: key={secret}"
	Placeholder       string // env:NAME: where the session sees its placeholder
	PlaceholderFormat string
}

// Bytes is a size in bytes; 0 means no limit.
type Bytes int64

// Limits bound a session. Zero means none.
type Limits struct {
	CPUs        int           // processors, by affinity
	Memory      Bytes         // per process by RLIMIT_DATA, and over the tree by sampling
	Processes   int           // threads count, as the kernel counts them
	Disk        Bytes         // of workspace and home, by sampling; of one file by RLIMIT_FSIZE
	RunTime     time.Duration // one captured run or exec
	SessionTime time.Duration // the whole session
	OutputChars int           // cuts what is returned, stops nothing
	OutputBytes Bytes         // the stored log: head kept, tail in a ring
}

// Terminal is what the inside may ask of the user's terminal.
type Terminal struct{ Clipboard string } // "ask", "allow", "deny"

// Results is what may leave, and who decides.
type Results struct {
	Leave     string // "diff"; "artifacts" is refused until built
	Artifacts []string
	Review    string
}

// Lifecycle is when a session ends and what is kept.
type Lifecycle struct {
	Idle time.Duration // 0 is never
	Keep []string
}

// Error is a fault in a policy file: where, what, and the nearest known key.
type Error struct {
	File      string
	Line, Col int // 1-based; 0 when the fault has no place
	Key       string
	Msg       string
	Hint      string
}
