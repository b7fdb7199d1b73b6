package ui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/uitest"
)

// libraryRace keeps a data race from changing a child's exit status: the
// library's reader of the terminal may still look at its descriptor while the
// program's end closes it (muesli/cancelreader, at the very end of the process).
// noRaceOfOurs looks for every other one.
const libraryRace = "GORACE=exitcode=0"

// noRaceOfOurs fails on a data race that a child reported, unless it is the
// library's.
func noRaceOfOurs(t *testing.T, out []byte) {
	t.Helper()
	for i, report := range bytes.Split(out, []byte("WARNING: DATA RACE")) {
		if i > 0 && !bytes.Contains(report, []byte("cancelreader.(*epollCancelReader).Close")) {
			t.Errorf("got a data race, want none:\n%s", report)
		}
	}
}

// childEnv makes the test binary open the workbench, on the terminal that it
// was started on.
const childEnv = "FUMEHOOD_TEST_WORKBENCH"

func TestMain(m *testing.M) {
	if how := os.Getenv(childEnv); how != "" {
		if err := ui.Run(context.Background(), child{uitest.Sample(time.Now()), how}, ui.Options{Repo: "/home/ada/src/api-server"}); err != nil {
			fmt.Fprintln(os.Stderr, "ended with", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type child struct {
	*uitest.Backend
	how string
}

// Detail is where the child panics, in a Cmd, once the screen stands.
func (c child) Detail(ctx context.Context, id string) (session.Detail, error) {
	if c.how == "panic" {
		panic("made up by the test")
	}
	return c.Backend.Detail(ctx, id)
}

// terminal is a pty with what was written to it.
type terminal struct {
	master *os.File
	mu     sync.Mutex
	out    bytes.Buffer
	done   chan struct{}
}

func openTerminal(t *testing.T) (*terminal, *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("got %v, want a pseudo terminal", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("got %v, want the other end of the pseudo terminal", err)
	}
	tt := &terminal{master: master, done: make(chan struct{})}
	go func() {
		defer close(tt.done)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			tt.mu.Lock()
			tt.out.Write(b[:n])
			tt.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return tt, slave
}

func (t *terminal) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.out.Bytes())
}

// within waits for a condition, to a deadline.
func within(t *testing.T, d time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(d)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(end) {
			t.Fatalf("got no %s within %v", what, d)
		}
		<-tick.C
	}
}

func TestTheTerminalIsLeftAsItWas(t *testing.T) {
	cases := []struct {
		how    string
		end    func(p *os.Process, tt *terminal) error
		status int
	}{
		{"quit", func(_ *os.Process, tt *terminal) error { _, err := tt.master.WriteString("q"); return err }, 0},
		{"ctrl+c", func(_ *os.Process, tt *terminal) error { _, err := tt.master.WriteString("\x03"); return err }, 0},
		{"term", func(p *os.Process, _ *terminal) error { return p.Signal(syscall.SIGTERM) }, 0},
		{"int", func(p *os.Process, _ *terminal) error { return p.Signal(syscall.SIGINT) }, 0},
		{"hup", func(p *os.Process, _ *terminal) error { return p.Signal(syscall.SIGHUP) }, 0},
		{"panic", func(*os.Process, *terminal) error { return nil }, 3},
	}
	for _, c := range cases {
		t.Run(c.how, func(t *testing.T) {
			tt, slave := openTerminal(t)
			defer tt.master.Close()
			before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+c.how, libraryRace, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if c.how != "panic" {
				within(t, 20*time.Second, "screen", func() bool { return bytes.Contains(tt.text(), []byte("claude-1")) })
			}
			if err := c.end(cmd.Process, tt); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				var exit *exec.ExitError
				got := 0
				if errors.As(err, &exit) {
					got = exit.ExitCode()
				}
				if got != c.status {
					t.Errorf("got exit status %d, want %d:\n%q", got, c.status, tt.text())
				}
			case <-time.After(20 * time.Second):
				_ = cmd.Process.Kill() // ours; the test has failed already
				t.Fatalf("got no end within 20s:\n%q", tt.text())
			}
			after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if *before != *after {
				t.Errorf("got terminal settings %+v, want %+v", *after, *before)
			}
			slave.Close()
			<-tt.done
			out := tt.text()
			noRaceOfOurs(t, out)
			// Each mode that was set is reset, in that order.
			for _, mode := range []string{"?1049", "?1002", "?1006", "?2004"} {
				set, reset := bytes.LastIndex(out, []byte("\x1b["+mode+"h")), bytes.LastIndex(out, []byte("\x1b["+mode+"l"))
				if set >= 0 && reset < set {
					t.Errorf("got mode %s left on:\n%q", mode, out[max(0, len(out)-400):])
				}
			}
			if hide, show := bytes.LastIndex(out, []byte("\x1b[?25l")), bytes.LastIndex(out, []byte("\x1b[?25h")); hide >= 0 && show < hide {
				t.Errorf("got the cursor left hidden")
			}
			if c.how == "panic" && bytes.Index(out, []byte("made up by the test")) < bytes.LastIndex(out, []byte("\x1b[?1049l")) {
				t.Errorf("got the panic on the screen that is taken away, want it behind:\n%q", out)
			}
			if !bytes.Contains(out, []byte("\x1b[?1049h")) && c.how != "panic" {
				t.Errorf("got no full screen, want the test to have seen one")
			}
		})
	}
}

// openChild starts the workbench in a terminal of its own.
func openChild(t *testing.T, how string, env ...string) (*exec.Cmd, *terminal, *os.File, <-chan error) {
	t.Helper()
	tt, slave := openTerminal(t)
	t.Cleanup(func() { tt.master.Close() })
	t.Cleanup(func() { slave.Close() })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{childEnv + "=" + how, libraryRace, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}, env...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // ours, and as a rule ended already
	within(t, 20*time.Second, "screen", func() bool { return bytes.Contains(tt.text(), []byte("claude-1")) })
	return cmd, tt, slave, ended
}

func waitEnd(t *testing.T, tt *terminal, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("got the end %v, want none but an ordinary one:\n%q", err, tt.text())
		}
		noRaceOfOurs(t, tt.text())
	case <-time.After(20 * time.Second):
		t.Fatalf("got no end within 20s:\n%q", tt.text())
	}
}

