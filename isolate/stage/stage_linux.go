package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/wire"
)

// exitRefused is what a stage exits with that could not close a layer; the
// reason has gone to the starter before.
const exitRefused = 125

// runStage is the life of PID 1.
func runStage() int {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "fumehood: this is run by fumehood itself, as the first process of a sandbox")
		return exitRefused
	}
	ctl, err := wire.New(plan.FDControl, "control", plan.MaxToStage)
	if err != nil {
		return exitRefused // there is nobody to tell
	}
	s, err := closeWalls(ctl)
	if err != nil {
		_ = ctl.Send(plan.FromStage{Failure: plan.Fail(err)}) // the starter sees the end of file at the latest
		return exitRefused
	}
	return s.watch()
}

// closeWalls goes from outside in. The order is the point: each step needs what
// the later ones take away.
func closeWalls(ctl *wire.Conn) (*first, error) {
	var msg plan.ToStage
	if _, err := ctl.Recv(&msg); err != nil {
		return nil, at(layer.Namespaces, "read plan", err)
	}
	p, err := plan.Decode(msg.Plan)
	if err != nil {
		return nil, at(layer.Namespaces, "read plan", err)
	}
	leftOut = p.Omit
	// An open descriptor passes every wall: none goes on to the spawner.
	if err := unless(plan.Descriptors, func() error { return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }); err != nil {
		return nil, at(layer.Identity, "close_range", err)
	}

	if err := unless(plan.Signals, defaultSignals); err != nil {
		return nil, at(layer.Identity, "rt_sigaction", err)
	}

	// Namespaces: the starter made them, but for one whose place was not known
	// before PID 1 was there to be put in it. Their content is made here, and while
	// the host's root is still there to take things from.
	if msg.Regroup {
		if err := unless(plan.CgroupNS, regroup); err != nil {
			return nil, at(layer.Namespaces, "unshare the cgroup namespace", err)
		}
	}
	if err := buildRoot(p); err != nil {
		return nil, err
	}
	if err := enterRoot(); err != nil {
		return nil, err
	}
	if err := settle(p.Hostname); err != nil {
		return nil, err
	}

	// The ruleset is made by path, so after the mounts; it is put in force on
	// one thread only, the spawner's parent.
	ruleset, err := makeRuleset(p.Landlock)
	if err != nil {
		return nil, err
	}
	filter, err := compileFilter(p)
	if err != nil {
		return nil, err
	}
	outside, err := listenOutside(p.Nonce)
	if err != nil {
		return nil, at(layer.Landlock, "listen for the canary", err)
	}
	sockets, err := openEgress(p.Egress)
	if err != nil {
		return nil, at(layer.Namespaces, "open the egress proxy's sockets", err)
	}
	spawner, err := startSpawner(ruleset, filter, p.Nonce)
	if err != nil {
		return nil, err
	}
	// So that the starter sees the end of a spawner that doesn't come up.
	if err := unix.Close(plan.FDSpawn); err != nil {
		return nil, at(layer.Identity, "close the spawner's socket", err)
	}
	// PID 1 itself is not bound: in a fork bomb it still has to get a thread.
	if err := limit(spawner, p.Limits); err != nil {
		return nil, err
	}
	handed := append([]int{outside}, sockets...)
	if err := ctl.Send(plan.FromStage{Spawner: spawner}, handed...); err != nil {
		return nil, at(layer.Landlock, "report spawner", err)
	}
	for _, fd := range handed { // the starter has its own
		if err := unix.Close(fd); err != nil {
			return nil, at(layer.Landlock, "close a socket that was handed out", err)
		}
	}

	// This has no place in the order, so it is done while the spawner gets going.
	if err := unless(plan.Descriptors, closeOthers); err != nil {
		return nil, at(layer.Identity, "close inherited descriptors", err)
	}

	// The starter looks on the host for what the canary made, and for what it
	// must not have made.
	msg = plan.ToStage{}
	if _, err := ctl.Recv(&msg); err != nil || !msg.Lock {
		return nil, at(layer.Landlock, "wait for the canary to be seen", errors.Join(err, errors.New("the starter did not go on")))
	}
	// No command has run yet, and from here on the canary is out of reach.
	if err := unless(plan.HiddenCanary, func() error { return unix.Unmount(plan.Canary, unix.MNT_DETACH) }); err != nil {
		return nil, at(layer.Landlock, "umount "+plan.Canary, err)
	}
	if err := unless(plan.HiddenProgram, hideProgram); err != nil {
		return nil, err
	}

	// Unmounting was the last act that needed a capability. The filter last:
	// each call after it has to be one that is allowed.
	last := []func() error{dropAllThreads, func() error { return filterAllThreads(filter) }}
	if leftOut == plan.NoNewPrivs {
		slices.Reverse(last) // without it the kernel takes a filter only from who has a capability
	}
	for _, do := range last {
		if err := do(); err != nil {
			return nil, err
		}
	}
	if err := ctl.Send(plan.FromStage{Locked: true, Reached: reached(p)}); err != nil {
		return nil, at(layer.Seccomp, "report", err)
	}
	return &first{ctl: ctl, spawner: spawner}, nil
}

