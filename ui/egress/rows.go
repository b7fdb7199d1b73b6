package egress

import (
	"fmt"
	"strings"

	"fumehood/session"
	"fumehood/ui/kit"
)

// matches says whether an attempt has the filter's text in what is shown of it.
func matches(a session.Attempt, want string) bool {
	if want == "" {
		return true
	}
	for _, s := range []string{session.Destination(a), a.Path, a.Reason, a.Account, a.Rule, a.Method, a.Detail} {
		if strings.Contains(strings.ToLower(kit.Safe(s)), want) {
			return true
		}
	}
	return false
}

func (m *Model) wanted() string { return strings.ToLower(m.filter.String()) }

// shown is the numbers of the attempts that the filter lets through, oldest first.
func (m *Model) shown() []int {
	want := m.wanted()
	out := make([]int, 0, len(m.traffic.Attempts))
	for i, a := range m.traffic.Attempts {
		if matches(a, want) {
			out = append(out, m.traffic.First+i)
		}
	}
	return out
}

// attempt is the one with a number, if it is still kept.
func (m *Model) attempt(n int) (session.Attempt, bool) {
	i := n - m.traffic.First
	if i < 0 || i >= len(m.traffic.Attempts) {
		return session.Attempt{}, false
	}
	return m.traffic.Attempts[i], true
}

// shownGroups is the refusals that the filter lets through. A group stays where
// it came, however often it comes again.
func (m *Model) shownGroups() []session.Refusal {
	want := m.wanted()
	var out []session.Refusal
	for _, g := range m.traffic.Groups {
		if matches(g.Last, want) {
			out = append(out, g)
		}
	}
	return out
}

// selected is the attempt under the cursor, and the group that it stands for.
func (m *Model) selected() (session.Attempt, *session.Refusal, bool) {
	if m.pane == refusals {
		gs := m.shownGroups()
		if len(gs) == 0 {
			return session.Attempt{}, nil, false
		}
		m.groups.Move(0, len(gs))
		g := gs[m.groups.At]
		return g.Last, &g, true
	}
	a, ok := m.attempt(m.at)
	return a, nil, ok
}

// size writes a number of bytes in a few cells: 0, 412, 18k, 2.1M.
func size(n int64) string {
	f, units := float64(n), "kMGT"
	if n < 1000 {
		return fmt.Sprint(max(0, n))
	}
	for i := range units {
		f /= 1000
		if f < 9.95 && i > 0 {
			return fmt.Sprintf("%.1f%c", f, units[i])
		}
		if f < 999.5 || i == len(units)-1 {
			return fmt.Sprintf("%.0f%c", f, units[i])
		}
	}
	return ""
}

// traffic is the bytes of an attempt, up and down.
func bytesOf(a session.Attempt) string {
	if a.Up == 0 && a.Down == 0 {
		return "0"
	}
	return size(a.Up) + "/" + size(a.Down)
}

// why is the rule that let an attempt through, or the reason that it was not.
func why(a session.Attempt) string {
	text := a.Rule
	if !a.Allowed {
		text = a.Reason
	}
	if a.Times > 1 {
		text += fmt.Sprintf(" ×%d", a.Times)
	}
	return text
}

func mark(a session.Attempt) string {
	if a.Allowed {
		return "✓"
	}
	return "✗"
}

// lineText is an attempt on one line, for copying.
func lineText(a session.Attempt) string {
	parts := []string{a.Time.Format("15:04:05"), mark(a), a.Method, session.Destination(a) + a.Path}
	if a.Account != "" {
		parts = append(parts, "as "+a.Account)
	}
	parts = append(parts, why(a))
	if a.Detail != "" {
		parts = append(parts, "("+a.Detail+")")
	}
	return kit.Safe(strings.Join(append(parts, bytesOf(a)), "  "))
}

// columns are the widths of the table for a window of w cells; 0 leaves one out.
type columns struct{ time, method, dest, path, account, why, bytes int }

func columnsFor(w int) columns {
	c := columns{time: 8, method: 7}
	if w >= 90 {
		c.bytes = 9 // where it is narrow, the whole attempt has them
	}
	if w >= 110 {
		c.account = 14
	}
	// Three before the time, the mark, and one or two between two columns.
	rest := w - 3 - 1 - c.time - c.method - c.bytes - 5*gap(w)
	if c.account > 0 {
		rest -= c.account + gap(w)
	}
	c.dest = rest * 40 / 100
	c.why = rest * 38 / 100
	c.path = rest - c.dest - c.why
	if w >= 160 {
		c.dest, c.why = min(c.dest, 44), min(c.why, 40)
		c.path = rest - c.dest - c.why
	}
	return c
}

func gap(w int) int {
	if w >= 110 {
		return 2
	}
	return 1
}

// join sets the cells side by side. The mark comes apart, for its colour.
func (c columns) join(w int, time, method, dest, path, account, why, bytes string) (before, after string) {
	g := strings.Repeat(" ", gap(w))
	before = kit.Fit(time, c.time) + g
	after = g + kit.Fit(method, c.method) + g + kit.Fit(dest, c.dest) + g + kit.Fit(path, c.path) + g
	if c.account > 0 {
		after += kit.Fit(account, c.account) + g
	}
	after += kit.Fit(why, c.why)
	if c.bytes > 0 {
		after += kit.Right(bytes, c.bytes)
	}
	return before, after
}
