// Package sessions is the first place: the list of sessions, what is known of
// the one under the cursor, and the keys that open, stop and remove it. It
// owns the cursor that says which session the whole workbench is about.
package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
)

// refreshEvery is how often the list is read while it is looked at, and
// restEvery while another place is. What a place sees for itself it tells.
const (
	refreshEvery = time.Second
	restEvery    = 5 * time.Second
)

type (
	listMsg struct {
		Gen  int
		All  bool
		List []session.Summary
		Err  error
	}
	detailMsg struct {
		Session string
		Gen     int
		Detail  session.Detail
		Err     error
	}
	frameMsg struct {
		Session string
		Gen     int
		Frame   session.Frame
		Err     error
	}
	tickMsg struct{ Gen int }
	lookMsg struct{ Gen int } // time for the next frame of the quick look
	doneMsg struct {
		What string
		Err  error
	}
	removedMsg struct {
		What  string
		Of    session.Summary
		Force bool
		Err   error
	}
)

// Model is the place.
type Model struct {
	ctx     *kit.Ctx
	backend Backend

	rows    []session.Summary // in the order of order
	order   map[string]int    // place of each ID; kept while the list is looked at
	loaded  bool
	listErr error
	all     bool
	current string // ID under the cursor; the session of the workbench
	active  bool
	wanted  string // ID or name to go to as soon as the list has it
	list    kit.List
	drawn   int // rows of the table when it was drawn last
	gen     int

	detail  session.Detail
	details bool

	look       bool
	lookGen    int
	lookFrame  session.Frame
	lookPace   kit.Pace
	lookCancel context.CancelFunc

	calls []string // stops and removals under way

	filter    kit.Input
	filtering bool
}

// New is the place over a backend; want names the session to begin with.
func New(ctx *kit.Ctx, b Backend, want string) *Model {
	return &Model{ctx: ctx, backend: b, wanted: want, order: map[string]int{}, active: true}
}

// Title is the place's name.
func (m *Model) Title() string { return "sessions" }

// Grab says that keys are text for the filter.
func (m *Model) Grab() bool { return m.filtering }

// Init asks for the list; each answer asks for the next, a second later.
func (m *Model) Init() tea.Cmd { return m.reload() }

// Enter shows the place. The rows are put in order: what waits comes first.
func (m *Model) Enter(string) tea.Cmd {
	m.active = true
	m.sortNow()
	return m.reload()
}

// Exit leaves the place.
func (m *Model) Exit() {
	m.active = false
	m.stopLook()
}

// Reload reads the list now.
func (m *Model) Reload() tea.Cmd { return m.reload() }

// Current is the session of the workbench, if there is one.
func (m *Model) Current() (session.Summary, bool) {
	for _, s := range m.rows {
		if s.ID == m.current {
			return s, true
		}
	}
	return session.Summary{}, false
}

// None says whether there is no session; known is false until the list was
// read.
func (m *Model) None() (none, known bool) {
	return len(m.rows) == 0 && m.listErr == nil, m.loaded
}

// Detail is what is known of the current session.
func (m *Model) Detail() (session.Detail, bool) {
	return m.detail, m.details && m.detail.ID == m.current
}

// Select goes to a session, now or as soon as the list has it.
func (m *Model) Select(id string) tea.Cmd {
	if id == "" || id == m.current {
		return nil
	}
	for _, s := range m.rows {
		if s.ID == id {
			return m.setCurrent(id)
		}
	}
	m.wanted = id
	return m.reload()
}

// Live counts the sessions that run.
func (m *Model) Live() int {
	n := 0
	for _, s := range m.rows {
		if s.Live {
			n++
		}
	}
	return n
}

func (m *Model) setCurrent(id string) tea.Cmd {
	if id != m.current {
		m.current = id
		m.details = false
	}
	for i, s := range m.shown() {
		if s.ID == id {
			m.list.Set(i, i+1)
		}
	}
	return tea.Batch(m.loadDetail(), m.relook())
}

func (m *Model) reload() tea.Cmd {
	m.gen++
	gen, all := m.gen, m.all
	return func() tea.Msg {
		l, err := m.backend.List(m.ctx.Base, all)
		return listMsg{Gen: gen, All: all, List: l, Err: err}
	}
}

