package trace

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxFilters bounds how many filters of one process are read.
const maxFilters = 32

// Filters reads the seccomp filters of a process out of the kernel, the newest
// first. The caller needs CAP_SYS_ADMIN and no filter of its own, and the kernel
// CONFIG_CHECKPOINT_RESTORE: else it is EACCES or EIO (ptrace(2)).
func Filters(pid int) ([][]unix.SockFilter, error) {
	type answer struct {
		list [][]unix.SockFilter
		err  error
	}
	got := make(chan answer)
	go func() {
		runtime.LockOSThread() // a tracer is a thread; it ends with this, and detaches what it traces
		list, err := filters(pid)
		got <- answer{list, err}
	}()
	a := <-got
	if a.err != nil {
		return nil, fmt.Errorf("read the filters of process %d: %w", pid, a.err)
	}
	return a.list, nil
}

func filters(pid int) (list [][]unix.SockFilter, err error) {
	if err := ptrace(unix.PTRACE_SEIZE, pid, 0, 0); err != nil {
		return nil, err
	}
	if err := ptrace(unix.PTRACE_INTERRUPT, pid, 0, 0); err != nil {
		return nil, err
	}
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(pid, &ws, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !ws.Stopped() {
			return nil, unix.ESRCH
		}
		break
	}
	defer func() {
		if e := ptrace(unix.PTRACE_DETACH, pid, 0, 0); e != nil && !errors.Is(e, unix.ESRCH) {
			err = errors.Join(err, e)
		}
	}()
	for i := range uintptr(maxFilters) {
		n, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SECCOMP_GET_FILTER, uintptr(pid), i, 0, 0, 0)
		if errors.Is(e, unix.ENOENT) {
			return list, nil
		}
		if e != 0 {
			return nil, e
		}
		program := make([]unix.SockFilter, max(n, 1))
		if err := ptrace(unix.PTRACE_SECCOMP_GET_FILTER, pid, i, uintptr(unsafe.Pointer(&program[0]))); err != nil {
			return nil, err
		}
		list = append(list, program[:n])
	}
	return nil, fmt.Errorf("more than %d filters", maxFilters)
}
