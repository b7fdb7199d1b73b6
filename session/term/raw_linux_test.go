package term

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func settings(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	var got *unix.Termios
	if err := control(tty, func(fd int) (err error) {
		got, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return *got
}

func TestRawIsUndoneExactlyAndOnce(t *testing.T) {
	outer, inner, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	defer inner.Close()
	before := settings(t, inner)
	restore, err := Raw(inner)
	if err != nil {
		t.Fatal(err)
	}
	raw := settings(t, inner)
	if raw.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 || raw.Iflag&(unix.ICRNL|unix.IXON) != 0 || raw.Oflag&unix.OPOST != 0 {
		t.Errorf("got flags %x %x %x, want raw mode", raw.Iflag, raw.Oflag, raw.Lflag)
	}
	if err := restore(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, settings(t, inner)); d != "" {
		t.Errorf("settings differ after restore (-before +after):\n%s", d)
	}
	again, err := Raw(inner) // someone else's raw mode
	if err != nil {
		t.Fatal(err)
	}
	restore()
	if now := settings(t, inner); now.Lflag&unix.ICANON != 0 {
		t.Error("got the second call of restore to act, want it to do nothing")
	}
	again()
}

func TestRawRefusesWhatIsNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Raw(r); err == nil {
		t.Error("got no error for a pipe, want one")
	}
	if _, _, err := TTYSize(r); err == nil {
		t.Error("got a size for a pipe, want an error")
	}
}
