package egress

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// Keys is the place's table.
func (m *Model) Keys() []kit.Binding {
	if m.filtering {
		return []kit.Binding{
			{Keys: []string{"enter"}, Help: "keep the filter", Hint: 1, Do: func() tea.Cmd { m.filtering = false; return nil }},
			{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "no filter", Hint: 2, Do: m.dropFilter},
		}
	}
	a, _, on := m.selected()
	some := kit.When(len(m.traffic.Attempts) == 0, "nothing was tried yet")
	one := cmp.Or(some, kit.When(!on, "no line is selected"))
	nobody := kit.When(m.id == "", "no session is chosen")
	enter, esc, other := "the whole attempt", "sessions", "refusals"
	if on && !a.Allowed {
		enter = "allow it…"
	}
	if m.filter.String() != "" {
		esc = "no filter"
	}
	if m.pane == refusals {
		other = "attempts"
	}
	return []kit.Binding{
		{Keys: []string{"enter"}, Help: enter, Hint: 1, Off: cmp.Or(one, kit.When(m.drafting || m.allowing, "an entry is on its way")), Do: m.open},
		{Keys: []string{"i"}, Help: "the whole attempt", Hint: 4, Off: one, Do: m.showAttempt},
		{Keys: []string{"y"}, Help: "copy the line", Hint: 5, Off: one, Do: m.copy},
		{Keys: []string{"f", "/"}, Show: "f", Help: "filter", Hint: 3, Off: some, Do: func() tea.Cmd { m.filtering = true; return nil }},
		{Keys: []string{"tab"}, Help: other, Hint: 2, Off: kit.When(len(m.traffic.Groups) == 0, "nothing was refused"), Do: m.turn},
		{Keys: []string{"j", "down"}, Show: "j k", Help: "select", Hint: 6, Off: some, Do: m.move(1)},
		{Keys: []string{"k", "up"}, Help: "select the one before", Off: some, Do: m.move(-1)},
		{Keys: []string{"pgdown", "space", "ctrl+d"}, Help: "page down", Off: some, Do: m.page(1)},
		{Keys: []string{"pgup", "b", "ctrl+u"}, Help: "page up", Off: some, Do: m.page(-1)},
		{Keys: []string{"g", "home"}, Help: "first", Off: some, Do: m.move(-1 << 20)},
		{Keys: []string{"G", "end"}, Help: "newest, and follow", Off: some, Do: m.newest},
		{Keys: []string{"p"}, Help: "policy text", Hint: 7, Off: nobody, Do: m.askPolicy},
		{Keys: []string{"R", "ctrl+r"}, Show: "R", Help: "read again", Off: nobody, Do: m.load},
		{Keys: []string{"esc"}, Help: esc, Do: m.back},
	}
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if !ok && m.filtering {
		m.filter.Key(msg)
		m.at, m.groups = live, kit.List{}
	}
	return cmd
}

func (m *Model) dropFilter() tea.Cmd {
	m.filtering = false
	m.filter.Set("")
	return nil
}

func (m *Model) back() tea.Cmd {
	if m.filter.String() != "" {
		return m.dropFilter()
	}
	m.ctx.Tell(kit.Open{Place: kit.Sessions, Session: m.id})
	return nil
}

func (m *Model) turn() tea.Cmd {
	m.chosen = true
	if m.pane == refusals {
		m.pane = attempts
		return nil
	}
	m.pane = refusals
	return nil
}

// move goes among what is shown. From following, it begins at the newest that
// was drawn, not at one that came since.
func (m *Model) move(d int) func() tea.Cmd {
	return func() tea.Cmd {
		m.chosen = true
		if m.pane == refusals {
			m.groups.Move(d, len(m.shownGroups()))
			return nil
		}
		all := m.shown()
		if len(all) == 0 {
			return nil
		}
		if m.at == live {
			if m.at = all[len(all)-1]; len(m.rows) > 0 {
				m.at = m.rows[len(m.rows)-1]
			}
			if d == 1 || d == -1 {
				return nil // the first key only shows the cursor
			}
		}
		m.at = all[max(0, min(place(all, m.at)+d, len(all)-1))]
		return nil
	}
}

// place is where a number is, or would be, among numbers in order.
func place(all []int, n int) int {
	for i, v := range all {
		if v >= n {
			return i
		}
	}
	return len(all) - 1
}

func (m *Model) page(dir int) func() tea.Cmd {
	n := m.listN
	if m.pane == refusals {
		n = m.groupN
	}
	return m.move(dir * max(1, n-1))
}

// newest goes to the end, and follows what comes.
func (m *Model) newest() tea.Cmd {
	m.chosen = true
	if m.pane == refusals {
		m.groups.Move(1<<20, len(m.shownGroups()))
		return nil
	}
	m.at = live
	return nil
}

// click selects what was drawn under the pointer; on the selected one it does
// what enter does.
func (m *Model) click(msg tea.MouseClickMsg) {
	if m.filtering || msg.Button != tea.MouseLeft {
		return
	}
	switch {
	case msg.Y >= m.listY && msg.Y < m.listY+len(m.rows):
		m.pane, m.chosen = attempts, true
		m.at = m.rows[msg.Y-m.listY]
	case msg.Y >= m.groupY && msg.Y < m.groupY+m.groupN && m.groupY > 0:
		m.pane, m.chosen = refusals, true
		m.groups.Set(m.groups.Top+msg.Y-m.groupY, len(m.shownGroups()))
	}
}

// wheel moves in the list under the pointer.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	was := m.pane
	m.pane = attempts
	if m.groupY > 0 && msg.Y >= m.groupY {
		m.pane = refusals
	}
	d := 3
	if msg.Button == tea.MouseWheelUp {
		d = -3
	} else if msg.Button != tea.MouseWheelDown {
		m.pane = was
		return nil
	}
	return m.move(d)()
}

func (m *Model) askPolicy() tea.Cmd {
	id := m.id
	return func() tea.Msg {
		d, err := m.backend.Detail(m.ctx.Base, id)
		return policyMsg{Session: id, Detail: d, Err: err}
	}
}

// copy gives the line to the terminal's clipboard, and shows it: many terminals
// take nothing and say nothing.
func (m *Model) copy() tea.Cmd {
	a, _, ok := m.selected()
	if !ok {
		return nil
	}
	text := m.lineText(a)
	m.ctx.Say("given to your terminal's clipboard: " + text)
	return kit.Send(kit.SetClipboardMsg{Text: text})
}
