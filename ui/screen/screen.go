// Package screen draws views on the user's terminal, and takes that terminal
// over and gives it back. What it is given to draw passes as it is: keeping
// hostile text out of it is the business of whoever makes the view.
package screen

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// drawEvery bounds how often the terminal is written to, in the long run. The
// first few after a rest or a key are drawn at once: an echo must not wait
// because a clock in a corner has just moved on, or output floods.
const (
	drawEvery = time.Second / 60
	drawBurst = 4
)

// stuckAfter is how long leaving waits for a terminal that takes no output.
const stuckAfter = time.Second

// The modes that the workbench runs in, and their opposites in reverse order.
const (
	enterModes = ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
		ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr + ansi.SetModifyOtherKeys2
	leaveModes = ansi.ResetModifyOtherKeys + ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr +
		ansi.ResetModeBracketedPaste + ansi.SetModeTextCursorEnable + ansi.ResetModeAltScreenSaveCursor
	// disambiguate asks for keys that can't be taken for others.
	disambiguate = 1
)

// Screen draws views on the terminal: the newest, at most 60 times a second,
// and nothing while nothing changes. The library's own renderer looks 60 times
// a second whether there is something new, which keeps a processor awake for a
// workbench that only waits for an agent.
//
// One goroutine draws, so that a slow terminal never holds up a key. Close ends
// it and waits for it.
type Screen struct {
	out  io.Writer
	wake chan struct{}
	quit chan struct{}
	done chan struct{}
	// drawing is held by whoever writes. It is a channel since leaving must not
	// wait for ever for a terminal that takes nothing.
	drawing chan struct{}
	typed   atomic.Bool // since the last drawing

	mu   sync.Mutex
	todo picture

	// What follows belongs to the holder of drawing.
	on        bool // the terminal is ours
	graphemes bool // the terminal counts cells by grapheme, as told
	scr       *uv.TerminalRenderer
	buf       bytes.Buffer
	cells     uv.ScreenBuffer
	drawn     picture
	lines     []string // of what is drawn, nil where rows depend on one another
	env       []string
	spent     time.Time // when all that was drawn is earned again, for run alone
}

// picture is what is to be drawn, and how.
type picture struct {
	view      tea.View
	w, h      int
	profile   tea.ColorProfileMsg
	profiled  bool
	sync      bool // the terminal shows an update at once
	graphemes bool // it counts cells by grapheme when told to
	anew      int  // raised to have all of it drawn again
}

// New is a screen for the terminal that out goes to; env is the environment,
// which says what that is. It draws nothing before Enter.
func New(out io.Writer, env []string) *Screen {
	s := &Screen{
		out: out, env: env, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}), drawing: make(chan struct{}, 1),
	}
	go s.run()
	return s
}

// Show has a view drawn; its content, cursor and window title count.
func (s *Screen) Show(v tea.View) { s.change(func(p *picture) { p.view = v }) }

// Typed says that a key was pressed: what it changes is drawn at once.
func (s *Screen) Typed() { s.typed.Store(true) }

// Resize tells the size of the window, in cells.
func (s *Screen) Resize(w, h int) { s.change(func(p *picture) { p.w, p.h = w, h }) }

// Redraw has all of it drawn again, as when something else wrote there.
func (s *Screen) Redraw() { s.change(func(p *picture) { p.anew++ }) }

// Profile tells which colours the terminal has.
func (s *Screen) Profile(m tea.ColorProfileMsg) {
	s.change(func(p *picture) { p.profile, p.profiled = m, true })
}

// Modes takes the terminal's answers to Questions.
func (s *Screen) Modes(m tea.ModeReportMsg) {
	switch m.Mode {
	case ansi.ModeSynchronizedOutput:
		if m.Value == ansi.ModeReset {
			s.change(func(p *picture) { p.sync = true })
		}
	case ansi.ModeUnicodeCore:
		if m.Value == ansi.ModeReset || m.Value == ansi.ModeSet || m.Value == ansi.ModePermanentlySet {
			s.change(func(p *picture) { p.graphemes = true })
		}
	}
}

// Questions ask what Modes wants to know.
const Questions = ansi.RequestModeSynchronizedOutput + ansi.RequestModeUnicodeCore

// change alters what is to be drawn and has it drawn.
func (s *Screen) change(f func(p *picture)) {
	s.mu.Lock()
	f(&s.todo)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it is about to look
	}
}

func (s *Screen) run() {
	defer close(s.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		}
		if s.typed.Swap(false) {
			s.spent = time.Time{}
		}
		timer.Reset(max(0, time.Until(s.spent)) - drawBurst*drawEvery)
		select {
		case <-s.quit:
			return
		case <-timer.C:
		}
		s.drawing <- struct{}{}
		if s.draw() {
			if now := time.Now(); s.spent.Before(now) {
				s.spent = now
			}
			s.spent = s.spent.Add(drawEvery)
		}
		<-s.drawing
	}
}

// hold waits for the right to write, unless the terminal is stuck.
func (s *Screen) hold() bool {
	select {
	case s.drawing <- struct{}{}:
		return true
	case <-time.After(stuckAfter):
		return false
	}
}

