package review

import (
	"fmt"
	"slices"
	"sort"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// kind is what a row of the diff shows.
type kind uint8

const (
	rowInfo    kind = iota // a sentence about the file
	rowUnit                // the head of a unit of decision
	rowLine                // a line of a hunk
	rowPair                // side by side: line is on the left, pair on the right, -1 is none
	rowFinding             // what a risk rule says, under what it is about
	rowCut                 // under a line that is too long to be shown whole
	rowGap                 // unchanged lines that are folded; hunk is the one after them
	rowSame                // an unchanged line out of a gap; line counts the old text's from 0
	rowComment             // a comment on what is above it; finding counts the comments
	rowWritten             // a line of the hunk as the reviewer wrote it
)

// row is one line of the diff as it is drawn. A file of half a million lines
// has as many, and a key may lay all of them out anew: so they are small and
// hold neither text nor pointers.
type row struct {
	kind    kind
	unit    int32 // the unit that it belongs to; -1: none
	hunk    int32
	line    int32 // within the hunk
	pair    int32 // of a changed line: its partner on the other side, or -1
	finding int32
	text    int32 // of sentences: which of the file's texts, from 1
}

// anyLine is a line of the hunk that the row shows: the left one of two.
func (r row) anyLine() int32 {
	if r.kind == rowPair && r.line < 0 {
		return r.pair
	}
	return r.line
}

// has says whether the row shows a line of the hunk.
func (r row) has(line int32) bool {
	return r.line == line && (r.kind == rowLine || r.kind == rowPair) || r.kind == rowPair && r.pair == line
}

// changed gives the n changed lines that the row shows: one, two side by side,
// or none.
func (r row) changed(f *diffreview.File) (lines [2]int32, n int) {
	if r.kind != rowLine && r.kind != rowPair {
		return lines, 0
	}
	ls := f.Hunks[r.hunk].Lines
	if r.line >= 0 && ls[r.line].Op != ' ' {
		lines[n] = r.line
		n++
	}
	if r.kind == rowPair && r.pair >= 0 && r.pair != r.line && ls[r.pair].Op != ' ' {
		lines[n] = r.pair
		n++
	}
	return lines, n
}

// unit is one unit of decision and where its rows are.
type unit struct {
	id   string
	hunk int // -1 for what is decided as a whole and has no hunk
	from int // its first row
	to   int // behind its last
}

// layout is how a file is laid out.
type layout struct {
	width  int
	side   bool         // old and new side by side
	hide   bool         // of what is decided the head alone is shown
	opened map[int]span // what is shown of gaps, by the hunk after them
	old    *oldText     // once it was read
	spare  []row        // memory for the rows
}

// fileRows is a file laid out as rows.
type fileRows struct {
	rows   []row
	texts  []string // that rows name
	units  []unit
	digits int          // of the line numbers
	risky  map[int]bool // new line numbers that a finding above note is about
	gaps   []gap        // by the hunk after them
	layout

	regions map[lineKey]region // of long lines that were drawn
}

// layOut makes the rows of a file. It is pure and linear in the file's lines.
func layOut(f *diffreview.File, how layout) *fileRows {
	n := 2
	for i := range f.Hunks {
		n += len(f.Hunks[i].Lines) + 2
	}
	fr := &fileRows{rows: slices.Grow(how.spare[:0], n+len(f.Findings)), layout: how}
	fr.spare = nil
	byLine, loose := placeFindings(f)
	for no, xs := range byLine {
		for _, x := range xs {
			if f.Findings[x].Severity.Rank() > diffreview.Note.Rank() {
				if fr.risky == nil {
					fr.risky = map[int]bool{}
				}
				fr.risky[no] = true
			}
		}
	}
	if f.Whole != "" && !wholeIsHunk(f) {
		fr.open(f.Whole, -1)
	}
	for _, s := range about(f) {
		for _, l := range kit.Wrap(s, max(20, fr.width-4)) {
			fr.add(row{kind: rowInfo, text: fr.keep(l)})
		}
	}
	for _, x := range loose {
		fr.addFinding(f, x, 0)
	}
	fr.gaps = gapsOf(f, how.old)
	last := 0
	for h := range f.Hunks {
		fr.addGap(h)
		fr.addHunk(f, h, byLine)
		if ls := f.Hunks[h].Lines; len(ls) > 0 {
			x := &f.Hunks[h]
			last = max(last, x.OldStart+x.OldLines, x.NewStart+x.NewLines)
		}
	}
	fr.addGap(len(f.Hunks))
	fr.close()
	if n := len(fr.gaps); n > 0 && how.old != nil {
		g, top := fr.gaps[n-1], fr.opened[n-1].top
		last = max(last, g.old+top, g.new+top)
	}
	fr.digits = max(2, len(fmt.Sprint(last)))
	return fr
}

func (fr *fileRows) addHunk(f *diffreview.File, h int, byLine map[int][]int) {
	hunk := &f.Hunks[h]
	fr.open(hunk.ID, h)
	if fr.hide && decided(f, hunk) {
		return
	}
	r := row{kind: rowLine, unit: int32(len(fr.units) - 1), hunk: int32(h)}
	if fr.side {
		r.kind = rowPair
	}
	ls := hunk.Lines
	for at := 0; at < len(ls); {
		if ls[at].Op == ' ' {
			if r.line, r.pair = int32(at), -1; fr.side {
				r.pair = r.line
			}
			fr.addLine(f, r, ls[at].New, byLine)
			at++
			continue
		}
		added, end := changedRun(ls, at)
		both := min(added-at, end-added) // lines with a partner
		for i := at; i < added; i++ {
			no := 0 // removed lines have none, unless their partner stands beside
			if r.line, r.pair = int32(i), -1; i-at < both {
				if r.pair = int32(added + i - at); fr.side {
					no = ls[r.pair].New
				}
			}
			fr.addLine(f, r, no, byLine)
		}
		for i := added; i < end; i++ {
			switch partner := int32(at + i - added); {
			case !fr.side && i-added < both:
				r.line, r.pair = int32(i), partner
			case !fr.side:
				r.line, r.pair = int32(i), -1
			case i-added < both:
				continue // stands beside its partner
			default:
				r.line, r.pair = -1, int32(i)
			}
			fr.addLine(f, r, ls[i].New, byLine)
		}
		at = end
	}
}

// changedRun gives, of changed lines from at on, where those that were added
// begin and where they end.
func changedRun(ls []diffreview.Line, at int) (added, end int) {
	for added = at; added < len(ls) && ls[added].Op == '-'; added++ {
	}
	for end = added; end < len(ls) && ls[end].Op == '+'; end++ {
	}
	return added, end
}

// addLine adds the row of one line, or of two side by side, and what is said of
// the line with the number no below it.
func (fr *fileRows) addLine(f *diffreview.File, r row, no int, byLine map[int][]int) {
	fr.rows = append(fr.rows, r)
	if isLong(&f.Hunks[r.hunk], r) {
		fr.add(row{kind: rowCut, hunk: r.hunk, line: r.line, pair: r.pair})
	}
	if no > 0 && len(byLine) > 0 {
		for _, x := range byLine[no] {
			fr.addFinding(f, x, int(r.hunk))
		}
	}
}

// decided holds for a unit of which no line is open.
func decided(f *diffreview.File, h *diffreview.Hunk) bool {
	mark, _ := f.Unit(h.ID)
	return mark != nil && mark.Decision != diffreview.Undecided
}

// wholeIsHunk holds for an added or deleted text file: its one hunk shows what
// is decided as a whole.
func wholeIsHunk(f *diffreview.File) bool {
	return len(f.Hunks) > 0 && f.Hunks[0].ID == f.Whole
}

func (fr *fileRows) open(id string, hunk int) {
	fr.close()
	fr.units = append(fr.units, unit{id: id, hunk: hunk, from: len(fr.rows), to: -1})
	fr.add(row{kind: rowUnit, hunk: int32(hunk)})
}

// close ends the unit that is open. What follows, until the next, is of none.
func (fr *fileRows) close() {
	if n := len(fr.units); n > 0 && fr.units[n-1].to < 0 {
		fr.units[n-1].to = len(fr.rows)
	}
}

// keep gives a text its number in rows.
func (fr *fileRows) keep(text string) int32 {
	fr.texts = append(fr.texts, text)
	return int32(len(fr.texts))
}

// said is the text of a row that is a sentence.
func (fr *fileRows) said(r row) string {
	if r.text == 0 {
		return ""
	}
	return fr.texts[r.text-1]
}

func (fr *fileRows) add(r row) {
	n := len(fr.units)
	if r.unit = int32(max(0, n-1)); r.kind == rowGap || r.kind == rowSame {
		r.unit = -1
	}
	fr.rows = append(fr.rows, r)
}

// addFinding says in a sentence what would happen, over as many rows as it
// takes: a warning that is cut off at the edge warns of nothing.
func (fr *fileRows) addFinding(f *diffreview.File, i, hunk int) {
	for _, r := range fr.findingRows(f, i, hunk) {
		fr.add(r)
	}
}

func (fr *fileRows) findingRows(f *diffreview.File, i, hunk int) (out []row) {
	for n, l := range kit.Wrap(findingText(&f.Findings[i]), max(20, fr.width-6)) {
		if n > 0 {
			l = "  " + l
		}
		out = append(out, row{kind: rowFinding, hunk: int32(hunk), finding: int32(i), text: fr.keep(l)})
	}
	return out
}

func findingText(x *diffreview.Finding) string {
	return fmt.Sprintf("! %s: %s (%s)", kit.Safe(string(x.Severity)), kit.Safe(x.Why), kit.Safe(x.Rule))
}

// at gives the unit under a row; rows before the first belong to it, save those
// of a gap.
func (fr *fileRows) at(r int) (unit, bool) {
	if len(fr.units) == 0 || r < 0 || r >= len(fr.rows) || fr.rows[r].unit < 0 {
		return unit{}, false
	}
	return fr.units[fr.rows[r].unit], true
}

// find gives the row that shows a line of a hunk, else the head of the hunk, or
// -1 when the file has no such hunk.
func (fr *fileRows) find(hunk, line int) int {
	at := sort.Search(len(fr.units), func(i int) bool { return fr.units[i].hunk >= hunk })
	if hunk < 0 || at == len(fr.units) || fr.units[at].hunk != hunk {
		return -1
	}
	u := fr.units[at]
	from := u.from
	if !fr.side && line > 0 && u.from+line < u.to {
		from += line // each line before it has a row of its own
	}
	for i := from; i < u.to; i++ {
		if fr.rows[i].has(int32(line)) {
			return i
		}
	}
	return u.from
}

// pair joins the i-th removed line of a run with the i-th added one after it.
func pair(lines []diffreview.Line) []int32 {
	out := make([]int32, len(lines))
	for i := range out {
		out[i] = -1
	}
	for i := 0; i < len(lines); {
		if lines[i].Op != '-' {
			i++
			continue
		}
		added, end := changedRun(lines, i)
		for k := 0; i+k < added && added+k < end; k++ {
			out[i+k], out[added+k] = int32(added+k), int32(i+k)
		}
		i = end
	}
	return out
}
