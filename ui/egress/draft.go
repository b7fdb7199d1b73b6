package egress

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
)

// open drafts an entry for a refusal, and shows any other attempt.
func (m *Model) open() tea.Cmd {
	a, g, ok := m.selected()
	switch {
	case !ok:
		return nil
	case a.Allowed:
		return m.showAttempt()
	}
	m.drafting = true
	id, gen := m.id, m.gen
	return func() tea.Msg {
		d, err := m.backend.DraftEntry(m.ctx.Base, id, a)
		return draftMsg{Session: id, Gen: gen, Of: a, Group: g, Draft: d, Err: err}
	}
}

// drafted puts the question, unless the person has gone elsewhere meanwhile.
func (m *Model) drafted(msg draftMsg) tea.Cmd {
	m.drafting = false
	if msg.Session != m.id || !m.active {
		return nil
	}
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("draft an entry: %w", msg.Err))
		return nil
	}
	lines := m.question(msg)
	if msg.Draft.Entry == "" {
		m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{
			Head: "no entry for this", Clock: m.ctx.Clock, Late: true,
			Body: func(w int) []string { return wrapAll(lines, w) },
		}})
		return nil
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Ask{
		Head: "Let this out?", Lines: lines, Clock: m.ctx.Clock, Late: true, Choices: m.choices(msg.Session, msg.Draft),
	}})
	return nil
}

func wrapAll(lines []string, w int) []string {
	var out []string
	for _, l := range lines {
		out = append(out, kit.Wrap(l, w)...)
	}
	return out
}

// question is what is asked, in plain text. What came from inside is cleaned.
func (m *Model) question(msg draftMsg) []string {
	a, d := msg.Of, msg.Draft
	out := []string{
		kit.Safe(fmt.Sprintf("Refused: %s %s%s (%s)", a.Method, session.Destination(a), a.Path, a.Reason)),
		kit.Safe(session.Meaning(a.Reason)),
	}
	if g := msg.Group; g != nil && g.Paths > 1 {
		out = append(out, "Other paths were refused there too; this is the newest.")
	}
	out = append(out, "")
	if d.Entry != "" {
		for _, l := range strings.Split(strings.TrimRight(d.Entry, "\n"), "\n") {
			out = append(out, kit.Safe(l))
		}
		out = append(out, "")
	}
	out = append(out, kit.Safe(d.Opens))
	for _, n := range d.Notes {
		out = append(out, kit.Safe(n))
	}
	if d.Entry == "" {
		return out
	}
	out = append(out, "")
	if d.Live {
		out = append(out, "s  this session: now and when it resumes; its walls are then unproven.")
	} else {
		out = append(out, "The session is not running, so it can't have it now.")
	}
	if d.Mine != "" {
		text := "p  my policy: " + d.Mine
		if d.New {
			text += ", made from the built-in one"
		}
		if d.Live {
			text += "; and this session"
		}
		out = append(out, kit.Safe(text+"."))
	}
	return out
}

func (m *Model) choices(id string, d session.Draft) []kit.Choice {
	add := func(mine bool) func() tea.Cmd {
		return func() tea.Cmd {
			m.allowing = true
			return func() tea.Msg {
				text, err := m.backend.AllowEntry(m.ctx.Base, id, d.Entry, mine)
				return allowedMsg{Session: id, Text: text, Err: err}
			}
		}
	}
	out := []kit.Choice{{Key: "n", Label: "no"}}
	if d.Live {
		out = append(out, kit.Choice{Key: "s", Label: "this session", Grave: true, Do: add(false)})
	}
	if d.Mine != "" {
		out = append(out, kit.Choice{Key: "p", Label: "my policy", Grave: true, Do: add(true)})
	}
	return out
}

func (m *Model) allowed(msg allowedMsg) tea.Cmd {
	m.allowing = false
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("add the entry: %w", msg.Err))
		return nil
	}
	m.ctx.Say(msg.Text)
	m.ctx.Tell(kit.Changed{}) // its walls are proven no longer
	if msg.Session != m.id || !m.active {
		return nil
	}
	return m.load()
}

// showAttempt shows all that the record says of an attempt.
func (m *Model) showAttempt() tea.Cmd {
	a, _, ok := m.selected()
	if !ok {
		return nil
	}
	m.ctx.Tell(kit.Show{Dialog: &kit.Sheet{Head: "attempt", Body: func(w int) []string { return m.attemptLines(a, w) }}})
	return nil
}

// attemptLines is an attempt in full.
func (m *Model) attemptLines(a session.Attempt, w int) []string {
	what := "let through by " + a.Rule
	if !a.Allowed {
		what = "refused: " + a.Reason
	}
	rows := [][2]string{
		{"when", m.when(a).Format("2006-01-02 15:04:05.000")},
		{"what", what},
		{"request", a.Method + " " + session.Destination(a) + a.Path},
		{"detail", a.Detail},
		{"entry", a.Rule},
		{"account", a.Account},
		{"address", a.Address},
		{"status", count(a.Status)},
		{"bytes", fmt.Sprintf("%d up, %d down", a.Up, a.Down)},
		{"took", fmt.Sprintf("%d ms", a.MS)},
		{"cut", cutText(a.Cut)},
		{"times", count(a.Times)},
	}
	var out []string
	for _, r := range rows {
		if r[1] == "" {
			continue
		}
		out = append(out, kit.Hang(m.ctx.Styles.Muted.Render(kit.Fit(r[0], 9)), kit.Safe(r[1]), w)...)
	}
	if !a.Allowed {
		out = append(out, "")
		out = append(out, kit.Wrap(kit.Safe(session.Meaning(a.Reason)), w)...)
	}
	return out
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func cutText(n int) string {
	if n == 0 {
		return ""
	}
	return kit.Plural(n, "secret") + " cut out of the response"
}
