package walls

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate/walls"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// The policy's text stands beside the tests from this width on.
const (
	besideFrom  = 180
	blockColumn = 80
)

// View draws the tests, and below them the selected one.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	m.listN = 0
	switch {
	case m.err != nil:
		return strings.Join(append([]string{""}, kit.Indent(kit.Wrap("The walls can't be told: "+kit.Safe(m.err.Error()), max(1, w-6)), "   ")...), "\n"), nil
	case !m.have:
		return m.ctx.Styles.Muted.Render("   reading what is proven…"), nil
	}
	if w < besideFrom {
		lines, cur := m.column(w, h)
		return strings.Join(lines, "\n"), cur
	}
	left := w - blockColumn - 3
	lines, cur := m.column(left, h)
	block := kit.WrapLines(kit.SafeText(m.about.Block), blockColumn)
	if len(block) > h && h > 0 {
		block = append(block[:h-1:h-1], m.ctx.Styles.Muted.Render("… p shows the rest"))
	}
	out := make([]string, h)
	for i := range out {
		var a, b string
		if i < len(lines) {
			a = lines[i]
		}
		if i < len(block) {
			b = block[i]
		}
		out[i] = kit.Fit(a, left) + m.ctx.Styles.Border.Render(" │ ") + b
	}
	return strings.Join(out, "\n"), cur
}

// column is the head, the list, and the selected test, in h lines.
func (m *Model) column(w, h int) ([]string, *tea.Cursor) {
	out := m.head(w, h)
	var foot []string
	var cur *tea.Cursor
	if m.saving {
		field, x := m.path.View(style.Style{}, max(2, w-20))
		foot = []string{m.ctx.Styles.Key.Render(" save record as ") + field}
		cur = tea.NewCursor(16+x, h-1)
	} else {
		foot = m.failures(w, h)
	}
	room := h - len(out) - len(foot)
	all := m.lines()
	// The selected test gets what the sixteen leave; among its attempts, half.
	below := max(1, room-len(all)-1)
	if slices.ContainsFunc(all, line.bad) {
		below = max(below, min(6, room/2)) // what it means and what to do
	}
	if m.inside {
		below = max(room*2/3, room-len(all)-1)
	}
	n := max(1, min(len(all), room-below-1))
	m.list.Move(0, len(all))
	from, to := m.list.Window(len(all), n)
	m.listY, m.listN = len(out), to-from
	m.counted = slices.ContainsFunc(all, func(l line) bool { return l.counts() != "" })
	for i := from; i < to; i++ {
		first := i == from || all[i].test.Wall != all[i-1].test.Wall
		out = append(out, m.row(all[i], first, i == m.list.At, w))
	}
	if rest := h - len(out) - len(foot); rest > 1 {
		out = append(out, m.ctx.Styles.Border.Render(strings.Repeat("─", w)))
		out = append(out, m.detailLines(all[m.list.At], w, rest-1)...)
	}
	for len(out) < h-len(foot) {
		out = append(out, "")
	}
	return append(out[:max(0, min(len(out), h-len(foot)))], foot...), cur
}

// head says which policy it is about, and how it stands.
func (m *Model) head(w, h int) []string {
	st := m.ctx.Styles
	now := m.ctx.Clock.Now()
	whose := "policy " + kit.Safe(m.about.Policy)
	if m.session == "" {
		whose += ", as a new session would have it"
	}
	if r := m.run; r != nil {
		return []string{m.progress(r, w)}
	}
	p := m.Proof()
	p.Live = false
	style := st.Muted
	if ok, _ := m.about.Standing.Proven(); ok && p.Err == "" {
		style = st.Held
	} else if r := m.about.Standing.Record; p.Err != "" || r != nil && !r.Clean() {
		style = st.Refused
	} else if r != nil {
		style = st.Stale
	}
	text := kit.Safe(p.Sentence(now))
	if r := m.about.Standing.Record; r != nil {
		held, attempts := 0, 0
		for _, t := range r.Tests {
			if t.Verdict == walls.Held {
				held++
			}
			attempts += len(t.Attempts)
		}
		text += fmt.Sprintf(" · %d of %d held, %s · by %s", held, len(r.Tests), kit.Plural(attempts, "attempt"), kit.Safe(r.By))
	} else if p.Err == "" {
		text += ". " + "R runs all sixteen, which takes seconds and no network"
	}
	lines := kit.Hang(" "+whose+"   ", text, w-1)
	if most := max(1, min(2, h-18)); len(lines) > most { // the sixteen come first
		lines = lines[:most]
		lines[most-1] = kit.Cut(lines[most-1]+" …", w)
		if !strings.HasSuffix(lines[most-1], "…") {
			lines[most-1] = kit.Fit(lines[most-1], w-1) + "…"
		}
	}
	for i, l := range lines {
		if i == 0 {
			lines[0] = st.Strong.Render(" "+whose) + "   " + style.Render(strings.TrimPrefix(l, " "+whose+"   "))
			continue
		}
		lines[i] = style.Render(l)
	}
	return lines
}

