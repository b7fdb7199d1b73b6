package apply

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// resolve is how every path below the root is looked up. A mount inside the
// repository is refused as well: names can't be swapped across it.
const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// tree is the repository's root, held open and known to be the pinned one.
// Folder descriptors are plain numbers, file descriptors are os.Files; the two
// never mix, or a finalizer could close a number that is in use again.
type tree struct {
	fd    int
	root  Root
	folds folding // of tests
}

// openTree opens the root and takes the lock that keeps applies of other
// sessions out of this repository. The lock is on the folder itself: it leaves
// nothing behind.
func openTree(r Root) (*tree, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(r.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return nil, &MovedError{Path: r.Path, Why: err.Error()}
		}
		return nil, fmt.Errorf("open repository %q: %w", r.Path, err)
	}
	t := &tree{fd: fd, root: r}
	if err := t.pinned(); err != nil {
		t.close()
		return nil, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{What: fmt.Sprintf("repository %q", r.Path)}
		}
		return nil, fmt.Errorf("lock repository %q: %w", r.Path, err)
	}
	return t, nil
}

// pinned compares root and git folder with the identity recorded at copy-in.
func (t *tree) pinned() error {
	var st unix.Stat_t
	if err := unix.Fstat(t.fd, &st); err != nil {
		return fmt.Errorf("stat repository %q: %w", t.root.Path, err)
	}
	if uint64(st.Dev) != t.root.Dev || st.Ino != t.root.Ino { //nolint:unconvert // Dev is 32 bits wide elsewhere
		return &MovedError{Path: t.root.Path, Why: "it is another folder than the one that was copied"}
	}
	if t.root.GitDir == "" {
		return nil
	}
	if err := unix.Stat(t.root.GitDir, &st); err != nil {
		return &MovedError{Path: t.root.GitDir, Why: err.Error()}
	}
	if uint64(st.Dev) != t.root.GitDev || st.Ino != t.root.GitIno { //nolint:unconvert // as above
		return &MovedError{Path: t.root.GitDir, Why: "the git folder is another one than at the time of the copy"}
	}
	return nil
}

// close gives the lock back before the descriptor: a child that is just being
// started may hold a copy of it for a moment, and the lock with it.
func (t *tree) close() {
	_ = unix.Flock(t.fd, unix.LOCK_UN) // a lock that was not taken is no loss
	_ = unix.Close(t.fd)
}

// open opens a path below the root.
func (t *tree) open(rel string, flags int, mode uint32) (int, error) {
	if rel = t.real(rel); rel == "" {
		rel = "."
	}
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: resolve}
	return retry(func() (int, error) { return unix.Openat2(t.fd, rel, &how) })
}

// base is the last name of a path.
func (t *tree) base(rel string) string { return baseOf(t.real(rel)) }

// dir opens a folder to work in; the caller closes it. O_PATH also opens a
// folder that may be entered but not listed.
func (t *tree) dir(rel string) (int, error) {
	fd, err := t.open(rel, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	if t.isGit(&st) {
		_ = unix.Close(fd)
		return -1, errGitFolder
	}
	return fd, nil
}

// isGit says whether a folder is the repository's own git folder, whatever its
// name.
func (t *tree) isGit(st *unix.Stat_t) bool {
	return t.root.GitDir != "" && uint64(st.Dev) == t.root.GitDev && st.Ino == t.root.GitIno //nolint:unconvert // as above
}

// file opens a regular file for reading. It never blocks: not on a fifo, not
// on another program's lease.
func (t *tree) file(rel string) (*os.File, *unix.Stat_t, error) {
	fd, err := t.open(rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), rel)
	var st unix.Stat_t
	if err := fstat(f, &st); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = f.Close()
		return nil, nil, errNotRegular
	}
	return f, &st, nil
}

var errNotRegular = errors.New("is no regular file")

