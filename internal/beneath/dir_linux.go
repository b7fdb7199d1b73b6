package beneath

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Flag changes how a root and everything opened from it resolves names.
type Flag uint64

// OneMount refuses to cross into another mount, bind mounts included.
const OneMount Flag = unix.RESOLVE_NO_XDEV

const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// Dir is an open folder. It owns its descriptor until Close. Its methods may
// be called from several goroutines, Close from none meanwhile.
type Dir struct {
	fd      int
	resolve uint64
	path    string // for messages only
}

// OpenRoot opens the folder at path, which the caller trusts: links in path
// itself are followed. It needs Linux 5.6.
func OpenRoot(path string, flags ...Flag) (*Dir, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open folder %q: %w", path, err)
	}
	d := &Dir{fd: fd, resolve: resolve, path: path}
	for _, f := range flags {
		d.resolve |= uint64(f)
	}
	return d, nil
}

// Close releases the descriptor.
func (d *Dir) Close() error {
	fd := d.fd
	d.fd = -1
	return unix.Close(fd)
}

// Fd is the descriptor, valid until Close; the Dir keeps owning it.
func (d *Dir) Fd() int { return d.fd }

// Path is where the folder was when it was opened, for messages.
func (d *Dir) Path() string { return d.path }

// open resolves rel beneath d. A rename elsewhere in the tree makes the
// kernel answer EAGAIN, and so does a lease: both are tried again for a few
// milliseconds.
func (d *Dir) open(rel string, flags uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: d.resolve}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(d.fd, rel, &how)
		switch {
		case err == nil:
			return fd, nil
		case err == unix.EINTR && try < 100:
		case err == unix.EAGAIN && try < 8:
			time.Sleep(time.Duration(try) * time.Millisecond)
		case err == unix.EAGAIN:
			return -1, ErrBusy
		default:
			return -1, err
		}
	}
}

// OpenDir opens the folder rel.
func (d *Dir) OpenDir(rel string) (*Dir, error) {
	if err := Check(rel); err != nil {
		return nil, err
	}
	fd, err := d.open(rel, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open folder %q: %w", rel, err)
	}
	return &Dir{fd: fd, resolve: d.resolve, path: d.path + "/" + rel}, nil
}

// OpenFile opens the regular file rel for reading and gives what fstat says of
// it. Anything else is ErrNotRegular, a leased file ErrBusy.
func (d *Dir) OpenFile(rel string) (*os.File, Info, error) {
	// Looked at first: the open itself must not touch a device or a fifo.
	before, err := d.Lstat(rel)
	if err != nil {
		return nil, Info{}, err
	}
	if before.Kind != Regular {
		return nil, before, fmt.Errorf("open %q: %w", rel, ErrNotRegular)
	}
	fd, err := d.open(rel, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, before, fmt.Errorf("open %q: %w", rel, err)
	}
	after, err := Fstat(fd)
	if err != nil {
		_ = unix.Close(fd) // only read from
		return nil, before, fmt.Errorf("stat %q: %w", rel, err)
	}
	if after.Kind != Regular {
		_ = unix.Close(fd)
		return nil, after, fmt.Errorf("open %q: %w", rel, ErrNotRegular)
	}
	if after.Dev != before.Dev || after.Ino != before.Ino {
		_ = unix.Close(fd)
		return nil, after, fmt.Errorf("open %q: %w", rel, ErrChanged)
	}
	return os.NewFile(uintptr(fd), d.path+"/"+rel), after, nil
}

// Lstat describes rel itself, never what a link points to.
func (d *Dir) Lstat(rel string) (Info, error) {
	if err := Check(rel); err != nil {
		return Info{}, err
	}
	fd, err := d.open(rel, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return Info{}, fmt.Errorf("stat %q: %w", rel, err)
	}
	info, err := Fstat(fd)
	_ = unix.Close(fd) // a path descriptor holds nothing
	if err != nil {
		return Info{}, fmt.Errorf("stat %q: %w", rel, err)
	}
	return info, nil
}

// Readlink gives the raw target of the link rel.
func (d *Dir) Readlink(rel string) (string, error) {
	if err := Check(rel); err != nil {
		return "", err
	}
	fd, err := d.open(rel, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", fmt.Errorf("read link %q: %w", rel, err)
	}
	defer unix.Close(fd)
	// The kernel holds no target longer than a page.
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(fd, "", buf)
	if errors.Is(err, unix.ENOENT) {
		err = unix.EINVAL // an empty name on what is no link
	}
	if err != nil {
		return "", fmt.Errorf("read link %q: %w", rel, err)
	}
	return string(buf[:n]), nil
}

// Stat describes the folder itself: its device and inode pin its identity.
func (d *Dir) Stat() (Info, error) {
	info, err := Fstat(d.fd)
	if err != nil {
		return Info{}, fmt.Errorf("stat %q: %w", d.path, err)
	}
	return info, nil
}

// LstatName is Lstat for a single component, at a third of the cost.
func (d *Dir) LstatName(name string) (Info, error) {
	var st unix.Stat_t
	if err := fstatat(d.fd, name, &st); err != nil {
		return Info{}, err
	}
	return infoOf(&st), nil
}

// Fstat describes an open descriptor.
func Fstat(fd int) (Info, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstat(fd, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Info{}, err
		}
		return infoOf(&st), nil
	}
}

func fstatat(fd int, name string, st *unix.Stat_t) error {
	for {
		err := unix.Fstatat(fd, name, st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
		if err != unix.EINTR {
			return err
		}
	}
}

func infoOf(st *unix.Stat_t) Info {
	i := Info{
		Kind: Other, Mode: st.Mode, UID: st.Uid, GID: st.Gid,
		Size: st.Size, Blocks: st.Blocks,
		Dev: uint64(st.Dev), Ino: st.Ino, Nlink: uint64(st.Nlink),
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		i.Kind = Regular
	case unix.S_IFDIR:
		i.Kind = Directory
	case unix.S_IFLNK:
		i.Kind = Symlink
	}
	return i
}
