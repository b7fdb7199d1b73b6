package plan

import (
	"slices"

	"fumehood/isolate/layer"
	"fumehood/isolate/seccomp"
)

// Omit names the one part of the walls that a throw-away sandbox is started
// without, to show what the part is good for. Compile never sets it: what a
// session runs behind is whole.
type Omit string

// The parts that can be left out. What can't be is in the table alone.
const (
	Nothing Omit = ""

	NetNS         Omit = "network namespace"
	IPCNS         Omit = "ipc namespace"
	UTSNS         Omit = "uts namespace"
	CgroupNS      Omit = "cgroup namespace"
	MinimalRoot   Omit = "minimal root"
	OwnProc       Omit = "own /proc"
	OwnTmp        Omit = "own temporary folders"
	OwnTerminals  Omit = "own terminals"
	Overlays      Omit = "overlays over host folders"
	ReadOnlyRoot  Omit = "read-only root"
	SealedFolders Omit = "read-only folders above the workspace"
	NoSUID        Omit = "no set-user-id on mounts"
	NoDev         Omit = "no devices on mounts"
	CoveredProc   Omit = "covered files of /proc"
	ProcSys       Omit = "read-only /proc/sys"
	NestedUserNS  Omit = "no further user namespaces"
	WatchShare    Omit = "share of inotify watches"
	OwnProgram    Omit = "read-only own program"
	HiddenProgram Omit = "hidden own program"
	HiddenCanary  Omit = "canary taken away"

	WatchStarter Omit = "watch of the starter"
	ParentDeath  Omit = "parent-death signal"

	NoNewPrivs   Omit = "no_new_privs"
	Capabilities Omit = "capabilities dropped"
	BoundingSet  Omit = "bounding set dropped"
	Groups       Omit = "supplementary groups dropped"
	Undumpable   Omit = "undumpable process 1"
	Descriptors  Omit = "inherited descriptors closed"
	OwnSession   Omit = "terminal session of its own"
	Signals      Omit = "default signal actions"
	EmptyEnviron Omit = "empty environment of process 1"

	LandlockFS    Omit = "Landlock files"
	LandlockScope Omit = "Landlock scopes"

	Filter      Omit = "filter"
	ForeignABIs Omit = "refusal of foreign ABIs"
	FilterGroup Omit = "group of the filter" // Plan.Group says which

	LimitProcesses Omit = "process limit"
	LimitData      Omit = "data limit"
	LimitOpenFiles Omit = "open file limit"
	LimitFileSize  Omit = "file size limit"
	LimitCore      Omit = "no core files"
	LimitTmp       Omit = "size of temporary folders"
	LimitCPUs      Omit = "bound processors"
	OOMScore       Omit = "first to be ended when memory is short"
)

// Part is one part of the walls.
type Part struct {
	Omit  Omit
	Group seccomp.Group // with FilterGroup
	Layer layer.Name
	Name  string
	// Why is what the part is for.
	Why string
	// Only is the action that this part alone refuses, with all others in
	// force: what it comes out as with the part, and without. When there is
	// none, the part is a second wall, and Only begins with "none" and says
	// where its absence shows.
	Only string
	// Never is why the part can't be left out anywhere.
	Never string
}

// Parts is every part, in the order in which they are closed.
func Parts() []Part {
	out := slices.Concat(namespaceParts(), lifecycleParts(), limitParts(), identityParts(), landlockParts(), filterParts())
	for i := range out {
		if out[i].Name == "" {
			out[i].Name = string(out[i].Omit)
		}
	}
	return out
}

func of(l layer.Name, parts ...Part) []Part {
	for i := range parts {
		parts[i].Layer = l
	}
	return parts
}

