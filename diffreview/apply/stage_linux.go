package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// maxNameless bounds the files that are held open without a name. More than
// that are written under their temporary names at once.
const maxNameless = 128

// staged is new content, complete and synced, not yet at its place.
type staged struct {
	file *os.File // without a name yet; nil when it stands at the move's Temp
}

// stage writes a move's new content beside its place. A file gets no name
// where the file system can do that, so that a kill leaves nothing behind; a
// symlink is only made when it is needed.
func (t *tree) stage(ctx context.Context, m move, from Store, nameless, sync bool) (*staged, []PathWhy, error) {
	if m.To.Kind != diffreview.KindFile {
		return &staged{}, nil, nil
	}
	f, named, err := t.create(m.Temp, nameless)
	if gone(err) {
		return nil, nil, &folderError{err}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("write beside %q: %w", m.Path, err)
	}
	notes, err := t.fill(ctx, f, m, from, sync)
	if err != nil {
		_ = f.Close()
		return nil, nil, fmt.Errorf("write beside %q: %w", m.Path, err)
	}
	if !named {
		return &staged{file: f}, notes, nil
	}
	if err := f.Close(); err != nil {
		return nil, nil, fmt.Errorf("write beside %q: %w", m.Path, err)
	}
	return &staged{}, notes, nil
}

// folderError: the folder to write in was moved away or replaced.
type folderError struct{ err error }

func (e *folderError) Error() string { return "its folder is gone: " + e.err.Error() }
func (e *folderError) Unwrap() error { return e.err }

func (t *tree) create(temp string, nameless bool) (f *os.File, named bool, _ error) {
	if nameless {
		fd, err := t.open(parentOf(temp), unix.O_RDWR|unix.O_TMPFILE, 0o600)
		if err == nil {
			return os.NewFile(uintptr(fd), temp), false, nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
			return nil, false, err
		}
	}
	fd, err := t.open(temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, err
	}
	return os.NewFile(uintptr(fd), temp), true, nil
}

