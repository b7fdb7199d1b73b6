// Package terminal is the second place: the agent's screen, edge to edge. All
// keys and the mouse go in, except one: ctrl+\ opens a menu for one key. The
// pictures are pulled, one request at a time, so that a flood of output costs
// one picture for each that is drawn.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate"
	"fumehood/session"
	"fumehood/ui/kit"
)

// endedAfter is how long it waits for the record of one that has just ended.
const endedAfter = 150 * time.Millisecond

// typingFor is how long after a key pictures are not held back: its echo is
// among them.
const typingFor = 150 * time.Millisecond

// retryAfter is how long the pane waits before it asks a session again that
// did not answer.
const retryAfter = time.Second

type (
	frameMsg struct {
		Session string
		Gen     int
		Frame   session.Frame
		Err     error
	}
	detailMsg struct {
		Session string
		Gen     int
		Detail  session.Detail
		Err     error
	}
	sentMsg struct {
		Session string
		Gen     int
		Err     error
	}
	retryMsg  struct{ Gen int }
	paceMsg   struct{ Gen int }
	resumeMsg struct {
		Session string
		Err     error
	}
	clipMsg struct {
		Session string
		Text    string
		Err     error
	}
	foundMsg struct {
		Session string
		Gen     int
		Offset  int
		Line    int
		Found   bool
		Err     error
	}
)

// mode is who gets the keys.
type mode int

const (
	inside    mode = iota // the agent
	menu                  // one key of the menu
	scrolling             // the view, scrolled back
	searching             // the search field
)

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend

	id     string
	active bool
	full   bool // the whole window, without the frame
	size   isolate.Size

	frame  session.Frame
	have   bool             // frame is a picture of this session
	ended  *session.Summary // how it ended, once that is known
	err    error
	gen    int // of the one outstanding request for a frame
	cancel context.CancelFunc
	asked  int // requests of the inside already told

	pace  kit.Pace
	typed time.Time // when the last key went in

	in     queue
	inGen  int
	offset int

	mode    mode
	query   kit.Input
	found   int // line of the last hit on the screen, -1 when none
	looking bool

	resuming bool
	clip     time.Time // when the outer terminal's clipboard was asked for
	inner    clips     // what the inside wants in it
}

// New is the place over a backend.
func New(ctx *kit.Ctx, b Backend) *Model { return &Model{ctx: ctx, backend: b, found: -1} }

// Title is the place's name.
func (m *Model) Title() string { return "terminal" }

// Grab says that every key goes to this place: to the agent, to the menu or to
// a field. A session that has ended takes no keys, so the frame has its own.
func (m *Model) Grab() bool {
	if m.id == "" {
		return false
	}
	return m.mode != inside || !m.over()
}

// Full says that the pane wants the whole window.
func (m *Model) Full() bool { return m.full && m.id != "" }

func (m *Model) over() bool {
	return m.ended != nil || m.have && m.frame.Ended || !m.have && m.err != nil
}

// Enter shows a session's screen.
func (m *Model) Enter(id string) tea.Cmd {
	m.active, m.inner.stale = true, true
	if id != m.id {
		m.inner = clips{stale: true, answered: m.inner.answered}
		m.id = id
		m.frame, m.have, m.err, m.ended = session.Frame{}, false, nil, nil
		m.asked, m.offset, m.found = 0, 0, -1
		m.in = queue{}
		m.inGen++
	}
	m.mode = inside
	if m.id == "" {
		return nil
	}
	m.in.resize(m.size)
	return tea.Batch(m.again(), m.send())
}

// Exit leaves the place; pictures are no longer asked for.
func (m *Model) Exit() {
	m.active = false
	m.mode = inside
	m.stop()
}

func (m *Model) stop() {
	m.gen++
	if m.cancel != nil {
		m.cancel()
		m.cancel = nil
	}
}

// again asks for the picture as it is now, whatever was asked before.
func (m *Model) again() tea.Cmd { return m.ask(0) }

func (m *Model) ask(since uint64) tea.Cmd {
	m.stop()
	if !m.active || m.id == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(m.ctx.Base)
	m.cancel = cancel
	id, gen, offset := m.id, m.gen, m.offset
	return func() tea.Msg {
		defer cancel()
		f, err := m.backend.Frame(ctx, id, since, offset)
		return frameMsg{Session: id, Gen: gen, Frame: f, Err: err}
	}
}

