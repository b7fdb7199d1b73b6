package diffreview

import "strings"

// UnitIDs gives the IDs of the file's units: what is decided as a whole first,
// then its hunks.
func (f *File) UnitIDs() []string {
	ids := make([]string, 0, len(f.Hunks)+1)
	if f.Whole != "" {
		ids = append(ids, f.Whole)
	}
	for i := range f.Hunks {
		if f.Hunks[i].ID != f.Whole {
			ids = append(ids, f.Hunks[i].ID)
		}
	}
	return ids
}

// Unit gives the mark of a unit and, where it has lines, its hunk. Both are nil
// when the file has no such unit.
func (f *File) Unit(id string) (*Mark, *Hunk) {
	if id == "" {
		return nil, nil
	}
	for i := range f.Hunks {
		if h := &f.Hunks[i]; h.ID == id {
			if id == f.Whole {
				return &f.WholeMark, h
			}
			return &h.Mark, h
		}
	}
	if id == f.Whole {
		return &f.WholeMark, nil
	}
	return nil, nil
}

// Each calls for every unit of the file, in the order of UnitIDs: its ID, its
// mark and, where it has lines, its hunk.
func (f *File) Each(do func(id string, m *Mark, h *Hunk)) {
	if f.Whole != "" {
		var own *Hunk
		if len(f.Hunks) > 0 && f.Hunks[0].ID == f.Whole {
			own = &f.Hunks[0]
		}
		do(f.Whole, &f.WholeMark, own)
	}
	for i := range f.Hunks {
		if h := &f.Hunks[i]; h.ID != f.Whole {
			do(h.ID, &h.Mark, h)
		}
	}
}

// Decision sums up the verdicts on a file's units: that of all when they agree,
// Undecided when one is missing, else Mixed.
func (f *File) Decision() Verdict {
	var all sum
	f.Each(func(_ string, m *Mark, _ *Hunk) { all.add(m.Decision) })
	return all.verdict
}

// sum adds verdicts up.
type sum struct {
	verdict Verdict
	some    bool
}

func (s *sum) add(v Verdict) {
	switch {
	case !s.some:
		s.verdict, s.some = v, true
	case s.verdict == Undecided || v == Undecided:
		s.verdict = Undecided
	case v != s.verdict:
		s.verdict = Mixed
	}
}

// Undecided counts the units that have no verdict, or lines without one, and
// all units.
func (cs *ChangeSet) Undecided() (open, all int) {
	for i := range cs.Files {
		cs.Files[i].Each(func(_ string, m *Mark, _ *Hunk) {
			all++
			if m.Decision == Undecided {
				open++
			}
		})
	}
	return open, all
}

// The letters of Decision.Lines.
const (
	lineApproved  = 'a'
	lineRejected  = 'r'
	lineUndecided = '.'
)

// Letters gives the verdicts on the hunk's changed lines as Decision.Lines has
// them: one letter for each, in order.
func (h *Hunk) Letters() string {
	b := make([]byte, 0, len(h.Lines))
	for i := range h.Lines {
		if h.Lines[i].Op != ' ' {
			b = append(b, letterOf(h.LineVerdict(i)))
		}
	}
	return string(b)
}

func letterOf(v Verdict) byte {
	switch v {
	case Approved:
		return lineApproved
	case Rejected:
		return lineRejected
	case Undecided, Mixed:
	}
	return lineUndecided
}

// LineVerdict gives the verdict on the i-th of the hunk's lines; a context line
// has none.
func (h *Hunk) LineVerdict(i int) Verdict {
	switch {
	case h.Lines[i].Op == ' ':
		return Undecided
	case h.Part != nil:
		return h.Part[i]
	}
	return h.Decision
}

// Decide puts a decision on a unit of the file, as Decisions.Fill does for a
// recorded one. It reports false, and changes nothing, when the file has no
// such unit or the decision does not fit it.
func (f *File) Decide(id string, rec Decision) bool {
	mark, h := f.Unit(id)
	return mark != nil && put(mark, h, rec)
}

func put(mark *Mark, h *Hunk, rec Decision) bool {
	if (rec.Lines != "" || rec.Edit != "") && h == nil {
		return false
	}
	v, part, ok := rec.Verdict, []Verdict(nil), true
	if rec.Lines != "" {
		if v, part, ok = partOf(h, rec.Lines); !ok {
			return false
		}
	}
	mark.Decision = v
	if h != nil {
		h.Decision, h.Part, h.Edit = v, part, rec.Edit
	}
	return true
}

