package review

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

const (
	// headLines is the summary above list and diff.
	headLines = 1
	// wideFrom is the width at which list and diff stand side by side.
	wideFrom = 100
)

func (m *Model) listWidth() int {
	switch {
	case !m.narrow():
		return max(44, min(56, m.w*2/5))
	case m.inList:
		return m.w
	}
	return 0
}

// View draws the summary, the list of files and the diff of the one under the
// cursor: only the rows that are on the screen.
func (m *Model) View(w, h int) (string, *tea.Cursor) {
	m.w, m.h = w, h
	st := m.ctx.Styles
	switch {
	case m.id == "":
		return "\n   " + st.Strong.Render("No session to review.") + "\n\n   What an agent changed would be here. " + st.Key.Render("1") + " goes to the list of sessions.", nil
	case m.err != nil && m.set == nil:
		return "\n   " + st.Strong.Render("The change set can't be shown.") + "\n\n" +
			strings.Join(kit.Indent(kit.Wrap(kit.Safe(m.err.Error()), max(1, w-6)), "   "), "\n") + "\n\n   " + st.Key.Render("R") + " tries again.", nil
	case m.set == nil:
		return st.Muted.Render("   taking a snapshot and comparing it with the baseline…"), nil
	case len(m.set.Files) == 0:
		return m.noFiles(), nil
	}
	lw := m.listWidth()
	rows := h - headLines
	var left, right []string
	if lw > 0 {
		left = m.listLines(lw, rows)
	}
	if dw := w - lw - 1; lw < w {
		if lw == 0 {
			dw = w
		}
		right = m.diffLines(dw, rows)
	}
	out := []string{m.head(w)}
	for i := 0; i < rows; i++ {
		switch {
		case lw == 0:
			out = append(out, right[i])
		case lw == w:
			out = append(out, left[i])
		default:
			out = append(out, left[i]+st.Border.Render("│")+right[i])
		}
	}
	var cur *tea.Cursor
	if m.searching {
		field, x := m.search.View(style.Style{}, max(2, w-12))
		out[len(out)-1] = st.Key.Render(" / ") + field
		cur = tea.NewCursor(3+x, len(out)-1)
	}
	return strings.Join(out, "\n"), cur
}

func (m *Model) noFiles() string {
	st := m.ctx.Styles
	out := "\n   " + st.Strong.Render("Nothing has changed.") + "\n\n   The workspace is as it was when the agent first started" + m.snapshotAt() + ".\n   " + st.Key.Render("R") + " takes a new snapshot."
	if n := m.set.Ignored.Count; n > 0 {
		out += fmt.Sprintf("\n\n   %s under paths that git ignores (h)", kit.Plural(n, "change"))
	}
	return out
}

func (m *Model) snapshotAt() string {
	if m.set.SnapshotAt.IsZero() {
		return ""
	}
	return ", as of " + m.set.SnapshotAt.Format("15:04:05")
}

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
	return kit.Ends(left+bar+decided+risk, right, w)
}

func (m *Model) listLines(w, h int) []string {
	st := m.ctx.Styles
	es := m.entries()
	from, to := m.files.Window(len(es), h)
	m.listDrawn = to - from
	out := make([]string, 0, h)
	for i := from; i < to; i++ {
		text := m.entryText(es[i], w)
		at := es[i].kind == entryFile && es[i].file == m.file && !m.inList || i == m.files.At && m.inList
		switch {
		case at && m.inList:
			out = append(out, st.Selection.Render("▸"+text[1:]))
		case at:
			out = append(out, st.Strong.Render("▸"+text[1:]))
		case es[i].kind != entryFile:
			out = append(out, st.Muted.Render(text))
		default:
			out = append(out, m.entryStyle(es[i]).Render(text))
		}
	}
	for len(out) < h {
		out = append(out, strings.Repeat(" ", w))
	}
	return out
}

func (m *Model) entryStyle(e entry) style.Style {
	st := m.ctx.Styles
	f := &m.set.Files[e.file]
	if f.Severity() == diffreview.Danger {
		return st.Refused
	}
	if f.Severity().Rank() > diffreview.Note.Rank() {
		return st.Warn
	}
	if f.Decision() != diffreview.Undecided {
		return st.Muted
	}
	return st.Text
}

