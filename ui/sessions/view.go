package sessions

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// View draws the list and what is known of the session under the cursor.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	if !m.loaded {
		return m.ctx.Styles.Muted.Render("   reading the list of sessions…"), nil
	}
	l := m.shown()
	if len(l) == 0 {
		return m.empty(w), m.filterCursor(w, h)
	}
	foot := m.foot(w, h)
	room := max(1, h-1-len(foot))
	long := len(l) > room && room > 1
	if long {
		room-- // for the line that says how many more there are
	}
	lines := []string{m.header(w)}
	from, to := m.list.Window(len(l), room)
	m.drawn = to - from
	for i := from; i < to; i++ {
		lines = append(lines, m.row(l[i], w, i == m.list.At))
	}
	if long {
		lines = append(lines, m.ctx.Styles.Muted.Render(kit.Cut("   "+more(from, len(l)-to), w)))
	}
	for len(lines) < h-len(foot) {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	return strings.Join(lines, "\n"), m.filterCursor(w, h)
}

// more says how many rows are not on the screen.
func more(above, below int) string {
	switch {
	case above == 0:
		return "… " + kit.Count(below) + " more below"
	case below == 0:
		return "… " + kit.Count(above) + " more above"
	}
	return "… " + kit.Count(above) + " more above, " + kit.Count(below) + " more below"
}

func (m *Model) empty(w int) string {
	st := m.ctx.Styles
	var out []string
	switch {
	case m.listErr != nil:
		out = append(out, "", "   The list can't be read: "+kit.Safe(m.listErr.Error()), "   R tries again.")
	case m.filter.String() != "":
		out = append(out, "", "   No session matches "+fmt.Sprintf("%q", m.filter.String())+". esc drops the filter.")
	default:
		out = append(out, "", "   "+st.Strong.Render("No session of this repository yet."), "")
		for _, l := range kit.Wrap("A session is a copy of the repository with an agent at work in it, behind walls. Nothing it does reaches your files until you have approved it.", min(w-6, 76)) {
			out = append(out, "   "+l)
		}
		out = append(out, "", "   "+st.Key.Render("n")+" makes one      "+st.Key.Render("a")+" shows those of other repositories")
	}
	if m.filtering || m.filter.String() != "" {
		out = append(out, "", m.filterLine(w))
	}
	return strings.Join(out, "\n")
}

// columns are the widths of the table for a window of w cells; 0 leaves one out.
type columns struct{ name, agent, repo, state, age, changes, egress, last int }

func (m *Model) columns(w int) columns {
	c := columns{name: 14, agent: 8, state: 17, age: 4, changes: 15}
	if w >= 110 {
		c.name, c.agent = 22, 12
	}
	if w >= 118 {
		c.egress = 9
	}
	if m.all {
		c.repo = 14
		if w >= 160 {
			c.repo = 30
		}
	}
	if w < 70 {
		c.agent = 0
	}
	used := 3
	for _, n := range []int{c.name, c.agent, c.repo, c.state, c.age, c.changes, c.egress} {
		if n > 0 {
			used += n + 2
		}
	}
	if c.last = w - used; c.last < 24 {
		c.last = 0 // too narrow to be read; the panel has it
	}
	return c
}

// join gives the cells before the state, the state, and those after it.
func (c columns) join(name, agent, repo, state, age, changes, egress, last string) (before, mid, after string) {
	put := func(s string, w int) string {
		if w <= 0 {
			return ""
		}
		return kit.Fit(s, w) + "  "
	}
	before = put(name, c.name) + put(agent, c.agent) + put(repo, c.repo)
	mid = put(state, c.state)
	after = put(age, c.age) + put(changes, c.changes) + put(egress, c.egress)
	if c.last > 0 {
		after += kit.Fit(last, c.last)
	}
	return before, mid, after
}

func (m *Model) header(w int) string {
	b, s, a := m.columns(w).join("NAME", "AGENT", "REPOSITORY", "STATE", "AGE", "CHANGES", "EGRESS", "LAST LINE")
	return m.ctx.Styles.Muted.Render(kit.Keep("   "+b+s+a, w))
}

func (m *Model) row(s session.Summary, w int, at bool) string {
	c := m.columns(w)
	repo := kit.Safe(s.Repo)
	if i := strings.LastIndexByte(repo, '/'); i >= 0 && c.repo < 20 {
		repo = repo[i+1:]
	}
	before, mid, after := c.join(kit.Safe(s.Name), kit.Safe(s.Agent), repo, Standing(s).Text(),
		kit.Age(m.ctx.Clock.Now().Sub(s.Created)), changes(s), egress(s), kit.Safe(s.LastLine))
	if at {
		return m.ctx.Styles.Selection.Render(kit.Fit(kit.Keep(" ▸ "+before+mid+after, w), w))
	}
	// The state is the one coloured cell; its words carry the meaning.
	return kit.Keep("   "+before+Standing(s).Style(m.ctx.Styles).Render(mid)+after, w)
}

// Standing is how a session stands.
func Standing(s session.Summary) kit.Standing {
	out := kit.Standing{State: string(s.State), Signal: s.Signal, Exit: s.ExitCode}
	if s.Limit != nil {
		out.Limit = s.Limit.Name + " " + s.Limit.Value
	}
	return out
}

func changes(s session.Summary) string {
	if s.ChangedFiles < 0 {
		return "not looked at"
	}
	if s.ChangedFiles == 0 {
		return "none"
	}
	mark := ""
	if s.Undecided == 0 {
		mark = " ✓"
	}
	return fmt.Sprintf("+%d −%d %df%s", s.Added, s.Removed, s.ChangedFiles, mark)
}

