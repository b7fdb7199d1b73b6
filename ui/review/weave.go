package review

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// spot is where a comment stands in a file: below a line of a hunk, or at the
// head of the file where no hunk shows the line or it is gone.
type spot struct {
	comment    int // in asked.comments
	hunk, line int // -1: at the head
	now        int // the line's number today, 0 when it has none
}

// after is what became of a commented line since.
type after struct {
	line int // where it stands now, 0 when it is gone
	said string
}

// place finds the spots of all comments in the change set.
func (m *Model) place() {
	had := len(m.spots) > 0
	m.spots = map[int][]spot{}
	if m.set == nil {
		return
	}
	files := map[string]int{}
	for i := range m.set.Files {
		f := &m.set.Files[i]
		if files[f.Path] = i; f.OldPath != "" {
			if _, taken := files[f.OldPath]; !taken {
				files[f.OldPath] = i
			}
		}
	}
	for i, c := range m.comments {
		if n, ok := files[c.Path]; ok && c.Path != "" {
			s := m.spotOf(&m.set.Files[n], c)
			s.comment = i
			m.spots[n] = append(m.spots[n], s)
		}
	}
	if had || len(m.spots) > 0 { // a large file is not laid out twice for nothing
		m.relay()
	}
}

func (m *Model) spotOf(f *diffreview.File, c diffreview.Comment) spot {
	s := spot{hunk: -1, line: -1}
	now := c.Line
	if c.Was != f.New.Blob && c.Line > 0 {
		now = m.since[c.ID].line
	}
	if s.now = now; now == 0 && c.OldLine == 0 {
		return s
	}
	for h := range f.Hunks {
		// No line of a hunk stands further down in it than by its number.
		first := now - f.Hunks[h].NewStart
		if c.OldLine > 0 {
			first = c.OldLine - f.Hunks[h].OldStart
		}
		for l := max(0, first); l < len(f.Hunks[h].Lines); l++ {
			x := &f.Hunks[h].Lines[l]
			if c.OldLine > 0 && x.Op == '-' && x.Old == c.OldLine || c.OldLine == 0 && x.New == now {
				s.hunk, s.line = h, l
				return s
			}
		}
	}
	return s
}

