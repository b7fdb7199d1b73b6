package confine

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/seccomp"
	"fumehood/isolate/seccomp/load"
)

// Keep is what a process keeps.
type Keep struct {
	// Folders can be read and written, with all below them; one that is not there
	// is passed over. Without any, nothing can be opened.
	Folders []string
	// Sockets leaves unix sockets: to speak to a supervisor.
	Sockets bool
}

// NoLandlock is said where the kernel has no Landlock.
const NoLandlock = "this kernel has no Landlock, or it is off: what is read here is held by the filter of system calls alone (\"fumehood doctor\" says what helps)"

// Process confines this process to what it keeps, without a way back. What the
// kernel can't add is said in lacks. After an error the process must end: some of
// it may be in force.
func Process(k Keep) (lacks string, err error) {
	// The time zone is read when it is first asked for.
	_, _ = time.Now().Zone()
	raw, err := seccomp.Compile(seccomp.Native(), rows(k, uint32(os.Getpid())))
	if err != nil {
		return "", &layer.Error{Layer: layer.Seccomp, Op: "compile", Err: err}
	}
	// No other process of the account may trace this one or read its memory without
	// asking, and a crash leaves no image on disk (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return "", &layer.Error{Layer: layer.Identity, Op: "make this process non-dumpable", Err: err}
	}
	switch abi, err := ll.LandlockGetABIVersion(); {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		lacks = NoLandlock
	case err != nil:
		return "", &layer.Error{Layer: layer.Landlock, Op: "ask for the ABI", Err: err}
	default:
		if err := restrict(k, abi); err != nil {
			return "", &layer.Error{Layer: layer.Landlock, Op: "confine this process", Err: err}
		}
	}
	return lacks, filter(raw)
}

// netABI is the first with rights for TCP. They are a second refusal here, where
// there is no network namespace (decision 0006 is about where there is one).
const netABI = 4

func restrict(k Keep, abi int) error {
	all := landlock.AccessFSSet(plan.Handled(abi).FS)
	cfg := landlock.Config{HandledAccessFS: all}
	if abi >= netABI {
		cfg.HandledAccessNet = landlock.AccessNetSet(ll.AccessNetBindTCP | ll.AccessNetConnectTCP)
	}
	var rules []landlock.Rule
	for _, dir := range k.Folders {
		rules = append(rules, landlock.PathAccess(all&^(ll.AccessFSExecute|ll.AccessFSMakeChar|ll.AccessFSMakeBlock), dir).IgnoreIfMissing())
	}
	return cfg.Restrict(rules...)
}

func filter(raw []bpf.RawInstruction) error {
	// The kernel takes a filter from a thread with no_new_privs, and gives both to
	// the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return &layer.Error{Layer: layer.Identity, Op: "set no_new_privs", Err: err}
	}
	if err := load.Of(raw).AllThreads(); err != nil {
		return &layer.Error{Layer: layer.Seccomp, Op: "set_mode_filter on all threads", Err: err}
	}
	return nil
}
