package seccomp

import "slices"

// Group is the rows of the table that have one reason. Each is a part of the
// walls that a throw-away sandbox can be started without.
type Group string

// The groups.
const (
	Terminals    Group = "terminal ioctls"
	FileSystems  Group = "file systems' own requests"
	Leases       Group = "leases"
	Namespaces   Group = "nested namespaces"
	Tracing      Group = "tracing"
	Listeners    Group = "filter listeners"
	Personality  Group = "personality"
	Families     Group = "socket families"
	Protocols    Group = "protocols beside TCP and UDP"
	FastOpen     Group = "Fast Open"
	Nodes        Group = "device nodes by mknod"
	Segments     Group = "large System V objects"
	Mounts       Group = "mount calls"
	Listings     Group = "mount listings"
	Rare         Group = "rare calls"
	IOUring      Group = "io_uring"
	AIO          Group = "asynchronous I/O contexts"
	Keyrings     Group = "keyrings"
	SecretMemory Group = "secret memory"
	Handles      Group = "file handles"
	Machine      Group = "the machine's own"
	Affinity     Group = "affinity"
	Placement    Group = "memory placement"
)

// Trial is one call of a group that a row refuses whatever the descriptors and
// pointers are, and that the kernel's own code refuses for those: with another
// errno than the row's, and without any effect. By its errno the presence of
// the group shows, except on a kernel that was built without the call.
type Trial struct {
	Group Group
	Call  string
	Args  [6]uint64
	Why   string // what the group as a whole is for
	// Use is a harmless use of the group's that works when only the group is
	// missing; "" when something else refuses every one, and Else says what.
	Use, Else string
}

const bad = 1<<64 - 1 // as a descriptor, a process or flags

// Trials has one row for each group.
func Trials() []Trial {
	return []Trial{
		{Terminals, "ioctl", [6]uint64{bad, 0x5412}, "typing into the user's terminal, and pasting into a console", "ioctl(a pty of its own, TIOCSETD, N_TTY)", ""},
		{FileSystems, "ioctl", [6]uint64{bad, 0x5000940e}, "subvolumes, snapshots, attributes and keys of file systems, where no rule looks", "ioctl(a file of the workspace, FS_IOC_SETFLAGS, no dump)", ""}, // BTRFS_IOC_SUBVOL_CREATE
		{Leases, "fcntl", [6]uint64{bad, 1024}, "a lease inside makes an open outside wait", "fcntl(a file of the workspace, F_SETLEASE, F_WRLCK)", ""},
		{Namespaces, "setns", [6]uint64{bad}, "kernel code that is else for root", "", "user.max_user_namespaces (ENOSPC) and the missing capabilities (EPERM)"},
		{Tracing, "ptrace", [6]uint64{1, bad}, "one process of the session taking over another", "ptrace(PTRACE_TRACEME)", ""},
		{Listeners, "seccomp", [6]uint64{1, 8}, "answering another's calls", "seccomp(SET_MODE_FILTER, NEW_LISTENER, a filter that allows all)", ""},
		{Personality, "personality", [6]uint64{0x1000000}, "weakening a process by old ABIs", "personality(READ_IMPLIES_EXEC)", ""}, // SHORT_INODE: nothing looks at it
		{Families, "socketpair", [6]uint64{afInet, 1}, "packet, vsock, netlink, raw and other sockets", "socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)", ""},
		{Protocols, "setsockopt", [6]uint64{bad, 6, 31}, "MPTCP, SCTP and others, which pass rules made for TCP", "socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)", ""},
		{FastOpen, "setsockopt", [6]uint64{bad, 6, 30}, "connecting without connect", "sendto(a TCP socket, MSG_FASTOPEN, a listener of its own)", ""},
		{Nodes, "mknodat", [6]uint64{bad, 0, 0o020000}, "device nodes", "", "the missing capability (EPERM) and Landlock (EACCES)"},
		{Segments, "shmget", [6]uint64{1, 64<<10 + 1}, "memory that no limit sees", "shmget(IPC_PRIVATE, 1 MiB, IPC_CREAT)", ""},
		{Mounts, "chroot", [6]uint64{}, "another root, and mounts of the session's own", "", "the missing capabilities (EPERM)"},
		{Listings, "statmount", [6]uint64{}, "new ways to list mounts and namespaces", "listmount(the own root)", ""},
		{Rare, "remap_file_pages", [6]uint64{0, 0, 1}, "rarely needed kernel code with a history of faults", "userfaultfd(UFFD_USER_MODE_ONLY)", ""},
		{IOUring, "io_uring_enter", [6]uint64{bad}, "calls where no filter looks", "io_uring_setup(1)", ""},
		{AIO, "io_setup", [6]uint64{}, "contexts that are counted for the whole machine", "io_setup(1)", ""},
		{Keyrings, "keyctl", [6]uint64{9999}, "keys that everything of one user shares", `add_key("user", into the own process keyring)`, ""},
		{SecretMemory, "memfd_secret", [6]uint64{bad}, "memory that no account can see: secret, or left in pipes and sockets", "memfd_secret(0)", ""},
		{Handles, "name_to_handle_at", [6]uint64{bad, 0, 0, 0, bad}, "opening files by number, past every path rule", "name_to_handle_at(a folder of the workspace)", ""},
		{Machine, "clock_adjtime", [6]uint64{}, "what belongs to the whole machine: clock, modules, reboot, names", "adjtimex(modes 0, which only reads)", ""},
		{Affinity, "sched_setaffinity", [6]uint64{0, 8}, "undoing the session's share of the processors", "sched_setaffinity(the processors that it has)", ""},
		{Placement, "set_mempolicy", [6]uint64{9999}, "memory placement across the machine", "set_mempolicy(MPOL_DEFAULT)", ""},
	}
}

// TrialOf is the trial of one group, and the errno that its row answers.
func TrialOf(g Group) (Trial, uint16, bool) {
	i := slices.IndexFunc(Trials(), func(t Trial) bool { return t.Group == g })
	if i < 0 {
		return Trial{}, 0, false
	}
	t := Trials()[i]
	for _, r := range Table() {
		if r.Group == g && r.Call == t.Call {
			return t, r.Errno, true
		}
	}
	return Trial{}, 0, false
}

// TableWithout is the table without one group.
func TableWithout(g Group) []Row {
	return slices.DeleteFunc(Table(), func(r Row) bool { return r.Group == g })
}
