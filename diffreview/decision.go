package diffreview

import (
	"fmt"
)

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

// Decision sums up the verdicts on a file's units: all approved, all rejected,
// or undecided when they differ or one is missing.
func (f *File) Decision() Verdict {
	var v Verdict
	for i, id := range f.UnitIDs() {
		u := f.verdict(id)
		if i > 0 && u != v {
			return Undecided
		}
		v = u
	}
	return v
}

func (f *File) verdict(id string) Verdict {
	if id == f.Whole {
		return f.WholeDecision
	}
	for i := range f.Hunks {
		if f.Hunks[i].ID == id {
			return f.Hunks[i].Decision
		}
	}
	return Undecided
}

// Undecided counts the units that have no verdict, and all units.
func (cs *ChangeSet) Undecided() (open, all int) {
	for i := range cs.Files {
		f := &cs.Files[i]
		for _, id := range f.UnitIDs() {
			all++
			if f.verdict(id) == Undecided {
				open++
			}
		}
	}
	return open, all
}

// Set records one decision for each of ids. Undecided takes a record back. A
// comment is kept when rec has none.
func (d *Decisions) Set(rec Decision, ids ...string) {
	if d.Units == nil {
		d.Units = map[string]Decision{}
	}
	d.Version = decisionsVersion
	for _, id := range ids {
		r := rec
		if r.Comment == "" {
			r.Comment = d.Units[id].Comment
		}
		if r.Verdict == Undecided && r.Comment == "" {
			delete(d.Units, id)
			continue
		}
		d.Units[id] = r
	}
}

// Fill puts the verdicts into the change set, all other units of which become
// undecided, and forgets the decisions whose unit it no longer has: they lapse,
// since the bytes that they were made on are gone. It returns how many
// approvals and rejections lapsed.
func (d *Decisions) Fill(cs *ChangeSet) (lapsed int) {
	seen := make(map[string]bool, len(d.Units))
	take := func(id, path string) Verdict {
		rec, ok := d.Units[id]
		if id == "" || !ok || rec.Path != path {
			return Undecided
		}
		seen[id] = true
		return rec.Verdict
	}
	for i := range cs.Files {
		f := &cs.Files[i]
		f.WholeDecision = take(f.Whole, f.Path)
		for j := range f.Hunks {
			f.Hunks[j].Decision = take(f.Hunks[j].ID, f.Path)
		}
	}
	for id, rec := range d.Units {
		if seen[id] {
			continue
		}
		delete(d.Units, id)
		if rec.Verdict != Undecided {
			lapsed++
		}
	}
	return lapsed
}

// Skipped is a unit that a bulk approval left alone.
type Skipped struct {
	Path string
	ID   string
	Why  string
}

// ApproveAll approves every undecided unit of the files that only holds (nil:
// all) and records it as rec, save those under a finding above note whose rule
// is not in acceptRules: these it returns, each with the reason. A finding on a
// path, a mode or a line outside every hunk covers the whole file; one on a line
// covers its hunk; what is decided as a whole is covered by any finding in the
// file. Rejected units stay rejected.
func (d *Decisions) ApproveAll(cs *ChangeSet, acceptRules []string, only func(path string) bool, rec Decision) []Skipped {
	accepted := make(map[string]bool, len(acceptRules))
	for _, r := range acceptRules {
		accepted[r] = true
	}
	var skipped []Skipped
	for i := range cs.Files {
		f := &cs.Files[i]
		if only != nil && !only(f.Path) {
			continue
		}
		cover := f.cover(accepted)
		for _, id := range f.UnitIDs() {
			if f.verdict(id) != Undecided {
				continue
			}
			if by := cover[id]; by != nil {
				skipped = append(skipped, Skipped{Path: f.Path, ID: id, Why: fmt.Sprintf("%s: %s: %s", by.Severity, by.Rule, by.Why)})
				continue
			}
			r := rec
			r.Verdict, r.Path = Approved, f.Path
			d.Set(r, id)
			f.setVerdict(id, Approved)
		}
	}
	return skipped
}

func (f *File) setVerdict(id string, v Verdict) {
	if id == f.Whole {
		f.WholeDecision = v
	}
	for i := range f.Hunks {
		if f.Hunks[i].ID == id {
			f.Hunks[i].Decision = v
		}
	}
}

// Risky gives, for each unit of the file that is under a finding above note, the
// strongest such finding. A bulk key must leave these units alone.
func (f *File) Risky() map[string]*Finding { return f.cover(nil) }

func (f *File) cover(accepted map[string]bool) map[string]*Finding {
	out := map[string]*Finding{}
	put := func(id string, x *Finding) {
		if old := out[id]; old == nil || x.Severity.Rank() > old.Severity.Rank() {
			out[id] = x
		}
	}
	for i := range f.Findings {
		x := &f.Findings[i]
		if x.Severity.Rank() <= Note.Rank() || accepted[x.Rule] {
			continue
		}
		if f.Whole != "" {
			put(f.Whole, x)
		}
		if h := f.HunkAt(x.Line); h != nil {
			put(h.ID, x)
			continue
		}
		for j := range f.Hunks {
			put(f.Hunks[j].ID, x)
		}
	}
	return out
}

// HunkAt gives the hunk that shows a line of the new file, or nil.
func (f *File) HunkAt(line int) *Hunk {
	if line < 1 {
		return nil
	}
	for i := range f.Hunks {
		if h := &f.Hunks[i]; line >= h.NewStart && line < h.NewStart+h.NewLines {
			return h
		}
	}
	return nil
}
