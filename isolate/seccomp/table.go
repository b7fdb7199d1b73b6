package seccomp

// The errnos of the table. Written out, since a row's errno is part of the
// filter for a machine that need not be this one.
const (
	ePERM           = 1
	eINVAL          = 22
	eNOTTY          = 25
	eNOSYS          = 38
	eNOPROTOOPT     = 92
	ePROTONOSUPPORT = 93
	eAFNOSUPPORT    = 97
)

// Cond is a condition on one argument: (arg & Mask) Op Val, on its low 32 bits.
// Every argument named here is an int, an unsigned int or shorter in the
// kernel, which drops the high bits, so a filter that looked at them could be
// passed by setting one.
type Cond struct {
	Arg  int
	Mask uint32
	Op   Op
	Val  uint32
}

// Op compares.
type Op int

// The comparisons.
const (
	Equal Op = iota
	NotEqual
	Above // unsigned
	// AboveOrHigh is Above on all 64 bits: true also when a high bit is set.
	AboveOrHigh
)

// Row refuses a call when all of its conditions hold; without conditions,
// always.
type Row struct {
	Call  string
	When  []Cond
	Errno uint16
	Why   string
	Group Group
}

// cond is a row that has conditions, before it belongs to a group.
type cond struct {
	Call  string
	When  []Cond
	Errno uint16
	Why   string
}

func is(arg int, val uint32) Cond           { return Cond{arg, 0xffffffff, Equal, val} }
func not(arg int, val uint32) Cond          { return Cond{arg, 0xffffffff, NotEqual, val} }
func masked(arg int, mask, val uint32) Cond { return Cond{arg, mask, Equal, val} }
func notType(arg int, typ uint32) Cond      { return Cond{arg, 0xff00, NotEqual, typ << 8} } // of an ioctl
func anyOf(arg int, mask uint32) Cond       { return Cond{arg, mask, NotEqual, 0} }
func above(arg int, val uint32) Cond        { return Cond{arg, 0xffffffff, AboveOrHigh, val} }

const (
	cloneNew     = 0x7e020000 // every CLONE_NEW* that clone takes
	cloneNewTime = 0x80       // in clone these bits are the exit signal
	fastOpen     = 0x20000000

	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16
	netlinkRoute                       = 0
	sockRaw, sockPacket                = 3, 10
	sockTypeMask                       = 0xf
)

// Table is every refusal, in groups by reason. Of the rows of one call the first
// that holds decides.
func Table() []Row {
	var t []Row
	some := func(g Group, rows []cond) {
		for _, r := range rows {
			t = append(t, Row{Call: r.Call, When: r.When, Errno: r.Errno, Why: r.Why, Group: g})
		}
	}
	all := func(g Group, errno uint16, why string, calls ...string) {
		for _, c := range calls {
			t = append(t, Row{Call: c, Errno: errno, Why: why, Group: g})
		}
	}
	conditional(some)
	always(all)
	return t
}

