package start

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// Keys is the page's table.
func (m *Model) Keys() []kit.Binding {
	if m.creating {
		return []kit.Binding{{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "cancel the start", Hint: 1, Do: func() tea.Cmd {
			m.cancel()
			return nil
		}}}
	}
	enter := "next"
	if m.at == fieldName {
		enter = "start"
	}
	text := m.input() != nil
	startHint := 4
	if m.at == fieldName {
		startHint = 0 // enter does the same there
	}
	proveHint, tabHint := 7, 2
	if ok, _ := m.preview.Walls.Proven(); m.shown && !ok && !text {
		proveHint, tabHint = 4, 0 // enter goes on too
	}
	if m.shown && m.preview.Unproven {
		proveHint, startHint = 1, 0 // nothing else leads on
	}
	back := []string{"esc"}
	if text {
		back = append(back, "ctrl+c") // elsewhere it leaves, as in every place
	}
	rows := []kit.Binding{
		{Keys: []string{"enter"}, Help: enter, Hint: 1, Do: m.enter},
		{Keys: []string{"tab", "down"}, Show: "tab", Help: "next question", Hint: tabHint, Do: func() tea.Cmd { return m.goTo(1) }},
		{Keys: []string{"shift+tab", "up"}, Help: "question before", Do: func() tea.Cmd { return m.goTo(-1) }},
		{Keys: []string{"ctrl+s"}, Help: "start now", Hint: startHint, Do: m.start},
		{Keys: back, Show: "esc", Help: "back", Hint: 5, Do: func() tea.Cmd {
			m.ctx.Tell(kit.Open{Place: kit.Sessions})
			return nil
		}},
	}
	if m.at == fieldCommand {
		help := "run it by sh -c"
		if m.shell {
			help = "run it without a shell"
		}
		rows = append(rows, kit.Binding{Keys: []string{"ctrl+x"}, Help: help, Hint: 6, Do: m.toggleShell})
	}
	if !text {
		rows = append(rows,
			kit.Binding{Keys: []string{"right", "l", "space"}, Show: "← →", Help: "choose", Hint: 3, Do: func() tea.Cmd { return m.choose(1) }},
			kit.Binding{Keys: []string{"left", "h"}, Help: "choose the one before", Do: func() tea.Cmd { return m.choose(-1) }},
			kit.Binding{Keys: []string{"j"}, Help: "next question", Do: func() tea.Cmd { return m.goTo(1) }},
			kit.Binding{Keys: []string{"k"}, Help: "question before", Do: func() tea.Cmd { return m.goTo(-1) }},
			kit.Binding{Keys: []string{"p"}, Help: "policy text", Hint: 6, Off: cmp.Or(m.unread(), kit.When(m.preview.Block == "", "there is no policy to show")), Do: m.showPolicy},
			kit.Binding{Keys: []string{"w"}, Help: "prove walls first", Hint: proveHint, Off: cmp.Or(m.unread(), kit.When(m.err != nil || m.preview.Err != "" && !m.preview.Unproven, "nothing starts like this: see above")), Do: func() tea.Cmd {
				m.ctx.Tell(kit.Prove{Policy: m.policies[m.policy]})
				return nil
			}},
			kit.Binding{Keys: []string{"t"}, Help: "trust the repository's policy?", Hint: 3, Off: kit.When(len(m.waiting()) == 0, "the repository asks for nothing that waits for trust"), Do: m.askTrust},
			kit.Binding{Keys: []string{"i"}, Help: m.depsHelp(), Hint: 8, Off: cmp.Or(m.unread(), kit.When(len(m.preview.Dependencies) == 0 && !m.deps, "git ignores no dependency folder here")), Do: m.toggleDeps},
			kit.Binding{Keys: []string{"m"}, Help: "all that stays out or is read", Off: cmp.Or(m.unread(), kit.When(len(m.preview.LeftOut)+len(m.preview.Read) == 0, "nothing stays out, and nothing else is read")), Do: m.showLeftOut},
		)
	}
	for i := range rows {
		rows[i].Group = "new session"
	}
	return rows
}

