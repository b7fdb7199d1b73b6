package review

import (
	"fmt"
	"strings"

	"fumehood/diffreview"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// head is the state of the review in one line.
func (m *Model) head(w int) string {
	t, st := m.tally, m.ctx.Styles
	left := fmt.Sprintf(" %s +%s −%s   ", kit.Plural(len(m.set.Files), "file"), kit.Count(t.added), kit.Count(t.removed))
	decided := fmt.Sprintf("%s/%s decided", kit.Count(t.decided), kit.Count(t.units))
	bar := ""
	if w >= 90 {
		const n = 12
		full := 0
		if t.units > 0 {
			full = t.decided * n / t.units
		}
		bar = st.Held.Render(strings.Repeat("█", full)) + st.Muted.Render(strings.Repeat("░", n-full)) + " "
	}
	risk := ""
	if t.openRisky > 0 {
		risk = "   " + st.Warn.Render(fmt.Sprintf("! %d risky open", t.openRisky))
	}
	if t.notShown > 0 {
		risk += "   " + st.Warn.Render(kit.Plural(t.notShown, "file")+" not shown")
	}
	right := ""
	switch {
	case m.jobs.has(jobLoad):
		right = st.Running.Render("… snapshot ")
	case m.jobs.has(jobApply), m.jobs.has(jobUndo):
		right = st.Running.Render("… writing ")
	case m.jobs.has(jobPreview):
		right = st.Running.Render("… comparing ")
	case !m.set.SnapshotAt.IsZero():
		right = st.Muted.Render("snapshot " + m.set.SnapshotAt.Format("15:04:05") + " ")
	}
	left += bar + decided + risk
	if kit.Width(left)+kit.Width(right) > w && !m.jobs.busy() {
		right = "" // what is open is worth more than when it was looked at
	}
	if m.goneOn && !m.jobs.busy() {
		right = st.Warn.Render(m.goneOnText(w - kit.Width(left)))
	}
	return kit.Ends(left, right, w)
}

func (m *Model) fileHead(f *diffreview.File, w int) string {
	right := fmt.Sprintf("+%d −%d  %s ", f.Added, f.Removed, kit.Safe(string(f.Status)))
	if n := len(m.set.Files); m.narrow() {
		right = fmt.Sprintf("file %d of %d  ", m.file+1, n) + right
	}
	switch {
	case m.lines.ranged:
		from, to := m.span()
		n := 0
		for _, r := range m.laid().rows[from:to] {
			_, more := r.changed(f)
			n += more
		}
		right = fmt.Sprintf("[%s]  ", kit.Plural(n, "line")) + right
	case m.lines.on:
		right = "[line by line]  " + right
	}
	name := fromEnd(diffreview.SafeName(f.Path), max(4, w-kit.Width(right)-2))
	return m.ctx.Styles.StatusBar.Render(kit.Ends(" "+name, right, w))
}

// unitHead is the line above a unit: which it is, and what was decided.
func (m *Model) unitHead(f *diffreview.File, fr *fileRows, r row, sel bool, cu unit, w int) string {
	u := fr.units[r.unit]
	mark, h := f.Unit(u.id)
	st := m.ctx.Styles
	state, tint := m.stateOf(f, mark, h)
	note := ""
	if x := m.risky[u.id]; x != nil {
		note += " ! " + kit.Safe(string(x.Severity))
	}
	if mark.New {
		note += "  * new"
		if w >= 80 {
			note += " since your last review"
		}
	}
	if fr.hide && h != nil && decided(f, h) && u.hunk >= 0 {
		note += fmt.Sprintf("  %s hidden", kit.Plural(len(h.Lines), "line"))
	}
	rule := "─"
	if u.id == cu.id && !m.inList {
		rule, tint = "━", tint.On(st.Strong)
	}
	lead := " "
	if sel {
		lead = "▸"
	}
	head := lead + rule + rule + " " + unitName(f, u) + note + " "
	tail := " " + state + " " + rule + rule
	if room := w - kit.Width(tail); kit.Width(head) > room {
		head = kit.Fit(head, max(1, room))
	}
	line := head + strings.Repeat(rule, max(0, w-kit.Width(head)-kit.Width(tail))) + tail
	if sel {
		return st.Selection.Render(kit.Fit(line, w))
	}
	return tint.Render(kit.Fit(line, w))
}

// unitName says which unit it is.
func unitName(f *diffreview.File, u unit) string {
	if u.hunk < 0 || f.Hunks[u.hunk].ID == f.Whole {
		return wholeName(f)
	}
	h := &f.Hunks[u.hunk]
	name := fmt.Sprintf("hunk %d of %d", u.hunk+1, len(f.Hunks))
	if h.NewLines == 0 {
		return name + fmt.Sprintf("  before line %d", h.NewStart+1)
	}
	if h.NewLines == 1 {
		return name + fmt.Sprintf("  line %d", h.NewStart)
	}
	return name + fmt.Sprintf("  lines %d to %d", h.NewStart, h.NewStart+h.NewLines-1)
}

// wholeName says what is decided of a file apart from its hunks.
func wholeName(f *diffreview.File) string {
	var parts []string
	if f.Status == diffreview.Renamed {
		parts = append(parts, "the new name")
	}
	if om, nm := f.Old.Mode(), f.New.Mode(); om != nm && f.Old.Kind == diffreview.KindFile && f.New.Kind == diffreview.KindFile {
		parts = append(parts, "mode "+om+" → "+nm)
	}
	if f.Ends > 0 {
		parts = append(parts, "line endings "+f.EndsFrom+" → "+f.EndsTo+" on "+kit.Plural(f.Ends, "line"))
	}
	if len(parts) == 0 || f.Binary {
		return "the whole file: " + kit.Safe(string(f.Status))
	}
	return strings.Join(parts, ", ")
}

// stateOf says in words and a mark what was decided on a unit.
func (m *Model) stateOf(f *diffreview.File, mark *diffreview.Mark, h *diffreview.Hunk) (string, style.Style) {
	st := m.ctx.Styles
	text, tint := "undecided", st.Muted
	switch mark.Decision {
	case diffreview.Approved:
		text, tint = "approved", st.Held
		if h != nil && h.Edit != "" {
			text = "approved with your text"
		}
	case diffreview.Rejected:
		text, tint = "rejected", st.Refused
	case diffreview.Undecided:
		if h != nil && h.Edit != "" {
			text = "undecided, with a text"
		}
	case diffreview.Mixed:
	}
	if h != nil && h.Part != nil {
		text, tint = m.part(h.ID, h).said, st.Warn
	}
	if mark.Applied {
		text += ", applied"
	}
	return text + " " + m.markOf(f, mark.Decision), tint
}
