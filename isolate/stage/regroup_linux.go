package stage

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// regroup makes a cgroup namespace with the group as its root in which PID 1 is
// now, and takes every thread there: the spawner is started from another.
func regroup() error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil { // of the calling, the main thread
		return err
	}
	fd, err := unix.Open("/proc/thread-self/ns/cgroup", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, _, e := syscall.AllThreadsSyscall(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWCGROUP, 0)
	return errors.Join(errno(e), unix.Close(fd))
}
