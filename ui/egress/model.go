// Package egress is the fourth place: what a session tried to reach and what
// came of it, live, with the refusals counted below, and from each of them the
// way to an entry that would let it through. It decides nothing: the proxy does,
// and an entry is added by the session when a person says so.
package egress

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
)

// refreshEvery is how often the record is read while it is looked at.
const refreshEvery = time.Second

type (
	trafficMsg struct {
		Session string
		Gen     int
		Traffic session.Traffic
		Err     error
	}
	tickMsg  struct{ Gen int }
	draftMsg struct {
		Session string
		Gen     int
		Of      session.Attempt
		Group   *session.Refusal // when it is of one
		Draft   session.Draft
		Err     error
	}
	allowedMsg struct {
		Session string
		Text    string
		Err     error
	}
	policyMsg struct {
		Session string
		Detail  session.Detail
		Err     error
	}
)

// pane is which of the two lists has the keys.
type pane int

const (
	attempts pane = iota
	refusals
)

// live is the place of the cursor while the list of attempts follows what comes:
// on none, so that nothing moves under it.
const live = -1

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend

	id      string
	active  bool
	gen     int
	traffic session.Traffic
	have    bool
	chosen  bool // the pane was picked, once there was something to pick from
	err     error
	seen    map[string]int // refusals that were looked at, by session

	filter    kit.Input
	filtering bool

	pane   pane
	at     int // number of the attempt under the cursor, from the record's first; live for none
	top    int // number of the first attempt drawn
	groups kit.List
	// What was drawn where, for the mouse and for the page keys.
	listY, listN, groupY, groupN int
	rows                         []int // numbers of the attempts that were drawn

	drafting, allowing bool
}

// New is the place over a backend.
func New(ctx *kit.Ctx, b Backend) *Model {
	return &Model{ctx: ctx, backend: b, at: live, seen: map[string]int{}}
}

// Title is the place's name.
func (m *Model) Title() string { return "egress" }

// Grab says that letters are the filter's.
func (m *Model) Grab() bool { return m.filtering }

// Busy says what is under way, while it is.
func (m *Model) Busy() string {
	switch {
	case m.allowing:
		return "adding the entry…"
	case m.drafting:
		return "drafting an entry…"
	}
	return ""
}

// Enter shows what a session tried to reach.
func (m *Model) Enter(id string) tea.Cmd {
	if id != m.id {
		m.id, m.have, m.err, m.chosen = id, false, nil, false
		m.traffic = session.Traffic{}
		m.pane, m.at, m.top, m.groups = attempts, live, 0, kit.List{}
		m.filter.Set("")
	}
	m.active = true
	return m.load()
}

// Exit leaves the place.
func (m *Model) Exit() {
	m.active, m.filtering, m.drafting = false, false, false
	m.gen++
}

// Unseen is how many of a session's refusals nobody looked at yet.
func (m *Model) Unseen(id string, refused int) int { return max(0, refused-m.seen[id]) }

func (m *Model) load() tea.Cmd {
	m.gen++
	id, gen := m.id, m.gen
	if id == "" {
		return nil
	}
	return func() tea.Msg {
		t, err := m.backend.Egress(m.ctx.Base, id)
		return trafficMsg{Session: id, Gen: gen, Traffic: t, Err: err}
	}
}

// Update takes the place's answers and keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case trafficMsg:
		return m.took(msg)
	case tickMsg:
		if msg.Gen == m.gen && m.active {
			return m.load()
		}
	case draftMsg:
		return m.drafted(msg)
	case allowedMsg:
		return m.allowed(msg)
	case policyMsg:
		m.showPolicy(msg)
	case tea.PasteMsg:
		if m.filtering {
			m.filter.Paste(msg.Content)
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseClickMsg:
		m.click(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	}
	return nil
}

func (m *Model) took(msg trafficMsg) tea.Cmd {
	if msg.Gen != m.gen || msg.Session != m.id {
		return nil // an older question
	}
	if errors.Is(msg.Err, context.Canceled) {
		return nil
	}
	if m.err = msg.Err; msg.Err == nil {
		m.traffic, m.have = msg.Traffic, true
		m.seen[m.id] = msg.Traffic.Refused
		if !m.chosen && len(m.traffic.Groups) > 0 {
			m.pane, m.chosen = refusals, true
		}
	}
	if !m.active {
		return nil
	}
	return m.ctx.Clock.After(refreshEvery, tickMsg{Gen: m.gen})
}

func (m *Model) showPolicy(msg policyMsg) {
	if msg.Session != m.id || !m.active {
		return
	}
	if msg.Err != nil {
		m.ctx.Fail(msg.Err)
		return
	}
	block := kit.SafeText(msg.Detail.Block)
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{
		Head: "policy " + kit.Safe(msg.Detail.Policy), Clock: m.ctx.Clock, Late: true,
		Body: func(w int) []string { return kit.WrapLines(block, w) },
	}})
}
