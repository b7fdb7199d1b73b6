package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"fumehood/session/agent"
	"fumehood/session/term"
)

// agentAt is a terminal with this test as its program: say writes as that does,
// and returns once it was taken in.
func agentAt(t *testing.T) (tt *term.Terminal, say func(string)) {
	t.Helper()
	outer, inner, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	mode, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Lflag &^= unix.ECHO // it would count as output
	if err := unix.IoctlSetTermios(int(inner.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	tt, err = term.Start(outer, 80, 24, nil, term.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = inner.Close() // nothing was written that is not taken
		if err := tt.Close(); err != nil {
			t.Error(err)
		}
	})
	return tt, func(s string) {
		t.Helper()
		want := tt.Total() + int64(len(s))
		if _, err := inner.WriteString(s); err != nil {
			t.Fatal(err)
		}
		look, end := time.NewTicker(time.Millisecond), time.After(20*time.Second)
		defer look.Stop()
		for tt.Total() < want {
			select {
			case <-look.C:
			case <-end:
				t.Fatalf("got %d bytes of output, want %d", tt.Total(), want)
			}
		}
	}
}

const (
	idle    = "\x1b]7501;state=idle\a"
	working = "\x1b]7501;state=working\a"
	pastes  = "\x1b[?2004h"
)

func TestWhenAnAgentTakesAMessage(t *testing.T) {
	tells := &agent.Waits{Signals: []string{agent.SignalOSC7501}}
	silent := &agent.Waits{}
	type step struct{ say, typed string }
	for _, tc := range []struct {
		name  string
		waits *agent.Waits
		steps []step
		after time.Duration // since the last of them
		want  bool
	}{
		{"it says that it waits", tells, []step{{say: idle}}, time.Minute, true},
		{"of a program of which nothing is known too", nil, []step{{say: idle}}, time.Minute, true},
		{"it works", tells, []step{{say: idle}, {say: working}}, time.Minute, false},
		{"it said nothing yet", tells, []step{{say: pastes + "hello"}}, time.Hour, false},
		{"nor did a shell", nil, []step{{say: pastes + "$ "}}, time.Hour, false},
		{"the person has only just typed", tells, []step{{typed: "y\r"}, {say: idle}}, time.Second, false},
		{"and a while ago", tells, []step{{typed: "y\r"}, {say: idle}}, time.Minute, true},
		{"the person is typing, and it says again that it waits", tells, []step{{say: idle}, {typed: "half"}, {say: idle}}, time.Hour, false},
		{"what was typed was dropped", tells, []step{{typed: "half\x03"}, {say: idle}}, time.Hour, true},
		{"the focus and the mouse are no typing", tells, []step{{typed: "\x1b[I"}, {typed: "\x1b[<0;1;1M"}, {say: idle}}, time.Hour, true},
		{"a paste that was not entered", tells, []step{{typed: "\x1b[200~x\x1b[201~"}, {say: idle}}, time.Hour, false},
		{"a silent one that is quiet", silent, []step{{say: pastes + "> "}}, time.Minute, true},
		{"a silent one that has only just written", silent, []step{{say: pastes + "> "}}, time.Second, false},
		{"a silent one that reads no pastes", silent, []step{{say: "> "}}, time.Minute, false},
		{"a silent one with a half-typed line", silent, []step{{say: pastes + "> "}, {typed: "half"}}, time.Minute, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at, say := agentAt(t)
			for _, s := range tc.steps {
				if s.say != "" {
					say(s.say)
					continue
				}
				if _, err := at.Write([]byte(s.typed)); err != nil {
					t.Fatal(err)
				}
			}
			out, in := at.Activity()
			if got := takes(at, tc.waits, later(out, in).Add(tc.after)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAMessageWithoutPastesIsOneLine(t *testing.T) {
	if got, want := oneLine("a\n\n  b\tc\n"), "a b c"; got != want || strings.ContainsAny(got, "\n\r") {
		t.Errorf("got %q, want %q", got, want)
	}
}
