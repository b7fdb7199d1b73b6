package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// perScript keeps something for each running script.
type perScript[T ~map[string]V, V any] struct {
	mu  sync.Mutex
	all map[*testscript.TestScript]T
}

func (p *perScript[T, V]) of(ts *testscript.TestScript) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[*testscript.TestScript]T{}
	}
	if p.all[ts] == nil {
		p.all[ts] = T{}
	}
	return p.all[ts]
}

// userTTY is a user's terminal: the program runs in it, and what it writes
// there is kept.
type userTTY struct {
	cmd    *exec.Cmd
	master *os.File // non-blocking, so that closing it ends a read
	fd     int      // of master
	slave  *os.File // kept open: the terminal outlives the program, as a shell's does
	before *unix.Termios
	exited chan struct{}
	marks  int
	read   chan struct{} // closed when nothing more can be read

	mu   sync.Mutex
	out  []byte
	seen int // how far ttysee has looked
}

var ttysOf perScript[map[string]*userTTY, *userTTY]

func ttyNamed(ts *testscript.TestScript, name string) *userTTY {
	t := ttysOf.of(ts)[name]
	if t == nil {
		ts.Fatalf("no terminal is named %q", name)
	}
	return t
}

// ttystart NAME COMMAND...: a terminal of 80x24 with the command in it. A name
// that was used before is the same terminal again.
func cmdTTYStart(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttystart NAME COMMAND...")
	t := ttysOf.of(ts)[args[0]]
	if t == nil {
		var err error
		t, err = newTTY()
		ts.Check(err)
		ts.Check(t.resize(80, 24))
		t.before, err = unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
		ts.Check(err)
		go t.reader()
		ttysOf.of(ts)[args[0]] = t
		ts.Defer(func() {
			if t.cmd != nil {
				_ = t.cmd.Process.Kill() // most have ended
				<-t.exited
			}
			t.slave.Close()
			t.master.Close() // twice after a hangup, which does no harm
			<-t.read
		})
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	t.cmd = exec.Command(path, args[2:]...)
	t.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{
		"PATH", "HOME", "XDG_STATE_HOME", "TERM", "LANG", "TMPDIR", "WORK", "GIT_CONFIG_NOSYSTEM", "EDITOR",
	} {
		t.cmd.Env = append(t.cmd.Env, name+"="+ts.Getenv(name))
	}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = t.slave, t.slave, t.slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(t.cmd.Start())
	t.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // the state is in ProcessState
		close(exited)
	}(t.cmd, t.exited)
}

func newTTY() (*userTTY, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	var slave *os.File
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, err
	}
	return &userTTY{master: master, fd: fd, slave: slave, read: make(chan struct{})}, nil
}

func (t *userTTY) resize(cols, rows uint16) error {
	return unix.IoctlSetWinsize(t.fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
}

func (t *userTTY) reader() {
	defer close(t.read)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.master.Read(buf)
		t.mu.Lock()
		t.out = append(t.out, buf[:n]...)
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *userTTY) rest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.out[t.seen:])
}

// ttysend NAME TEXT: type it; Go's escapes.
func cmdTTYSend(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttysend NAME TEXT")
	_, err := ttyNamed(ts, args[0]).master.WriteString(unquote(ts, args[1]))
	ts.Check(err)
}

// [!] ttysaw NAME REGEXP: it is in all that the terminal ever got.
func cmdTTYSaw(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] ttysaw NAME REGEXP")
	}
	t := ttyNamed(ts, args[0])
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	t.drained(ts)
	t.mu.Lock()
	defer t.mu.Unlock()
	if re.Match(t.out) == neg {
		ts.Fatalf("got %q, looked for %q (negated: %v)", t.out, args[1], neg)
	}
}

// ttypress NAME TEXT REGEXP: type it, again each second until the terminal got
// that: a dialog that came up by itself takes no key in its first moment.
func cmdTTYPress(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "ttypress NAME TEXT REGEXP")
	t := ttyNamed(ts, args[0])
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	var last []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		_, err := t.master.WriteString(unquote(ts, args[1]))
		ts.Check(err)
		if last = t.see(re, time.Second); len(last) == 0 {
			return
		}
	}
	ts.Fatalf("got %q after %v, want %q in it", last[0], patience, args[2])
}

// see waits until the terminal got it, after what was seen last, else gives what
// it got.
func (t *userTTY) see(re *regexp.Regexp, wait time.Duration) []string {
	return settle(wait, func() []string {
		rest := t.rest()
		at := re.FindStringIndex(rest)
		if at == nil {
			return []string{rest[max(0, len(rest)-2000):]}
		}
		t.mu.Lock()
		t.seen += at[1]
		t.mu.Unlock()
		return nil
	})
}