// Enter takes the terminal over. ask is written behind: questions whose answers
// come as input.
func (s *Screen) Enter(ask string) {
	if !s.hold() {
		return
	}
	defer func() { <-s.drawing }()
	s.on, s.graphemes = true, false
	s.buf.Reset()
	s.scr = uv.NewTerminalRenderer(&s.buf, s.env)
	s.scr.SetTabStops(-1)
	s.scr.SetScrollOptim(true)
	s.scr.SaveCursor()
	s.scr.SetFullscreen(true)
	s.scr.SetRelativeCursor(false)
	s.scr.Erase()
	s.drawn, s.lines = picture{}, nil
	s.cells = uv.NewScreenBuffer(0, 0)
	s.write(enterModes + ansi.PushKittyKeyboard(disambiguate) + ask)
	s.change(func(*picture) {})
}

// Leave gives the terminal back as it was. It can be called at any time, and
// more than once.
func (s *Screen) Leave() {
	if !s.hold() {
		return
	}
	defer func() { <-s.drawing }()
	if !s.on {
		return
	}
	s.on = false
	text := ansi.ResetStyle + ansi.PopKittyKeyboard(1) + leaveModes
	if s.graphemes {
		text = ansi.ResetModeUnicodeCore + text
	}
	if s.drawn.view.WindowTitle != "" {
		text += ansi.SetWindowTitle("")
	}
	s.write(text)
}

// Ask writes a question to the terminal.
func (s *Screen) Ask(seq string) {
	if !s.hold() {
		return
	}
	defer func() { <-s.drawing }()
	if s.on {
		s.write(seq)
	}
}

// Close ends the drawing. The terminal must have been left.
func (s *Screen) Close() {
	close(s.quit)
	select {
	case <-s.done:
	case <-time.After(stuckAfter): // the terminal takes nothing; the process ends
	}
}

func (s *Screen) write(text string) {
	_, _ = io.WriteString(s.out, text) // a terminal that is gone sends SIGHUP
}

// draw brings the terminal to what is wanted now. It says whether it wrote.
func (s *Screen) draw() bool {
	s.mu.Lock()
	p := s.todo
	s.mu.Unlock()
	if !s.on || p.w <= 0 || p.h <= 0 || same(p, s.drawn) {
		return false
	}
	if p.profiled {
		s.scr.SetColorProfile(p.profile.Profile)
	}
	if p.graphemes && !s.graphemes {
		s.graphemes = true
		s.write(ansi.SetModeUnicodeCore)
	}
	anew := p.w != s.drawn.w || p.h != s.drawn.h || p.anew != s.drawn.anew || p.profile != s.drawn.profile || p.graphemes != s.drawn.graphemes
	if anew {
		s.cells = uv.NewScreenBuffer(p.w, p.h)
		s.scr.Resize(p.w, p.h)
		s.scr.Erase()
	}
	if s.graphemes {
		s.cells.Method = ansi.GraphemeWidth
	}
	s.fill(p, anew)
	s.scr.Render(s.cells.RenderBuffer)
	if c := p.view.Cursor; c != nil {
		s.scr.MoveTo(c.X, c.Y)
	}
	if s.scr.Flush() == nil {
		s.write(s.frame(p))
	}
	s.drawn = p
	return true
}

// fill puts the view into the cells: of one whose rows stand for themselves only
// those that changed, since an echo changes one in fifty.
func (s *Screen) fill(p picture, anew bool) {
	before := s.lines
	s.lines = strings.Split(p.view.Content, "\n")
	if slices.ContainsFunc(s.lines, open) {
		s.lines = nil
	}
	if anew || before == nil || s.lines == nil {
		s.cells.Clear()
		uv.NewStyledString(p.view.Content).Draw(s.cells, s.cells.Bounds())
		return
	}
	row := func(lines []string, y int) string {
		if y < len(lines) {
			return lines[y]
		}
		return ""
	}
	for y := range p.h {
		if l := row(s.lines, y); l != row(before, y) {
			uv.NewStyledString(l).Draw(s.cells, uv.Rect(0, y, p.w, 1))
		}
	}
}

// open says whether what a line sets may last beyond its end.
func open(line string) bool {
	at := strings.LastIndexByte(line, ansi.ESC)
	return at >= 0 && !strings.HasPrefix(line[at:], ansi.ResetStyle) && !strings.HasPrefix(line[at:], "\x1b[0m")
}

// frame wraps the renderer's output so that no cursor is seen to run about.
func (s *Screen) frame(p picture) string {
	var b bytes.Buffer
	if p.view.WindowTitle != s.drawn.view.WindowTitle {
		b.WriteString(ansi.SetWindowTitle(p.view.WindowTitle))
	}
	if p.sync {
		b.WriteString(ansi.SetModeSynchronizedOutput)
	}
	b.WriteString(ansi.ResetModeTextCursorEnable)
	b.Write(s.buf.Bytes())
	s.buf.Reset()
	if p.view.Cursor != nil {
		b.WriteString(ansi.SetModeTextCursorEnable)
	}
	if p.sync {
		b.WriteString(ansi.ResetModeSynchronizedOutput)
	}
	return b.String()
}

// same says that b shows what a wants.
func same(a, b picture) bool {
	ca, cb := a.view.Cursor, b.view.Cursor
	if (ca == nil) != (cb == nil) || ca != nil && ca.Position != cb.Position {
		return false
	}
	return a.view.Content == b.view.Content && a.view.WindowTitle == b.view.WindowTitle && a.w == b.w && a.h == b.h &&
		a.anew == b.anew && a.profile == b.profile && a.graphemes == b.graphemes
}
