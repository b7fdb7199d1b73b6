// Package walls is the fifth place: the sixteen wall tests of a policy, live
// while they run, and of each attempt what was tried, what came of it and who
// saw it. It runs nothing itself: session/prove does.
package walls

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/ui/kit"
)

// refreshEvery is how often what is proven, and the layers of a session that
// runs, are read while they are looked at.
const refreshEvery = 2 * time.Second

type (
	wallsMsg struct {
		Gen    int
		Walls  session.Walls
		Detail session.Detail
		Err    error
	}
	tickMsg  struct{ Gen int }
	savedMsg struct {
		Path string
		Err  error
	}
)

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend

	session string // whose policy it is about; "" for that of a new session
	policy  string // named by the page of a new session
	named   bool   // it is about that policy, and goes back to that page
	active  bool
	gen     int

	about  session.Walls
	detail session.Detail
	have   bool
	err    error

	run       *running
	runs      int
	pending   bool // a run is wanted as soon as the policy is known
	fresh     map[int]walls.Result
	freshHash string
	record    *walls.Record // of the newest run in this workbench
	matrix    *walls.Matrix
	matrixOf  string

	list     kit.List // the sixteen
	attempts kit.List // those of the test under the cursor
	inside   bool     // the keys move among the attempts
	listY    int      // where the first test was drawn, for the mouse
	listN    int
	counted  bool // a test in the list has counts
	page     int  // how many attempts were drawn

	saving bool
	path   kit.Input
}

// New is the place of walls.
func New(ctx *kit.Ctx, b Backend) *Model { return &Model{ctx: ctx, backend: b} }

// Init reads what is proven of the policy that a new session would have.
func (m *Model) Init() tea.Cmd { return m.load() }

// Title is the place's name.
func (m *Model) Title() string { return "walls" }

// Grab says that letters are the name of a file.
func (m *Model) Grab() bool { return m.saving }

// Enter shows a session's walls, or with "" those of a new one.
func (m *Model) Enter(id string) tea.Cmd { return m.enter(id, "", false) }

// EnterPolicy shows a policy's walls and begins the tests; "" is the policy
// that would be found.
func (m *Model) EnterPolicy(policy string) tea.Cmd {
	cmd := m.enter("", policy, true)
	m.pending = m.run == nil
	return cmd
}

func (m *Model) enter(id, policy string, named bool) tea.Cmd {
	if id != m.session || policy != m.policy {
		m.session, m.policy = id, policy
		m.have, m.err = false, nil
		m.inside, m.attempts = false, kit.List{}
	}
	m.named, m.active, m.pending = named, true, false
	return m.load()
}

// Exit leaves the place; a run goes on.
func (m *Model) Exit() {
	m.active, m.saving, m.pending = false, false, false
	m.gen++
}

// Named is the policy that it is about when that is no session's.
func (m *Model) Named() (string, bool) { return m.about.Policy, m.named }

// Proof is what is known of the policy that it is about.
func (m *Model) Proof() kit.Proof {
	return kit.Proof{
		Known: m.have, Standing: m.about.Standing, Err: m.about.Err,
		Live: m.session != "" && m.detail.Live, Facts: m.detail.Layers,
	}
}

func (m *Model) load() tea.Cmd {
	m.gen++
	id, policy, gen := m.session, m.policy, m.gen
	return func() tea.Msg {
		out := wallsMsg{Gen: gen}
		if out.Walls, out.Err = m.backend.Walls(m.ctx.Base, id, policy); out.Err == nil && id != "" {
			out.Detail, out.Err = m.backend.Detail(m.ctx.Base, id)
		}
		return out
	}
}

// Update takes the place's answers and keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case wallsMsg:
		return m.took(msg)
	case tickMsg:
		if msg.Gen == m.gen && m.active {
			return m.load()
		}
	case drawMsg:
		if m.run != nil && msg.Gen == m.run.gen {
			return m.run.take()
		}
	case toldMsg:
		if m.run != nil && msg.Gen == m.run.gen {
			m.run.hear(msg.Events)
			m.run.turns++
			return m.later()
		}
	case provedMsg:
		return m.proved(msg)
	case mutatedMsg:
		return m.mutated(msg)
	case savedMsg:
		if msg.Err != nil {
			m.ctx.Fail(msg.Err)
		} else {
			m.ctx.Say("record saved as " + msg.Path)
		}
	case tea.PasteMsg:
		if m.saving {
			m.path.Paste(msg.Content)
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			return m.move(-1)()
		}
		return m.move(1)()
	}
	return nil
}

func (m *Model) took(msg wallsMsg) tea.Cmd {
	if msg.Gen != m.gen {
		return nil // an older question
	}
	if errors.Is(msg.Err, context.Canceled) {
		return nil
	}
	m.err = msg.Err
	if msg.Err == nil {
		// A newer record than what was seen here has the last word.
		if r := msg.Walls.Standing.Record; m.record != nil && r != nil && r.Complete() && len(msg.Walls.Standing.Stale) == 0 &&
			r.PolicyHash == m.freshHash && !r.Date.Before(m.record.Date) {
			m.fresh = nil
		}
		m.about, m.detail, m.have = msg.Walls, msg.Detail, true
	}
	var cmds []tea.Cmd
	if m.pending && m.have && m.err == nil {
		m.pending = false
		cmds = append(cmds, m.start(0))
	}
	if m.active {
		cmds = append(cmds, m.ctx.Clock.After(refreshEvery, tickMsg{Gen: m.gen}))
	}
	return tea.Batch(cmds...)
}