func conditional(group func(Group, []cond)) {
	group(Terminals, []cond{
		{"ioctl", []Cond{is(1, 0x5412)}, ePERM, "TIOCSTI types into a terminal (CVE-2017-5226)"},
		{"ioctl", []Cond{is(1, 0x541c)}, ePERM, "TIOCLINUX pastes into a console"},
		{"ioctl", []Cond{is(1, 0x5423)}, ePERM, "TIOCSETD loads a line discipline, a source of kernel faults"},
		{"ioctl", []Cond{is(1, 0x541d)}, ePERM, "TIOCCONS takes over the console's output"},
	})
	group(FileSystems, []cond{
		{
			"ioctl",
			[]Cond{
				notType(1, 0x54),                                           // terminals, and what every descriptor has: FIONREAD, FIONBIO, FIOCLEX
				notType(1, 0x89),                                           // sockets
				notType(1, 0x52),                                           // the random devices; what changes them is for root
				not(1, 2),                                                  // FIGETBSZ
				not(1, 0x40049409), not(1, 0x4020940d), not(1, 0xc0189436), // FICLONE, FICLONERANGE, FIDEDUPERANGE
				not(1, 0x80086601), not(1, 0x80087601), not(1, 0x801c581f), not(1, 0xc020660b), // FS_IOC_GETFLAGS, GETVERSION, FSGETXATTR, FIEMAP
			},
			eNOTTY,
			"the rest belongs to single file systems and to new descriptors: on btrfs a folder of one's own is enough to make subvolumes that no walk enters and nothing removes, " +
				"and on kernels from before December 2023 a snapshot of all that lies beside the workspace; fscrypt takes keys for the whole file system",
		},
	})
	group(Leases, []cond{
		{"fcntl", []Cond{is(1, 1024)}, ePERM, "F_SETLEASE on a workspace file makes an open outside wait 45 s"},
		{"fcntl", []Cond{is(1, 1026)}, ePERM, "F_NOTIFY is an old watch by signals; inotify serves"},
	})
	group(Namespaces, []cond{
		{"clone", []Cond{anyOf(0, cloneNew)}, ePERM, "a new namespace opens kernel code that is else for root"},
		{"unshare", []Cond{anyOf(0, cloneNew|cloneNewTime)}, ePERM, "as clone"},
		{"clone3", nil, eNOSYS, "its flags are in memory; programs fall back to clone"},
	})
	group(Tracing, []cond{
		{"prctl", []Cond{is(0, 35)}, ePERM, "PR_SET_MM rewrites what /proc shows of a process"},
		{"prctl", []Cond{is(0, 0x59616d61)}, ePERM, "PR_SET_PTRACER lets others trace"},
	})
	group(Listeners, []cond{
		{"seccomp", []Cond{anyOf(1, 8)}, ePERM, "NEW_LISTENER would answer calls in another's name"},
	})
	group(Personality, []cond{
		{
			"personality",
			[]Cond{not(0, 0xffffffff), not(0, 0), not(0, 8), not(0, 0x20000), not(0, 0x20008), not(0, 0x40000)},
			ePERM,
			"READ_IMPLIES_EXEC and old ABIs weaken a process; asking, 32-bit uname and a fixed layout are common",
		},
	})
	group(Families, []cond{
		{
			"socket",
			[]Cond{not(0, afUnix), not(0, afInet), not(0, afInet6), not(0, afNetlink)},
			eAFNOSUPPORT,
			"packet, vsock, bluetooth, alg, xdp and the like: kernel code that a build does not need",
		},
		{
			"socket",
			[]Cond{is(0, afNetlink), not(2, netlinkRoute)},
			ePROTONOSUPPORT,
			"netlink beyond the route family is kernel code for root; route is what lists interfaces, and node dies without it",
		},
		{"socket", []Cond{is(0, afInet), masked(1, sockTypeMask, sockRaw)}, ePERM, "raw packets"},
		{"socket", []Cond{is(0, afInet6), masked(1, sockTypeMask, sockRaw)}, ePERM, "raw packets"},
		{"socket", []Cond{is(0, afInet), masked(1, sockTypeMask, sockPacket)}, ePERM, "raw packets, the old way"},
		{"socket", []Cond{is(0, afInet6), masked(1, sockTypeMask, sockPacket)}, ePERM, "raw packets, the old way"},
		{"socketpair", []Cond{not(0, afUnix)}, eAFNOSUPPORT, "only unix sockets come in pairs that a program needs"},
	})
	group(Protocols, []cond{
		{
			"socket",
			[]Cond{is(0, afInet), not(2, 0), not(2, 6), not(2, 17), not(2, 1)},
			ePROTONOSUPPORT,
			"MPTCP, SCTP, DCCP and others pass rules made for TCP, and are rarely tested kernel code",
		},
		{"socket", []Cond{is(0, afInet6), not(2, 0), not(2, 6), not(2, 17), not(2, 58)}, ePROTONOSUPPORT, "as for inet"},
		{"setsockopt", []Cond{is(1, 6), is(2, 31)}, eNOPROTOOPT, "TCP_ULP attaches protocol modules"},
	})
	group(FastOpen, []cond{
		{"sendto", []Cond{anyOf(3, fastOpen)}, ePERM, "Fast Open connects without connect"},
		{"sendmsg", []Cond{anyOf(2, fastOpen)}, ePERM, "as sendto"},
		{"sendmmsg", []Cond{anyOf(3, fastOpen)}, ePERM, "as sendto"},
		{"setsockopt", []Cond{is(1, 6), is(2, 30)}, eNOPROTOOPT, "TCP_FASTOPEN_CONNECT: Fast Open by connect and write"},
	})
	group(Nodes, []cond{
		{"mknod", []Cond{masked(1, 0o170000, 0o020000)}, ePERM, "character devices"},
		{"mknod", []Cond{masked(1, 0o170000, 0o060000)}, ePERM, "block devices"},
		{"mknodat", []Cond{masked(2, 0o170000, 0o020000)}, ePERM, "character devices"},
		{"mknodat", []Cond{masked(2, 0o170000, 0o060000)}, ePERM, "block devices"},
	})
	group(SecretMemory, []cond{
		// The pages stay when the process has unmapped them, and of a large page
		// one byte is enough: the pipes of one process hold gigabytes.
		{"setsockopt", []Cond{is(1, 1), is(2, 60)}, eNOPROTOOPT, "SO_ZEROCOPY leaves pages in sockets that no process maps any more; programs fall back"},
	})
	group(Affinity, []cond{
		{"prctl", []Cond{is(0, 62)}, eINVAL, "PR_SCHED_CORE keeps everything else of the machine off the other threads of a core that the session runs on; kernels without it answer so"},
	})
	group(Segments, []cond{
		// No counter outside sees a detached segment, and the sysctls that
		// bound their sum belong to an id that a session has not. 4096 of these
		// are 256 MiB. PostgreSQL asks for 56 bytes.
		{"shmget", []Cond{above(1, 64<<10)}, eINVAL, "System V segments above 64 KiB escape the memory limit"},
		// 64 bytes for each semaphore: 32000 sets of 32000 would be 64 GiB in as
		// many calls, and of 64 some 150 MiB. PostgreSQL asks for 20.
		{"semget", []Cond{{1, 0xffffffff, Above, 64}}, eINVAL, "System V sets of more than 64 semaphores escape the memory limit"},
	})
}

