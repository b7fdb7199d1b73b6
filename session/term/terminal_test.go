package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

const patience = 20 * time.Second

// program is a command under a Terminal.
type program struct {
	*Terminal
	cmd *exec.Cmd
	log *syncBuffer
}

type syncBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	full bool // nothing more is kept
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		return len(p), nil
	}
	return b.buf.Write(p)
}

// close lets go of what was kept, and keeps nothing more: a flood must not be
// counted as the emulator's memory.
func (b *syncBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf, b.full = bytes.Buffer{}, true
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func start(t *testing.T, cols, rows int, opts Options, argv ...string) *program {
	t.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("got no %s, want one to run", argv[0])
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "PS1=$ ", "HISTFILE=", "HOME="+t.TempDir()) // a shell that ends writes nothing into a folder that goes
	outer, inner, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	log := &syncBuffer{}
	tm, err := Start(outer, cols, rows, log, opts)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inner.Close()
	p := &program{tm, cmd, log}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		tm.Close()
	})
	return p
}

func (p *program) lines() []string {
	var out []string
	p.Look(func(s *Screen) {
		for y := range s.rows {
			out = append(out, s.Text(y))
		}
	})
	return out
}

func (p *program) text() string { return strings.Join(p.lines(), "\n") }

// see waits until the screen's text holds want.
func (p *program) see(t *testing.T, want string) {
	t.Helper()
	p.until(t, fmt.Sprintf("%q on the screen", want), func() bool { return strings.Contains(p.text(), want) })
}

func (p *program) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	gen := uint64(0)
	for !ok() {
		f, err := p.NextFrame(ctx, gen, 0)
		if err != nil {
			if ok() {
				return
			}
			t.Fatalf("got %v and this screen, want %s:\n%s", err, what, p.text())
		}
		gen = f.Gen
	}
}

func (p *program) typed(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		k := Key{Code: r, Text: string(r)}
		if r == '\n' {
			k = Key{Code: KeyEnter}
		}
		if err := p.Key(k); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBashRunsAndKeysKeepTheirOrder(t *testing.T) {
	p := start(t, 80, 24, Options{}, "bash", "--norc", "--noprofile")
	p.see(t, "$")
	p.typed(t, "printf 'a%sz\\n' bcdefghijklmnopqrstuvwxy\n")
	p.see(t, "\nabcdefghijklmnopqrstuvwxyz\n")
	p.typed(t, "exit\n")
	<-p.Done()
	if err := p.Key(Key{Code: 'x', Text: "x"}); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v for a key after the end, want %v", err, ErrEnded)
	}
	if _, err := p.NextFrame(context.Background(), 1<<60, 0); err == io.EOF {
		return
	}
	f, err := p.NextFrame(context.Background(), p.screen.gen, 0)
	if err != io.EOF || !f.Ended {
		t.Errorf("got %v, ended %v, want io.EOF and an ended frame", err, f.Ended)
	}
}

func TestLastWordsAreNeverLost(t *testing.T) {
	for range 50 {
		p := start(t, 80, 24, Options{}, "sh", "-c", "seq 1 20000; printf END; exit 3")
		select {
		case <-p.Done():
		case <-time.After(patience):
			t.Fatal("got no end, want one")
		}
		if got := p.text(); !strings.HasSuffix(strings.TrimSpace(got), "20000\nEND") {
			t.Fatalf("got the last lines %q, want END last", got[max(0, len(got)-60):])
		}
		if !strings.HasSuffix(p.log.String(), "20000\r\nEND") {
			t.Fatal("got a log without END, want it last")
		}
		if err := p.Err(); err != nil {
			t.Fatalf("got error %v at the end, want none", err)
		}
		if p.cmd.Wait(); p.cmd.ProcessState.ExitCode() != 3 {
			t.Fatalf("got status %d, want 3", p.cmd.ProcessState.ExitCode())
		}
	}
}

// ptyCommand starts a shell command on a new pty and returns its outer end.
func ptyCommand(t *testing.T, script string) (*os.File, *exec.Cmd) {
	t.Helper()
	outer, inner, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inner.Close()
	return outer, cmd
}
