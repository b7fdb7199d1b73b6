package stage

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
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
	if err := dropBounding(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return at(layer.Identity, "prctl PR_CAP_AMBIENT_CLEAR_ALL", err)
	}
	none := noCaps()
	if err := unix.Capset(&none.header, &none.data[0]); err != nil {
		return at(layer.Identity, "capset", err)
	}
	// Set-user-id programs give nothing, and an unprivileged filter is allowed.
	return wrap(layer.Identity, "prctl PR_SET_NO_NEW_PRIVS", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
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

// dropAllThreads does the same to PID 1. The bounding set is that of the main
// thread alone: the others can't exec anything that no_new_privs would not
// bind, and one call for each capability on each thread costs milliseconds.
func dropAllThreads() error {
	if err := dropBounding(); err != nil {
		return err
	}
	none := noCaps()
	for _, c := range []struct {
		op   string
		trap uintptr
		a    [5]uintptr
	}{
		{"prctl PR_SET_NO_NEW_PRIVS", unix.SYS_PRCTL, [5]uintptr{unix.PR_SET_NO_NEW_PRIVS, 1}},
		{"prctl PR_CAP_AMBIENT_CLEAR_ALL", unix.SYS_PRCTL, [5]uintptr{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL}},
		{"capset", unix.SYS_CAPSET, [5]uintptr{uintptr(unsafe.Pointer(&none.header)), uintptr(unsafe.Pointer(&none.data[0]))}},
	} {
		_, _, e := syscall.AllThreadsSyscall6(c.trap, c.a[0], c.a[1], c.a[2], c.a[3], c.a[4], 0)
		if e == unix.ENOTSUP {
			return &layer.Error{Layer: layer.Identity, Op: c.op + " on all threads", Err: e, Hint: "this fumehood was built with cgo; build it with CGO_ENABLED=0"}
		}
		if e != 0 {
			return at(layer.Identity, c.op+" on all threads", e)
		}
	}
	runtime.KeepAlive(none)
	return nil
}
