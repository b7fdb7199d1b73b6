package review

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

type entryKind uint8

const (
	entryFile entryKind = iota
	entryFold           // all files of a group, folded
	entryLeft           // what is not in the review
)

// The groups of files that fold into one entry each.
const (
	foldGenerated = iota
	foldVendored
	folds
)

var allFolded = [folds]bool{true, true}

// foldWords are one of a group, for counts.
var foldWords = [folds]string{"lock or generated file", "vendored file"}

// entry is one line of the list of files.
type entry struct {
	kind entryKind
	file int
	fold int
}

// entryList caches the entries for one change set, folded and hidden as it was.
type entryList struct {
	gen    int
	folded [folds]bool
	hiding int
	items  []entry
	fold   []int8 // by file: the group that it folds into, or -1
	sums   [folds]struct{ files, added, removed int }
	hidden []bool // by file: decided when the list was made, and hidden
	nHid   int
}

// foldOf gives the group that a file is folded away in, or -1. A risky one never
// is.
func (m *Model) foldOf(i int) int {
	m.entries()
	if i < len(m.listed.fold) {
		if g := m.listed.fold[i]; g >= 0 && m.folded[g] {
			return int(g)
		}
	}
	return -1
}

// hidden says whether a file was decided, and hidden for that.
func (m *Model) hidden(i int) bool {
	m.entries()
	return i != m.file && i < len(m.listed.hidden) && m.listed.hidden[i]
}

func (m *Model) entries() []entry {
	l := &m.listed
	if m.set == nil {
		return nil
	}
	if l.gen == m.gen && l.folded == m.folded && l.hiding == m.hiding && l.items != nil {
		return l.items
	}
	if l.gen != m.gen || l.items == nil {
		m.group()
	}
	if l.gen != m.gen || l.hiding != m.hiding || l.hidden == nil {
		l.hidden, l.nHid = make([]bool, len(m.set.Files)), 0
		for i := range m.set.Files {
			if l.hidden[i] = m.hide && m.set.Files[i].Decision() != diffreview.Undecided; l.hidden[i] {
				l.nHid++
			}
		}
	}
	l.gen, l.folded, l.hiding = m.gen, m.folded, m.hiding
	l.items = make([]entry, 0, len(m.set.Files)+folds+1)
	for i := range m.set.Files {
		if g := l.fold[i]; (g < 0 || !m.folded[g]) && (!l.hidden[i] || i == m.file) {
			l.items = append(l.items, entry{kind: entryFile, file: i})
		}
	}
	for g := range folds {
		if m.folded[g] && l.sums[g].files > 0 {
			l.items = append(l.items, entry{kind: entryFold, fold: g})
		}
	}
	if len(m.set.LeftOut) > 0 || m.set.Ignored.Count > 0 {
		l.items = append(l.items, entry{kind: entryLeft})
	}
	return l.items
}

// group sorts the files into the groups that fold.
func (m *Model) group() {
	l := &m.listed
	l.fold = make([]int8, len(m.set.Files))
	l.sums = [folds]struct{ files, added, removed int }{}
	for i := range m.set.Files {
		f := &m.set.Files[i]
		l.fold[i] = -1
		if f.Group() != diffreview.GroupGenerated || f.Severity().Rank() > diffreview.Note.Rank() {
			continue
		}
		g := foldGenerated
		if vendored(f.Path) {
			g = foldVendored
		}
		l.fold[i] = int8(g)
		s := &l.sums[g]
		s.files, s.added, s.removed = s.files+1, s.added+f.Added, s.removed+f.Removed
	}
}

func vendored(path string) bool {
	dirs := strings.Split(strings.ToLower(path), "/")
	return slices.ContainsFunc(dirs[:len(dirs)-1], func(d string) bool {
		return d == "vendor" || d == "node_modules" || d == "third_party"
	})
}

// toggleHide leaves away what is decided, files and hunks, or brings it back.
// What is decided later stays until the next such key or jump: nothing goes
// from under the cursor.
func (m *Model) toggleHide() tea.Cmd {
	m.hide = !m.hide
	m.rehide()
	if m.hide {
		m.ctx.Say(fmt.Sprintf("%s hidden, and decided hunks show their head alone (H brings them back)", kit.Plural(m.listed.nHid, "decided file")))
	}
	return nil
}

func (m *Model) rehide() {
	on := m.row()
	m.hiding++
	m.relay()
	if on.kind != entryFile {
		m.goRow(on)
		return
	}
	m.follow()
}

// row is the entry under the cursor of the list.
func (m *Model) row() entry {
	if es := m.entries(); m.files.At < len(es) {
		return es[m.files.At]
	}
	return entry{}
}

// follow puts the list's cursor on the file whose diff is shown.
func (m *Model) follow() {
	for n, e := range m.entries() {
		if e.file == m.file && e.kind == entryFile {
			m.files.At = n
		}
	}
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

// goRow puts the list's cursor on an entry like the one given, if there is one.
func (m *Model) goRow(like entry) bool {
	for n, e := range m.entries() {
		if e.kind == like.kind && e.fold == like.fold {
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
		x := m.listed.sums[e.fold]
		return kit.Fit(fmt.Sprintf("   %s  +%d −%d  ▸ z", kit.Plural(x.files, foldWords[e.fold]), x.added, x.removed), w)
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
	word := short(f.Status)
	if onHost(f) {
		word = "done"
	}
	tail := kit.Fit(m.unitMarks(f, marks), marks) + " " + kit.Right(counts, number) + " " + kit.Fit(word, 4)
	room := max(6, w-3-kit.Width(tail)-1)
	return kit.Fit(" "+severityMark(f)+newMark(f)+kit.Fit(fromEnd(diffreview.SafeName(f.Path), room), room)+" "+tail, w)
}

// onHost says that what is approved in a file was applied, and that nothing in
// it is open.
func onHost(f *diffreview.File) bool {
	some, all := false, true
	f.Each(func(_ string, mark *diffreview.Mark, _ *diffreview.Hunk) {
		some = some || mark.Applied
		all = all && (mark.Applied || mark.Decision == diffreview.Rejected)
	})
	return some && all
}

// newMark stands before a file with something that was not in the review before.
func newMark(f *diffreview.File) string {
	mark := " "
	f.Each(func(_ string, m *diffreview.Mark, _ *diffreview.Hunk) {
		if m.New {
			mark = "*"
		}
	})
	return mark
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
	case diffreview.Mixed:
		return "±"
	case diffreview.Undecided:
	}
	if m.lapsed[f.Path] || f.Lapsed != diffreview.Undecided {
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