// egress is how many requests there were, and how many of them were refused.
func egress(s session.Summary) string {
	switch {
	case s.Requests < 0:
		return "?"
	case s.Refusals > 0:
		return fmt.Sprintf("%s ✗%s", kit.Count(s.Requests+s.Refusals), kit.Count(s.Refusals))
	}
	return kit.Count(s.Requests)
}

// foot is the panel under the list: filter, quick look or detail.
func (m *Model) foot(w, h int) []string {
	var out []string
	rule := m.ctx.Styles.Border.Render(strings.Repeat("─", w))
	if m.look {
		return append(out, m.lookLines(w, max(3, h*2/3))...)
	}
	if m.filtering || m.filter.String() != "" {
		out = append(out, m.filterLine(w))
	}
	panel := m.panel(w)
	if keep := h - 4 - len(out); len(panel) > keep {
		panel = panel[:max(0, keep)]
	}
	if len(panel) == 0 {
		return out
	}
	return append(append(out, rule), panel...)
}

func (m *Model) filterLine(w int) string {
	field, _ := m.filter.View(style.Style{}, max(2, w-12))
	return m.ctx.Styles.Key.Render(" / ") + field
}

func (m *Model) filterCursor(w, h int) *tea.Cursor {
	if !m.filtering {
		return nil
	}
	_, x := m.filter.View(style.Style{}, max(2, w-12))
	if len(m.shown()) == 0 {
		n := strings.Count(m.empty(w), "\n")
		return tea.NewCursor(3+x, n)
	}
	return tea.NewCursor(3+x, h-len(m.foot(w, h)))
}

func (m *Model) lookLines(w, h int) []string {
	s, _ := m.Current()
	out := []string{kit.Rule(m.ctx.Styles, kit.Safe(s.Name)+", its terminal now", w)}
	f := m.lookFrame
	if f.Gen == 0 && len(f.Lines) == 0 {
		return append(out, m.ctx.Styles.Muted.Render("   asking for its screen…"))
	}
	last := len(f.Lines)
	for last > 0 && strings.TrimSpace(f.Lines[last-1]) == "" {
		last--
	}
	for _, l := range f.Lines[max(0, last-(h-1)):last] {
		out = append(out, kit.Cut(kit.SafeLine(l), w))
	}
	return out
}

// panel says what the session under the cursor is and may do.
func (m *Model) panel(w int) []string {
	s, ok := m.Current()
	if !ok {
		return nil
	}
	st := m.ctx.Styles
	d, full := m.Detail()
	line := func(head, text string) string {
		return kit.Cut(" "+st.Muted.Render(kit.Fit(head, 10))+" "+text, w)
	}
	top := "policy " + kit.Safe(s.Policy)
	if full {
		proof := kit.Proof{Known: true, Standing: d.Walls, Err: d.WallsErr, Elsewhere: d.Elsewhere}
		verdict, _ := proof.Verdict(m.ctx.Clock.Now())
		top += " (" + verdict + ")"
		top += fmt.Sprintf("   workspace: a copy, %s, %s", kit.Plural(d.Files, "file"), kit.Bytes(d.Bytes))
		if n := len(d.LeftOut); n > 0 {
			top += fmt.Sprintf(", %s left out", kit.Count(n))
		}
	}
	out := []string{kit.Cut(" "+st.Strong.Render(kit.Safe(s.Name))+"   "+top, w)}
	if s.Error != "" {
		head := "why"
		for i, l := range kit.Wrap(kit.Safe(s.Error), max(10, w-13)) {
			if i < 3 {
				out = append(out, line(head, st.Danger.Render(l)))
				head = ""
			}
		}
	}
	if s.Limit != nil {
		out = append(out, line("stopped", kit.Safe(fmt.Sprintf("by its limit: %s %s, used %s", s.Limit.Name, s.Limit.Value, s.Limit.Used))))
	}
	if l := kit.Safe(s.LastLine); l != "" && m.columns(w).last < kit.Width(l) {
		out = append(out, line("last line", l))
	}
	out = append(out, line("command", kit.Safe(strings.Join(s.Command, " "))))
	if !full {
		return out
	}
	out = append(out, line("can reach", reach(d)))
	if s.Requests != 0 || s.Refusals != 0 {
		out = append(out, line("tried", fmt.Sprintf("%s, %s refused (4 lists them)", kit.Plural(max(0, s.Requests+s.Refusals), "request"), kit.Count(max(0, s.Refusals)))))
	}
	bound, free := limits(d)
	if bound != "" {
		out = append(out, line("limits", bound))
	}
	if free != "" {
		out = append(out, line("no limit", "on "+free))
	}
	if s.Live {
		out = append(out, line("uses", fmt.Sprintf("%s · %s memory · %s cpu", processes(d.Usage.Processes), kit.Bytes(d.Usage.RSS), seconds(d.Usage.CPU))))
	}
	return out
}

// reach is what its policy lets through.
func reach(d session.Detail) string {
	switch {
	case d.ReachErr != "":
		return "not known: " + kit.Safe(d.ReachErr)
	case len(d.Reach) == 0:
		return "nothing: its only way out answers 403 to every request"
	}
	return kit.Safe(strings.Join(d.Reach, " · ")) + "   nothing else"
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return kit.Count(n) + " processes"
}

func seconds(ns int64) string { return fmt.Sprintf("%.1f s", float64(ns)/1e9) }

// limits names what is bounded, and what is not: silence would read as a bound.
func limits(d session.Detail) (bound, free string) {
	var b, f []string
	for _, l := range d.Limits {
		if l.Value == "none" || l.Value == "not in force" {
			f = append(f, kit.Safe(l.Name))
			continue
		}
		b = append(b, kit.Safe(l.Name+" "+l.Value))
	}
	return strings.Join(b, " · "), strings.Join(f, ", ")
}
