package egress

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// when is an attempt's time where the person is.
func (m *Model) when(a session.Attempt) time.Time { return a.Time.In(m.ctx.Clock.Now().Location()) }

func (m *Model) lineText(a session.Attempt) string {
	a.Time = m.when(a)
	return lineText(a)
}

// View draws the attempts, and the refusals below them.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	m.rows, m.listN, m.groupN, m.groupY = m.rows[:0], 0, 0, 0
	switch {
	case m.id == "":
		return "\n   " + m.ctx.Styles.Strong.Render("No session.") + "\n\n   What it tries to reach would be here. " + m.ctx.Styles.Key.Render("1") + " goes to the list, " + m.ctx.Styles.Key.Render("n") + " there makes one.", nil
	case m.err != nil:
		return strings.Join(append([]string{""}, kit.Indent(kit.Wrap("The record can't be read: "+kit.Safe(m.err.Error()), max(1, w-6)), "   ")...), "\n"), nil
	case !m.have:
		return m.ctx.Styles.Muted.Render("   reading the record…"), nil
	case len(m.traffic.Attempts) == 0:
		return strings.Join(m.empty(w), "\n"), nil
	}
	out := m.head(w)
	groups := m.shownGroups()
	below := m.below(groups, h)
	foot := m.foot(w, h)
	room := max(1, h-len(out)-1-below-len(foot))
	out = append(out, m.header(w))
	m.listY = len(out)
	out = append(out, m.list(w, room)...)
	for len(out) < m.listY+room {
		out = append(out, "")
	}
	if below > 0 {
		out = append(out, m.groupHead(w))
		m.groupY = len(out)
		out = append(out, m.groupLines(groups, w, below-1)...)
	}
	out = append(out, foot...)
	var cur *tea.Cursor
	if m.filtering {
		_, x := m.filter.View(style.Style{}, max(2, w-12))
		cur = tea.NewCursor(10+x, len(out)-1)
	}
	return strings.Join(out, "\n"), cur
}

// empty says in plain words what it means that nothing was tried.
func (m *Model) empty(w int) []string {
	st := m.ctx.Styles
	title, text := "Nothing can leave.", "The session's policy has no entry, so it reaches nothing: its only way out is a proxy that answers 403 to every request, and says why. What it tries would be listed here, and each refusal leads to an entry that you can allow."
	if len(m.traffic.Entries) > 0 {
		title, text = "Nothing was tried yet.", "The only way out is a proxy, which lets through what the policy's entries name and answers 403 to everything else. What the session tries is listed here as it happens."
	}
	out := []string{"", "   " + st.Strong.Render(title), ""}
	out = append(out, kit.Indent(kit.Wrap(text, min(w-6, 90)), "   ")...)
	if len(m.traffic.Entries) > 0 {
		out = append(out, "", "   "+st.Muted.Render("It can reach"))
		for _, e := range m.traffic.Entries {
			out = append(out, kit.Cut("   "+kit.Safe(e), w))
		}
	}
	if !m.traffic.Live {
		out = append(out, "", "   "+st.Muted.Render("Nothing of this session runs now."))
	}
	return out
}

// head is the counts, and what is wrong with the record if anything is.
func (m *Model) head(w int) []string {
	st, t := m.ctx.Styles, m.traffic
	left := fmt.Sprintf(" %s   ", kit.Plural(t.Allowed+t.Refused, "request")) +
		st.Held.Render("✓ "+kit.Count(t.Allowed)) + "   " + st.Refused.Render("✗ "+kit.Count(t.Refused))
	right := "policy " + kit.Safe(t.Policy) + ": " + entriesText(len(t.Entries)) + " "
	if m.pane == attempts && m.at == live {
		right = "follows   " + right
	}
	out := []string{kit.Ends(left, st.Muted.Render(right), w)}
	if t.Damaged > 0 {
		out = append(out, kit.Cut(" "+st.Danger.Render(fmt.Sprintf("! record damaged at line %d: it does not follow from the one before", t.Damaged)), w))
	}
	return out
}

func entriesText(n int) string {
	switch n {
	case 0:
		return "no entry"
	case 1:
		return "1 entry"
	}
	return kit.Count(n) + " entries"
}