// unread is why nothing can be shown of what is still being looked at.
func (m *Model) unread() string { return kit.When(!m.shown, "it is still being looked at") }

func (m *Model) input() *kit.Input {
	switch m.at {
	case fieldName:
		return &m.name
	case fieldCommand:
		return &m.command
	case fieldAgent, fieldPolicy:
	}
	return nil
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if ok {
		return cmd
	}
	if f := m.input(); f != nil && !m.creating && f.Key(msg) {
		return m.edited()
	}
	return nil
}

// edited follows a change of a text field. The name changes nothing of what
// the session may do, so only a command has its meaning worked out again.
func (m *Model) edited() tea.Cmd {
	if m.at == fieldCommand {
		return m.ask()
	}
	return nil
}

func (m *Model) enter() tea.Cmd {
	if m.at == fieldName {
		return m.start()
	}
	return m.goTo(1)
}

// fields are the questions as they stand: a command only for "other command".
func (m *Model) fields() []field {
	if m.chosen().ID == otherCommand.ID {
		return []field{fieldAgent, fieldCommand, fieldPolicy, fieldName}
	}
	return []field{fieldAgent, fieldPolicy, fieldName}
}

func (m *Model) goTo(d int) tea.Cmd {
	fs := m.fields()
	for i, f := range fs {
		if f == m.at {
			m.at = fs[max(0, min(i+d, len(fs)-1))]
			return nil
		}
	}
	m.at = fieldAgent
	return nil
}

func (m *Model) choose(d int) tea.Cmd {
	switch m.at {
	case fieldAgent:
		m.takeAgent((m.agent + d + len(m.agents)) % len(m.agents))
	case fieldPolicy:
		m.policy, m.picked = (m.policy+d+len(m.policies))%len(m.policies), true
	case fieldCommand, fieldName:
		return nil
	}
	return m.ask()
}

func (m *Model) showPolicy() tea.Cmd {
	block := kit.SafeText(m.preview.Block)
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "policy " + kit.Safe(m.policies[m.policy]), Body: func(w int) []string {
		return kit.WrapLines(block, w)
	}}})
	return nil
}

func (m *Model) showLeftOut() tea.Cmd {
	p, st := m.preview, m.ctx.Styles
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "what stays out, and what is read", Body: func(w int) []string {
		out := []string{st.Strong.Render("stays out of the copy")}
		for _, l := range p.LeftOut {
			out = append(out, leftOut(l, w)...)
		}
		if len(p.LeftOut) == 0 {
			out = append(out, "  nothing")
		}
		list := func(head string, paths []string) {
			if len(paths) > 0 {
				out = append(out, "", st.Strong.Render(head))
			}
			for _, path := range paths {
				out = append(out, kit.Hang("  ", kit.Safe(path), w)...)
			}
		}
		list("read, and can't be changed", p.Read)
		list("caches, read too; what changes there stays in the session", p.Caches)
		return out
	}}})
	return nil
}

func (m *Model) depsHelp() string {
	if m.deps {
		return "leave dependencies out"
	}
	return "bring dependencies in"
}

// toggleDeps brings the folders of package managers in, or leaves them out again.
func (m *Model) toggleDeps() tea.Cmd {
	m.deps = !m.deps
	return m.ask()
}

// click chooses what is under the pointer.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.creating || msg.Button != tea.MouseLeft {
		return nil
	}
	for _, s := range m.spots {
		if msg.Y != s.y || msg.X < s.x || msg.X >= s.x+s.w {
			continue
		}
		m.at = s.field
		if s.choice < 0 {
			return nil
		}
		if s.field == fieldAgent {
			m.takeAgent(s.choice)
		} else {
			m.policy, m.picked = s.choice, true
		}
		return m.ask()
	}
	return nil
}
