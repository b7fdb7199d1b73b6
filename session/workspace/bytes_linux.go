package workspace

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
)

// at reads a descriptor from its start, whatever its position.
type at struct {
	fd  int
	off int64
}

func (a *at) Read(p []byte) (int, error) {
	for {
		n, err := unix.Pread(a.fd, p, a.off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, err
		}
		if n == 0 && len(p) > 0 {
			return 0, io.EOF
		}
		a.off += int64(n)
		return n, nil
	}
}

// large copies a file that the buffer does not hold, hole by hole.
func (w *copyWorker) large(in, out int, info beneath.Info) error {
	if info.Blocks*512 >= info.Size {
		return w.rest(in, out)
	}
	for off := int64(0); off < info.Size; {
		data, err := unix.Seek(in, off, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // a hole to the end
		}
		if err != nil {
			return &hostError{err}
		}
		hole, err := unix.Seek(in, data, unix.SEEK_HOLE)
		if err != nil {
			return &hostError{err}
		}
		if err := w.span(in, out, data, min(hole, info.Size)-data); err != nil {
			return err
		}
		off = hole
	}
	return unix.Ftruncate(out, info.Size)
}

// span copies length bytes at off to the same place.
func (w *copyWorker) span(in, out int, off, length int64) error {
	if _, err := unix.Seek(in, off, io.SeekStart); err != nil {
		return &hostError{err}
	}
	if _, err := unix.Seek(out, off, io.SeekStart); err != nil {
		return err
	}
	return w.stream(in, out, length)
}

// rest copies from both positions to the end of in.
func (w *copyWorker) rest(in, out int) error { return w.stream(in, out, 1<<62) }

// stream copies at most length bytes, in the kernel where it can.
func (w *copyWorker) stream(in, out int, length int64) error {
	inKernel := true
	for length > 0 {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if inKernel {
			n, err := unix.CopyFileRange(in, nil, out, nil, int(min(length, 16<<20)), 0)
			switch {
			case err == nil && n == 0:
				return nil
			case err == nil:
				length -= int64(n)
				continue
			case err == unix.EINTR:
				continue
			case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EFBIG):
				return err
			}
			inKernel = false // other file systems, or a kernel that can't here
		}
		n, err := readFull(in, w.buf[:min(length, int64(len(w.buf)))])
		if err != nil {
			return &hostError{err}
		}
		if err := writeFull(out, w.buf[:n]); err != nil {
			return err
		}
		if length -= int64(n); n == 0 {
			return nil
		}
	}
	return nil
}

// copyPath copies a file of the host's git folder to a new one of ours.
func (w *copyWorker) copyPath(from, to string) error {
	in, err := openAt(unix.AT_FDCWD, from, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("read %q: %w", from, err)
	}
	defer unix.Close(in) // read-only
	out, err := openAt(unix.AT_FDCWD, to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %q: %w", to, err)
	}
	if unix.IoctlFileClone(out, in) != nil {
		err = w.rest(in, out)
	}
	if cerr := unix.Close(out); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("copy %q: %w", from, err)
	}
	return nil
}

func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// readFull reads until the buffer is full or the file ends.
func readFull(fd int, buf []byte) (int, error) {
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return n, nil
}

func writeFull(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// utimensat sets times of a name in dir, of dir itself when the name is
// empty; links are not followed.
func utimensat(dir int, name string, ts *[2]unix.Timespec) error {
	if name != "" {
		return unix.UtimesNanoAt(dir, name, ts[:], unix.AT_SYMLINK_NOFOLLOW)
	}
	err := unix.UtimesNanoAt(dir, "", ts[:], unix.AT_EMPTY_PATH)
	if err == unix.EINVAL { // before Linux 5.8
		err = unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(dir), ts[:], 0)
	}
	return err
}