func namespaceParts() []Part {
	return of(layer.Namespaces,
		Part{Name: "user namespace", Why: "capabilities that count for nothing outside", Never: "every other namespace, and the limit on processes, needs it"},
		Part{Name: "mount namespace", Why: "mounts of the sandbox's own", Never: "the new root would be mounted over this machine's"},
		Part{Name: "pid namespace", Why: "no processes of the host, and one process whose end ends all", Never: "process 1 ends everything that it can see, which would be everything of this account"},
		Part{Name: "session id that is not root's", Why: "root's files are not the session's", Never: "what runs inside would own this machine's files"},
		Part{Name: "private mounts", Why: "no mount made inside reaches the host", Never: "the kernel keeps the mounts of a user namespace from the host by itself, so nothing would show"},
		Part{
			Omit: NetNS, Why: "no interface, address or abstract socket of the host",
			Only: "connect(AF_INET, a listener on 127.0.0.1 of the host): ECONNREFUSED, without it 0",
		},
		Part{
			Omit: IPCNS, Why: "no System V object or message queue of the host",
			Only: "shmget(key of a host's segment, 0, 0): ENOENT, without it its id",
		},
		Part{
			Omit: UTSNS, Why: "the machine's name stays unknown",
			Only: "uname(): nodename \"fumehood\", without it the host's",
		},
		Part{
			Omit: CgroupNS, Why: "the host's groups of processes stay unknown",
			Only: "read /proc/self/cgroup: \"/\" in each line, without it the host's path (where that is not / too)",
		},
		Part{
			Omit: MinimalRoot, Why: "what is not listed is absent",
			Only: "chmod(a file of this account on the host, its own mode): ENOENT, without it 0; Landlock doesn't judge it",
		},
		Part{
			Omit: OwnProc, Why: "no process of the host shows",
			Only: "open(\"/proc/N/cmdline\") of a host's process N: ENOENT, without it its arguments",
		},
		Part{
			Omit: OwnTmp, Why: "nothing is left to the next session or to the host",
			Only: "open(\"/tmp/x\", O_CREAT): made in the sandbox's own, without it in the host's /tmp",
		},
		Part{
			Omit: OwnTerminals, Why: "no terminal of the host is there to be written to",
			Only: "open(\"/dev/pts/N\", O_WRONLY) of a host's terminal of this account: ENOENT, without it 0",
		},
		Part{
			Omit: Overlays, Why: "locks, leases and times don't reach the host's files",
			Only: "flock(a file of a read-only input, LOCK_EX): the host's own lock is granted, without it EWOULDBLOCK on the host",
		},
		Part{
			Omit: ReadOnlyRoot, Why: "what the stage wrote stays as it is",
			Only: "chmod(\"/etc/hosts\", 0600): EROFS, without it 0; the file is the session's own and Landlock doesn't judge it",
		},
		Part{
			Omit: SealedFolders, Why: "agents look for instructions in every folder above",
			Only: "mkdir(a folder beside a workspace that is deeper than /tmp/x): EROFS, without it 0",
		},
		Part{
			Omit: NoSUID, Why: "no identity by a file",
			Only: "none: no_new_privs refuses the same, and only one id exists inside; it shows in /proc/PID/mountinfo",
		},
		Part{
			Omit: NoDev, Why: "no device by a file",
			Only: "none: making a node is refused by the filter and by the kernel; it shows in /proc/PID/mountinfo",
		},
		Part{
			Omit: CoveredProc, Why: "keys, addresses of the kernel and sysrq stay unknown",
			Only: "read \"/proc/kallsyms\" (or \"/proc/key-users\"): nothing, without it content",
		},
		Part{
			Omit: ProcSys, Why: "the kernel's settings stay as they are",
			Only: "none: its files are root's, and Landlock grants no writing there; chmod of one says EROFS, without it EPERM; it shows in /proc/PID/mountinfo",
		},
		Part{
			Omit: NestedUserNS, Why: "no user namespace below, should the filter have a hole",
			Only: "read \"/proc/sys/user/max_user_namespaces\": 0, without it the host's; unshare itself is refused by the filter as well",
		},
		Part{
			Omit: WatchShare, Why: "the account's own programs keep their watches",
			Only: "inotify_init() until it fails: at a fourth of the account's, without it at all of it",
		},
		Part{
			Omit: OwnProgram, Why: "fumehood's own file stays as it is",
			Only: "chmod(\"/proc/self/exe\") from a script whose interpreter is /proc/self/exe, where this account owns the program: EROFS, without it 0",
		},
		Part{
			Omit: HiddenProgram, Why: "fumehood's own program has no name inside",
			Only: "open(\"/fumehood/spawner\", O_RDONLY): EACCES, without it 0",
		},
		Part{
			Omit: HiddenCanary, Why: "nothing of the start is left",
			Only: "open(\"/fumehood/canary/allowed/x\", O_CREAT): ENOENT, without it 0",
		},
	)
}

func lifecycleParts() []Part {
	return of(layer.Namespaces,
		Part{
			Omit: WatchStarter, Why: "a stopped or silent supervisor watches no limit",
			Only: "SIGSTOP to the starter: all ended within 3 s, without it all runs on; nothing else shows its absence",
		},
		Part{
			Omit: ParentDeath, Why: "the sandbox ends with its supervisor even when process 1 hangs",
			Only: "SIGKILL to the starter while process 1 hangs (each thread held by a tracer): all ended at once, without it all stays; nothing else shows its absence",
		},
	)
}
