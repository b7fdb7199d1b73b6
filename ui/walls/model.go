// Package walls is the fifth place, and for now the fourth as well: the layers
// that a session's walls rest on, as the supervisor read them from outside.
// It claims no more than that: wall tests, which would prove a wall, are not
// built yet, and without an egress proxy there is no network to show.
package walls

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/layer"
	"fumehood/session"
	"fumehood/ui/kit"
)

const refreshEvery = 2 * time.Second

type (
	detailMsg struct {
		Session string
		Gen     int
		Detail  session.Detail
		Err     error
	}
	tickMsg struct{ Gen int }
)

// Model is the place. Egress makes it the fourth place instead of the fifth.
type Model struct {
	ctx     *kit.Ctx
	backend Backend
	egress  bool

	id     string
	active bool
	gen    int
	detail session.Detail
	have   bool
	err    error

	top, page, total int
}

// New is the place of walls.
func New(ctx *kit.Ctx, b Backend) *Model { return &Model{ctx: ctx, backend: b} }

// NewEgress is the place of egress.
func NewEgress(ctx *kit.Ctx, b Backend) *Model { return &Model{ctx: ctx, backend: b, egress: true} }

// Title is the place's name.
func (m *Model) Title() string {
	if m.egress {
		return "egress"
	}
	return "walls"
}

// Grab is false: the place has no field.
func (m *Model) Grab() bool { return false }

// Busy is empty: what is read is on the screen at once.
func (m *Model) Busy() string { return "" }

// Enter shows a session's layers.
func (m *Model) Enter(id string) tea.Cmd {
	if id != m.id {
		m.id, m.have, m.err, m.top = id, false, nil, 0
	}
	m.active = true
	return m.load()
}

// Exit leaves the place.
func (m *Model) Exit() { m.active = false; m.gen++ }

func (m *Model) load() tea.Cmd {
	m.gen++
	id, gen := m.id, m.gen
	if id == "" {
		return nil
	}
	return func() tea.Msg {
		d, err := m.backend.Detail(m.ctx.Base, id)
		return detailMsg{Session: id, Gen: gen, Detail: d, Err: err}
	}
}

// Update takes the place's answers and keys.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case detailMsg:
		if msg.Gen != m.gen || msg.Session != m.id {
			return nil
		}
		m.err = msg.Err
		if msg.Err == nil {
			m.detail, m.have = msg.Detail, true
		}
		return m.ctx.Clock.After(refreshEvery, tickMsg{Gen: m.gen})
	case tickMsg:
		if msg.Gen == m.gen && m.active {
			return m.load()
		}
	case tea.KeyPressMsg:
		cmd, _ := kit.Dispatch(m.Keys(), msg)
		return cmd
	case tea.MouseWheelMsg:
		if msg.Button == tea.MouseWheelUp {
			return m.scroll(-3)()
		}
		return m.scroll(3)()
	}
	return nil
}

// Keys is the place's table.
func (m *Model) Keys() []kit.Binding {
	sheet := func() tea.Cmd {
		block := m.detail.Block
		m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "policy " + kit.Safe(m.detail.Policy), Body: func(w int) []string {
			return kit.WrapLines(kit.SafeText(block), w)
		}}})
		return nil
	}
	more := m.total > m.page
	return []kit.Binding{
		{Keys: []string{"p"}, Help: "policy text", Hint: 1, Off: !m.have, Do: sheet},
		{Keys: []string{"R", "ctrl+r"}, Show: "R", Help: "read again", Hint: 2, Off: m.id == "", Do: m.load},
		{Keys: []string{"j", "down"}, Show: "j k", Help: "scroll", Hint: 3, Off: !more, Do: m.scroll(1)},
		{Keys: []string{"k", "up"}, Help: "scroll up", Off: !more, Do: m.scroll(-1)},
		{Keys: []string{"pgdown", "space", "ctrl+d"}, Help: "page down", Off: !more, Do: m.scroll(max(1, m.page-1))},
		{Keys: []string{"pgup", "b", "ctrl+u"}, Help: "page up", Off: !more, Do: m.scroll(-max(1, m.page-1))},
		{Keys: []string{"esc"}, Help: "sessions", Hint: 4, Do: func() tea.Cmd {
			m.ctx.Tell(kit.Open{Place: kit.Sessions, Session: m.id})
			return nil
		}},
	}
}

func (m *Model) scroll(d int) func() tea.Cmd {
	return func() tea.Cmd {
		m.top = max(0, min(m.top+d, m.total-m.page))
		return nil
	}
}

// View draws what is in force now.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	var lines []string
	switch {
	case m.id == "":
		lines = []string{"", "   No session. What holds it in would be shown here. " + m.ctx.Styles.Key.Render("1") + " goes to the list, " + m.ctx.Styles.Key.Render("n") + " there makes one."}
	case m.err != nil:
		lines = append([]string{""}, kit.Indent(kit.Wrap("The session's layers can't be read: "+kit.Safe(m.err.Error()), max(1, w-6)), "   ")...)
	case !m.have:
		lines = []string{m.ctx.Styles.Muted.Render("   reading the layers…")}
	case m.egress:
		lines = m.egressLines(w)
	default:
		lines = m.wallLines(w)
	}
	m.total, m.page = len(lines), h
	m.top = max(0, min(m.top, len(lines)-h))
	return strings.Join(lines[m.top:min(len(lines), m.top+h)], "\n"), nil
}

