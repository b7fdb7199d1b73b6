package stage

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
	"fumehood/isolate/seccomp"
)

// filter is a compiled system call filter, ready for the kernel.
type filter struct {
	code []unix.SockFilter
	prog unix.SockFprog
}

// compileFilter gives nil when the filter itself is left out.
func compileFilter(p *plan.Plan) (*filter, error) {
	compile, table := seccomp.Compile, seccomp.Table()
	switch {
	case p.Omit == plan.Filter:
		return nil, nil
	case p.Omit == plan.ForeignABIs:
		compile = seccomp.CompileForeign
	case p.Omit == plan.FilterGroup:
		table = seccomp.TableWithout(seccomp.Group(p.Group))
	}
	raw, err := compile(seccomp.Native(), table)
	if err != nil {
		return nil, at(layer.Seccomp, "compile", err)
	}
	f := &filter{code: make([]unix.SockFilter, len(raw))}
	for i, r := range raw {
		f.code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	f.prog = unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	return f, nil
}

const (
	seccompSetModeFilter = 1
	seccompTSync         = 1
)

// load puts the filter in force on the calling thread alone.
func (f *filter) load() error {
	if f == nil {
		return nil
	}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, seccompSetModeFilter, 0, uintptr(unsafe.Pointer(&f.prog)))
	runtime.KeepAlive(f)
	return wrap(layer.Seccomp, "set_mode_filter", errno(e))
}

// filterAllThreads puts the filter in force on every thread of this process,
// and no_new_privs with it. The kernel refuses as long as one thread has
// another filter: the spawner's parent, which may still be about to end.
func filterAllThreads(f *filter) error {
	if f == nil {
		_, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
		return wrap(layer.Identity, "prctl PR_SET_NO_NEW_PRIVS on all threads", errno(e))
	}
	deadline := time.Now().Add(5 * time.Second)
	for {
		tid, _, e := unix.RawSyscall(unix.SYS_SECCOMP, seccompSetModeFilter, seccompTSync, uintptr(unsafe.Pointer(&f.prog)))
		runtime.KeepAlive(f)
		if e != 0 {
			return at(layer.Seccomp, "set_mode_filter on all threads", e)
		}
		if tid == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return at(layer.Seccomp, "set_mode_filter on all threads", fmt.Errorf("thread %d does not end", tid))
		}
		time.Sleep(100 * time.Microsecond)
	}
}
