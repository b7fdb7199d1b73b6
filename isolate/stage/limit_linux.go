package stage

import (
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// limit binds the spawner, hence every command. Processes are counted in the
// session's own user namespace. There is no bound on address space: runtimes
// reserve far more of it than they use.
func limit(pid int, l plan.Limits) error {
	set := func(name string, resource int, value uint64) error {
		var now unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
			return at(layer.Limits, "prlimit "+name, err)
		}
		value = min(value, now.Max) // the account's own may be tighter
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return at(layer.Limits, fmt.Sprintf("prlimit %s %d", name, value), err)
		}
		return nil
	}
	if err := unless(plan.LimitCore, func() error { return set("core", unix.RLIMIT_CORE, 0) }); err != nil {
		return err
	}
	if l.Processes > 0 {
		if err := set("processes", unix.RLIMIT_NPROC, l.Processes+plan.OwnThreads); err != nil {
			return err
		}
	}
	if l.Data > 0 {
		if err := set("data", unix.RLIMIT_DATA, l.Data); err != nil {
			return err
		}
	}
	if l.OpenFiles > 0 {
		if err := set("open files", unix.RLIMIT_NOFILE, l.OpenFiles); err != nil {
			return err
		}
	}
	if l.FileSize > 0 {
		return set("file size", unix.RLIMIT_FSIZE, l.FileSize)
	}
	return nil
}
