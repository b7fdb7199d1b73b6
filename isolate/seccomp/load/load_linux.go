package load

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Filter is a compiled filter, ready for the kernel.
type Filter struct {
	code []unix.SockFilter
	prog unix.SockFprog
}

// Of takes a program over.
func Of(raw []bpf.RawInstruction) *Filter {
	f := &Filter{code: make([]unix.SockFilter, len(raw))}
	for i, r := range raw {
		f.code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	f.prog = unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	return f
}

const (
	setModeFilter = 1
	tSync         = 1
)

// Thread puts the filter in force on the calling thread alone, which must have
// no_new_privs.
func (f *Filter) Thread() error {
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, setModeFilter, 0, uintptr(unsafe.Pointer(&f.prog)))
	runtime.KeepAlive(f)
	if e != 0 {
		return e
	}
	return nil
}

// AllThreads puts the filter in force on every thread of this process, and
// no_new_privs, which the calling thread must have, with it. The kernel refuses
// as long as one thread has another filter: the spawner's parent, which may
// still be about to end.
func (f *Filter) AllThreads() error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		tid, _, e := unix.RawSyscall(unix.SYS_SECCOMP, setModeFilter, tSync, uintptr(unsafe.Pointer(&f.prog)))
		runtime.KeepAlive(f)
		if e != 0 {
			return e
		}
		if tid == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("thread %d does not end", tid)
		}
		time.Sleep(100 * time.Microsecond)
	}
}
