package review

import "fumehood/diffreview"

// each calls for every unit of a file: what is decided as a whole, then hunks.
func each(f *diffreview.File, do func(id string, v diffreview.Verdict)) {
	if f.Whole != "" {
		do(f.Whole, f.WholeDecision)
	}
	for i := range f.Hunks {
		if f.Hunks[i].ID != f.Whole {
			do(f.Hunks[i].ID, f.Hunks[i].Decision)
		}
	}
}

func verdictOf(f *diffreview.File, id string) diffreview.Verdict {
	out := diffreview.Undecided
	each(f, func(u string, v diffreview.Verdict) {
		if u == id {
			out = v
		}
	})
	return out
}

func (m *Model) verdict(id string) diffreview.Verdict {
	p, ok := m.where[id]
	if !ok {
		return diffreview.Undecided
	}
	f := &m.set.Files[p.file]
	if p.hunk < 0 {
		return f.WholeDecision
	}
	return f.Hunks[p.hunk].Decision
}

func (m *Model) setVerdict(id string, v diffreview.Verdict) {
	p, ok := m.where[id]
	if !ok {
		return
	}
	f := &m.set.Files[p.file]
	if p.hunk >= 0 {
		f.Hunks[p.hunk].Decision = v
		return
	}
	f.WholeDecision = v
	for i := range f.Hunks {
		if f.Hunks[i].ID == f.Whole {
			f.Hunks[i].Decision = v
		}
	}
}
