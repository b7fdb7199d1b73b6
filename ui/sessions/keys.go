package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
)

// Keys is the place's table.
func (m *Model) Keys() []kit.Binding {
	if m.filtering {
		return []kit.Binding{
			{Keys: []string{"enter"}, Help: "keep the filter", Hint: 1, Do: m.keepFilter},
			{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "no filter", Hint: 2, Do: m.clearFilter},
		}
	}
	cur, have := m.Current()
	none := kit.When(!have || len(m.shown()) == 0, "there is no session")
	open := func(p kit.PlaceID) func() tea.Cmd {
		return func() tea.Cmd { m.ctx.Tell(kit.Open{Place: p, Session: m.current}); return nil }
	}
	all := "sessions of every repository"
	if m.all {
		all = "sessions of this repository only"
	}
	return []kit.Binding{
		{Keys: []string{"enter"}, Help: "terminal", Hint: 1, Off: none, Group: "this session", Do: open(kit.Terminal)},
		{Keys: []string{"n"}, Help: "new", Hint: 2, Group: "sessions", Do: open(kit.Start)},
		{Keys: []string{"r"}, Help: "review", Hint: 3, Off: none, Group: "this session", Do: open(kit.Review)},
		{Keys: []string{"e"}, Help: "egress", Off: none, Group: "this session", Do: open(kit.Egress)},
		{Keys: []string{"space"}, Help: "quick look", Hint: 4, Off: none, Group: "this session", Do: m.toggleLook},
		{Keys: []string{"s"}, Help: "stop", Hint: 5, Off: cmp.Or(none, kit.When(!cur.Live, "it does not run")), Group: "this session", Do: m.askStop},
		{Keys: []string{"D"}, Help: "remove", Hint: 6, Off: none, Group: "this session", Do: m.askRemove},
		{Keys: []string{"p"}, Help: "policy text", Off: cmp.Or(none, kit.When(!m.details, "it is still being read")), Group: "this session", Do: m.showPolicy},
		{Keys: []string{"/"}, Help: "filter", Group: "sessions", Do: m.startFilter},
		{Keys: []string{"esc"}, Help: "close the quick look, drop the filter", Group: "sessions", Off: kit.When(!m.look && m.filter.String() == "", "there is nothing to close"), Do: m.clearFilter},
		{Keys: []string{"a"}, Help: all, Group: "sessions", Do: m.toggleAll},
		{Keys: []string{"R", "ctrl+r"}, Help: "refresh and sort", Group: "sessions", Do: func() tea.Cmd { return m.Enter("") }},
		{Keys: []string{"j", "down"}, Show: "j k", Help: "move", Group: "sessions", Do: func() tea.Cmd { return m.move(1) }},
		{Keys: []string{"k", "up"}, Help: "move up", Group: "sessions", Do: func() tea.Cmd { return m.move(-1) }},
		{Keys: []string{"g", "home"}, Help: "first", Group: "sessions", Do: func() tea.Cmd { return m.move(-len(m.rows)) }},
		{Keys: []string{"G", "end"}, Help: "last", Group: "sessions", Do: func() tea.Cmd { return m.move(len(m.rows)) }},
	}
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if !ok && m.filtering && m.filter.Key(msg) {
		return m.refilter()
	}
	return cmd
}

func (m *Model) move(d int) tea.Cmd {
	l := m.shown()
	if len(l) == 0 {
		return nil
	}
	m.list.Move(d, len(l))
	return m.setCurrent(l[m.list.At].ID)
}

func (m *Model) startFilter() tea.Cmd {
	m.filtering = true
	return nil
}

func (m *Model) keepFilter() tea.Cmd {
	m.filtering = false
	return nil
}

func (m *Model) clearFilter() tea.Cmd {
	m.filtering = false
	m.filter.Set("")
	m.stopLook()
	return m.refilter()
}

func (m *Model) toggleAll() tea.Cmd {
	m.all = !m.all
	m.loaded = false
	return m.reload()
}

func (m *Model) toggleLook() tea.Cmd {
	if m.look {
		m.stopLook()
		return nil
	}
	m.look = true
	return m.relook()
}

// askStop asks once. The answer is for the session that was named, whatever is
// under the cursor by then.
func (m *Model) askStop() tea.Cmd {
	s, ok := m.Current()
	if !ok || !s.Live {
		return nil
	}
	name := kit.Safe(s.Name)
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head:  "Stop " + name + "?",
		Lines: []string{"Its processes end now. The workspace stays, to review and to run again."},
		Choices: []kit.Choice{
			{Key: "n", Label: "let it run"},
			{Key: "y", Label: "stop it", Grave: true, Do: m.call("stop "+name, func() error {
				return m.backend.Stop(m.ctx.Base, s.ID)
			})},
		},
	}})
	return nil
}