// lstat looks at a path without following or opening it.
func (t *tree) lstat(rel string) (*unix.Stat_t, error) {
	fd, err := t.dir(parentOf(rel))
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstatat(fd, t.base(rel), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return &st, nil
}

// linkedElsewhere says whether a file has other names, so that removing one
// loses nothing.
func (t *tree) linkedElsewhere(rel string) bool {
	st, err := t.lstat(rel)
	return err == nil && st.Nlink > 1
}

func (t *tree) readlink(rel string) (string, error) {
	fd, err := t.dir(parentOf(rel))
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, maxPath+2)
	n, err := unix.Readlinkat(fd, t.base(rel), buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// names lists a folder, or says false when it holds more than limit names.
func (t *tree) names(rel string, limit int) ([]string, bool, error) {
	fd, err := t.open(rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false, err
	}
	d := os.NewFile(uintptr(fd), rel)
	defer d.Close()
	names, err := d.Readdirnames(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return names, len(names) <= limit, nil
}

// syncDir makes the names in a folder last over a power cut.
func (t *tree) syncDir(rel string) error {
	fd, err := t.open(rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}

func (t *tree) syncAll() error { return unix.Syncfs(t.fd) }

// rename2 moves or swaps two names below the root.
func (t *tree) rename2(from, to string, flags uint) error {
	a, err := t.dir(parentOf(from))
	if err != nil {
		return err
	}
	defer unix.Close(a)
	b, err := t.dir(parentOf(to))
	if err != nil {
		return err
	}
	defer unix.Close(b)
	return unix.Renameat2(a, t.base(from), b, t.base(to), flags)
}

// exchange swaps two names that both exist, in one step.
func (t *tree) exchange(a, b string) error {
	err := t.rename2(a, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return noExchange(err)
	}
	return err
}

func noExchange(err error) error {
	return fmt.Errorf("the repository's file system can't exchange two names (renameat2: %w), without which files can't be replaced all or nothing: take the changes as a patch instead (--to patch:FILE, then git apply)", err)
}

// place moves a file to a name that nothing may stand at.
func (t *tree) place(from, to string) error {
	err := t.rename2(from, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	// The file system has no such flag: a link fails on an existing name too.
	a, err := t.dir(parentOf(from))
	if err != nil {
		return err
	}
	defer unix.Close(a)
	b, err := t.dir(parentOf(to))
	if err != nil {
		return err
	}
	defer unix.Close(b)
	if err := unix.Linkat(a, t.base(from), b, t.base(to), 0); err != nil {
		return err
	}
	return unix.Unlinkat(a, t.base(from), 0)
}

func (t *tree) unlink(rel string) error { return t.unlinkat(rel, 0) }

func (t *tree) rmdir(rel string) error { return t.unlinkat(rel, unix.AT_REMOVEDIR) }

func (t *tree) unlinkat(rel string, flags int) error {
	fd, err := t.dir(parentOf(rel))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Unlinkat(fd, t.base(rel), flags)
}

// mkdir makes a folder with the mode asked for, whatever the umask. A setgid
// bit that the parent hands down stays: groups share trees that way. A folder
// that is there already stays as it is.
func (t *tree) mkdir(m dirMove) error {
	fd, err := t.dir(parentOf(m.Path))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Mkdirat(fd, t.base(m.Path), 0o700); err != nil {
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		have, err2 := t.dir(m.Path)
		if err2 != nil {
			return err // something else than a folder
		}
		if other := t.alias(m.Path); other != "" {
			_ = unix.Close(have)
			return &aliasError{other}
		}
		return unix.Close(have)
	}
	// Through a descriptor, so that it is the new folder or nothing.
	nfd, err := t.open(m.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(nfd)
	var st, up unix.Stat_t
	if err := unix.Fstat(nfd, &st); err != nil {
		return err
	}
	mode, uid, gid := m.Mode, m.UID, m.GID
	if mode == 0 {
		if err := unix.Fstat(fd, &up); err != nil {
			return err
		}
		mode, uid, gid = 0o755, up.Uid, up.Gid
	}
	if os.Geteuid() == 0 {
		if err := unix.Fchown(nfd, int(uid), int(gid)); err != nil {
			return err
		}
	}
	return unix.Fchmod(nfd, mode&0o777|st.Mode&unix.S_ISGID)
}

// aliasError: a folder stands there under a name that the file system takes for
// the same.
type aliasError struct{ other string }

func (e *aliasError) Error() string { return oneName(e.other) }

func fstat(f *os.File, st *unix.Stat_t) error {
	return control(f, func(fd int) error { return unix.Fstat(fd, st) })
}

// openForWriting says whether some process holds a file open for writing: it
// could still change the bytes after they were compared. A read lease is
// granted only when nobody does. Where leases are not to be had (another
// owner, some network file systems) it says false.
func openForWriting(f *os.File) bool {
	err := control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		if err == nil {
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK) // closing the file drops it too
		}
		return err
	})
	return errors.Is(err, unix.EAGAIN)
}

// retry repeats a call that a signal, or a rename under a lookup, interrupted.
// A lease gives EAGAIN for as long as it is held, hence the bound.
func retry(call func() (int, error)) (int, error) {
	for try := 0; ; try++ {
		fd, err := call()
		if err == nil || try >= 100 || (!errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN)) {
			return fd, err
		}
	}
}

func kindOf(mode uint32) diffreview.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return diffreview.KindFile
	case unix.S_IFLNK:
		return diffreview.KindSymlink
	case unix.S_IFDIR:
		return kindFolder
	}
	return kindSpecial
}

// plain turns an errno of a lookup into what a person would say.
func plain(err error) string {
	switch {
	case errors.Is(err, unix.ELOOP):
		return "a folder above it is a symlink on the host"
	case errors.Is(err, unix.EXDEV):
		return "is in another file system that is mounted in the repository"
	case errors.Is(err, unix.EAGAIN):
		return "another program holds a lease on the host's file"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "the host's file can't be read: permission denied"
	case errors.Is(err, errGitFolder):
		return errGitFolder.Error()
	}
	return strings.TrimSpace("the host's file can't be read: " + err.Error())
}
