package plan

import "fumehood/isolate/layer"

// Version is that of the plan and of the messages. The stage is the same
// binary as its starter, so another version means a mixed installation.
const Version = 3

// Action is what one step does.
type Action string

// The actions, each on Step.Target, a path in the new root without its leading
// slash.
const (
	Dir      Action = "dir"       // make a folder and its parents
	File     Action = "file"      // write Text
	Copy     Action = "copy"      // copy the host file Source
	Symlink  Action = "symlink"   // make a link to Text
	Tmpfs    Action = "tmpfs"     // mount a private tmpfs
	Overlay  Action = "overlay"   // mount the host folder Source read-only, lower only
	HomeView Action = "home view" // the same below HOME, whose content is hostile
	Bind     Action = "bind"      // mount the host folder Source for reading and writing
	Device   Action = "device"    // bind the host's device node Source
	Devpts   Action = "devpts"    // mount a new devpts
	Proc     Action = "proc"      // mount a new proc
	ReadOnly Action = "read-only" // bind Target onto itself, read-only
	Mask     Action = "mask"      // cover the file Target by one that nobody may open
	Cover    Action = "cover"     // show the file Source of the new root in the place of the file Target
	Program  Action = "program"   // bind fumehood's own program Source read-only, or copy it
	HostTree Action = "host tree" // bind what is at Source on the host, with all below it

	Cache     Action = "cache"      // mount the host folder Source below the session's own layer Upper
	CacheView Action = "cache view" // the same below HOME
)

// Step is one step of building the new root.
type Step struct {
	Do     Action
	Target string
	Source string
	// FD is a detached mount of Source that the starter made, where the
	// session's own ids can't reach Source by path; 0 when there is none.
	FD int
	// Dev and Ino say which folder the starter looked at. When they are not
	// 0, another one at the same path is an error.
	Dev  uint64
	Ino  uint64
	Mode uint32
	Size uint64 // bytes; 0 is the kernel's default
	Text string
	// Upper is where a cache's private layers lie, in folders UpperDir and
	// WorkDir that the starter made.
	Upper Folder
	// Host has the host's own Source bound instead of something private. Only
	// Without sets it.
	Host bool
}

// Folder is a folder of the host and which one the starter looked at, as in Step.
type Folder struct {
	Path     string
	FD       int
	Dev, Ino uint64
}

// The layers of a cache, below Step.Upper.
const (
	UpperDir = "upper"
	WorkDir  = "work"
)

// Rule is one Landlock rule: rights below an absolute path inside.
type Rule struct {
	Path   string
	Access uint64
}

// Landlock is the ruleset: what is handled, hence refused, and what is granted.
type Landlock struct {
	ABI    int
	FS     uint64
	Scoped uint64
	// Log asks for audit records of refusals after an exec; ABI 7.
	Log   bool
	Rules []Rule
}

// Limits are what the kernel enforces by itself. 0 is none.
type Limits struct {
	Processes uint64
	Data      uint64
	OpenFiles uint64
	FileSize  uint64
}

// OwnThreads is what PID 1 and the spawner may need of the process limit
// themselves. It comes on top, so that the policy's number is the session's.
const OwnThreads = 32

// Plan is what the stage carries out.
type Plan struct {
	Version  int
	Hostname string
	UID      int
	GID      int
	Steps    []Step
	Limits   Limits
	Landlock Landlock
	// Egress has the stage open the sockets of the egress proxy.
	Egress bool
	// Nonce is the file that the canary makes.
	Nonce string
	// Omit is what is left out, and Group which one of the filter's groups. Only
	// Without sets them.
	Omit  Omit
	Group string
}

// SignalsKept is what PID 1 handles, by bit from 0 as in /proc/PID/status: what
// the runtime needs, and nothing that a process could be told by.
func SignalsKept() uint64 {
	var set uint64
	for _, sig := range []int{
		11, 7, 8, // faults: SEGV, BUS, FPE
		23, 27, // preemption: URG, PROF
		32, 33, 34, // calls on all threads
	} {
		set |= 1 << (sig - 1)
	}
	return set
}

// OOMScoreAdj is what every process inside has in its oom_score_adj.
const OOMScoreAdj = "900"