// askRemove asks whether to remove a session. What would be lost is only known
// once it is counted, with a snapshot as of then: if anything is, it asks again.
func (m *Model) askRemove() tea.Cmd {
	s, ok := m.Current()
	if !ok {
		return nil
	}
	name := kit.Safe(s.Name)
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head:  "Remove " + name + "?",
		Lines: removeLines(s),
		Choices: []kit.Choice{
			{Key: "k", Label: "keep it"},
			{Key: "y", Label: "remove it for good", Grave: true, Do: m.remove(s, false)},
		},
	}})
	return nil
}

func (m *Model) remove(s session.Summary, force bool) func() tea.Cmd {
	what := "remove " + kit.Safe(s.Name)
	return func() tea.Cmd {
		m.calls = append(m.calls, what)
		return func() tea.Msg {
			return removedMsg{What: what, Of: s, Force: force, Err: m.backend.Remove(m.ctx.Base, s.ID, force)}
		}
	}
}

// removed tells of a removal, or asks for one that was refused: with the number
// of files that it would lose, or with why they could not be counted.
func (m *Model) removed(msg removedMsg) tea.Cmd {
	if msg.Err == nil || msg.Force || errors.Is(msg.Err, context.Canceled) {
		return m.finished(doneMsg{What: msg.What, Err: msg.Err})
	}
	m.ended(msg.What)
	name := kit.Safe(msg.Of.Name)
	lines := []string{"It was not removed: " + kit.Safe(msg.Err.Error()) + ".", "Removed all the same, whatever it holds is lost."}
	var u *session.UndecidedError
	if errors.As(msg.Err, &u) {
		what := kit.Plural(u.Files, "file") + " that it changed are"
		if u.Files == 1 {
			what = "1 file that it changed is"
		}
		lines = []string{what + " undecided, or approved but not applied: these changes are lost for good.", "r in the list shows them."}
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "Throw away what " + name + " holds?", Lines: append(lines, noUndo), Clock: m.ctx.Clock, Late: true,
		Choices: []kit.Choice{
			{Key: "k", Label: "keep it"},
			{Key: "y", Label: "throw it away", Grave: true, Do: m.remove(msg.Of, true)},
		},
	}})
	return m.reload()
}

// noUndo stands in both questions: the journal goes with the session.
const noUndo = "What was applied stays in your repository, and can't be undone any more."

func removeLines(s session.Summary) []string {
	var out []string
	if s.Live {
		out = append(out, "It still runs: it is stopped first.")
	}
	switch {
	case s.ChangedFiles < 0:
		out = append(out, "What the agent changed was never looked at: it is counted first, and you are asked again if there is anything.")
	case s.Undecided > 0:
		out = append(out, fmt.Sprintf("%s undecided in its newest snapshot. What is undecided, or approved but not applied, is counted first, and you are asked again.", kit.Plural(s.Undecided, "file")))
	default:
		out = append(out, "Nothing in its newest snapshot is undecided. What is approved but not applied, or has changed since, is counted first, and you are asked again if there is anything.")
	}
	return append(out, "The workspace, its home and its record go. "+noUndo)
}

func (m *Model) call(what string, do func() error) func() tea.Cmd {
	return func() tea.Cmd {
		m.calls = append(m.calls, what)
		return func() tea.Msg { return doneMsg{What: what, Err: do()} }
	}
}

func (m *Model) showPolicy() tea.Cmd {
	d, ok := m.Detail()
	if !ok {
		return nil
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "policy " + kit.Safe(d.Policy), Body: func(w int) []string {
		return kit.WrapLines(kit.SafeText(d.Block), w)
	}}})
	return nil
}

// click goes to the row under the pointer; a click on the row that is already
// under the cursor opens its terminal.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	l := m.shown()
	i := m.list.Top + msg.Y - 1
	if msg.Button != tea.MouseLeft || msg.Y < 1 || msg.Y > m.drawn || i >= len(l) {
		return nil
	}
	if l[i].ID == m.current {
		m.ctx.Tell(kit.Open{Place: kit.Terminal, Session: m.current})
		return nil
	}
	m.list.Set(i, len(l))
	return m.setCurrent(l[i].ID)
}
