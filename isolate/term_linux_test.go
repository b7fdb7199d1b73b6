package isolate_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// screen is what came out of a pty.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func onTTY(t *testing.T, s *isolate.Sandbox, argv ...string) (*isolate.Process, *screen) {
	t.Helper()
	p, err := s.Spawn(isolate.Command{Argv: argv, Env: env, Dir: "/home/someone/project", TTY: &isolate.Size{Cols: 91, Rows: 33}})
	if err != nil {
		t.Fatal(err)
	}
	if p.PTY() == nil {
		t.Fatalf("got no pty: %+v", p.Wait())
	}
	out := &screen{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := p.PTY().Read(buf)
			out.mu.Lock()
			out.buf.Write(buf[:n])
			out.mu.Unlock()
			if err != nil {
				return // EIO when the last process of the pty has closed it
			}
		}
	}()
	t.Cleanup(func() { _ = p.PTY().Close(); <-done })
	return p, out
}

func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !strings.Contains(s.text(), want) {
		if time.Now().After(deadline) {
			t.Fatalf("got %q on the terminal, want %q in it", s.text(), want)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func typed(t *testing.T, p *isolate.Process, text string) {
	t.Helper()
	if _, err := io.WriteString(p.PTY(), text); err != nil {
		t.Fatal(err)
	}
}

// W03, W13: the terminal has a name, a size, raw mode, and job control.
func TestTerminal(t *testing.T) {
	s := start(t, spec(t))
	p, out := onTTY(t, s, "/bin/sh", "-c", `tty; stty size; stty raw -echo; stty sane; stty -a | grep -o ' echo '; : > /dev/tty; echo done`)
	out.await(t, "done")
	if got := p.Wait(); got != (isolate.Status{}) {
		t.Errorf("got %+v", got)
	}
	if got := strings.ReplaceAll(out.text(), "\r", ""); got != "/dev/pts/0\n33 91\n echo \ndone\n" {
		t.Errorf("got %q", got)
	}
}

// inForeground waits for a sleep with this argument to be the terminal's.
func inForeground(t *testing.T, s *isolate.Sandbox, arg string) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "sleep "+arg+" in the foreground", func() bool {
		for _, pid := range below(t, s.PID()) {
			cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil || string(cmdline) != "sleep\x00"+arg+"\x00" {
				continue
			}
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			f := strings.Fields(string(stat))
			if err == nil && len(f) > 7 && f[2] == "S" && f[4] == f[7] { // its group is the terminal's
				return true
			}
		}
		return false
	})
}

func TestJobControl(t *testing.T) {
	testkit.RequireProgram(t, "bash")
	s := start(t, spec(t))
	p, out := onTTY(t, s, "/bin/bash", "--norc", "-i")
	typed(t, p, "echo $((40+2))ready\n")
	out.await(t, "42ready")
	if strings.Contains(out.text(), "job control") {
		t.Errorf("got %q, want no complaint about job control", out.text())
	}
	typed(t, p, "sleep 603\n")
	inForeground(t, s, "603")
	typed(t, p, "\x1a") // ctrl-z
	out.await(t, "Stopped")
	typed(t, p, "bg; jobs\n")
	out.await(t, "Running")
	typed(t, p, "fg\n")
	inForeground(t, s, "603")
	typed(t, p, "\x03") // ctrl-c
	typed(t, p, "echo $((50+1))after\n")
	out.await(t, "51after")
	if err := unix.IoctlSetWinsize(int(p.PTY().Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 44}); err != nil {
		t.Fatal(err)
	}
	typed(t, p, "trap 'echo resized to $(stty size)' WINCH; kill -WINCH $$\n")
	out.await(t, "resized to 44 100")
	typed(t, p, "exit 5\n")
	if got := p.Wait(); got != (isolate.Status{Code: 5}) {
		t.Errorf("got %+v, want 5", got)
	}
}

// W12: typing into a terminal. The same call works without the walls where the
// kernel still has it.
func TestTypingIntoTheTerminalIsRefused(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	s := start(t, spec(t))
	_, out := onTTY(t, s, "/usr/bin/python3", "-c", `
import ctypes,errno
libc=ctypes.CDLL(None,use_errno=True)
for cmd in (0x5412,0x541c,0x5423,0xdead00005412,0x100000000|0x541c):
    r=libc.syscall(16,0,ctypes.c_ulong(cmd),ctypes.byref(ctypes.c_char(b'i')))
    print(hex(cmd),r,errno.errorcode.get(ctypes.get_errno()))
print('end')`)
	out.await(t, "end")
	if n := strings.Count(out.text(), "-1 EPERM"); n != 5 {
		t.Errorf("got %q, want EPERM five times", out.text())
	}
}

func TestPtyIsTheSessionsOwn(t *testing.T) {
	s := start(t, spec(t))
	p, out := onTTY(t, s, "/bin/sh", "-c", "ls /dev/pts; sleep 600")
	out.await(t, "ptmx")
	if got := strings.Fields(out.text()); len(got) != 2 || got[0] != "0" {
		t.Errorf("got %q in /dev/pts, want 0 and ptmx", got)
	}
	q, out2 := onTTY(t, s, "/bin/sh", "-c", "tty")
	out2.await(t, "/dev/pts/1")
	q.Wait()
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := p.Wait(); got.Signal != int(syscall.SIGKILL) {
		t.Errorf("got %+v", got)
	}
	if _, err := s.Spawn(isolate.Command{Argv: []string{"true"}, TTY: &isolate.Size{}, Stdin: os.Stdin}); err == nil {
		t.Error("a pty and a file together were accepted")
	}
	p2, err := s.Spawn(isolate.Command{Argv: []string{"no-such"}, Env: env, Dir: "/", TTY: &isolate.Size{Cols: 80, Rows: 24}})
	if err != nil || p2.PTY() != nil || p2.Wait().Code != 127 {
		t.Errorf("got %v, pty %v, %+v; want 127 and no pty", err, p2.PTY(), p2.Wait())
	}
	if errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
