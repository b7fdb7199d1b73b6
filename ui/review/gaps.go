package review

import (
	"bytes"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
)

// openBy is how many lines of a gap a key opens.
const openBy = 20

// contextRows are the unchanged lines behind a change that a hunk has where
// there are as many: with fewer it ends with its file.
const contextRows = 3

// gap is a run of unchanged lines that no hunk shows.
type gap struct {
	old, new int // numbers of its first line
	n        int // lines; -1 until the old text was read
}

// span is how many lines of a gap are shown at its two ends.
type span struct{ top, end int }

// oldText is a file's content before the change, read for its gaps.
type oldText struct {
	blob  diffreview.Blob
	lines [][]byte // without newlines
}

type oldTextMsg struct {
	Session string
	Gen     int
	Blob    diffreview.Blob
	Gap     int // to open
	Text    []byte
	Err     error
}

// gapsOf gives the gaps of a file by the hunk after them, the last being the
// one behind all hunks. Those without lines are there as well.
func gapsOf(f *diffreview.File, old *oldText) []gap {
	if len(f.Hunks) == 0 || wholeIsHunk(f) {
		return nil
	}
	out := make([]gap, 0, len(f.Hunks)+1)
	o, n := 1, 1
	for i := range f.Hunks {
		h := &f.Hunks[i]
		start := h.OldStart
		if h.OldLines == 0 {
			start++
		}
		out = append(out, gap{o, n, max(0, start-o)})
		n += max(0, start-o) + h.NewLines
		o = start + h.OldLines
	}
	rest := -1
	if old != nil {
		rest = max(0, len(old.lines)+1-o)
	} else if !mayGoOn(&f.Hunks[len(f.Hunks)-1]) {
		rest = 0
	}
	return append(out, gap{o, n, rest})
}

// mayGoOn says whether lines can follow the last hunk.
func mayGoOn(h *diffreview.Hunk) bool {
	k := 0
	for i := len(h.Lines) - 1; i >= 0 && h.Lines[i].Op == ' '; i-- {
		k++
	}
	return k >= contextRows && !h.Lines[len(h.Lines)-1].NoEOL
}

// addGap adds the rows of the gap before a hunk.
func (fr *fileRows) addGap(i int) {
	if i >= len(fr.gaps) {
		return
	}
	fr.close()
	g, s := fr.gaps[i], fr.opened[i]
	if fr.old == nil {
		s = span{}
	}
	if g.n >= 0 && s.top+s.end >= g.n {
		s = span{top: g.n}
	}
	for k := range s.top {
		fr.add(row{kind: rowSame, hunk: int32(i), line: int32(g.old - 1 + k)})
	}
	if g.n < 0 || g.n > s.top+s.end {
		fr.add(row{kind: rowGap, hunk: int32(i), line: int32(g.old - 1 + s.top)})
	}
	for k := range s.end {
		fr.add(row{kind: rowSame, hunk: int32(i), line: int32(g.old - 1 + g.n - s.end + k)})
	}
}

// gapText says what is folded.
func (fr *fileRows) gapText(i int) string {
	g, s := fr.gaps[i], fr.opened[i]
	if g.n < 0 {
		return "⋯ the rest of the file, unchanged"
	}
	n := g.n
	if fr.old != nil {
		n -= s.top + s.end
	}
	return "⋯ " + kit.Plural(n, "unchanged line")
}

// gapNow is the gap under the cursor, folded or open.
func (m *Model) gapNow() (int, bool) {
	fr := m.laid()
	if m.inList || m.cur.At >= len(fr.rows) {
		return 0, false
	}
	r := fr.rows[m.cur.At]
	return int(r.hunk), r.kind == rowGap || r.kind == rowSame
}

// enter opens the gap under the cursor, if it is on one.
func (m *Model) enter() tea.Cmd {
	if m.rowNow().kind == rowGap {
		return m.openGap()
	}
	return nil
}

// openGap shows more of the lines around the cursor that have not changed.
func (m *Model) openGap() tea.Cmd {
	i, ok := m.gapNow()
	if !ok {
		m.ctx.Say("+ opens unchanged lines: go to a row that begins with ⋯")
		return nil
	}
	if m.old != nil {
		m.growGap(i)
		return nil
	}
	id, gen, ctx, b, blob := m.id, m.gen, m.ctx.Base, m.backend, m.fileNow().Old.Blob
	return func() tea.Msg {
		text, err := b.Text(ctx, id, blob)
		return oldTextMsg{Session: id, Gen: gen, Blob: blob, Gap: i, Text: text, Err: err}
	}
}

// read takes the old text in, if the file that it was asked for is still the
// one on the screen.
func (m *Model) read(msg oldTextMsg) tea.Cmd {
	f := m.fileNow()
	if msg.Session != m.id || msg.Gen != m.gen || f == nil || f.Old.Blob != msg.Blob {
		return nil
	}
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("unchanged lines of %s: %w", diffreview.SafeName(f.Path), msg.Err))
		return nil
	}
	if m.old == nil {
		old := oldLines(f, msg.Text)
		if gs := gapsOf(f, nil); len(gs) == 0 || len(old.lines) < gs[len(gs)-1].old-1 {
			m.ctx.Fail(fmt.Errorf("unchanged lines of %s: the stored text has %s, too few for its hunks", diffreview.SafeName(f.Path), kit.Plural(len(old.lines), "line")))
			return nil
		}
		m.old = old
	}
	m.growGap(msg.Gap)
	return nil
}

// oldLines splits the old text. Where the endings changed the lines get the new
// ones, as those of the hunks have.
func oldLines(f *diffreview.File, text []byte) *oldText {
	out := &oldText{blob: f.Old.Blob, lines: linediff.Split(text)}
	for i, l := range out.lines {
		l = bytes.TrimSuffix(l, []byte{'\n'})
		if f.Ends > 0 {
			l = bytes.TrimSuffix(l, []byte{'\r'})
		}
		out.lines[i] = l
	}
	return out
}

// growGap opens more of a gap: what is next to its hunks first.
func (m *Model) growGap(i int) {
	f := m.fileNow()
	gs := gapsOf(f, m.old)
	if i >= len(gs) {
		return
	}
	if m.opened == nil {
		m.opened = map[int]span{}
	}
	s := m.opened[i]
	switch i {
	case 0:
		s.end += openBy
	case len(f.Hunks):
		s.top += openBy
	default:
		s.top, s.end = s.top+openBy/2, s.end+openBy/2
	}
	s.top = min(s.top, gs[i].n)
	s.end = min(s.end, gs[i].n-s.top)
	m.opened[i] = s
	m.relay()
}

// foldGap folds the lines around the cursor again.
func (m *Model) foldGap() tea.Cmd {
	i, ok := m.gapNow()
	if !ok || m.opened[i] == (span{}) {
		m.ctx.Say("- folds unchanged lines that + has opened: none are under the cursor")
		return nil
	}
	delete(m.opened, i)
	m.relay()
	return nil
}
