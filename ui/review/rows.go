package review

import (
	"fmt"
	"sort"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// kind is what a row of the diff shows.
type kind uint8

const (
	rowInfo    kind = iota // a sentence about the file; text has it
	rowUnit                // the head of a unit of decision
	rowLine                // a line of a hunk
	rowFinding             // what a risk rule says, under what it is about
)

// row is one line of the diff as it is drawn. A file of half a million lines
// has as many, so they are small and hold no text of lines.
type row struct {
	kind    kind
	unit    int32 // the unit that it belongs to
	hunk    int32
	line    int32 // within the hunk
	pair    int32 // of a changed line: its partner on the other side, or -1
	finding int32
	text    string
}

// unit is one unit of decision and where its rows are.
type unit struct {
	id   string
	hunk int // -1 for what is decided as a whole and has no hunk
	from int // its first row
	to   int // behind its last
}

// fileRows is a file laid out as rows.
type fileRows struct {
	rows   []row
	units  []unit
	digits int          // of the line numbers
	risky  map[int]bool // new line numbers that a finding above note is about
	width  int          // that findings and sentences are wrapped at
}

// layOut makes the rows of a file for a width. It is pure and linear in the
// file's lines.
func layOut(f *diffreview.File, w int) *fileRows {
	n := 2
	for i := range f.Hunks {
		n += len(f.Hunks[i].Lines) + 1
	}
	fr := &fileRows{rows: make([]row, 0, n+len(f.Findings)), digits: 2, width: w}
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
		for _, l := range kit.Wrap(s, max(20, w-4)) {
			fr.add(row{kind: rowInfo, text: l})
		}
	}
	for _, x := range loose {
		fr.addFinding(f, x, 0)
	}
	last := 0
	for h := range f.Hunks {
		hunk := &f.Hunks[h]
		id := hunk.ID
		fr.open(id, h)
		pairs := pair(hunk.Lines)
		for l := range hunk.Lines {
			fr.add(row{kind: rowLine, hunk: int32(h), line: int32(l), pair: pairs[l]})
			last = max(last, hunk.Lines[l].Old, hunk.Lines[l].New)
			if no := hunk.Lines[l].New; no > 0 && len(byLine) > 0 {
				for _, x := range byLine[no] {
					fr.addFinding(f, x, h)
				}
			}
		}
	}
	fr.close()
	fr.digits = max(2, len(fmt.Sprint(last)))
	return fr
}

// wholeIsHunk holds for an added or deleted text file: its one hunk shows what
// is decided as a whole.
func wholeIsHunk(f *diffreview.File) bool {
	return len(f.Hunks) > 0 && f.Hunks[0].ID == f.Whole
}

func (fr *fileRows) open(id string, hunk int) {
	fr.close()
	fr.units = append(fr.units, unit{id: id, hunk: hunk, from: len(fr.rows)})
	fr.add(row{kind: rowUnit, hunk: int32(hunk)})
}

func (fr *fileRows) close() {
	if n := len(fr.units); n > 0 {
		fr.units[n-1].to = len(fr.rows)
	}
}

func (fr *fileRows) add(r row) {
	r.unit = int32(max(0, len(fr.units)-1))
	fr.rows = append(fr.rows, r)
}

// addFinding says in a sentence what would happen, over as many rows as it
// takes: a warning that is cut off at the edge warns of nothing.
func (fr *fileRows) addFinding(f *diffreview.File, i, hunk int) {
	x := &f.Findings[i]
	text := fmt.Sprintf("! %s: %s (%s)", kit.Safe(string(x.Severity)), kit.Safe(x.Why), kit.Safe(x.Rule))
	for n, l := range kit.Wrap(text, max(20, fr.width-6)) {
		if n > 0 {
			l = "  " + l
		}
		fr.add(row{kind: rowFinding, hunk: int32(hunk), finding: int32(i), text: l})
	}
}

// at gives the unit under a row; rows before the first belong to it.
func (fr *fileRows) at(r int) (unit, bool) {
	if len(fr.units) == 0 || r < 0 || r >= len(fr.rows) {
		return unit{}, false
	}
	return fr.units[fr.rows[r].unit], true
}

// find gives the row of a line of the new side, else of a hunk.
func (fr *fileRows) find(hunk, line int) int {
	return sort.Search(len(fr.rows), func(i int) bool {
		r := fr.rows[i]
		return r.kind != rowInfo && (int(r.hunk) > hunk || int(r.hunk) == hunk && r.kind == rowLine && int(r.line) >= line)
	})
}

// placeFindings sorts findings to the line that shows them; those about the
// path, the mode or a line that no hunk shows stand at the head of the file.
func placeFindings(f *diffreview.File) (byLine map[int][]int, loose []int) {
	for i, x := range f.Findings {
		if !shown(f, x.Line) {
			loose = append(loose, i)
			continue
		}
		if byLine == nil {
			byLine = map[int][]int{}
		}
		byLine[x.Line] = append(byLine[x.Line], i)
	}
	sort.SliceStable(loose, func(i, j int) bool {
		return f.Findings[loose[i]].Severity.Rank() > f.Findings[loose[j]].Severity.Rank()
	})
	return byLine, loose
}

// shown says whether a hunk shows a line of the new side. Hunks are in order,
// and a file may have as many as findings: so it halves instead of walking.
func shown(f *diffreview.File, line int) bool {
	i := sort.Search(len(f.Hunks), func(i int) bool { return f.Hunks[i].NewStart+f.Hunks[i].NewLines > line })
	return line > 0 && i < len(f.Hunks) && line >= f.Hunks[i].NewStart
}

// about says in sentences what lines can't show.
func about(f *diffreview.File) []string {
	var out []string
	if f.OldPath != "" && f.OldPath != f.Path {
		out = append(out, "was "+diffreview.SafeName(f.OldPath))
	}
	if om, nm := f.Old.Mode(), f.New.Mode(); om != "" && nm != "" && om != nm {
		out = append(out, "mode "+om+" → "+nm)
	} else if om == "" && nm == "100755" {
		out = append(out, "can be executed (mode 100755)")
	}
	if f.Old.Kind == diffreview.KindSymlink {
		out = append(out, "was a link to "+diffreview.SafeName(f.Old.Target))
	}
	if f.New.Kind == diffreview.KindSymlink {
		out = append(out, "is a link to "+diffreview.SafeName(f.New.Target))
	}
	if f.Binary {
		why := f.Unshown
		if why == "" {
			why = "binary"
		}
		out = append(out, "NOT SHOWN: "+why+", "+sizes(f)+". To approve it is to take it unseen.")
	} else if len(f.Hunks) == 0 && f.New.Kind == diffreview.KindFile && f.New.Size == 0 && f.Status == diffreview.Added {
		out = append(out, "an empty file")
	}
	return out
}

func sizes(f *diffreview.File) string {
	switch {
	case f.Old.Kind == diffreview.KindAbsent:
		return kit.Bytes(f.New.Size)
	case f.New.Kind == diffreview.KindAbsent:
		return kit.Bytes(f.Old.Size)
	}
	return kit.Bytes(f.Old.Size) + " → " + kit.Bytes(f.New.Size)
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
		from := i
		for i < len(lines) && lines[i].Op == '-' {
			i++
		}
		added := i
		for i < len(lines) && lines[i].Op == '+' {
			i++
		}
		for k := 0; from+k < added && added+k < i; k++ {
			out[from+k], out[added+k] = int32(added+k), int32(from+k)
		}
	}
	return out
}