// settle is what remains to be set in the new namespaces.
func settle(hostname string) error {
	if err := unless(plan.UTSNS, func() error { return unix.Sethostname([]byte(hostname)) }); err != nil {
		return at(layer.Namespaces, "sethostname", err)
	}
	if err := unless(plan.NetNS, loopbackUp); err != nil {
		return at(layer.Namespaces, "bring loopback up", err)
	}
	// The sandbox is what the kernel should end first when memory is short.
	// The descriptor is of the new /proc, which the spawner may only read.
	if err := unless(plan.OOMScore, func() error { return writeFile("/proc/self/oom_score_adj", plan.OOMScoreAdj) }); err != nil {
		return at(layer.Limits, "write /proc/self/oom_score_adj", err)
	}
	// Others of the session must not read or trace PID 1, nor see its
	// environment; it has none, but for what the runtime keeps in memory.
	if err := unless(plan.Undumpable, func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }); err != nil {
		return at(layer.Identity, "prctl PR_SET_DUMPABLE", err)
	}
	return nil
}

func at(l layer.Name, op string, err error) error {
	var le *layer.Error
	if errors.As(err, &le) {
		return err
	}
	return &layer.Error{Layer: l, Op: op, Err: err}
}

// defaultSignals gives most signals their default action, behind the runtime's
// back. For PID 1 that means that they do nothing at all, whoever sends them.
// It also undoes what the starter's own parent had ignored, which would stay
// ignored across each exec, in the agent too. What remains is for the runtime.
func defaultSignals() error {
	// Kept while the runtime handles them; one that it found ignored, it leaves so.
	keep := plan.SignalsKept()
	const ignored = 1                                                // SIG_IGN
	var action, old struct{ handler, flags, restorer, mask uintptr } // all zero: the default
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig == unix.SIGKILL || sig == unix.SIGSTOP { // fixed
			continue
		}
		if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0); e != 0 {
			return fmt.Errorf("signal %d: %w", sig, e)
		}
		if keep&(1<<(sig-1)) != 0 && old.handler != ignored {
			continue
		}
		if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); e != 0 {
			return fmt.Errorf("signal %d: %w", sig, e)
		}
	}
	return nil
}

// closeOthers closes in PID 1 what came in from the starter's own parents, the
// detached mounts that are attached by now, and the ruleset. The runtime's own
// poller stays: what it opened it opened itself.
func closeOthers() error {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range dir {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return fmt.Errorf("descriptor %q: %w", e.Name(), err)
		}
		if fd < plan.FDMounts {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if errors.Is(err, os.ErrNotExist) || strings.HasPrefix(to, "anon_inode:[event") {
			continue // the one that listed the folder, or the poller
		}
		if err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func writeFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	return errors.Join(err, unix.Close(fd))
}

// errno is nil for success, for calls that are made raw.
func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}