// diffLines draws the file under the cursor: its name, then its rows.
func (m *Model) diffLines(w, h int) []string {
	f := m.fileNow()
	if m.inList && m.row() != entryFile {
		return m.rowLines(w, h)
	}
	fr := m.laid()
	out := make([]string, 0, h)
	out = append(out, m.fileHead(f, w))
	page := h - 1
	from, to := m.cur.Window(len(fr.rows), page)
	now := m.ctx.Clock.Now()
	p := painter{st: m.ctx.Styles, f: f, fr: fr, w: w, left: m.left, words: m.words, white: m.white}
	cu, _ := m.unitNow()
	for i := from; i < to; i++ {
		r := fr.rows[i]
		if u, ok := fr.at(i); ok && (r.kind == rowUnit || r.kind == rowFinding) && !m.inListOnly() {
			if _, seen := m.opened[u.id]; !seen {
				m.opened[u.id] = now
			}
		}
		sel := i == m.cur.At && !m.inList
		switch r.kind {
		case rowUnit:
			out = append(out, m.unitHead(f, fr, r, sel, cu, w))
		case rowLine:
			out = append(out, p.line(r, sel, fr.risky[f.Hunks[r.hunk].Lines[r.line].New]))
		case rowFinding:
			out = append(out, p.finding(r, sel))
		case rowInfo:
			out = append(out, p.info(r.text, sel))
		}
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out
}

// rowLines stands where the diff is while the list's cursor is on a row that is
// no file: the diff of another would look like its own.
func (m *Model) rowLines(w, h int) []string {
	text := "What is not in this review. enter lists it."
	if m.row() == entryFold {
		text = "Lock and generated files, folded. enter shows each as a file."
	}
	out := []string{m.ctx.Styles.StatusBar.Render(kit.Fit(" no file", w)), ""}
	out = append(out, kit.Indent(kit.Wrap(text, max(1, w-2)), " ")...)
	return kit.Block(strings.Join(out, "\n"), w, h)
}

func (m *Model) inListOnly() bool { return m.narrow() && m.inList }

func (m *Model) fileHead(f *diffreview.File, w int) string {
	right := fmt.Sprintf("+%d −%d  %s ", f.Added, f.Removed, kit.Safe(string(f.Status)))
	if n := len(m.set.Files); m.narrow() {
		right = fmt.Sprintf("file %d of %d  ", m.file+1, n) + right
	}
	name := fromEnd(diffreview.SafeName(f.Path), max(4, w-kit.Width(right)-2))
	return m.ctx.Styles.StatusBar.Render(kit.Ends(" "+name, right, w))
}

// unitHead is the line above a unit: which it is, and what was decided.
func (m *Model) unitHead(f *diffreview.File, fr *fileRows, r row, sel bool, cu unit, w int) string {
	u := fr.units[r.unit]
	whole := "the whole file: " + kit.Safe(string(f.Status))
	name := whole
	if u.hunk >= 0 {
		n, of := u.hunk+1, len(f.Hunks)
		name = fmt.Sprintf("hunk %d of %d", n, of)
		if h := &f.Hunks[u.hunk]; h.ID == f.Whole {
			name = whole
		} else {
			name += fmt.Sprintf("  lines %d to %d", h.NewStart, h.NewStart+max(0, h.NewLines-1))
		}
	}
	v := m.verdict(u.id)
	state := "undecided"
	st := m.ctx.Styles
	tint := st.Muted
	switch v {
	case diffreview.Approved:
		state, tint = "approved", st.Held
	case diffreview.Rejected:
		state, tint = "rejected", st.Refused
	case diffreview.Undecided:
	}
	risk := ""
	if x := m.risky[u.id]; x != nil {
		risk = " ! " + kit.Safe(string(x.Severity))
	}
	mark := "─"
	if u.id == cu.id && !m.inList {
		mark, tint = "━", tint.On(st.Strong)
	}
	lead := " "
	if sel {
		lead = "▸"
	}
	head := lead + mark + mark + " " + name + risk + " "
	tail := " " + state + " " + m.markOf(f, v) + " " + mark + mark
	line := head + strings.Repeat(mark, max(0, w-kit.Width(head)-kit.Width(tail))) + tail
	if sel {
		return st.Selection.Render(kit.Fit(line, w))
	}
	return tint.Render(kit.Fit(line, w))
}