// always is what is refused whatever its arguments.
func always(group func(g Group, errno uint16, why string, calls ...string)) {
	group(Mounts, ePERM, "mounts are the sandbox's own, and its root stays",
		"mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_tree_attr",
		"move_mount", "mount_setattr", "swapon", "swapoff", "quotactl", "quotactl_fd", "acct")
	group(FileSystems, eNOSYS, "sets by a path what ioctl would (6.17): attributes, project ids, forms of storage", "file_setattr")
	group(Listings, eNOSYS, "new ways to list mounts and namespaces; programs read /proc", "statmount", "listmount", "listns")
	group(Namespaces, ePERM, "another's namespace", "setns")
	group(Tracing, ePERM, "one process of the session can't take over another; debuggers are a policy of their own",
		"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise")
	group(Rare, ePERM, "large, rarely needed kernel code with a history of faults",
		"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark", "lookup_dcookie", "uselib", "vhangup",
		"lsm_set_self_attr", "remap_file_pages")
	group(IOUring, eNOSYS, "runs other calls where no filter looks; programs fall back", "io_uring_setup", "io_uring_enter", "io_uring_register")
	group(AIO, eNOSYS, "its contexts are counted for the whole machine, so that one session could leave the host's databases none; programs fall back", "io_setup")
	group(Keyrings, eNOSYS, "keyrings are shared by everything of one user", "add_key", "request_key", "keyctl")
	group(SecretMemory, eNOSYS, "memory that no account can see: vmsplice leaves pages in pipes, 2 MiB for a byte, that no process maps any more; programs fall back", "memfd_secret", "vmsplice")
	group(Handles, ePERM, "opens files by number, past every path rule", "open_by_handle_at", "name_to_handle_at")
	group(Machine, ePERM, "the machine's own", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
		"query_module", "get_kernel_syms", "reboot", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "syslog",
		"sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "nfsservctl", "_sysctl", "sysfs", "ustat")
	group(Affinity, ePERM, "undoes the session's share of the processors", "sched_setaffinity")
	group(Placement, ePERM, "memory placement across the machine", "mbind", "migrate_pages", "move_pages", "set_mempolicy", "set_mempolicy_home_node")
}