func (m *Model) loadDetail() tea.Cmd {
	id, gen := m.current, m.gen
	if id == "" {
		return nil
	}
	return func() tea.Msg {
		d, err := m.backend.Detail(m.ctx.Base, id)
		return detailMsg{Session: id, Gen: gen, Detail: d, Err: err}
	}
}

// Update takes the place's own answers and, while it is active, the keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case listMsg:
		if msg.Gen != m.gen {
			return nil // an older question; the newer one asks again
		}
		return m.show(msg)
	case tickMsg:
		if msg.Gen != m.gen {
			return nil
		}
		return m.reload()
	case detailMsg:
		if msg.Session == m.current && msg.Err == nil {
			m.detail, m.details = msg.Detail, true
		}
	case frameMsg:
		return m.looked(msg)
	case lookMsg:
		if m.look && msg.Gen == m.lookGen {
			return m.nextLook()
		}
	case doneMsg:
		return m.finished(msg)
	case removedMsg:
		return m.removed(msg)
	case tea.PasteMsg:
		if m.filtering {
			m.filter.Paste(msg.Content)
			return m.refilter()
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.MouseWheelMsg:
		d := 1
		if msg.Button == tea.MouseWheelUp {
			d = -1
		}
		return m.move(d)
	}
	return nil
}

func (m *Model) finished(msg doneMsg) tea.Cmd {
	m.ended(msg.What)
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("%s: %w", msg.What, msg.Err))
	} else {
		m.ctx.Say(msg.What + ": done")
	}
	return m.reload()
}

// Busy says what is under way, while it is.
func (m *Model) Busy() string {
	if len(m.calls) == 0 {
		return ""
	}
	return m.calls[len(m.calls)-1] + "…"
}

func (m *Model) ended(call string) {
	if i := slices.Index(m.calls, call); i >= 0 {
		m.calls = slices.Delete(m.calls, i, i+1)
	}
}

func (m *Model) show(msg listMsg) tea.Cmd {
	wait := restEvery
	if m.active {
		wait = refreshEvery
	}
	next := m.ctx.Clock.After(wait, tickMsg{Gen: m.gen})
	if msg.Err != nil {
		if m.listErr == nil || m.listErr.Error() != msg.Err.Error() {
			m.ctx.Fail(fmt.Errorf("list sessions: %w", msg.Err))
		}
		m.listErr, m.loaded = msg.Err, true
		return next
	}
	first := !m.loaded
	m.listErr, m.loaded = nil, true
	m.rows = append([]session.Summary{}, msg.List...)
	if first {
		m.sortNow()
	} else {
		m.keepOrder()
	}
	cmds := []tea.Cmd{next}
	switch {
	case m.wanted != "":
		if id := m.find(m.wanted); id != "" {
			m.wanted = ""
			cmds = append(cmds, m.setCurrent(id))
		}
	case m.current != "" && m.find(m.current) == "":
		m.current = "" // removed elsewhere
	}
	if m.current == "" {
		if l := m.shown(); len(l) > 0 {
			m.list.Move(0, len(l))
			cmds = append(cmds, m.setCurrent(l[m.list.At].ID))
		}
	}
	return tea.Batch(append(cmds, m.loadDetail())...)
}

func (m *Model) find(idOrName string) string {
	for _, s := range m.rows {
		if s.ID == idOrName {
			return s.ID
		}
	}
	for _, s := range m.rows {
		if s.Name == idOrName {
			return s.ID
		}
	}
	return ""
}

// shown is the rows that the filter lets through.
func (m *Model) shown() []session.Summary {
	q := strings.ToLower(m.filter.String())
	if q == "" {
		return m.rows
	}
	var out []session.Summary
	for _, s := range m.rows {
		if strings.Contains(strings.ToLower(s.Name+" "+s.Agent+" "+string(s.State)+" "+s.Repo), q) {
			out = append(out, s)
		}
	}
	return out
}

func (m *Model) refilter() tea.Cmd {
	l := m.shown()
	m.list.Move(0, len(l))
	if len(l) == 0 {
		return nil
	}
	for i, s := range l {
		if s.ID == m.current {
			m.list.At = i
			return nil
		}
	}
	return m.setCurrent(l[m.list.At].ID)
}
