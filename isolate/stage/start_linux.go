package stage

import (
	"fmt"
	"runtime"
	"syscall"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/seccomp/load"
)

// startSpawner starts the spawner from a thread that first closes Landlock,
// identity and filter around itself. The child has them from its first
// instruction, PID 1's other threads don't. The thread ends with its goroutine,
// which is locked to it and never unlocked; the runtime makes new threads from
// a clean one, so none inherits from it.
func startSpawner(rules ruleset, f *load.Filter, nonce string) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		pid, err = enterDomain(rules, f, nonce)
	}()
	<-done
	return pid, err
}

func enterDomain(rules ruleset, f *load.Filter, nonce string) (int, error) {
	null, err := openNull()
	if err != nil {
		return 0, at(layer.Identity, "open /dev/null", err)
	}
	filter := func() error { return filterThread(f) }
	order := []func() error{dropThread, rules.enforce, filter}
	if leftOut == plan.NoNewPrivs {
		order = []func() error{rules.enforce, filter, dropThread} // as in closeWalls
	}
	for _, do := range order {
		if err := do(); err != nil {
			return 0, err
		}
	}
	pid, err := syscall.ForkExec(plan.Spawner, []string{"fumehood", argSpawner}, &syscall.ProcAttr{
		Dir: "/",
		// One processor is enough for both, and each has fewer threads so.
		Env:   []string{envNonce + "=" + nonce, "GOMAXPROCS=1"},
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), plan.FDSpawn},
	})
	if err != nil {
		return 0, at(layer.Landlock, "start spawner", fmt.Errorf("exec of fumehood itself: %w", err))
	}
	return pid, nil
}

// envNonce names the file that the canary makes. It is no secret: the canary
// is out of reach when the first command starts.
const envNonce = "FUMEHOOD_CANARY"

func openNull() (int, error) {
	return syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
}
