package stage

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

type capSet struct {
	header unix.CapUserHeader
	data   [2]unix.CapUserData
}

func noCaps() *capSet {
	return &capSet{header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
}

// dropThread takes every capability from the calling thread, for good: also
// from the bounding set, so that no exec brings one back.
func dropThread() error {
	if err := unless(plan.BoundingSet, dropBounding); err != nil {
		return err
	}
	if err := unless(plan.Capabilities, dropHeld); err != nil {
		return err
	}
	// Set-user-id programs give nothing, and an unprivileged filter is allowed.
	return wrap(layer.Identity, "prctl PR_SET_NO_NEW_PRIVS", unless(plan.NoNewPrivs, func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }))
}

func dropHeld() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return at(layer.Identity, "prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	none := noCaps()
	return wrap(layer.Identity, "capset", unix.Capset(&none.header, &none.data[0]))
}

// dropBounding asks the kernel up to which number it has capabilities.
func dropBounding() error {
	for c := uintptr(0); ; c++ {
		have, _, e := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		if e == unix.EINVAL {
			return nil // the first that does not exist
		}
		if e == 0 && have == 1 {
			_, _, e = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		}
		if e != 0 {
			return at(layer.Identity, fmt.Sprintf("prctl PR_CAPBSET_DROP %d", c), e)
		}
	}
}

// dropAllThreads does the same to PID 1; no_new_privs comes with the filter.
// Without permitted capabilities there are no ambient ones either. The bounding
// set is that of the main thread alone: no exec of another could gain what
// no_new_privs does not let it, and one call for each capability on each thread
// costs milliseconds.
func dropAllThreads() error {
	if err := dropThread(); err != nil {
		return err
	}
	if leftOut == plan.Capabilities {
		return nil
	}
	none := noCaps()
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&none.header)), uintptr(unsafe.Pointer(&none.data[0])), 0)
	runtime.KeepAlive(none)
	if e == unix.ENOTSUP {
		return &layer.Error{Layer: layer.Identity, Op: "capset on all threads", Err: e, Hint: "this fumehood was built with cgo; build it with CGO_ENABLED=0"}
	}
	return wrap(layer.Identity, "capset on all threads", errno(e))
}