// ttysee NAME REGEXP: wait until the terminal got it, after what was seen last.
func cmdTTYSee(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttysee NAME REGEXP")
	t := ttyNamed(ts, args[0])
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	if last := t.see(re, patience); len(last) > 0 {
		ts.Fatalf("got %q after %v, want %q in it", last[0], patience, args[1])
	}
}

// ttyend NAME STATUS: the command ends with it.
func cmdTTYEnd(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttyend NAME STATUS")
	t := ttyNamed(ts, args[0])
	select {
	case <-t.exited:
	case <-time.After(patience):
		ts.Fatalf("still running after %v; its terminal got %q", patience, t.rest())
	}
	if got := strconv.Itoa(t.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("got %v, want exit status %s; its terminal got %q", t.cmd.ProcessState, args[1], t.rest())
	}
}

// ttymodes NAME: the terminal is as it was before the first command: its line
// discipline, and every mode that a program can switch on by writing to it.
func cmdTTYModes(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "ttymodes NAME")
	t := ttyNamed(ts, args[0])
	now, err := unix.IoctlGetTermios(int(t.slave.Fd()), unix.TCGETS)
	ts.Check(err)
	if *now != *t.before {
		ts.Fatalf("got line discipline %+v, want %+v", *now, *t.before)
	}
	t.drained(ts)
	t.mu.Lock()
	left := modesLeft(t.out)
	t.mu.Unlock()
	if len(left) > 0 {
		ts.Fatalf("got modes left on: %s", strings.Join(left, ", "))
	}
}

// drained waits until all that was written to the terminal has been read: what
// is written after it comes after it.
func (t *userTTY) drained(ts *testscript.TestScript) {
	t.marks++
	mark := fmt.Sprintf("<mark %d>", t.marks)
	_, err := t.slave.WriteString(mark)
	ts.Check(err)
	left := settle(patience, func() []string {
		t.mu.Lock()
		defer t.mu.Unlock()
		if bytes.Contains(t.out, []byte(mark)) {
			return nil
		}
		return []string{mark}
	})
	if len(left) > 0 {
		ts.Fatalf("the terminal does not read what is written to it")
	}
}

var privateMode = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`)

// modesLeft lists the modes whose last switch differs from a fresh terminal's.
func modesLeft(out []byte) []string {
	fresh := map[string]byte{"7": 'h', "25": 'h'} // wrap and cursor are on
	last := map[string]byte{}
	for _, m := range privateMode.FindAllSubmatch(out, -1) {
		for _, mode := range strings.Split(string(m[1]), ";") {
			last[mode] = m[2][0]
		}
	}
	var left []string
	for mode, state := range last {
		want := byte('l')
		if f, ok := fresh[mode]; ok {
			want = f
		}
		if state != want && mode != "2026" {
			left = append(left, "?"+mode+string(state))
		}
	}
	for name, on := range map[string][2]string{
		"application keypad":  {"\x1b=", "\x1b>"},
		"enhanced keys":       {"\x1b[>1u", "\x1b[<"},
		"a scrolling region":  {"\x1b[5;10r", "\x1b[r"},
		"a colour for text":   {"\x1b[31m", "\x1b[0m"},
		"line drawing glyphs": {"\x1b(0", "\x1b(B"},
	} {
		set := bytes.LastIndex(out, []byte(on[0]))
		if set >= 0 && bytes.LastIndex(out, []byte(on[1])) < set {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// ttysize NAME COLSxROWS: the user resizes the terminal.
func cmdTTYSize(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttysize NAME COLSxROWS")
	var cols, rows uint16
	_, err := fmt.Sscanf(args[1], "%dx%d", &cols, &rows)
	ts.Check(err)
	ts.Check(ttyNamed(ts, args[0]).resize(cols, rows))
}

// ttyhangup NAME: the terminal goes away, as when a connection drops.
func cmdTTYHangup(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "ttyhangup NAME")
	t := ttyNamed(ts, args[0])
	ts.Check(errors.Join(t.slave.Close(), t.master.Close()))
	<-t.read
}

// ttysignals NAME SIGNAL: its program gets the signal again and again until it
// has ended.
func cmdTTYSignals(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ttysignals NAME SIGNAL")
	t := ttyNamed(ts, args[0])
	sig, err := signalNamed(args[1])
	ts.Check(err)
	end := time.After(patience)
	for {
		_ = t.cmd.Process.Signal(sig) // it may have ended
		select {
		case <-t.exited:
			return
		case <-end:
			ts.Fatalf("%s has not ended within %v", args[0], patience)
		case <-time.After(time.Millisecond):
		}
	}
}
