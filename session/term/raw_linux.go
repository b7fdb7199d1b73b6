package term

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Raw puts the user's terminal into raw mode: every key comes as bytes, none is
// a signal. restore brings back what was; it may be called from any goroutine,
// any number of times, and throws input away that nobody read, since it may be
// the terminal's late answer to something.
func Raw(tty *os.File) (restore func() error, err error) {
	var old *unix.Termios
	if err := control(tty, func(fd int) (err error) {
		old, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}); err != nil {
		return nil, fmt.Errorf("read the terminal's settings: %w", err)
	}
	raw := *old
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := control(tty, func(fd int) error { return unix.IoctlSetTermios(fd, unix.TCSETS, &raw) }); err != nil {
		return nil, fmt.Errorf("put the terminal into raw mode: %w", err)
	}
	return sync.OnceValue(func() error {
		if err := control(tty, func(fd int) error { return unix.IoctlSetTermios(fd, unix.TCSETSF, old) }); err != nil {
			return fmt.Errorf("restore the terminal's settings: %w", err)
		}
		return nil
	}), nil
}

// TTYSize is a terminal's size in cells; an error when it is no terminal. Zero
// is possible: some terminals do not know.
func TTYSize(tty *os.File) (cols, rows int, err error) {
	err = control(tty, func(fd int) error {
		size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil {
			cols, rows = int(size.Col), int(size.Row)
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("read the terminal's size: %w", err)
	}
	return cols, rows, nil
}

// control calls f with the descriptor without changing its blocking mode.
func control(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	return errors.Join(conn.Control(func(fd uintptr) { callErr = call(int(fd)) }), callErr)
}