// fill gives a new file content, owner, attributes, mode and time, in this
// order: a change of owner clears mode bits, and a list of access rights is
// part of the mode.
func (t *tree) fill(ctx context.Context, f *os.File, m move, from Store, sync bool) ([]PathWhy, error) {
	if from == nil {
		return nil, errNoStore
	}
	if _, err := copyBlob(ctx, from, m.To.Blob, f); err != nil {
		return nil, err
	}
	var notes []PathWhy
	note, err := t.own(f, m)
	if err != nil {
		return nil, err
	}
	if note != "" {
		notes = append(notes, PathWhy{m.Path, note})
	}
	if m.From.Kind == diffreview.KindFile {
		if err := t.attributes(f, m.Path); err != nil {
			return nil, err
		}
	}
	err = control(f, func(fd int) error {
		if err := unix.Fchmod(fd, m.To.Mode); err != nil {
			return fmt.Errorf("set the mode: %w", err)
		}
		if m.To.Restore {
			if err := unix.UtimesNanoAt(unix.AT_FDCWD, procFD(fd), mtime(m.To), 0); err != nil {
				return fmt.Errorf("set the time: %w", err)
			}
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Mode&0o7777 != m.To.Mode {
			return fmt.Errorf("the file system does not keep modes: wanted %04o, got %04o", m.To.Mode, st.Mode&0o7777)
		}
		if sync {
			return unix.Fsync(fd)
		}
		return nil
	})
	return notes, err
}

// own keeps an existing file's owner and group, and gives a new file those of
// its folder when root writes. An ordinary user can't give files away: then
// the change of owner is a note.
func (t *tree) own(f *os.File, m move) (note string, _ error) {
	var st unix.Stat_t
	if err := fstat(f, &st); err != nil {
		return "", err
	}
	uid, gid := m.To.UID, m.To.GID
	root := os.Geteuid() == 0
	if m.From.absent() && !m.To.Restore {
		if !root {
			return "", nil
		}
		up, err := t.lstatDir(parentOf(m.Temp))
		if err != nil {
			return "", err
		}
		uid, gid = up.Uid, up.Gid
	}
	if uid == st.Uid && gid == st.Gid {
		return "", nil
	}
	err := control(f, func(fd int) error {
		if root {
			return unix.Fchown(fd, int(uid), int(gid))
		}
		return unix.Fchown(fd, -1, int(gid))
	})
	switch {
	case root && err != nil:
		return "", fmt.Errorf("keep the owner: %w", err)
	case err != nil:
		return fmt.Sprintf("its group was %d and is now %d: %v", gid, st.Gid, err), nil
	case !root && uid != st.Uid:
		return fmt.Sprintf("its owner was %d and is now %d", uid, st.Uid), nil
	}
	return "", nil
}

func (t *tree) lstatDir(rel string) (*unix.Stat_t, error) {
	fd, err := t.dir(rel)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	return &st, nil
}

const maxAttributes = 64 << 10 // bytes of a list of names, or of one value

// attributes copies the user's own extended attributes and the list of access
// rights. Without the latter a mode's group bits, which are only its mask,
// would suddenly be the group's rights. Capabilities are never copied: they
// were given to the old bytes.
func (t *tree) attributes(to *os.File, rel string) error {
	f, _, err := t.file(rel)
	if err != nil {
		return err
	}
	defer f.Close()
	var n int
	err = control(f, func(fd int) (err error) { n, err = unix.Flistxattr(fd, nil); return err })
	if err == nil && n == 0 || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	names := make([]byte, maxAttributes)
	err = control(f, func(fd int) (err error) { n, err = unix.Flistxattr(fd, names); return err })
	if err != nil {
		return fmt.Errorf("list extended attributes: %w", err)
	}
	for _, name := range strings.Split(string(names[:n]), "\x00") {
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" {
			continue
		}
		value := make([]byte, maxAttributes)
		err := control(f, func(fd int) (err error) { n, err = unix.Fgetxattr(fd, name, value); return err })
		if err == nil {
			err = control(to, func(fd int) error { return unix.Fsetxattr(fd, name, value[:n], 0) })
		}
		if err != nil {
			return fmt.Errorf("copy extended attribute %q: %w", name, err)
		}
	}
	return nil
}

// name gives staged content a name that nothing may stand at.
func (t *tree) name(s *staged, m move, rel string) error {
	fd, err := t.dir(parentOf(rel))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	switch {
	case m.To.Kind == diffreview.KindSymlink:
		return t.link(fd, m, t.base(rel))
	case s.file != nil:
		err := control(s.file, func(src int) error {
			return unix.Linkat(unix.AT_FDCWD, procFD(src), fd, t.base(rel), unix.AT_SYMLINK_FOLLOW)
		})
		if err == nil {
			// Closed at once: while it is open for writing nobody could tell
			// our descriptor from another program's.
			err = s.file.Close()
			s.file = nil
		}
		return err
	case rel == m.Temp:
		return nil // written there
	}
	return t.place(m.Temp, rel)
}

func (t *tree) link(dirfd int, m move, name string) error {
	if err := unix.Symlinkat(string(m.To.Target), dirfd, name); err != nil {
		return err
	}
	if m.To.Restore {
		if err := unix.UtimesNanoAt(dirfd, name, mtime(m.To), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := m.To.UID, m.To.GID
	if m.From.absent() && !m.To.Restore {
		var st unix.Stat_t
		if err := unix.Fstat(dirfd, &st); err != nil {
			return err
		}
		uid, gid = st.Uid, st.Gid
	}
	return unix.Fchownat(dirfd, name, int(uid), int(gid), unix.AT_SYMLINK_NOFOLLOW)
}

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// mtime leaves the access time alone.
func mtime(s state) []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(s.Mtime)}
}

func (s *staged) drop() {
	if s != nil && s.file != nil {
		_ = s.file.Close() // without a name: the content is gone, as it should be
		s.file = nil
	}
}

// control runs a call on a file's descriptor without taking it over.
func control(f *os.File, call func(fd int) error) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var cerr error
	if err := rc.Control(func(fd uintptr) { cerr = call(int(fd)) }); err != nil {
		return err
	}
	return cerr
}