func (m *Model) egressLines(w int) []string {
	st := m.ctx.Styles
	out := []string{"", "   " + st.Strong.Render("No network: nothing can be allowed yet."), ""}
	text := "The session has a network of its own with nothing in it but a loopback. There is no way out, so there is no attempt to list: a connection to anything else fails inside, at once. Destinations that a policy allows, and the log of what was tried, come with the egress proxy, which is not built yet. A policy that names a destination is refused at the start."
	out = append(out, kit.Indent(kit.Wrap(text, min(w-6, 90)), "   ")...)
	out = append(out, "")
	if !m.detail.Live {
		return append(out, "   "+st.Muted.Render("Nothing of this session runs now."))
	}
	out = append(out, "   "+st.Muted.Render("Read from outside:"))
	n := 0
	for _, f := range m.detail.Layers {
		if f.Layer == layer.Namespaces && strings.Contains(f.What, "net") || f.Layer == layer.Seccomp {
			out = append(out, m.fact(f, w))
			n++
		}
	}
	if n == 0 {
		out = append(out, "   nothing was read of its network yet")
	}
	return out
}

// wallLines is each wall with what it rests on, then each layer as it was read.
func (m *Model) wallLines(w int) []string {
	st := m.ctx.Styles
	cells := kit.Strip(m.detail.Layers, m.detail.Live)
	var out []string
	for _, c := range cells {
		out = append(out, kit.Cut("   "+st.Strong.Render(kit.Fit(c.Name, 6))+markStyle(m.ctx, c.Mark).Render(kit.Fit(words(c.Mark, m.detail.Live), 24))+c.Means, w))
	}
	note := "? means in force, as read from outside, and not proven: the wall tests that would prove it are not built yet."
	if !m.detail.Live {
		note = "Nothing of this session runs now, so no wall stands. They are closed again, all of them, before anything runs."
	}
	out = append(out, "")
	out = append(out, kit.Indent(kit.Wrap(note, max(1, min(w-6, 100))), "   ")...)
	if !m.detail.Live && len(m.detail.Layers) == 0 {
		return out
	}
	what, value := factWidths(w)
	out = append(out, "", st.Muted.Render(kit.Cut("   "+kit.Fit("LAYER", 12)+kit.Fit("", 3)+kit.Fit("WHAT", what+1)+kit.Fit("VALUE", value+1)+"READ FROM", w)))
	for _, ok := range []bool{false, true} { // what is not as it should be comes first
		for _, f := range m.detail.Layers {
			if f.OK == ok {
				out = append(out, m.fact(f, w))
			}
		}
	}
	if len(m.detail.Layers) == 0 {
		out = append(out, "   nothing was read yet")
	}
	if len(m.detail.Limits) > 0 {
		out = append(out, "", st.Muted.Render(kit.Cut("   "+kit.Fit("LIMIT", 15)+kit.Fit("VALUE", 28)+"HOW", w)))
		for _, l := range m.detail.Limits {
			out = append(out, kit.Cut("   "+kit.Fit(kit.Safe(l.Name), 14)+" "+kit.Fit(kit.Safe(l.Value), 27)+" "+kit.Safe(l.How), w))
		}
	}
	return out
}

func (m *Model) fact(f layer.Fact, w int) string {
	ok, st := "ok ", m.ctx.Styles.Text
	if !f.OK {
		ok, st = "✗  ", m.ctx.Styles.Danger
	}
	what, value := factWidths(w)
	text := fmt.Sprintf("   %s%s%s %s %s", kit.Fit(kit.Safe(string(f.Layer)), 12), ok, kit.Fit(kit.Safe(f.What), what), kit.Fit(kit.Safe(f.Value), value), kit.Safe(f.Source))
	return st.Render(kit.Cut(text, w))
}

func factWidths(w int) (what, value int) {
	switch {
	case w < 100:
		return 22, 18
	case w < 160:
		return 34, 26
	}
	return 44, 50
}

func words(k kit.Mark, live bool) string {
	switch k {
	case kit.Unproven:
		return "? in force, not proven"
	case kit.Failed:
		return "✗ NOT IN FORCE"
	case kit.NoWall:
	}
	if live {
		return "· not read yet"
	}
	return "· nothing runs"
}

func markStyle(ctx *kit.Ctx, k kit.Mark) interface{ Render(string) string } {
	switch k {
	case kit.Failed:
		return ctx.Styles.Danger
	case kit.Unproven:
		return ctx.Styles.Stale
	case kit.NoWall:
	}
	return ctx.Styles.Muted
}
