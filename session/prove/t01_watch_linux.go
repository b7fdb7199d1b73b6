package prove

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// watch is a witness on the host: the kernel tells it of each open and read of
// the files that it watches, by whatever name and through whatever mount.
type watch struct {
	fd    int
	wd    map[string]int32
	count map[int32]int
	lost  bool
}

func newWatch() (*watch, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch files on the host: %w", err)
	}
	return &watch{fd: fd, wd: map[string]int32{}, count: map[int32]int{}}, nil
}

func (w *watch) close() { _ = unix.Close(w.fd) } // its watches end with it

// add begins to watch a file, or forgets what was seen of it so far.
func (w *watch) add(path string) error {
	wd, err := unix.InotifyAddWatch(w.fd, path, unix.IN_OPEN|unix.IN_ACCESS)
	if err != nil {
		return fmt.Errorf("watch %q: %w", path, err)
	}
	if err := w.drain(); err != nil {
		return err
	}
	w.wd[path] = int32(wd)
	w.count[int32(wd)] = 0
	return nil
}

// events is how much was seen of a file since it was added.
func (w *watch) events(path string) (int, error) {
	wd, ok := w.wd[path]
	if !ok {
		return 0, fmt.Errorf("%q is not watched", path)
	}
	if err := w.drain(); err != nil {
		return 0, err
	}
	if w.lost {
		return 0, errors.New("more was seen of the watched files than the kernel keeps")
	}
	return w.count[wd], nil
}

func (w *watch) drain() error {
	var buf [64 << 10]byte
	for {
		n, err := unix.Read(w.fd, buf[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("read what was seen of the watched files: %w", err)
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(b))
			mask, size := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			switch {
			case mask&unix.IN_Q_OVERFLOW != 0:
				w.lost = true
			default:
				w.count[wd]++
			}
			b = b[min(len(b), unix.SizeofInotifyEvent+int(size)):]
		}
	}
}
