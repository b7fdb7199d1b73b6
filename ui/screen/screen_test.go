package screen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"fumehood/session/term"
)

// sink keeps what was written, and can take nothing for a while.
type sink struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	writes int
	stuck  chan struct{} // closed when it takes output again; nil: it does
}

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	return s.buf.Write(b)
}

func (s *sink) take() (text string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, writes = s.buf.String(), s.writes
	s.buf.Reset()
	s.writes = 0
	return text, writes
}

func viewOf(lines ...string) tea.View {
	v := tea.NewView(strings.Join(lines, "\n"))
	v.Cursor = tea.NewCursor(3, 1)
	return v
}

func openScreen(t *testing.T, w, h int) (*Screen, *sink) {
	t.Helper()
	out := &sink{}
	s := New(out, []string{"TERM=xterm-256color"})
	t.Cleanup(func() { s.Leave(); s.Close() })
	s.Enter("")
	s.change(func(p *picture) {
		p.w, p.h, p.profile, p.profiled = w, h, tea.ColorProfileMsg{Profile: colorprofile.TrueColor}, true
	})
	return s, out
}

// until waits for the screen to have drawn what is wanted.
func until(t *testing.T, s *Screen) {
	t.Helper()
	end := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.drawing <- struct{}{}
		s.mu.Lock()
		ok := same(s.todo, s.drawn)
		s.mu.Unlock()
		<-s.drawing
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal("got no drawing within 10s")
		}
		<-tick.C
	}
}

// Whatever was drawn before, the terminal shows the newest view, with its
// cursor: what is left out of an update must be there already.
func TestTheTerminalShowsTheNewestView(t *testing.T) {
	s, out := openScreen(t, 40, 8)
	emu := term.NewScreen(40, 8, term.ScreenOptions{})
	w, h := 40, 8
	seed := uint32(7)
	rnd := func(n int) int { seed = seed*1664525 + 1013904223; return int(seed>>16) % n }
	var before []string
	for round := range 300 {
		if rnd(10) == 0 {
			w, h, before = 10+rnd(40), 3+rnd(10), nil
			s.change(func(p *picture) { p.w, p.h = w, h })
			emu.Resize(w, h)
		}
		lines := make([]string, h)
		for i := range lines {
			n := rnd(w + 1)
			if i < len(before) && round%2 == 0 && rnd(4) > 0 {
				lines[i] = before[i]
				continue
			}
			switch rnd(4) {
			case 0:
				lines[i] = strings.Repeat("x", n)
			case 1:
				lines[i] = "\x1b[1;31m" + strings.Repeat("é", n) + "\x1b[m"
			case 2:
				lines[i] = fmt.Sprintf("%.*s", n, "the same words at another place, mostly")
			}
		}
		before = lines
		v := viewOf(lines...)
		v.Cursor = tea.NewCursor(rnd(w), rnd(h))
		s.change(func(p *picture) { p.view = v })
		until(t, s)
		text, _ := out.take()
		emu.Feed([]byte(text))
		for y := range lines {
			if g, want := strings.TrimRight(emu.Text(y), " "), strings.TrimRight(ansi.Strip(lines[y]), " "); g != want {
				t.Fatalf("round %d, line %d of %dx%d: got %q, want %q", round, y, w, h, g, want)
			}
		}
		if f, _ := emu.Frame(0, 0); f.CursorX != v.Cursor.X || f.CursorY != v.Cursor.Y || !f.CursorOn {
			t.Fatalf("round %d: got the cursor at %d,%d (%v), want %d,%d", round, f.CursorX, f.CursorY, f.CursorOn, v.Cursor.X, v.Cursor.Y)
		}
	}
}

// Rows are drawn one by one only where each stands for itself: what a row leaves
// open is seen in the next, though that one is the same as before.
func TestARowThatIsLeftOpenShowsInTheNext(t *testing.T) {
	views := []tea.View{
		viewOf("\x1b[31mred", "below", "\x1b[mplain"), viewOf("\x1b[32mgreen", "below", "\x1b[mplain"), viewOf("\x1b[0mplain\x1b[0m", "below", "plain"),
		viewOf("\x1b[34mblue\x1b[m", "below", "plain"), viewOf("plain", "\x1b[35mbelow\x1b[m", "plain"),
	}
	shown := func(views ...tea.View) []string {
		s, out := openScreen(t, 40, 4)
		emu := term.NewScreen(40, 4, term.ScreenOptions{})
		for _, v := range views {
			s.Show(v)
			until(t, s)
			text, _ := out.take()
			emu.Feed([]byte(text))
		}
		f, _ := emu.Frame(0, 0)
		return f.Lines
	}
	for i := range views {
		if got, want := shown(views[:i+1]...), shown(views[i]); !slices.Equal(got, want) {
			t.Errorf("view %d after the others: got %q, want %q", i, got, want)
		}
	}
}