func (m *Model) header(w int) string {
	b, a := columnsFor(w).join(w-1, "TIME", "METHOD", "DESTINATION", "PATH", "ACCOUNT", "RULE / REASON", "BYTES")
	return m.ctx.Styles.Muted.Render(kit.Keep("   "+b+" "+a, w))
}

// list draws the attempts that fit. While it follows, those are the newest.
func (m *Model) list(w, room int) []string {
	st, all := m.ctx.Styles, m.shown()
	if len(all) == 0 {
		return []string{kit.Cut(fmt.Sprintf("   No attempt has %q in it. ", m.filter.String())+st.Key.Render("esc")+" drops the filter.", w)}
	}
	from := max(0, len(all)-room)
	if m.at != live {
		at, top := place(all, m.at), place(all, m.top)
		from = max(0, min(from, min(at, max(top, at-room+1))))
		m.top = all[from]
	} else {
		m.top = all[from]
	}
	var out []string
	for _, n := range all[from:min(len(all), from+room)] {
		m.rows = append(m.rows, n)
		a, _ := m.attempt(n)
		out = append(out, m.row(a, w, m.pane == attempts && n == m.at))
	}
	m.listN = room
	return out
}

func (m *Model) row(a session.Attempt, w int, at bool) string {
	st := m.ctx.Styles
	before, after := columnsFor(w).join(w-1, m.when(a).Format("15:04:05"), kit.Safe(a.Method), kit.Safe(session.Destination(a)),
		kit.Safe(a.Path), kit.Safe(a.Account), kit.Safe(why(a)), bytesOf(a))
	if at {
		return st.Selection.Render(kit.Fit(kit.Keep(" ▸ "+before+mark(a)+after, w), w))
	}
	colour := st.Refused
	if a.Allowed {
		colour = st.Held
	}
	return kit.Keep("   "+before+colour.Render(mark(a))+after, w)
}

// below is how many lines the refusals take, with their head; 0 for none.
func (m *Model) below(groups []session.Refusal, h int) int {
	if len(groups) == 0 {
		return 0
	}
	return 1 + min(len(groups), max(2, h/3))
}

func (m *Model) groupHead(w int) string {
	text := "refused, grouped"
	if m.traffic.Beyond > 0 {
		text += fmt.Sprintf("; %s of other destinations not among them", kit.Count(m.traffic.Beyond))
	}
	return kit.Rule(m.ctx.Styles, text, w)
}

func (m *Model) groupLines(groups []session.Refusal, w, room int) []string {
	st := m.ctx.Styles
	from, to := m.groups.Window(len(groups), room)
	m.groupN = to - from
	dest := max(20, min(48, w*30/100))
	var out []string
	for i := from; i < to; i++ {
		g := groups[i]
		a := g.Last
		text := kit.Fit(kit.Safe(session.Destination(a)), dest) + " " +
			kit.Fit(kit.Safe(a.Method)+" ×"+kit.Count(g.Times), 12) + " last " + m.when(a).Format("15:04:05") + "  " + kit.Safe(a.Reason)
		if a.Path != "" {
			text += "  " + kit.Safe(a.Path)
		}
		if g.Paths > 1 {
			text += " and others"
		}
		if m.pane == refusals && i == m.groups.At {
			out = append(out, st.Selection.Render(kit.Fit(" ▸ "+text, w)))
			continue
		}
		out = append(out, kit.Cut("   "+text, w))
	}
	return out
}

// foot is the filter, or in a tall window what the selected attempt was.
func (m *Model) foot(w, h int) []string {
	if m.filtering || m.filter.String() != "" {
		field, _ := m.filter.View(style.Style{}, max(2, w-12))
		return []string{m.ctx.Styles.Key.Render(" filter:  ") + field}
	}
	a, _, ok := m.selected()
	if h < 30 || !ok {
		return nil
	}
	out := []string{m.ctx.Styles.Border.Render(strings.Repeat("─", w))}
	return append(out, kit.Indent(m.attemptLines(a, max(1, w-2)), " ")...)
}