// Update takes the place's own answers and, while it is active, what is typed.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case frameMsg:
		if msg.Gen != m.gen || msg.Session != m.id {
			return nil
		}
		return tea.Batch(m.show(msg), m.tookClips())
	case clipMsg:
		return m.clipGiven(msg)
	case paceMsg:
		if msg.Gen == m.gen {
			return m.ask(m.frame.Gen)
		}
	case retryMsg:
		if msg.Gen == m.gen {
			return m.again()
		}
	case detailMsg:
		if msg.Gen == m.gen && msg.Session == m.id {
			return m.judge(msg)
		}
	case sentMsg:
		return m.sent(msg)
	case resumeMsg:
		return m.resumed(msg)
	case foundMsg:
		return m.hit(msg)
	case tea.WindowSizeMsg:
		return m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		return m.paste(msg.Content)
	case tea.ClipboardMsg:
		return m.clipboard(msg)
	case tea.MouseMsg:
		return m.mouse(msg)
	}
	return nil
}

func (m *Model) show(msg frameMsg) tea.Cmd {
	if msg.Err != nil {
		if errors.Is(msg.Err, context.Canceled) {
			return nil
		}
		if m.ended != nil && m.mode != inside {
			// Only its last screen was kept, and that one stays.
			m.offset = m.frame.Offset
			m.ctx.Fail(fmt.Errorf("scroll back: %w", msg.Err))
			return nil
		}
		m.err = msg.Err
		return m.loadDetail()
	}
	m.err = nil
	if !msg.Frame.Ended {
		m.ended = nil
	}
	if m.have && m.frame.State != msg.Frame.State {
		m.ctx.Tell(kit.Changed{})
	}
	m.frame, m.have = msg.Frame, true
	if m.mode == scrolling || m.mode == searching {
		// The supervisor holds the view within what there is.
		m.offset = msg.Frame.Offset
	}
	m.tellRequests()
	if m.frame.Ended {
		if m.ended != nil && m.mode != inside {
			return nil // how it ended is known, and does not change by scrolling
		}
		return m.loadDetail()
	}
	if m.offset > 0 {
		// Scrolled back, the view stands still: nothing moves under the eye.
		return nil
	}
	now := m.ctx.Clock.Now()
	if wait := m.pace.Wait(now); wait > 0 && now.Sub(m.typed) > typingFor {
		m.stop() // the request that was answered
		return m.ctx.Clock.After(wait, paceMsg{Gen: m.gen})
	}
	return m.ask(m.frame.Gen)
}

// loadDetail asks how a session stands that gives no picture any more.
func (m *Model) loadDetail() tea.Cmd {
	id, gen := m.id, m.gen
	return func() tea.Msg {
		d, err := m.backend.Detail(m.ctx.Base, id)
		return detailMsg{Session: id, Gen: gen, Detail: d, Err: err}
	}
}

// judge tells the end of a session, of which the last picture stays, from a
// session that only does not answer, which is asked again.
func (m *Model) judge(msg detailMsg) tea.Cmd {
	if msg.Err == nil && !msg.Detail.Live {
		if m.ended == nil {
			m.ctx.Tell(kit.Changed{})
		}
		m.ended, m.err = &msg.Detail.Summary, nil
		return nil
	}
	wait := retryAfter
	if m.have && m.frame.Ended {
		wait = endedAfter
	}
	return m.ctx.Clock.After(wait, retryMsg{Gen: m.gen})
}

// tellRequests names what the inside asked of the outer terminal. Nothing of
// it is done; a person who wants it does it.
func (m *Model) tellRequests() {
	n := len(m.frame.Requests)
	if n < m.asked {
		m.asked = 0
	}
	for _, r := range m.frame.Requests[m.asked:] {
		m.ctx.Say("the inside asked, and was not given: " + kit.Safe(r))
	}
	m.asked = n
}

// resize takes the cells of the pane. The session hears of it in order with
// the keys, so that the last size is the one that stays.
func (m *Model) resize(w, h int) tea.Cmd {
	m.size = isolate.Size{Cols: cells(w), Rows: cells(h)}
	if !m.active || m.id == "" || m.over() {
		return nil
	}
	m.in.resize(m.size)
	return m.send()
}

// cells bounds one side of a size: no program is told of an empty terminal.
func cells(n int) uint16 { return uint16(max(1, min(n, 1000))) }

// Size is the pane's size, for a session that is about to start.
func (m *Model) Size() isolate.Size { return m.size }

func (m *Model) resume() tea.Cmd {
	if m.id == "" || m.resuming {
		return nil
	}
	m.resuming = true
	id, size := m.id, m.size
	return func() tea.Msg {
		return resumeMsg{Session: id, Err: m.backend.Resume(m.ctx.Base, id, nil, size)}
	}
}

// Busy says what is under way, while it is.
func (m *Model) Busy() string {
	if m.resuming {
		return "starting again in the same workspace…"
	}
	return m.askedClip()
}

func (m *Model) resumed(msg resumeMsg) tea.Cmd {
	m.resuming = false
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("run again: %w", msg.Err))
		return nil
	}
	if msg.Session != m.id {
		return nil
	}
	m.frame, m.have, m.err, m.ended, m.offset = session.Frame{}, false, nil, nil, 0
	m.ctx.Tell(kit.Changed{})
	return m.again()
}
