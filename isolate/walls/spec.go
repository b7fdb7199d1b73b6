package walls

// Wall is one claim of the policy that can be tested.
type Wall string

// The walls, in the order of the strip.
const (
	FilesystemWall  Wall = "filesystem"
	NetworkWall     Wall = "network"
	CredentialsWall Wall = "credentials"
	LimitsWall      Wall = "limits"
	LifecycleWall   Wall = "lifecycle"
	ResultsWall     Wall = "results"
	BoundaryWall    Wall = "boundary"
)

// Walls lists every wall in the order of the strip.
func Walls() []Wall {
	return []Wall{FilesystemWall, NetworkWall, CredentialsWall, LimitsWall, LifecycleWall, ResultsWall, BoundaryWall}
}

// Test is one wall test as a person reads it. What it tries is in package
// session/prove.
type Test struct {
	Number   int
	Name     string
	Wall     Wall
	Action   string // from inside
	Expected string
	Evidence string // outside the probe
	NA       string // when it does not apply
	Means    string // what a failure means, in one sentence
	Remedy   string // what to do about one
	// Against says what the test can show when it is pointed at another
	// sandbox; "" when it judges fumehood's own record or start and does not
	// apply there.
	Against string
}

// Tests lists the sixteen, in their order.
func Tests() []Test {
	return []Test{
		{
			1, "read outside", FilesystemWall,
			"open the canary, keys and credential files of the home, another project, the host's temporary folders, the policy and the session's own record",
			"refused or absent; no token in output, workspace or record",
			"return values seen by the tracer; the token sought in everything that came out; a watch on the canary",
			"the policy mounts that place for reading",
			"What runs inside can read files of yours that are not in the copy.",
			"Do not start agents with this build and policy; look at the failing attempt's path, and whether filesystem.inputs or toolchains names it.",
			"all of it: the canary lies on the host",
		},
		{
			2, "write outside", FilesystemWall,
			"create, overwrite, truncate, append, unlink, rename, mkdir, chmod, chown, utime and setxattr beside the workspace and in the host's folders",
			"refused; a write inside works",
			"hash, mode, times and listing on the host; return values",
			"never",
			"What runs inside can change files of yours without a review.",
			"Do not start agents with this build and policy; the failing attempt names the call and the place.",
			"all of it: the targets lie on the host",
		},
		{
			3, "other names", FilesystemWall,
			"links, renames, a swap race, other processes' root and cwd, file handles, inherited descriptors, io_uring, locks, leases and watches on shared files, /proc/sys and sysrq",
			"each leads nowhere",
			"hashes, listings, watches, return values",
			"never",
			"A file outside can be reached by another name than its path.",
			"Do not start agents with this build; report the failing attempt.",
			"what the host's files and the tracer show",
		},
		{
			4, "host credentials", CredentialsWall,
			"seek a made-up credential in the environment, in every readable process, keyrings, agents' sockets, helpers, configuration, and a dropped stash",
			"nowhere",
			"the token sought in what the probe read and wrote; agents' own logs",
			"never",
			"A secret of your account can be found inside.",
			"Unset it where fumehood is started, and report the failing attempt.",
			"all of it: the credential is in the environment that the command is started from",
		},
		{
			5, "allowed destination", NetworkWall,
			"one allowed operation of each entry, at a destination of the run's own that hands the credential back in every way",
			"works, logged, with the policy's account; the inside sees a placeholder",
			"the proxy's log; the destination's log; the credential sought in what the inside got",
			"the policy allows no destination",
			"What the policy allows does not work, or goes out as somebody else.",
			"Look at the entry and its account.",
			"",
		},
		{
			6, "default deny", NetworkWall,
			"loopback of the host, other hosts, metadata addresses, every protocol and way to connect, unix sockets, a server reachable from the host; at the proxy: other names, look-alikes, names that disagree or lead elsewhere, redirects, smuggling",
			"nothing arrives; each refusal at the proxy is in its log",
			"listeners' logs; the proxy's log; the destination's log; return values",
			"never",
			"What runs inside can talk to something that the policy does not name.",
			"Do not start agents with this build and policy; the failing attempt names protocol and address.",
			"all of it: the listeners are on the host",
		},
		{
			7, "other operation, other account", NetworkWall,
			"an operation, path or query that is not allowed; an allowed one with a foreign credential, or another account's placeholder",
			"refused before it leaves",
			"the proxy's log with the reason; the destination's log",
			"the policy allows no destination",
			"An allowed destination can be used for more than the policy says.",
			"Look at the entry's operations and account.",
			"",
		},
		{
			8, "hogs", LimitsWall,
			"memory in one process and in many, in memfds and shared memory; forks and threads; more processors; disk in one file, in many, sparse, by fallocate, inodes",
			"stopped or held at the policy's number, plus the stated overshoot; the result names the limit; the host can fork meanwhile",
			"kernel counters or the supervisor's record; process table; blocks on the host",
			"that limit is set to none, each by itself",
			"A runaway command can use more of this machine than the policy says.",
			"See \"fumehood doctor\" for who enforces the limit here; a delegated cgroup bounds memory exactly.",
			"against limits given by a policy file: process table, memory and disk as seen on the host",
		},
		{
			9, "clocks", LimitsWall,
			"ignore every signal and sleep or spin past the run's limit; many runs past the session's; silence past idle",
			"ended at the limit, named as that limit",
			"clock; process table",
			"that clock is set to none",
			"A command can run longer than the policy says.",
			"Report the failing attempt; end the session by hand with \"fumehood stop\".",
			"against the run_time of a policy file: clock and process table",
		},
		{
			10, "result", ResultsWall,
			"more output than the cap, with control characters; exit 7; a crash; a signal; no such command; last words; a file written",
			"cut at the cap and announced with the amount; status and signal right and told from fumehood's own; last words there; path listed",
			"the record against the bytes that the supervisor counted and the files on the host",
			"the output cap is set to none (the rest stays)",
			"What fumehood tells of a run can be wrong.",
			"Do not rely on results of this build; report the failing attempt.",
			"",
		},
		{
			11, "nothing outlives the run", LifecycleWall,
			"a double-forked, signal-deaf daemon; a stopped child; TERM, KILL and STOP to the run, to the supervisor, to the workbench",
			"all gone within 3 s; no mount, socket, cgroup or temporary file of the sandbox left",
			"process, mount and socket tables, listing",
			"never",
			"A process of the agent's can go on when its session has ended.",
			"Look for it with ps, end it by hand, and report the failing attempt.",
			"process table after the launcher has ended or was killed",
		},
		{
			12, "next session", LifecycleWall,
			"leave files, shared memory, sockets, keyrings and processes behind; look for them from the next session and from one beside it",
			"finds none",
			"return values and what the second session printed; listing before and after",
			"a place that the policy shares, named",
			"One session can leave something for another.",
			"Do not run sessions of different trust on this build; report the failing attempt.",
			"two runs of the command, one after the other",
		},
		{
			13, "placeholder", CredentialsWall,
			"use a session's placeholder from another live session and after its own ended; reach the other's proxy",
			"refused",
			"the logs of both proxies; the destination's log",
			"no destination has a credential",
			"A placeholder is worth something outside its session.",
			"Revoke the credential, and report the failing attempt.",
			"",
		},
		{
			14, "strength", BoundaryWall,
			"a set-uid copy; user namespaces; mounts; signals, traces, memory and descriptors of host processes; typing into the terminal; dangerous system calls in every ABI",
			"no gain; refused before the kernel's code is reached",
			"file owner; the victim's own log; /proc/PID/status; the filter read out of the kernel",
			"never",
			"What runs inside can gain rights or reach kernel code that a build does not need.",
			"Do not start agents with this build; report the failing attempt.",
			"return values seen by the tracer, and a victim on the host",
		},
		{
			15, "no wall, no run", BoundaryWall,
			"start with each required layer missing, off, too old or refused; a helper or folder gone; a malformed policy; the start ended midway; inside another sandbox",
			"refuses to run, names the layer, exit 125; the command never began",
			"a marker file that the command would have made is absent; exit status",
			"never",
			"A command could run without a wall that the policy asks for.",
			"Do not start agents with this build; report the failing attempt.",
			"",
		},
		{
			16, "reviewed diff", ResultsWall,
			"leave traps in the workspace: hooks, git configuration, filters, editor and agent settings, links, names with escapes, hidden files, changed times",
			"the host is unchanged until apply; nothing planted ran; the diff shows each or names it as dropped; apply refuses what leaves the folder",
			"host listing and hashes before, after, and after approval; a marker that the trap would have made; the change set",
			"the policy lets only artifacts leave",
			"Something can reach or run on the host that nobody approved.",
			"Do not apply with this build; report the failing attempt.",
			"whether the repository on the host stays as it was",
		},
	}
}

// Find gives a test by its number.
func Find(number int) (Test, bool) {
	for _, t := range Tests() {
		if t.Number == number {
			return t, true
		}
	}
	return Test{}, false
}
