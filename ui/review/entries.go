package review

import (
	"fmt"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

type entryKind uint8

const (
	entryFile entryKind = iota
	entryFold           // all lock and generated files, folded
	entryLeft           // what is not in the review
)

// entry is one line of the list of files.
type entry struct {
	kind entryKind
	file int
}

// list caches the entries for one change set, folded or not.
type entryList struct {
	gen    int
	folded bool
	items  []entry
	fold   []bool // by file: lock or generated, and nothing risky in it
	nFold  int
	added  int
	minus  int
}

// inFold says whether a file is folded away. A risky one never is.
func (m *Model) inFold(i int) bool {
	m.entries()
	return i < len(m.listed.fold) && m.listed.fold[i]
}

func (m *Model) entries() []entry {
	l := &m.listed
	if m.set == nil {
		return nil
	}
	if l.gen == m.gen && l.folded == m.folded && l.items != nil {
		return l.items
	}
	if l.gen != m.gen || l.items == nil {
		l.fold = make([]bool, len(m.set.Files))
		l.nFold, l.added, l.minus = 0, 0, 0
		for i := range m.set.Files {
			f := &m.set.Files[i]
			if f.Group() == diffreview.GroupGenerated && f.Severity().Rank() <= diffreview.Note.Rank() {
				l.fold[i] = true
				l.nFold++
				l.added += f.Added
				l.minus += f.Removed
			}
		}
	}
	l.gen, l.folded = m.gen, m.folded
	l.items = make([]entry, 0, len(m.set.Files)+2)
	for i := range m.set.Files {
		if !m.folded || !l.fold[i] {
			l.items = append(l.items, entry{entryFile, i})
		}
	}
	if m.folded && l.nFold > 0 {
		l.items = append(l.items, entry{kind: entryFold})
	}
	if len(m.set.LeftOut) > 0 || m.set.Ignored.Count > 0 {
		l.items = append(l.items, entry{kind: entryLeft})
	}
	return l.items
}

// row is the kind of the entry under the cursor of the list.
func (m *Model) row() entryKind {
	if es := m.entries(); m.files.At < len(es) {
		return es[m.files.At].kind
	}
	return entryFile
}

// onFile says whether the list's cursor is on the file that m.file is, and
// tells if it is not: a deciding key must not act on a file that is not under
// the cursor.
func (m *Model) onFile() bool {
	es := m.entries()
	if m.files.At < len(es) {
		if e := es[m.files.At]; e.kind == entryFile && e.file == m.file {
			return true
		}
	}
	m.ctx.Say("no file is under the cursor: nothing was decided (enter opens the row)")
	return false
}

// goRow puts the list's cursor on the entry of a kind, if there is one.
func (m *Model) goRow(k entryKind) bool {
	for n, e := range m.entries() {
		if e.kind == k {
			m.files.At = n
			return true
		}
	}
	return false
}

// entryText draws an entry in w cells, without its colours: the mark of its
// strongest finding, name, units and counts.
func (m *Model) entryText(e entry, w int) string {
	switch e.kind {
	case entryFold:
		return kit.Fit(fmt.Sprintf("   %s  +%d −%d  ▸ z", kit.Plural(m.listed.nFold, "lock or generated file"), m.listed.added, m.listed.minus), w)
	case entryLeft:
		n := len(m.set.LeftOut)
		text := fmt.Sprintf("   %s left out", kit.Count(n))
		if c := m.set.Ignored.Count; c > 0 {
			text += fmt.Sprintf(", %s under ignored paths", kit.Plural(c, "change"))
		}
		return kit.Fit(text+"  (h)", w)
	case entryFile:
	}
	f := &m.set.Files[e.file]
	marks, number := 6, 9
	if w < 50 {
		marks, number = 4, 8 // beside the diff, the name needs the room more
	}
	counts := fmt.Sprintf("+%d", f.Added)
	if f.Removed > 0 {
		counts += fmt.Sprintf(" −%d", f.Removed)
	}
	if f.Binary {
		counts = "binary"
	} else if f.Added+f.Removed == 0 {
		counts = ""
	}
	tail := kit.Fit(m.unitMarks(f, marks), marks) + " " + kit.Right(counts, number) + " " + kit.Fit(short(f.Status), 4)
	room := max(6, w-3-kit.Width(tail)-1)
	return kit.Fit(" "+severityMark(f)+" "+kit.Fit(fromEnd(diffreview.SafeName(f.Path), room), room)+" "+tail, w)
}

func severityMark(f *diffreview.File) string {
	if f.Severity().Rank() > diffreview.Note.Rank() {
		return "!"
	}
	return " "
}

// unitMarks is one mark for each unit, or a count where they are more than most.
func (m *Model) unitMarks(f *diffreview.File, most int) string {
	n, decided := 0, 0
	text := ""
	same, first := true, diffreview.Undecided
	each(f, func(_ string, v diffreview.Verdict) {
		if n == 0 {
			first = v
		}
		same = same && v == first
		n++
		if v != diffreview.Undecided {
			decided++
		}
		if n <= most {
			text += m.markOf(f, v)
		}
	})
	if n <= most {
		return text
	}
	if same && first != diffreview.Undecided {
		return m.markOf(f, first) + fmt.Sprintf("%d", n)
	}
	return fmt.Sprintf("%d/%d", decided, n)
}

func (m *Model) markOf(f *diffreview.File, v diffreview.Verdict) string {
	switch v {
	case diffreview.Approved:
		return "✓"
	case diffreview.Rejected:
		return "✗"
	case diffreview.Undecided:
	}
	if m.lapsed[f.Path] {
		return "~"
	}
	return "·"
}

func short(s diffreview.Status) string {
	switch s {
	case diffreview.Added:
		return "new"
	case diffreview.Deleted:
		return "gone"
	case diffreview.Renamed:
		return "name"
	case diffreview.TypeOf:
		return "type"
	case diffreview.ModeOnly:
		return "mode"
	case diffreview.Modified:
	}
	return ""
}

// fromEnd keeps the end of a path, where its name is.
func fromEnd(s string, w int) string {
	if kit.Width(s) <= w {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && kit.Width(string(r))+1 > w {
		r = r[1:]
	}
	return "…" + string(r)
}
