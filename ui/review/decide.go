package review

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// maxPast bounds the keys that can be taken back.
const maxPast = 1000

// past is what was decided in this review, newest last.
type past struct{ keys [][]decision }

func (p *past) add(units []decision) {
	if len(p.keys) == maxPast {
		p.keys = append(p.keys[:0], p.keys[1:]...)
	}
	p.keys = append(p.keys, units)
}

// takeBack has the units of the newest deciding key as they were before it,
// where nothing else was decided on them since.
func (m *Model) takeBack() tea.Cmd {
	if m.set == nil || !m.ready() {
		return nil
	}
	n := len(m.past.keys)
	if n == 0 {
		m.ctx.Say("nothing to take back: no decision was made here")
		return nil
	}
	key := m.past.keys[n-1]
	m.past.keys = m.past.keys[:n-1]
	var back []decision
	for _, d := range key {
		if m.standing(d.id) == d.to {
			back = append(back, decision{id: d.id, path: d.path, to: d.was})
		}
	}
	if len(back) == 0 {
		m.ctx.Say("not taken back: what was decided on has changed since")
		return nil
	}
	if p := m.where[back[0].id]; m.file != p.file || m.unitID() != back[0].id {
		m.goFile(p.file)
		m.goUnit(back[0].id)
	}
	cmd := m.record(back)
	m.past.keys = m.past.keys[:n-1] // a taken back key is no key of its own
	m.ctx.Say("taken back: " + kit.Plural(len(back), "decision"))
	return cmd
}

func (m *Model) approveHunk() tea.Cmd {
	if m.lines.on {
		return m.decideLines(diffreview.Approved)
	}
	if !m.mayApprove(m.unitID()) {
		return nil
	}
	return m.decideHunk(diffreview.Approved)
}

// mayApprove says whether what a risky unit would do has been on the screen for
// long enough, and tells if it has not.
func (m *Model) mayApprove(id string) bool {
	if id != "" && m.risky[id] != nil && !m.looked(id) && m.ready() {
		m.ctx.Say("risky: read what it would do, then press again")
		return false
	}
	return true
}

func (m *Model) rejectHunk() tea.Cmd   { return m.decideHere(diffreview.Rejected) }
func (m *Model) undecideHunk() tea.Cmd { return m.decideHere(diffreview.Undecided) }

func (m *Model) decideHere(v diffreview.Verdict) tea.Cmd {
	if m.lines.on {
		return m.decideLines(v)
	}
	return m.decideHunk(v)
}

// decideHunk is for the unit under the cursor. The cursor stays: a second key
// that is already on its way can't meet another hunk.
func (m *Model) decideHunk(v diffreview.Verdict) tea.Cmd {
	id := m.unitID()
	if !m.ready() {
		return nil
	}
	if id == "" {
		m.ctx.Say("no hunk is under the cursor: nothing was decided")
		return nil
	}
	to, is := diffreview.Decision{Verdict: v}, m.standing(id)
	if v == diffreview.Approved {
		to.Edit = is.Edit
	}
	if to == is && is.Edit != "" {
		m.ctx.Say("your own text is approved here: u takes it back, then space approves the agent's")
		return nil
	}
	return m.record([]decision{{id: id, path: m.set.Files[m.file].Path, to: to}})
}

// approveFile approves what is open in the file, save risky units that have not
// been on the screen, what no screen can show, and what was rejected.
func (m *Model) approveFile() tea.Cmd {
	f := m.fileNow()
	if f == nil || m.inList && !m.onFile() || !m.ready() {
		return nil
	}
	var units []decision
	risky, rejected, unseen := 0, 0, 0
	f.Each(func(id string, mark *diffreview.Mark, h *diffreview.Hunk) {
		switch {
		case mark.Decision == diffreview.Rejected, mark.Decision == diffreview.Mixed:
			rejected++
		case mark.Decision != diffreview.Undecided:
		case m.risky[id] != nil && !m.looked(id):
			risky++
		case m.unseen[id]:
			unseen++
		default:
			to := diffreview.Decision{Verdict: diffreview.Approved}
			if h != nil {
				to.Edit = h.Edit
			}
			if h != nil && h.Part != nil { // the lines that were rejected stay so
				to = ofLetters([]byte(strings.ReplaceAll(h.Letters(), ".", "a")))
			}
			units = append(units, decision{id: id, path: f.Path, to: to})
		}
	})
	var said []string
	if risky > 0 {
		said = append(said, fmt.Sprintf("%s left open: look at it first (! goes there)", kit.Plural(risky, "risky hunk")))
	}
	switch {
	case unseen > 0 && f.Binary:
		said = append(said, "1 file not shown, left open: space on it approves it unseen")
	case unseen > 0:
		said = append(said, fmt.Sprintf("%s not shown whole, left open: space on it approves it", kit.Plural(unseen, "hunk")))
	case risky > 0 || len(units) > 0:
	case rejected > 0:
		said = append(said, "nothing open in this file; what is rejected stays so (u takes that back)")
	default:
		said = append(said, "nothing open in this file")
	}
	if len(said) > 0 {
		m.ctx.Say(strings.Join(said, "; "))
	}
	return m.record(units)
}