// progress is how far a run is, in one line of a bar and counts.
func (m *Model) progress(r *running, w int) string {
	st := m.ctx.Styles
	since := kit.Age(m.ctx.Clock.Now().Sub(r.began))
	turn := string(`|/-\`[r.turns%4])
	switch {
	case r.ending:
		return " " + st.Warn.Render(turn+" ending: what was begun is taken away first")
	case r.mutate:
		return kit.Cut(fmt.Sprintf(" %s leaving out one part at a time: %s, %s so far, %s", turn, kit.Safe(r.note), kit.Plural(r.attempts, "attempt"), since), w)
	}
	of := len(walls.Tests())
	if r.only > 0 {
		of = 1
	}
	done := min(len(r.finished), of)
	bar := 16
	full := done * bar / of
	text := fmt.Sprintf(" %d of %d tests, %s, %s", done, of, kit.Plural(r.attempts, "attempt"), since)
	if spec, ok := walls.Find(r.at); ok {
		text += fmt.Sprintf(" · now %d %s", r.at, spec.Name)
	}
	return kit.Cut(" "+turn+" "+strings.Repeat("█", full)+strings.Repeat("░", bar-full)+text, w)
}

// failures keeps what did not hold in view, wherever the cursor is.
func (m *Model) failures(w, h int) []string {
	var bad []line
	for i, l := range m.lines() {
		if l.bad() && i != m.list.At {
			bad = append(bad, l)
		}
	}
	if len(bad) == 0 || h < 15 {
		return nil
	}
	var names []string
	for _, l := range bad {
		names = append(names, fmt.Sprintf("%d %s", l.test.Number, l.test.Name))
	}
	return []string{m.ctx.Styles.Refused.Render(kit.Cut(" ✗ did not hold: "+strings.Join(names, ", ")+": "+bad[0].means(), max(1, w-16))) + "  " + m.ctx.Styles.Key.Render("!") + " goes there"}
}

// row is one test.
func (m *Model) row(l line, first, at bool, w int) string {
	st := m.ctx.Styles
	turns := 0
	if m.run != nil {
		turns = m.run.turns
	}
	mark, text := l.mark(turns)
	wall := ""
	if first || at {
		wall = wallName(l.test.Wall)
	}
	const name = 31
	before := kit.Fit(wall, 5) + kit.Right(fmt.Sprint(l.test.Number), 2) + " " + kit.Fit(l.test.Name, name)
	verdict := kit.Fit(text, 10)
	after := " " + kit.Safe(l.evidence())
	if m.counted {
		after = kit.Fit(kit.Right(l.counts(), 7), 9) + kit.Safe(l.evidence())
	}
	if at {
		lead := " ▸ "
		if m.inside {
			lead = " ▾ "
		}
		return st.Selection.Render(kit.Fit(kit.Cut(lead+before+verdict+after, w), w))
	}
	n := w - 3 - kit.Width(before) - kit.Width(verdict)
	return "   " + before + tint(st, mark).Render(verdict) + kit.Cut(after, n)
}

// tint is the colour of a mark in a list: what did not hold is plain to see in
// it, and shouts in the strip alone.
func tint(st *style.Styles, mark walls.Mark) style.Style {
	if mark == walls.MarkFailed {
		return st.Refused
	}
	return kit.MarkStyle(st, mark)
}
