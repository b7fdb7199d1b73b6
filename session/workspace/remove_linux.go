package workspace

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Remove takes a session's folder away, with whatever the inside left in it:
// folders without permission, links (removed, never followed), special files.
// It stays on one mount. A folder that is not there is no error.
func Remove(path string) error {
	parent, err := unix.Open(filepath.Dir(path), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %q: %w", path, err)
	}
	defer unix.Close(parent) // a folder
	if err := removeTree(parent, filepath.Base(path)); err != nil {
		return fmt.Errorf("remove %q: %w", path, err)
	}
	return nil
}

// level is one open folder on the way down; its names are read in full before
// the first is removed, since removing moves the position.
type level struct {
	fd    int
	name  string
	names []string
}

// removeTree removes name in parent without recursion: a hostile tree may be
// deeper than any stack. Descriptors are limited too, so that below a certain
// depth a folder is moved up before it is entered.
func removeTree(parent int, name string) error {
	err := unix.Unlinkat(parent, name, 0)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		return err
	}
	top, err := enter(parent, name)
	if err != nil {
		return err
	}
	stack := []level{top}
	defer func() {
		for _, l := range stack {
			_ = unix.Close(l.fd) // folders
		}
	}()
	moved := 0
	for len(stack) > 0 {
		l := &stack[len(stack)-1]
		if len(l.names) == 0 {
			up := parent
			if len(stack) > 1 {
				up = stack[len(stack)-2].fd
			}
			// Something moved up here meanwhile is found by a second look.
			if err := unix.Unlinkat(up, l.name, unix.AT_REMOVEDIR); err != nil {
				if !errors.Is(err, unix.ENOTEMPTY) {
					return err
				}
				if l.names, err = namesIn(l.fd); err != nil {
					return err
				}
				continue
			}
			_ = unix.Close(l.fd) // a folder
			stack = stack[:len(stack)-1]
			continue
		}
		n := l.names[len(l.names)-1]
		l.names = l.names[:len(l.names)-1]
		err := unix.Unlinkat(l.fd, n, 0)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			continue
		case !errors.Is(err, unix.EISDIR):
			return fmt.Errorf("%q: %w", n, err)
		}
		if len(stack) >= 200 {
			moved++
			if err := unix.Renameat(l.fd, n, stack[0].fd, fmt.Sprintf(".deep-%d", moved)); err == nil {
				continue
			}
		}
		sub, err := enter(l.fd, n)
		if err != nil {
			return fmt.Errorf("%q: %w", n, err)
		}
		stack = append(stack, sub)
	}
	return nil
}

// enter opens a folder, gives us all rights on it, and reads its names.
func enter(parent int, name string) (level, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	fd, err := unix.Openat2(parent, name, &how)
	if err != nil {
		return level{}, err
	}
	_ = unix.Close(fd) // only to see that it is a folder on this mount
	how.Flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err = unix.Openat2(parent, name, &how)
	if errors.Is(err, unix.EACCES) {
		if err := unix.Fchmodat(parent, name, 0o700, 0); err != nil {
			return level{}, err
		}
		fd, err = unix.Openat2(parent, name, &how)
	}
	if err != nil {
		return level{}, err
	}
	if err := unix.Fchmod(fd, 0o700); err != nil {
		_ = unix.Close(fd)
		return level{}, err
	}
	names, err := namesIn(fd)
	if err != nil {
		_ = unix.Close(fd)
		return level{}, err
	}
	return level{fd: fd, name: name, names: names}, nil
}

func namesIn(fd int) ([]string, error) {
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return nil, err
	}
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
