package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fumehood/session/agent"
	"fumehood/session/term"
	"fumehood/session/wire"
)

// frameWait is how long a request for a newer picture waits for one.
const frameWait = 10 * time.Second

// screen is the session's own terminal, nil when its command has none or has
// not begun.
func (s *supervisor) screen() *term.Terminal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main == nil {
		return nil
	}
	return s.main.term
}

// frame waits for a picture newer than since. The end of the session wakes it.
func (s *supervisor) frame(t *term.Terminal, since uint64, offset int) (*wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), frameWait)
	defer cancel()
	go func() {
		select {
		case <-s.endOnce:
			cancel()
		case <-ctx.Done():
		}
	}()
	f, err := t.NextFrame(ctx, since, offset)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f, _ = t.Frame(0, offset)
	case errors.Is(err, io.EOF), err == nil:
	default:
		return nil, fmt.Errorf("picture of the terminal: %w", err)
	}
	out := wireFrame(f)
	out.State, out.Ended = s.state()
	out.ClipAllow = s.pol.Terminal.Clipboard == "allow"
	return out, nil
}

// history is the terminal as it stands, with all lines that are kept above the
// screen before it: Scrollback says how many of Lines those are.
func history(t *term.Terminal) *wire.Frame {
	last, _ := t.Frame(0, 0) // since 0 always draws
	out := wireFrame(last)
	var above []string
	for left := last.Scrollback; left > 0; {
		f, _ := t.Frame(0, left)
		n := min(left, len(f.Lines))
		if n == 0 || f.Offset != left {
			break
		}
		above = append(above, f.Lines[:n]...)
		left -= n
	}
	out.Lines = append(above, out.Lines...)
	out.Scrollback, out.CursorOn = len(above), false
	return out
}

func wireFrame(f term.Frame) *wire.Frame {
	return &wire.Frame{
		Gen: f.Gen, Cols: f.Cols, Rows: f.Rows, Lines: f.Lines, CursorX: f.CursorX, CursorY: f.CursorY, CursorOn: f.CursorOn,
		Title: f.Title, Scrollback: f.Scrollback, Offset: f.Offset, Mouse: f.Mouse, Dropped: f.Dropped, Requests: f.Requests,
		Clips: f.Clips, ClipBytes: f.ClipBytes,
	}
}

// input answers the requests that go to a terminal.
func (s *supervisor) input(t *term.Terminal, q wire.Request) error {
	switch q.Op {
	case wire.OpKeys:
		for _, k := range q.Keys {
			if err := t.Key(term.Key{Code: k.Code, Mod: k.Mod, Text: k.Text}); err != nil {
				return err
			}
		}
		return nil
	case wire.OpPaste:
		return t.Paste(q.Text)
	case wire.OpMouse:
		if q.Mouse == nil {
			return errors.New("mouse request without an event")
		}
		kind, ok := mouseKinds[q.Mouse.Kind]
		if !ok {
			return fmt.Errorf("mouse event of unknown kind %q", q.Mouse.Kind)
		}
		return t.Mouse(term.Mouse{Kind: kind, Button: q.Mouse.Button, X: q.Mouse.X, Y: q.Mouse.Y, Mod: q.Mouse.Mod})
	case wire.OpResize:
		if q.Size == nil {
			return errors.New("resize request without a size")
		}
		_, _, err := t.Resize(int(q.Size.Cols), int(q.Size.Rows))
		return err
	default:
		return fmt.Errorf("unknown operation %q", q.Op)
	}
}

// mouseKinds: a wheel step is a press of one of the wheel's buttons.
var mouseKinds = map[string]term.MouseKind{
	"click": term.MousePress, "wheel": term.MousePress, "release": term.MouseRelease, "motion": term.MouseMotion,
}

// lastLine is the lowest line of the terminal with something in it.
func lastLine(t *term.Terminal) string {
	line := ""
	t.Look(func(sc *term.Screen) {
		_, rows := sc.Size()
		for y := rows - 1; y >= 0 && line == ""; y-- {
			line = strings.TrimSpace(sc.Text(y))
		}
	})
	return line
}

// signals are those of the session's agent, for its own command; any may count
// in what a person runs beside it.
func (r *run) signals() *term.Signals {
	w := r.s.start.Waits
	if !r.own || w == nil {
		return nil
	}
	out := &term.Signals{OSC7501: w.Counts(agent.SignalOSC7501), Notification: w.Counts(agent.SignalNotification)}
	if w.Counts(agent.SignalTitle) {
		out.Title = func(title string) string {
			switch waits, works := w.OfTitle(title); {
			case waits:
				return term.AgentWaiting
			case works:
				return term.AgentWorking
			}
			return term.AgentUnknown
		}
	}
	return out
}

// waits tells whether the agent said that it waits for the person.
func waits(t *term.Terminal) bool {
	said := ""
	t.Look(func(sc *term.Screen) { said = sc.Agent() })
	// "done" is what Codex says at a turn's end: the next word is the person's.
	return said == term.AgentWaiting || said == term.AgentDone
}
