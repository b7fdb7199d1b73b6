package isolate

import (
	"os"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits/cgroup"
)

// Mount is a host folder and where it appears inside.
type Mount struct {
	Host   string `json:"host"`
	Inside string `json:"inside"`
}

// Cache is a host folder with a layer that is the session's own.
type Cache struct {
	Mount
	// Layer is a folder on a file system that takes extended attributes,
	// made by PrepareLayer and readied by RenewLayer.
	Layer string
}

// Spec is what a start needs. Everything is absolute.
type Spec struct {
	ID        string // session ID, for names that an engineer may meet
	Workspace Mount  // read and write; Inside is the repository's own path
	Home      Mount  // read and write; Inside is HomeInside
	Canary    string // an empty host folder, 0700, used during the start only
	ReadOnly  []Mount
	// Caches are host folders that can be written inside, each in a layer of the
	// session's own; the host's files are only read. They appear below HomeInside
	// as those of ReadOnly do.
	Caches []Cache
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
	FileBytes uint64 // RLIMIT_FSIZE, of each file; 0 is none
	CPUs      int    // how many processors all of it together may use; 0 is all
	// TreeBytes is the memory of all of it together, which Usage weighs; the
	// caller samples and ends. 0 is none.
	TreeBytes int64
	// Place is where the session's cgroup is made, in which the kernel holds it
	// to TreeBytes, Processes and CPUs as a whole; nil is nowhere.
	Place *cgroup.Place
	// Bus is the account's service manager, which is asked for such a group
	// where Place is nil; nil is nobody.
	Bus *cgroup.Bus
	// Ungrouped is why there is neither, for the record.
	Ungrouped string
	// Metered has Usage answered by a process of its own, which sees what a
	// caller that is confined by Landlock does not.
	Metered bool
	// Egress has the sockets of the egress proxy opened inside; Sandbox.Egress
	// gives them to whoever serves them.
	Egress bool
	// Trust is a host folder with the session's certificates, shown read-only at
	// TrustInside, whose file bundle.pem stands in for the system's own; empty is
	// none.
	Trust    string
	TmpBytes uint64 // size of /tmp, /var/tmp, /dev/shm and /run each; 0 is half of RAM
}

// HomeInside is HOME inside every sandbox.
const HomeInside = "/fumehood/home"

// TrustInside is where Spec.Trust appears.
const TrustInside = "/fumehood/trust"

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
	Processes int // threads
	// RSS is memory in bytes: an upper bound, which counts a shared page once
	// for each process; near the limit an exact sum where there is time for one.
	RSS  int64
	CPU  int64 // nanoseconds of processes alive now
	Work int64 // the same without fumehood's own two processes
	// Deleted is what the workspace's device holds for open files without a
	// name, in bytes; only a metered session tells.
	Deleted int64
	// Over says that memory is over Spec.TreeBytes.
	Over bool
	// Kernel is what made it so, when it is what the kernel took and no process
	// maps, on a machine that is short of memory: what it grew by meanwhile.
	Kernel int64
	// Pressed is what made it so, when it is the memory that the machine has for
	// the queues of that protocol, whatever TreeBytes.
	Pressed string
}

// Facts is what was read from outside about the layers in force.
type Facts []layer.Fact