// The descriptors that the starter gives to the stage; detached mounts follow.
const (
	FDControl = 3 + iota // starter and PID 1
	FDSpawn              // starter and spawner; PID 1 only hands it on
	FDStat               // the starter's /proc/self/stat
	FDMounts             // the first detached mount
)

// The sockets of the egress proxy, inside. Both are served from outside; the
// second answers that names are not resolved here.
const (
	ProxyPort = 3128
	NamesPort = 53
)

// Trust is the folder inside that holds the session's certificates.
const Trust = "/fumehood/trust"

// TrustBundle is the file in it with all certificates that are to be trusted.
const TrustBundle = "bundle.pem"

// Places inside that are fumehood's own. Canary and Spawner are there only
// during the start.
const (
	Home          = "/fumehood/home"
	Spawner       = "/fumehood/spawner"
	Canary        = "/fumehood/canary"
	CanaryAllowed = Canary + "/allowed"
	CanaryDenied  = Canary + "/denied"
)

// Failure is a layer.Error on its way out of the stage.
type Failure struct {
	Layer layer.Name `json:"layer"`
	Op    string     `json:"op"`
	Errno int        `json:"errno"`
	Text  string     `json:"text"`
	Hint  string     `json:"hint,omitempty"`
}

// ToStage is a message from the starter to PID 1; exactly one field is set, but
// for Regroup, which goes with Plan.
type ToStage struct {
	Plan    []byte `json:"plan,omitempty"`    // as Plan.Encode makes it
	Regroup bool   `json:"regroup,omitempty"` // moved to its cgroup after its birth: the namespace is still to be made
	Lock    bool   `json:"lock,omitempty"`    // the canary was seen: close the rest
	Beat    bool   `json:"beat,omitempty"`
	Pause   int    `json:"pause,omitempty"`  // number of the pause, from 1
	Resume  int    `json:"resume,omitempty"` // number of the pause that ends
}

// FromStage is a message from PID 1 to the starter; exactly one field is set, but
// for Reached, which goes with Locked.
type FromStage struct {
	Failure *Failure `json:"failure,omitempty"`
	Spawner int      `json:"spawner,omitempty"` // started, by its PID inside
	Locked  bool     `json:"locked,omitempty"`
	Reached bool     `json:"reached,omitempty"` // what was left out let PID 1 through
	Paused  *Answer  `json:"paused,omitempty"`
	Resumed *Answer  `json:"resumed,omitempty"`
}

// Answer is the answer to a pause or a resume.
type Answer struct {
	Number int    `json:"number"`
	Err    string `json:"err,omitempty"`
}

// ToSpawner is a request to the spawner.
type ToSpawner struct {
	ID     uint64 `json:"id"` // of the process, chosen by the starter
	Spawn  *Spawn `json:"spawn,omitempty"`
	Signal int    `json:"signal,omitempty"`
}

// Spawn is one command to start.
type Spawn struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// TTY asks for a pty; without it three descriptors are beside the request.
	TTY  bool   `json:"tty"`
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// FromSpawner is what the spawner reports. Nothing in it is believed without
// a look from outside where it matters.
type FromSpawner struct {
	ID      uint64      `json:"id,omitempty"`
	Canary  *CanaryTold `json:"canary,omitempty"`
	Started *Started    `json:"started,omitempty"`
	Ended   *Ended      `json:"ended,omitempty"`
}

// CanaryTold is the errno of each of the two attempts; 0 is success. Wait is that
// of waiting for a process as the spawner waits for commands.
type CanaryTold struct {
	Allowed int `json:"allowed"`
	Denied  int `json:"denied"`
	Wait    int `json:"wait"`
}

// Started says that a command runs, or why it does not: Code is then 126 or
// 127. A pty master is beside it when one was asked for.
type Started struct {
	PID  int    `json:"pid,omitempty"`
	Code int    `json:"code,omitempty"`
	Err  string `json:"err,omitempty"`
}

// Ended says how a command ended.
type Ended struct {
	Code   int `json:"code"`
	Signal int `json:"signal"`
}

// The longest message in each direction, in bytes. A command line with its
// environment may take what the kernel takes, and JSON can double it.
const (
	MaxToStage     = 1 << 20
	MaxFromStage   = 64 << 10
	MaxToSpawner   = 8 << 20
	MaxFromSpawner = 64 << 10
)
