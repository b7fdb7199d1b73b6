package plan

import "fumehood/isolate/layer"

// Version is that of the plan and of the messages. The stage is the same
// binary as its starter, so another version means a mixed installation.
const Version = 1

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
	Mask     Action = "mask"      // cover the file Target by /dev/null
	Program  Action = "program"   // bind fumehood's own program Source read-only, or copy it
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
}

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
	// Nonce is the file that the canary makes.
	Nonce string
}

// The descriptors that the starter gives to the stage; detached mounts follow.
const (
	FDControl = 3 + iota // starter and PID 1
	FDSpawn              // starter and spawner; PID 1 only hands it on
	FDStat               // the starter's /proc/self/stat
	FDMounts             // the first detached mount
)

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

// ToStage is a message from the starter to PID 1; exactly one field is set.
type ToStage struct {
	Plan   []byte `json:"plan,omitempty"` // as Plan.Encode makes it
	Lock   bool   `json:"lock,omitempty"` // the canary was seen: close the rest
	Beat   bool   `json:"beat,omitempty"`
	Pause  int    `json:"pause,omitempty"`  // number of the pause, from 1
	Resume int    `json:"resume,omitempty"` // number of the pause that ends
}

// FromStage is a message from PID 1 to the starter; exactly one field is set.
type FromStage struct {
	Failure *Failure `json:"failure,omitempty"`
	Spawner int      `json:"spawner,omitempty"` // started, by its PID inside
	Locked  bool     `json:"locked,omitempty"`
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

// CanaryTold is the errno of each of the two attempts; 0 is success.
type CanaryTold struct {
	Allowed int `json:"allowed"`
	Denied  int `json:"denied"`
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
