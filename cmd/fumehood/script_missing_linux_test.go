package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lacking is kernels that lack one thing: a call that is answered with an errno
// when one of its arguments is what it says.
var lacking = map[string]struct {
	call  uint32
	arg   int // -1: whatever they are
	val   uint32
	errno syscall.Errno
}{
	"namespaces":       {unix.SYS_CLONE, 0, namespacesOfStart, syscall.EPERM},
	"more-namespaces":  {unix.SYS_CLONE, 0, namespacesOfStart, syscall.ENOSPC},
	"mounts":           {unix.SYS_MOVE_MOUNT, -1, 0, syscall.EACCES},
	"pivot_root":       {unix.SYS_PIVOT_ROOT, -1, 0, syscall.EPERM},
	"landlock":         {unix.SYS_LANDLOCK_CREATE_RULESET, -1, 0, syscall.EOPNOTSUPP},
	"landlock-in-time": {unix.SYS_LANDLOCK_RESTRICT_SELF, -1, 0, syscall.E2BIG},
	"seccomp":          {unix.SYS_SECCOMP, -1, 0, syscall.ENOSYS},
	"close_range":      {unix.SYS_CLOSE_RANGE, -1, 0, syscall.ENOSYS},
	"limits":           {unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NPROC, syscall.EPERM},
	"clone3":           {unix.SYS_CLONE3, -1, 0, syscall.ENOSYS}, // which nothing here needs
}

// namespacesOfStart is the first argument of the clone that makes process 1.
const namespacesOfStart = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_PIDFD | uint32(syscall.SIGCHLD)

// without WHAT COMMAND...: becomes the command on a kernel that lacks WHAT.
func without(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: without WHAT COMMAND [ARG]")
	}
	l, ok := lacking[args[0]]
	if !ok {
		return fmt.Errorf("without: %q is not known", args[0])
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	const ld, jeq, ret, allow, answer = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000
	prog := []unix.SockFilter{
		{Code: ld, K: 0},
		{Code: jeq, Jf: 3, K: l.call},
		{Code: ld, K: uint32(16 + 8*max(l.arg, 0))},
		{Code: jeq, Jf: 1, K: l.val},
		{Code: ret, K: answer | uint32(l.errno)},
		{Code: ret, K: allow},
	}
	if l.arg < 0 {
		prog = []unix.SockFilter{prog[0], {Code: jeq, Jf: 1, K: l.call}, prog[4], prog[5]}
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if _, _, e := syscall.RawSyscall(unix.SYS_SECCOMP, 1, 0, uintptr(unsafe.Pointer(&fprog))); e != 0 {
		return e
	}
	return syscall.Exec(path, args[1:], os.Environ())
}
