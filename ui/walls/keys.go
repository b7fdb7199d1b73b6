package walls

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/walls"
	"fumehood/session"
	"fumehood/ui/kit"
)

// Keys is the place's table.
func (m *Model) Keys() []kit.Binding {
	if m.saving {
		return []kit.Binding{
			{Keys: []string{"enter"}, Help: "write the record there", Hint: 1, Do: m.save},
			{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "do not", Hint: 2, Do: func() tea.Cmd { m.saving = false; return nil }},
		}
	}
	busy := cmp.Or(kit.When(m.run != nil, "a run is on"), kit.When(m.err != nil, "the policy could not be read"), m.unread())
	esc, escHint := "sessions", 0
	switch {
	case m.run != nil:
		esc, escHint = "cancel the run", 1
	case m.inside:
		esc = "back to the tests"
	case m.named:
		esc, escHint = "back", 5
	}
	into := "attempts"
	if m.inside {
		into = "tests"
	}
	rows := []kit.Binding{
		{Keys: []string{"enter"}, Help: "run one", Hint: 1, Group: "wall tests", Off: busy, Do: func() tea.Cmd { return m.start(m.selected().test.Number) }},
		{Keys: []string{"R"}, Help: "run all", Hint: 2, Group: "wall tests", Off: busy, Do: func() tea.Cmd { return m.start(0) }},
		{Keys: []string{"M"}, Help: "mutate", Hint: 3, Group: "wall tests", Off: busy, Do: m.showMatrix},
		{Keys: []string{"s"}, Help: "save record", Hint: 6, Group: "wall tests", Off: cmp.Or(kit.When(m.run != nil, "a run is on"), kit.When(m.newest() == nil, "there is no record yet")), Do: m.askPath},
		{Keys: []string{"esc"}, Help: esc, Hint: escHint, Group: "wall tests", Do: m.back},
		{Keys: []string{"tab"}, Help: into, Hint: 4, Do: m.turn},
		{Keys: []string{"l", "right"}, Show: "l", Help: "attempts of this test", Off: kit.When(m.inside, "the attempts are shown"), Do: m.turn},
		{Keys: []string{"h", "left"}, Show: "h", Help: "back to the tests", Off: kit.When(!m.inside, "the tests are shown"), Do: m.turn},
		{Keys: []string{"j", "down"}, Show: "j k", Help: "select", Hint: 5, Do: m.move(1)},
		{Keys: []string{"k", "up"}, Help: "select the one before", Do: m.move(-1)},
		{Keys: []string{"pgdown", "space", "ctrl+d"}, Help: "page down", Do: m.move(max(1, m.step()))},
		{Keys: []string{"pgup", "b", "ctrl+u"}, Help: "page up", Do: m.move(-max(1, m.step()))},
		{Keys: []string{"g", "home"}, Help: "first", Do: m.move(-10_000)},
		{Keys: []string{"G", "end"}, Help: "last", Do: m.move(10_000)},
		{Keys: []string{"!"}, Help: "next that did not hold", Do: m.nextBad},
		{Keys: []string{"p"}, Help: "policy text", Hint: 7, Off: m.unread(), Do: m.showPolicy},
		{Keys: []string{"i"}, Help: "layers in force", Hint: 8, Off: cmp.Or(kit.When(m.session == "", "no session is chosen"), m.unread()), Do: m.showLayers},
	}
	return rows
}

// unread is why nothing can be done with what is still being read.
func (m *Model) unread() string { return kit.When(!m.have, "it is still being read") }

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if !ok && m.saving {
		m.path.Key(msg)
	}
	return cmd
}

// selected is the test under the cursor.
func (m *Model) selected() line {
	all := m.lines()
	m.list.Move(0, len(all))
	return all[m.list.At]
}

func (m *Model) step() int {
	if m.inside {
		return m.page - 1
	}
	return 5
}

func (m *Model) move(d int) func() tea.Cmd {
	return func() tea.Cmd {
		if m.inside {
			m.attempts.Move(d, len(m.selected().result.Attempts))
			return nil
		}
		at := m.list.At
		m.list.Move(d, len(order()))
		if m.list.At != at {
			m.attempts = kit.List{}
		}
		return nil
	}
}

// turn goes to the attempts of the selected test, or back.
func (m *Model) turn() tea.Cmd {
	if !m.inside && len(m.selected().result.Attempts) == 0 {
		m.ctx.Say("this test has no attempt to show: it was not run, or does not apply")
		return nil
	}
	m.inside = !m.inside
	return nil
}

func (m *Model) nextBad() tea.Cmd {
	all := m.lines()
	for i := 1; i <= len(all); i++ {
		if n := (m.list.At + i) % len(all); all[n].bad() {
			m.list.Set(n, len(all))
			m.attempts, m.inside = kit.List{}, false
			for j, a := range all[n].result.Attempts {
				if a.Verdict != walls.Held && a.Verdict != walls.NA {
					m.attempts.At = j
					break
				}
			}
			return nil
		}
	}
	m.ctx.Say("every test that was run held, or does not apply")
	return nil
}

func (m *Model) back() tea.Cmd {
	switch {
	case m.run != nil:
		m.Cancel()
	case m.inside:
		m.inside = false
	case m.named:
		m.ctx.Tell(kit.Open{Place: kit.Start})
	default:
		m.ctx.Tell(kit.Open{Place: kit.Sessions, Session: m.session})
	}
	return nil
}

func (m *Model) showPolicy() tea.Cmd {
	block := kit.SafeText(m.about.Block)
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "policy " + kit.Safe(m.about.Policy), Body: func(w int) []string {
		return kit.WrapLines(block, w)
	}}})
	return nil
}

func (m *Model) showLayers() tea.Cmd {
	m.ctx.Tell(kit.Show{Dialog: layersSheet(m.ctx, func() session.Detail { return m.detail })})
	return nil
}

func (m *Model) showMatrix() tea.Cmd {
	if m.matrix == nil || m.matrixOf != m.about.Policy {
		return m.mutate()
	}
	m.ctx.Tell(kit.Show{Dialog: m.matrixSheet(false)})
	return nil
}

// newest is the record that there is to save: that of the newest run here, else
// the one that stands.
func (m *Model) newest() *walls.Record {
	if m.record != nil && m.record.PolicyHash == m.about.Hash {
		return m.record
	}
	return m.about.Standing.Record
}

// askPath asks where to write the record; without another answer it goes into
// the current folder.
func (m *Model) askPath() tea.Cmd {
	name := m.about.Policy
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = strings.TrimSuffix(name[i+1:], ".toml")
	}
	m.saving = true
	m.path.Set("walls-" + name + "-" + m.newest().Date.UTC().Format("2006-01-02") + ".json")
	return nil
}

func (m *Model) save() tea.Cmd {
	path, rec := strings.TrimSpace(m.path.String()), m.newest()
	if path == "" || rec == nil {
		return nil
	}
	m.saving = false
	return func() tea.Msg {
		at, err := m.backend.SaveRecord(m.ctx.Base, rec, path)
		return savedMsg{Path: at, Err: err}
	}
}

// click selects what was drawn under the pointer.
func (m *Model) click(msg tea.MouseClickMsg) {
	if m.saving || msg.Button != tea.MouseLeft || msg.Y < m.listY || msg.Y >= m.listY+m.listN {
		return
	}
	m.inside, m.attempts = false, kit.List{}
	m.list.Set(m.list.Top+msg.Y-m.listY, len(order()))
}
