package isolate

import (
	"os"

	"fumehood/isolate/layer"
)

// Mount is a host folder and where it appears inside.
type Mount struct {
	Host   string `json:"host"`
	Inside string `json:"inside"`
}

// Spec is what a start needs. Everything is absolute.
type Spec struct {
	ID        string // session ID, for names that an engineer may meet
	Workspace Mount  // read and write; Inside is the repository's own path
	Home      Mount  // read and write; Inside is HomeInside
	Canary    string // an empty host folder, 0700, used during the start only
	ReadOnly  []Mount
	// HostHome is the account's real home, which is absent inside. A ReadOnly
	// folder below it appears at the same place below HomeInside too.
	HostHome string
	// Require lists layers, with a level where asked ("landlock>=6"). All
	// layers are always closed; Require can only ask for more of one.
	Require []string
	// UID and GID are the ids that the session runs as on the host: the
	// caller's own for an ordinary user, unprivileged ones when root starts.
	UID, GID int
	User     string // its name inside
	// Limits that the kernel enforces on each process or on the tree.
	Processes int    // RLIMIT_NPROC in the session's user namespace; 0 is none
	DataBytes uint64 // RLIMIT_DATA; 0 is none
	OpenFiles uint64 // RLIMIT_NOFILE; 0 keeps the host's
	TmpBytes  uint64 // size of /tmp, /var/tmp, /dev/shm and /run each; 0 is half of RAM
}

// HomeInside is HOME inside every sandbox.
const HomeInside = "/fumehood/home"

// Size is a terminal size in cells.
type Size struct {
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// Command is one command to start inside a sandbox.
type Command struct {
	Argv []string
	Env  []string // complete; nothing is inherited
	Dir  string
	// TTY asks for a pty of the session's own devpts; its master comes back
	// in Process.PTY. Otherwise Stdin, Stdout, Stderr are given to the child.
	TTY                   *Size
	Stdin, Stdout, Stderr *os.File
}

// Status is how a command ended. Exactly one of the groups is meaningful:
// StartErr non-empty (never ran: Code is 126 or 127), Signal non-zero, or Code.
type Status struct {
	Code     int    `json:"code"`
	Signal   int    `json:"signal"`
	StartErr string `json:"start_err,omitempty"`
}

// Usage is what the session's processes used, as read from outside.
type Usage struct {
	Processes int   // threads
	RSS       int64 // bytes, summed over the tree
	CPU       int64 // nanoseconds of processes alive now
}

// Facts is what was read from outside about the layers in force.
type Facts []layer.Fact
