package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkKeyToGlyph measures how long it takes from a key at the user's
// terminal to its echo there: in the workbench, and in tmux beside it in the same
// run. Inside is the terminal's own echo, so that nothing else is measured.
// Budget: no slower than tmux at p50 and p99.
func BenchmarkKeyToGlyph(b *testing.B) {
	if _, err := exec.LookPath("tmux"); err != nil {
		b.Skip("got no tmux, want one to compare with")
	}
	bin, repo, env := benchProgram(b)
	env = append(env, "TERM=xterm-256color", "LANG=C.UTF-8", "TMUX=")
	run := func(argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = repo, env
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("%q: %v", argv, err)
		}
		return strings.TrimSpace(string(out))
	}
	id := run(bin, "run", "-d", "--", "cat")
	b.Cleanup(func() { run(bin, "rm", "--force", id) })
	sock := filepath.Join(b.TempDir(), "s")
	tmux := []string{"tmux", "-u", "-S", sock, "-f", "/dev/null"}
	run(append(tmux, "new-session", "-d", "-x", "120", "-y", "40", "cat")...)
	b.Cleanup(func() { run(append(tmux, "kill-server")...) })

	ours := startTyping(b, repo, env, bin)
	ours.see(b, "sessions")
	ours.settle(start)
	ours.write(b, "2")
	theirs := startTyping(b, repo, env, append(tmux, "attach")...)
	for _, t := range []*typing{ours, theirs} {
		t.settle(start)
		t.round(b) // warm
		t.all = nil
	}
	for b.Loop() {
		ours.round(b)
		theirs.round(b)
	}
	for _, p := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		us, them := ours.at(p.part), theirs.at(p.part)
		b.ReportMetric(float64(us.Microseconds())/1000, p.name+"-ms")
		b.ReportMetric(float64(them.Microseconds())/1000, p.name+"-tmux-ms")
		b.ReportMetric(float64(us)/float64(them), p.name+"-ratio")
	}
}

// typing is a program at a terminal of its own, and how long its keys took.
type typing struct {
	tty *userTTY
	all []time.Duration
}

func startTyping(b *testing.B, dir string, env []string, argv ...string) *typing {
	b.Helper()
	t, err := newTTY()
	if err != nil {
		b.Fatal(err)
	}
	if err := t.resize(120, 40); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.slave, t.slave, t.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.slave.Close()
		t.master.Close()
	})
	return &typing{tty: t}
}

func (t *typing) write(b *testing.B, s string) {
	b.Helper()
	if _, err := t.tty.master.WriteString(s); err != nil {
		b.Fatal(err)
	}
}

// see reads until the terminal was sent a text.
func (t *typing) see(b *testing.B, want string) {
	b.Helper()
	var got []byte
	buf := make([]byte, 32<<10)
	_ = t.tty.master.SetReadDeadline(time.Now().Add(20 * time.Second))
	for !bytes.Contains(got, []byte(want)) {
		n, err := t.tty.master.Read(buf)
		if err != nil {
			b.Fatalf("%v before %q, got %q", err, want, got)
		}
		got = append(got, buf[:n]...)
	}
}

// Nothing more comes once nothing has come for this long: after a start, and
// between two keys, which is as fast as keys repeat.
const (
	start   = 300 * time.Millisecond
	between = 30 * time.Millisecond
)

// settle reads until nothing more comes.
func (t *typing) settle(quiet time.Duration) {
	buf := make([]byte, 32<<10)
	for {
		_ = t.tty.master.SetReadDeadline(time.Now().Add(quiet))
		if _, err := t.tty.master.Read(buf); err != nil {
			return // os.ErrDeadlineExceeded
		}
	}
}

// round types a line of signs that nothing else on the screen has, and takes it
// back.
func (t *typing) round(b *testing.B) {
	b.Helper()
	for _, key := range "@#$%^&*={}~`" {
		from := time.Now()
		t.write(b, string(key))
		t.see(b, string(key))
		t.all = append(t.all, time.Since(from))
		t.settle(between)
	}
	t.write(b, "\x15") // ^U
	t.settle(between)
}

// at is the time below which a part of all keys took.
func (t *typing) at(part float64) time.Duration {
	slices.Sort(t.all)
	return t.all[min(len(t.all)-1, int(part*float64(len(t.all))))]
}
