package review

import "fumehood/diffreview"

// each calls for every unit of a file: what is decided as a whole, then hunks.
func each(f *diffreview.File, do func(id string, v diffreview.Verdict)) {
	f.Each(func(id string, m *diffreview.Mark, _ *diffreview.Hunk) { do(id, m.Decision) })
}

// unitOf gives the mark and the hunk of a unit on the screen.
func (m *Model) unitOf(id string) (*diffreview.Mark, *diffreview.Hunk) {
	p, ok := m.where[id]
	if !ok {
		return nil, nil
	}
	f := &m.set.Files[p.file]
	if p.hunk < 0 {
		return f.Unit(id)
	}
	return &f.Hunks[p.hunk].Mark, &f.Hunks[p.hunk]
}

func (m *Model) verdict(id string) diffreview.Verdict {
	if mark, _ := m.unitOf(id); mark != nil {
		return mark.Decision
	}
	return diffreview.Undecided
}

// standing is what is decided on a unit: its verdict, its lines and its edit.
func (m *Model) standing(id string) diffreview.Decision {
	mark, h := m.unitOf(id)
	switch {
	case mark == nil:
		return diffreview.Decision{}
	case h != nil && h.Part != nil:
		return diffreview.Decision{Lines: m.part(id, h).letters}
	case h != nil:
		return diffreview.Decision{Verdict: mark.Decision, Edit: h.Edit}
	}
	return diffreview.Decision{Verdict: mark.Decision}
}

// put has a unit show a decision; false, when there is no such unit or the
// decision does not fit it.
func (m *Model) put(id string, d diffreview.Decision) bool {
	p, ok := m.where[id]
	if !ok {
		return false
	}
	f, was := &m.set.Files[p.file], m.standing(id).Edit
	if !f.Decide(id, d) {
		return false
	}
	if was != d.Edit { // another text stands there, with other risks
		m.noteRisks(f)
	}
	// What was applied was another decision; the next change set knows better.
	mark, h := m.unitOf(id)
	if mark.Applied = false; h != nil {
		h.Applied = false
	}
	if delete(m.parts, id); d.Lines != "" {
		m.keepPart(id, parted{d.Lines, linesSaid(d.Lines)})
	}
	return true
}

// noteRisks notes which units of a file are risky as they stand. One that was
// looked at with another text was not looked at with this.
func (m *Model) noteRisks(f *diffreview.File) {
	risky := f.Risky()
	f.Each(func(id string, _ *diffreview.Mark, _ *diffreview.Hunk) {
		was, now := m.risky[id], risky[id]
		if delete(m.risky, id); now == nil {
			return
		}
		m.risky[id] = now
		if was == nil && now.Edit != "" || was != nil && was.Edit != now.Edit {
			delete(m.looks, id)
		}
	})
}
