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
	if m.inList && m.row().kind != entryFile {
		return m.rowLines(w, h)
	}
	fr := m.laid()
	out := make([]string, 0, h)
	out = append(out, m.fileHead(f, w))
	page := h - 1
	from, to := m.cur.Window(len(fr.rows), page)
	now := m.ctx.Clock.Now()
	p := painter{st: m.ctx.Styles, f: f, fr: fr, w: w, left: m.left, words: m.words, white: m.white}
	m.colourLines(&p, f)
	cu, _ := m.unitNow()
	first, behind := m.cur.At, m.cur.At+1
	if m.lines.on {
		first, behind = m.span()
		p.marked = int32(cu.hunk + 1)
	}
	for i := from; i < to; i++ {
		r := fr.rows[i]
		if u, ok := fr.at(i); ok && (r.kind == rowUnit || r.kind == rowFinding) && !m.inListOnly() {
			if _, seen := m.looks[u.id]; !seen {
				m.looks[u.id] = now
			}
		}
		p.lead = noLead
		switch {
		case m.inList:
		case i == m.cur.At:
			p.lead = cursorLead
		case i >= first && i < behind:
			p.lead = rangeLead
		}
		if r.kind == rowUnit {
			out = append(out, m.unitHead(f, fr, r, p.lead == cursorLead, cu, w))
			continue
		}
		if text, own := m.ownRow(p, f, r); own {
			out = append(out, text)
			continue
		}
		out = append(out, p.row(r))
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
	if on := m.row(); on.kind == entryFold {
		text = kit.Plural(m.listed.sums[on.fold].files, foldWords[on.fold]) + ", folded. enter shows each as a file."
	}
	out := []string{m.ctx.Styles.StatusBar.Render(kit.Fit(" no file", w)), ""}
	out = append(out, kit.Indent(kit.Wrap(text, max(1, w-2)), " ")...)
	return kit.Block(strings.Join(out, "\n"), w, h)
}

func (m *Model) inListOnly() bool { return m.narrow() && m.inList }
