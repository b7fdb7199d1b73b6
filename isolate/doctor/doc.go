// Package doctor owns the question what this kernel and this account offer: it
// tries each thing that a sandbox is made of, in a throw-away child where that
// takes a namespace, and says in sentences what is missing, what that costs
// and the one command that gets it. It changes nothing, and no start depends
// on it: the stage finds out for itself, and refuses.
//
// probe_linux.go and child_linux.go find the facts; report.go turns facts into
// checks and is pure.
package doctor

// Step is one thing that was tried.
type Step struct {
	Done bool   // it worked
	Err  string // errno's name such as "EPERM", or a sentence; "" when Done
}

// Facts are what a probe found. A field that could not be found out says so in
// its own way; nothing is assumed to work.
type Facts struct {
	Kernel string // release, such as "6.1.0-13-amd64"
	Arch   string // as Go names it
	Exe    string // path of this program, for remedies; "" when unknown
	Root   bool

	// Container says by what a container was recognised, "" when none was.
	Container string

	// Namespaces is a child in all the namespaces of a sandbox; Users one in a
	// user and a mount namespace alone, tried when that failed.
	Namespaces, Users Step
	// What the child tried in there.
	Tmpfs, Overlay, Proc, Devpts, ReadOnly Step

	MaxUserNS int64  // user.max_user_namespaces; -1 when not readable
	CloneSysc string // kernel.unprivileged_userns_clone; "" where there is none
	AppArmor  string // kernel.apparmor_restrict_unprivileged_userns; "" where there is none

	LandlockABI int    // 0 when there is none
	LandlockErr string // errno's name
	Seccomp     Step   // a filter may be installed

	CgroupV2    bool
	CgroupPath  string // the group in which sessions' groups are made; "" when there is none
	Controllers []string
	Delegated   bool   // there is such a group
	ByBus       bool   // the account's service manager makes one a session
	NoBus       string // why it does not; "" when it was not asked
	BusHint     string // what would change that

	Git        string // path; "" when there is none on PATH
	GitVersion string // "2.39.5"
	GitErr     string

	Ptmx Step // /dev/ptmx opens

	State   string // the folder where sessions are kept
	StateOK Step   // a file can be made in it, or in what it will be made in
	StateFS string // "ext4"; "" when unknown
	Reflink Step   // files share blocks there

	Groups []string // names or ids of supplementary groups
	Yama   int      // kernel.yama.ptrace_scope; -1 where there is none
}