func TestSuspendingGivesTheTerminalBackAndTakesItAgain(t *testing.T) {
	cmd, tt, slave, ended := openChild(t, "quit")
	inside, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tt.master.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "way out", func() bool { return bytes.Contains(tt.text(), []byte("\x1b[?1049l")) })
	within(t, 10*time.Second, "cooked terminal", func() bool {
		st, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		return err == nil && st.Lflag&unix.ICANON != 0 && st.Lflag&unix.ECHO != 0
	})
	// The kernel stops no process group without a shell above it, so that it
	// only waits to be told to go on.
	within(t, 10*time.Second, "second screen", func() bool {
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		return bytes.Count(tt.text(), []byte("\x1b[?1049h")) == 2
	})
	within(t, 10*time.Second, "list, drawn again", func() bool {
		text := tt.text()
		return bytes.Contains(text[bytes.LastIndex(text, []byte("\x1b[?1049h")):], []byte("claude-1"))
	})
	again, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *again != *inside {
		t.Errorf("got terminal settings %+v, want %+v", *again, *inside)
	}
	if _, err := tt.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, tt, ended)
}

func TestAStormOfSizesEndsAtTheLast(t *testing.T) {
	cmd, tt, _, ended := openChild(t, "quit")
	for i := range 500 {
		size := &unix.Winsize{Row: uint16(1 + i*7%60), Col: uint16(1 + i*13%200)}
		if err := unix.IoctlSetWinsize(int(tt.master.Fd()), unix.TIOCSWINSZ, size); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
	}
	for _, z := range []unix.Winsize{{Row: 3, Col: 10}, {Row: 24, Col: 80}} {
		n := len(tt.text())
		if err := unix.IoctlSetWinsize(int(tt.master.Fd()), unix.TIOCSWINSZ, &z); err != nil {
			t.Fatal(err)
		}
		want := []byte("fumehood")
		if z.Row == 24 {
			want = []byte("claude-1")
		}
		within(t, 10*time.Second, fmt.Sprintf("screen of %dx%d", z.Col, z.Row), func() bool { return bytes.Contains(tt.text()[n:], want) })
	}
	if _, err := tt.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, tt, ended)
}

// A workbench that only waits costs nothing: neither processor nor output.
func TestAnIdleWorkbenchIsIdle(t *testing.T) {
	cmd, tt, _, ended := openChild(t, "quit")
	switches := func() (n int) {
		dirs, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/status", cmd.Process.Pid, d.Name()))
			if err != nil {
				continue // it has ended
			}
			for _, l := range bytes.Split(b, []byte("\n")) {
				var one int
				if _, err := fmt.Sscanf(string(l), "voluntary_ctxt_switches: %d", &one); err == nil {
					n += one
				}
			}
		}
		return n
	}
	if _, err := tt.master.WriteString("5"); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "walls", func() bool { return bytes.Contains(tt.text(), []byte("default deny")) })
	least := 1 << 30
	for range 5 { // the calmest of five: another test may run beside this one
		out, was, begin := len(tt.text()), switches(), time.Now()
		<-time.After(time.Second)
		n := int(float64(switches()-was) / time.Since(begin).Seconds())
		if grown := len(tt.text()) - out; grown > 200 {
			t.Errorf("got %d bytes written in a second of nothing", grown)
		}
		least = min(least, n)
	}
	if least > 40 {
		t.Errorf("got %d wakeups a second, want a few", least)
	}
	if _, err := tt.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	waitEnd(t, tt, ended)
}
