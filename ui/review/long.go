package review

import (
	"fmt"
	"unicode/utf8"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// longLine is the length in bytes from which a line is not shown whole: of it a
// window is drawn, around what changed.
const longLine = 2000

// isLong says whether a row shows a line of which only a window is drawn.
func isLong(h *diffreview.Hunk, r row) bool {
	long := func(l int32) bool { return l >= 0 && len(h.Lines[l].Text) > longLine }
	return long(r.line) || r.kind == rowPair && long(r.pair)
}

// tooLong says whether a changed line of the hunk is not shown whole.
func tooLong(h *diffreview.Hunk) bool {
	for i := range h.Lines {
		if h.Lines[i].Op != ' ' && len(h.Lines[i].Text) > longLine {
			return true
		}
	}
	return false
}

// region is the part [from,to) of a long line that differs from its partner.
type region struct{ from, to int }

type lineKey struct{ hunk, line int32 }

// regionOf gives the part of a long line that differs from its partner's; all of
// a line without one begins at 0. It is looked for once for each line.
func (fr *fileRows) regionOf(f *diffreview.File, hunk, line, partner int32) region {
	key := lineKey{hunk, line}
	if r, ok := fr.regions[key]; ok {
		return r
	}
	text := f.Hunks[hunk].Lines[line].Text
	r := region{0, len(text)}
	if partner >= 0 && partner != line {
		r = differs(text, f.Hunks[hunk].Lines[partner].Text)
	}
	if fr.regions == nil {
		fr.regions = map[lineKey]region{}
	}
	fr.regions[key] = r
	return r
}

// differs gives what of a is between the common beginning and end of a and b, on
// rune boundaries.
func differs(a, b []byte) region {
	pre, most := 0, min(len(a), len(b))
	for pre < most && a[pre] == b[pre] {
		pre++
	}
	suf := 0
	for suf < most-pre && a[len(a)-1-suf] == b[len(b)-1-suf] {
		suf++
	}
	r := region{pre, len(a) - suf}
	for r.from > 0 && r.from < len(a) && !utf8.RuneStart(a[r.from]) {
		r.from--
	}
	for r.to < len(a) && !utf8.RuneStart(a[r.to]) {
		r.to++
	}
	return r
}

// begin is the first byte of a long line that is drawn in w cells, moved by left.
func begin(text []byte, r region, w, left int) int {
	at := r.from - w/3
	if r.from == 0 || at < w/3 {
		at = 0
	}
	at = max(0, min(at+left, len(text)-w/2))
	for k := 1; k < utf8.UTFMax && at > 0 && !utf8.RuneStart(text[at]); k++ {
		at--
	}
	return at
}

// cutSaid says what of a long line is drawn.
func cutSaid(text []byte, at int) string {
	return fmt.Sprintf("⋯ NOT SHOWN WHOLE: from byte %s of %s (< > move)", kit.Count(at), kit.Count(len(text)))
}

// sideways is how far < and > move: by half of what is drawn where the cursor is
// on a long line.
func (m *Model) sideways(d int) {
	step := 16
	fr, f := m.laid(), m.fileNow()
	long := m.unseen[m.unitID()]
	if r := m.rowNow(); f != nil && (r.kind == rowLine || r.kind == rowPair) {
		long = isLong(&f.Hunks[r.hunk], r)
	}
	if long {
		step = max(16, m.diffWidth()/2)
		if m.sideOn() {
			step /= 2
		}
	}
	// Left of 0 there is something only in long lines, which begin where they
	// changed.
	least := 0
	for _, r := range fr.regions {
		least = min(least, -r.from)
	}
	if d > 0 && len(fr.regions) == 0 && !m.goesOn(fr, f) {
		return // nothing is to the right, and all that is drawn would be gone
	}
	m.left = max(least, m.left+d*step)
}

// goesOn says whether a line of the file goes on to the right of what is drawn.
func (m *Model) goesOn(fr *fileRows, f *diffreview.File) bool {
	edge := m.left + m.diffWidth() - 2*fr.digits - 6
	if m.sideOn() {
		edge = m.left + m.diffWidth()/2 - fr.digits - 5
	}
	for _, r := range fr.rows {
		switch {
		case r.kind == rowSame && reaches(fr.old.lines[r.line], edge):
			return true
		case r.kind != rowLine && r.kind != rowPair:
			continue
		}
		for _, i := range [...]int32{r.line, r.pair} {
			if i >= 0 && reaches(f.Hunks[r.hunk].Lines[i].Text, edge) {
				return true
			}
		}
	}
	return false
}

// reaches says whether a line may take more than so many cells.
func reaches(text []byte, cells int) bool {
	if len(text) > longLine {
		return true
	}
	n := 0
	for _, s := range diffreview.Visible(text) {
		if s.Kind == diffreview.Plain {
			n += kit.Width(string(s.Raw))
		} else {
			n += max(4, kit.Width(s.Text)) // a tab at most
		}
	}
	return n > cells
}