// A key is not held up by what was drawn before it.
func TestWhatAKeyChangesIsDrawnAtOnce(t *testing.T) {
	s, out := openScreen(t, 40, 8)
	least := time.Hour
	for round := range 30 {
		for n := range 8 { // more than are drawn at once
			s.Show(viewOf(fmt.Sprint(round, n)))
			until(t, s)
		}
		out.take()
		from := time.Now()
		s.Typed()
		s.Show(viewOf(fmt.Sprint(round)))
		until(t, s)
		least = min(least, time.Since(from))
	}
	if least > drawEvery/2 {
		t.Errorf("got %v from a key to what it changes, want less than half of %v", least, drawEvery)
	}
}

func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	s, out := openScreen(t, 40, 8)
	v := viewOf("one", "two")
	s.change(func(p *picture) { p.view = v })
	until(t, s)
	out.take()
	for range 100 {
		s.change(func(p *picture) { p.view = viewOf("one", "two") })
		until(t, s)
	}
	if text, n := out.take(); n != 0 {
		t.Fatalf("got %d writes of what is there already: %q", n, text)
	}
	s.change(func(p *picture) { p.anew++ })
	until(t, s)
	if text, _ := out.take(); !strings.Contains(text, "one") || !strings.Contains(text, "two") {
		t.Fatalf("got %q, want all of it drawn anew", text)
	}
}

func TestAStormOfViewsIsDrawnSixtyTimesASecond(t *testing.T) {
	s, out := openScreen(t, 40, 8)
	begin := time.Now()
	n := 0
	for time.Since(begin) < 300*time.Millisecond {
		n++
		s.change(func(p *picture) { p.view = viewOf(fmt.Sprint(n)) })
	}
	until(t, s)
	took := time.Since(begin)
	_, writes := out.take()
	if most := int(took/drawEvery) + drawBurst + 3; writes > most || n < 10*writes {
		t.Fatalf("got %d writes for %d views in %v, want at most %d", writes, n, took, most)
	}
}

// A terminal that takes no output (ctrl+S, a stopped pipe) holds up neither
// keys nor the end.
func TestAStuckTerminalHoldsNothingUp(t *testing.T) {
	out := &sink{}
	s := New(out, []string{"TERM=xterm-256color"})
	s.Enter("")
	s.change(func(p *picture) { p.w, p.h, p.view = 40, 8, viewOf("one") })
	until(t, s)
	out.mu.Lock()
	out.stuck = make(chan struct{})
	out.mu.Unlock()
	defer close(out.stuck)
	begin := time.Now()
	for i := range 1000 {
		s.change(func(p *picture) { p.view = viewOf(fmt.Sprint(i)) })
	}
	if took := time.Since(begin); took > 500*time.Millisecond {
		t.Fatalf("got %v for a thousand views, want no wait for the terminal", took)
	}
	for len(s.drawing) == 0 { // until the drawing is stuck as well
		if time.Since(begin) > 10*time.Second {
			t.Fatal("got no attempt to draw within 10s")
		}
		<-time.After(time.Millisecond)
	}
	begin = time.Now()
	s.Leave()
	s.Close()
	if took := time.Since(begin); took > 3*stuckAfter {
		t.Fatalf("got %v to leave, want some %v", took, 2*stuckAfter)
	}
}

func TestLeavingResetsWhatEnteringSet(t *testing.T) {
	out := &sink{}
	s := New(out, []string{"TERM=xterm-256color"})
	s.Enter("")
	s.change(func(p *picture) {
		p.w, p.h, p.graphemes, p.sync = 40, 8, true, true
		p.view = viewOf("one")
		p.view.WindowTitle = "fumehood: x"
	})
	until(t, s)
	s.Leave()
	s.Leave() // a second time changes nothing
	s.Close()
	text, _ := out.take()
	for _, mode := range []string{"?1049", "?2004", "?1002", "?1006", "?2027", "?2026"} {
		set, reset := strings.LastIndex(text, "\x1b["+mode+"h"), strings.LastIndex(text, "\x1b["+mode+"l")
		if set < 0 || reset < set {
			t.Errorf("got mode %s left on in %q", mode, text)
		}
	}
	for _, seq := range []string{ansi.SetModeAltScreenSaveCursor, ansi.ResetModeAltScreenSaveCursor, ansi.SetWindowTitle("fumehood: x"), ansi.SetWindowTitle(""), ansi.PushKittyKeyboard(1), ansi.PopKittyKeyboard(1), ansi.ResetModifyOtherKeys} {
		if n := strings.Count(text, seq); n != 1 {
			t.Errorf("got %q %d times, want once, in %q", seq, n, text)
		}
	}
	if hide, show := strings.LastIndex(text, "\x1b[?25l"), strings.LastIndex(text, "\x1b[?25h"); show < hide {
		t.Errorf("got the cursor left hidden in %q", text)
	}
}
