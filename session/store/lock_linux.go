package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock of a file, which it makes if need be, until the returned
// function or the end of the process.
func flock(path string, how int) (func(), error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock %q: %w", path, err)
	}
	for {
		err = unix.Flock(fd, how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = unix.Close(fd) // the first error is the one to tell
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return func() { _ = unix.Close(fd) }, nil // the lock goes with it in any case
}

// flockFile takes an open file's lock until the file is closed.
func flockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX) }

// locked tells whether a process holds the lock of a file. A lock that can't be
// looked at counts as held: what nobody may hold can be removed.
func locked(path string) bool {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) != nil
}
