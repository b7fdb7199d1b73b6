package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// device is a pty's outer end as a non-blocking descriptor of our own: one that
// came over a socket may be in blocking mode, and then Close would not end a
// Read.
type device struct {
	f   *os.File
	raw syscall.RawConn
}

// openDevice takes pty over; it is closed in any case.
func openDevice(pty *os.File) (*device, error) {
	defer pty.Close()
	outer, err := pty.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("pty: %w", err)
	}
	fd := -1
	var dupErr error
	err = outer.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3)
	})
	if err = errors.Join(err, dupErr); err != nil {
		return nil, fmt.Errorf("pty: duplicate: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd) // the first error is the one to report
		return nil, fmt.Errorf("pty: set non-blocking: %w", err)
	}
	f := os.NewFile(uintptr(fd), "pty")
	raw, err := f.SyscallConn()
	if err != nil {
		_ = f.Close() // the first error is the one to report
		return nil, fmt.Errorf("pty: %w", err)
	}
	return &device{f, raw}, nil
}

// read waits for output and takes what is there, up to the buffer's size: the
// kernel hands out 4 KiB at most at a time.
func (d *device) read(buf []byte) (n int, err error) {
	waitErr := d.raw.Read(func(fd uintptr) bool {
		n, err = drain(int(fd), buf)
		return n > 0 || err != nil
	})
	if n == 0 && err == nil {
		err = waitErr
	}
	return n, err
}

// readNow takes what is there without waiting.
func (d *device) readNow(buf []byte) (n int, err error) {
	ctlErr := d.raw.Control(func(fd uintptr) { n, err = drain(int(fd), buf) })
	return n, errors.Join(err, ctlErr)
}

// drain reads until the buffer is full or nothing is left. At the end of the
// output it returns io.EOF, with the last bytes or alone.
func drain(fd int, buf []byte) (n int, err error) {
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return n, nil
		case err == unix.EIO || err == nil && m == 0: // the last inner end was closed
			return n, io.EOF
		case err != nil:
			return n, fmt.Errorf("read pty: %w", err)
		}
		n += m
	}
	return n, nil
}

func (d *device) resize(cols, rows int) error {
	size := &unix.Winsize{
		Col: uint16(cols), Row: uint16(rows),
		Xpixel: uint16(cols * cellWidth), Ypixel: uint16(rows * cellHeight),
	}
	var setErr error
	err := d.raw.Control(func(fd uintptr) {
		setErr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size)
	})
	if err = errors.Join(err, setErr); err != nil {
		return fmt.Errorf("pty: set size %dx%d: %w", cols, rows, err)
	}
	return nil
}