func partOf(h *Hunk, letters string) (v Verdict, part []Verdict, ok bool) {
	part = make([]Verdict, len(h.Lines))
	var all sum
	same := true
	for i := range h.Lines {
		if h.Lines[i].Op == ' ' {
			continue
		}
		if letters == "" {
			return "", nil, false
		}
		switch letters[0] {
		case lineApproved:
			part[i] = Approved
		case lineRejected:
			part[i] = Rejected
		case lineUndecided:
		default:
			return "", nil, false
		}
		same = same && (!all.some || part[i] == all.verdict)
		all.add(part[i])
		letters = letters[1:]
	}
	if letters != "" {
		return "", nil, false
	}
	if same {
		part = nil
	}
	// Undecided lines beside decided ones: the hunk as a whole is undecided, and
	// its lines keep what they have.
	return all.verdict, part, true
}

// ApprovedUnits names the units of which something is approved, as a record keeps
// them: the ID, and behind a colon the letters of its lines where they differ.
func (f *File) ApprovedUnits() []string {
	var out []string
	f.Each(func(id string, m *Mark, h *Hunk) {
		if tag := approvedTag(id, m, h); tag != "" {
			out = append(out, tag)
		}
	})
	return out
}

func approvedTag(id string, m *Mark, h *Hunk) string {
	switch {
	case h != nil && h.Part != nil && anyApproved(h):
		return id + ":" + strings.ReplaceAll(h.Letters(), string(lineUndecided), string(lineRejected))
	case m.Decision != Approved:
		return ""
	case h != nil && h.Edit != "":
		return id + ":" + string(h.Edit)
	}
	return id
}

// MarkApplied marks the units that were applied as they are decided now. applied
// has what ApprovedUnits gave then.
func (cs *ChangeSet) MarkApplied(applied map[string]bool) {
	for i := range cs.Files {
		cs.Files[i].Each(func(id string, m *Mark, h *Hunk) {
			m.Applied = applied[approvedTag(id, m, h)]
			if h != nil {
				h.Applied = m.Applied
			}
		})
	}
}

// MarkNew marks the units that were not in the review before; nil is no review.
func (cs *ChangeSet) MarkNew(before map[string]bool) {
	for i := range cs.Files {
		cs.Files[i].Each(func(id string, m *Mark, h *Hunk) {
			m.New = before != nil && !before[id]
			if h != nil {
				h.New = m.New
			}
		})
	}
}

// Set records one decision for each of ids. One without verdict, lines and edit
// takes a record back.
func (d *Decisions) Set(rec Decision, ids ...string) {
	if d.Units == nil {
		d.Units = map[string]Decision{}
	}
	for _, id := range ids {
		if rec.Verdict == Undecided && rec.Edit == "" && strings.Trim(rec.Lines, string(lineUndecided)) == "" {
			delete(d.Units, id)
			continue
		}
		d.Units[id] = rec
	}
}

// manyUnits is from how many records on those that no unit has are forgotten.
const manyUnits = 100_000

// Fill puts the verdicts into the change set, all other units of which become
// undecided. A record whose unit the set does not have, or does not have at that
// path, has lapsed: the bytes that it was made on are gone. File.Lapsed tells
// where, unless the file was decided on again; how many files are so is
// returned. Lapsed records stay, for the bytes may come back.
func (d *Decisions) Fill(cs *ChangeSet) (lapsed int) {
	seen := make(map[string]bool, len(d.Units))
	files := make(map[string]*File, len(cs.Files))
	for i := range cs.Files {
		f := &cs.Files[i]
		files[f.Path] = f
		if f.OldPath != "" { // what was said of it before it moved
			files[f.OldPath] = f
		}
		f.Lapsed = Undecided
		f.Each(func(id string, m *Mark, h *Hunk) {
			rec, ok := d.Units[id]
			if ok && rec.Path == f.Path && put(m, h, rec) {
				seen[id] = true
				return
			}
			put(m, h, Decision{})
		})
	}
	open := make(map[*File]bool, len(files)) // by need: a file may have many records
	for id, rec := range d.Units {
		if seen[id] {
			continue
		}
		if len(d.Units) > manyUnits {
			delete(d.Units, id)
		}
		f := files[rec.Path]
		if f == nil || rec.Verdict == Undecided && rec.Lines == "" {
			continue
		}
		if _, ok := open[f]; !ok {
			open[f] = f.Decision() == Undecided
		}
		if !open[f] {
			continue
		}
		v := rec.Verdict
		if v == Undecided { // line by line
			v = Mixed
		}
		switch f.Lapsed {
		case Undecided:
			lapsed++
			f.Lapsed = v
		case v:
		default:
			f.Lapsed = Mixed
		}
	}
	return lapsed
}