// lookSince works out what became of the lines whose file has changed since the
// comment was made.
func (m *Model) lookSince() tea.Cmd {
	type pending struct {
		c   diffreview.Comment
		now diffreview.Blob
	}
	var todo []pending
	for i := range m.set.Files {
		f := &m.set.Files[i]
		for _, s := range m.spots[i] {
			if c := m.comments[s.comment]; c.Was != "" && c.Was != f.New.Blob && f.New.Blob != "" {
				todo = append(todo, pending{c, f.New.Blob})
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	m.asking++
	b, id, gen := m.backend, m.id, m.asking
	return m.askNow(func(ctx context.Context) func() tea.Cmd {
		out := make(map[string]after, len(todo))
		for _, p := range todo {
			was, err := b.Text(ctx, id, p.c.Was)
			if err != nil {
				out[p.c.ID] = after{said: "what it was made on can't be read"}
				continue
			}
			now, err := b.Text(ctx, id, p.now)
			if err != nil {
				out[p.c.ID] = after{said: "what stands there now can't be read"}
				continue
			}
			out[p.c.ID] = sinceOf(p.c, was, now)
		}
		return func() tea.Cmd {
			if gen == m.asking {
				m.since = out
				m.place()
			}
			return nil
		}
	})
}

// sinceOf says what became of what a comment is about.
func sinceOf(c diffreview.Comment, was, now []byte) after {
	if c.OldLine > 0 {
		return after{}
	}
	changed, hunks, line := diffreview.Since(was, now, c.Line)
	a := after{line: line}
	added, removed := 0, 0
	for i := range hunks {
		for _, l := range hunks[i].Lines {
			switch l.Op {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	switch {
	case !changed && c.Line > 0:
		a.said = "unchanged there since"
	case !changed:
		a.said = "unchanged since"
	case line == 0 && c.Line > 0:
		a.said = fmt.Sprintf("the line was changed or is gone since: +%d −%d there", added, removed)
	default:
		a.said = fmt.Sprintf("changed since: +%d −%d", added, removed)
	}
	return a
}

// weave puts comments below their lines, and the reviewer's own text in the
// place of a hunk's lines. What has neither is copied as it is: a hunk may have
// half a million lines.
func (m *Model) weave(f *diffreview.File, fr *fileRows) *fileRows {
	spots := m.spots[m.file]
	below := map[int][]spot{} // by row
	var at []int              // of below, and of the heads of hunks with a text of the reviewer's
	for _, u := range fr.units {
		if u.hunk >= 0 && f.Hunks[u.hunk].Edit != "" {
			at = append(at, u.from)
		}
	}
	if len(spots) == 0 && len(at) == 0 {
		return fr
	}
	w := woven{rows: make([]row, 0, len(fr.rows)+4*len(spots))}
	for _, s := range spots {
		switch i := fr.find(s.hunk, s.line); {
		case s.hunk < 0:
			w.rows = m.addComment(w.rows, fr, row{unit: -1, hunk: -1, line: -1}, s)
		case f.Hunks[s.hunk].Edit != "" || i < 0 || !fr.rows[i].has(int32(s.line)):
			// The line that it is on is not shown.
		default:
			if i+1 < len(fr.rows) && fr.rows[i+1].kind == rowCut {
				i++ // it stands below what says of the line that it is cut
			}
			if len(below[i]) == 0 {
				at = append(at, i)
			}
			below[i] = append(below[i], s)
		}
	}
	slices.Sort(at)
	for _, i := range at {
		w.copy(fr, i+1)
		r := fr.rows[i]
		for _, s := range below[i] {
			w.rows = m.addComment(w.rows, fr, r, s)
		}
		if r.kind == rowUnit && !(fr.hide && decided(f, &f.Hunks[r.hunk])) {
			for _, s := range spots {
				if s.hunk == int(r.hunk) {
					w.rows = m.addComment(w.rows, fr, r, s)
				}
			}
			w.rows = m.addWritten(w.rows, fr, r, f)
			w.skipLines(fr, fr.units[r.unit].to)
		}
		w.moved = append(w.moved, [2]int{w.next, len(w.rows)})
	}
	w.copy(fr, len(fr.rows))
	for i := range fr.units {
		u := &fr.units[i]
		u.from, u.to = w.to(u.from), w.to(u.to)
	}
	fr.rows = w.rows
	return fr
}

// woven are the rows of a file with what is put between them.
type woven struct {
	rows  []row
	next  int      // the first row that was not taken over yet
	moved [][2]int // from these rows on: where they come to stand
}

// copy takes rows over.
func (w *woven) copy(fr *fileRows, until int) {
	if w.moved == nil {
		w.moved = append(w.moved, [2]int{0, len(w.rows)}) // behind what is at the head
	}
	w.rows = append(w.rows, fr.rows[w.next:until]...)
	w.next = until
}

// skipLines takes rows over, save those of lines.
func (w *woven) skipLines(fr *fileRows, until int) {
	for ; w.next < until; w.next++ {
		switch r := fr.rows[w.next]; r.kind {
		case rowLine, rowPair, rowCut:
		default: // findings, and whatever is no line of the agent's
			w.rows = append(w.rows, r)
		}
	}
}

// to is where a row came to stand.
func (w *woven) to(i int) int {
	n := sort.Search(len(w.moved), func(k int) bool { return w.moved[k][0] > i }) - 1
	return w.moved[n][1] + i - w.moved[n][0]
}

// addComment adds the rows of a comment, which belong to the unit of the row
// above them.
func (m *Model) addComment(rows []row, fr *fileRows, above row, s spot) []row {
	c := m.comments[s.comment]
	for n, l := range kit.WrapLines(m.commentText(c, s), max(20, fr.width-8)) {
		if n == 0 {
			l = "# " + l
		} else {
			l = "  " + l
		}
		rows = append(rows, row{kind: rowComment, unit: above.unit, hunk: above.hunk, line: above.line, pair: -1, finding: int32(s.comment), text: fr.keep(l)})
	}
	return rows
}

// commentText is what is shown of a comment.
func (m *Model) commentText(c diffreview.Comment, s spot) string {
	by := kit.Safe(cmp.Or(c.By, "unnamed"))
	state := "not sent"
	if !c.Sent.IsZero() {
		state = "sent " + c.Sent.Local().Format("15:04")
	}
	text := by + ", " + state
	switch {
	case s.hunk >= 0:
	case c.OldLine > 0:
		text += fmt.Sprintf(", on line %d of the old file", c.OldLine)
	case c.Line > 0 && s.now > 0:
		text += fmt.Sprintf(", on line %d", s.now)
	case c.Line > 0:
		text += ", on a line that was: " + kit.Safe(c.Quote)
	}
	text += ": " + kit.SafeText(c.Body)
	if a := m.since[c.ID]; a.said != "" && !c.Sent.IsZero() {
		text += "\n(" + a.said + ")"
	}
	return text
}

// addWritten adds the lines from the baseline's to the reviewer's own, and what
// the rules found in these.
func (m *Model) addWritten(rows []row, fr *fileRows, head row, f *diffreview.File) []row {
	add := func(r row) {
		r.unit, r.hunk = head.unit, head.hunk
		rows = append(rows, r)
	}
	h := &f.Hunks[head.hunk]
	byLine := map[int][]int{}
	for i := range f.Findings {
		if x := &f.Findings[i]; x.Unit == h.ID && x.Edit == h.Edit {
			byLine[x.Line] = append(byLine[x.Line], i)
		}
	}
	found := func(line int) {
		for _, x := range byLine[line] {
			for _, r := range fr.findingRows(f, x, int(head.hunk)) {
				add(r)
			}
		}
		delete(byLine, line)
	}
	w := m.written[writtenKey{h.ID, h.Edit}]
	switch {
	case w == nil || w.file == nil:
		add(row{kind: rowInfo, line: -1, pair: -1, text: fr.keep("edited by you; your text is being read…")})
	case len(w.file.Hunks[0].Lines) == 0:
		add(row{kind: rowInfo, line: -1, pair: -1, text: fr.keep("edited by you: nothing is left of these lines")})
	default:
		lines := w.file.Hunks[0].Lines
		for i, p := range pair(lines) {
			add(row{kind: rowWritten, line: int32(i), pair: p})
			found(lines[i].New)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(byLine)) {
		found(line)
	}
	return rows
}

// ownRow draws the rows that weave adds, nil for any other.
func (m *Model) ownRow(p painter, f *diffreview.File, r row) (string, bool) {
	switch r.kind {
	case rowComment:
		if p.lead == cursorLead {
			return p.st.Selection.Render(kit.Fit("▸   "+p.fr.said(r), p.w)), true
		}
		return p.st.Accent.Render(kit.Fit("    "+p.fr.said(r), p.w)), true
	case rowWritten:
		h := &f.Hunks[r.hunk]
		w := m.written[writtenKey{h.ID, h.Edit}]
		if w == nil || w.file == nil || int(r.line) >= len(w.file.Hunks[0].Lines) {
			return "", true
		}
		p.f, p.marked = w.file, 0
		p.old, p.now = nil, nil // they are other texts
		p.fr = &fileRows{digits: p.fr.digits, layout: p.fr.layout, risky: riskyLines(f, h)}
		r.hunk = 0
		return p.line(r), true
	case rowInfo, rowUnit, rowLine, rowPair, rowFinding, rowCut, rowGap, rowSame:
	}
	return "", false
}

// riskyLines are the lines of a reviewer's own text that a finding above note is
// about.
func riskyLines(f *diffreview.File, h *diffreview.Hunk) map[int]bool {
	var out map[int]bool
	for i := range f.Findings {
		if x := &f.Findings[i]; x.Unit == h.ID && x.Edit == h.Edit && x.Severity.Rank() > diffreview.Note.Rank() {
			if out == nil {
				out = map[int]bool{}
			}
			out[x.Line] = true
		}
	}
	return out
}

// lineOf is the line of the change set that a row shows, if it shows one.
func lineOf(f *diffreview.File, r row, side bool) *diffreview.Line {
	switch r.kind {
	case rowLine:
		return &f.Hunks[r.hunk].Lines[r.line]
	case rowPair, rowCut:
		if r.pair >= 0 && (side || r.line < 0) { // of two side by side the new one is meant
			return &f.Hunks[r.hunk].Lines[r.pair]
		}
		return &f.Hunks[r.hunk].Lines[r.line]
	case rowInfo, rowUnit, rowFinding, rowGap, rowSame, rowComment, rowWritten:
	}
	return nil
}
