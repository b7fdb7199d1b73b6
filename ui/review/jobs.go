package review

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

type jobKind int

const (
	jobLoad jobKind = iota
	jobDecide
	jobPreview
	jobApply
	jobUndo
	jobHistory
)

// decision is one unit of a job: what it was before the key.
type decision struct {
	id, path string
	was      diffreview.Verdict
}

// job is one thing asked of the session.
type job struct {
	kind    jobKind
	fresh   bool
	units   []decision
	verdict diffreview.Verdict
}

// queue runs jobs one after the other, in the order of the keys: a refresh that
// overtook a decision would show the verdict from before it.
type queue struct {
	wait   []job
	now    *job
	serial int
}

func (q *queue) has(k jobKind) bool {
	if q.now != nil && q.now.kind == k {
		return true
	}
	for _, j := range q.wait {
		if j.kind == k {
			return true
		}
	}
	return false
}

// fresh says that a new snapshot is being made, or will be.
func (q *queue) fresh() bool {
	if q.now != nil && q.now.fresh {
		return true
	}
	return slices.ContainsFunc(q.wait, func(j job) bool { return j.fresh })
}

// take ends the job under way if an answer is the one that is waited for.
func (q *queue) take(mine bool, serial int) (job, bool) {
	if !mine || q.now == nil || serial != q.serial {
		return job{}, false
	}
	j := *q.now
	q.now = nil
	return j, true
}

func (m *Model) push(j job) tea.Cmd {
	m.jobs.wait = append(m.jobs.wait, j)
	return m.pump()
}

// pump starts the next job, if none is under way.
func (m *Model) pump() tea.Cmd {
	if m.jobs.now != nil || len(m.jobs.wait) == 0 {
		return nil
	}
	j := m.jobs.wait[0]
	m.jobs.wait = m.jobs.wait[1:]
	m.jobs.now = &j
	m.jobs.serial++
	id, n, ctx, b := m.id, m.jobs.serial, m.ctx.Base, m.backend
	switch j.kind {
	case jobLoad:
		return func() tea.Msg {
			set, err := b.ChangeSet(ctx, id, j.fresh)
			return changeSetMsg{Session: id, Job: n, Set: set, Err: err}
		}
	case jobDecide:
		ids, paths := make([]string, len(j.units)), make([]string, len(j.units))
		for i, u := range j.units {
			ids[i], paths[i] = u.id, u.path
		}
		return func() tea.Msg {
			return decidedMsg{Session: id, Job: n, Err: b.Decide(ctx, id, ids, paths, j.verdict)}
		}
	case jobPreview:
		return func() tea.Msg {
			check, would, err := b.PreviewApply(ctx, id)
			return previewMsg{Session: id, Job: n, Check: check, Would: would, Err: err}
		}
	case jobApply:
		return func() tea.Msg {
			done, err := b.Apply(ctx, id)
			return appliedMsg{Session: id, Job: n, Done: done, Err: err}
		}
	case jobHistory:
		return func() tea.Msg {
			d, err := b.Detail(ctx, id)
			return historyMsg{Session: id, Job: n, Nothing: err == nil && nothingApplied(d.Events)}
		}
	case jobUndo:
		return func() tea.Msg {
			done, err := b.Undo(ctx, id)
			return appliedMsg{Session: id, Job: n, Undo: true, Done: done, Err: err}
		}
	}
	return nil
}

// decide records a verdict on units of the file at index file, as they are on
// the screen now. It shows at once and is taken back if it can't be recorded.
func (m *Model) decide(file int, ids []string, v diffreview.Verdict) tea.Cmd {
	j := job{kind: jobDecide, verdict: v}
	for _, id := range ids {
		was := m.verdict(id)
		if was == v {
			continue
		}
		j.units = append(j.units, decision{id: id, path: m.set.Files[file].Path, was: was})
		m.setVerdict(id, v)
	}
	if len(j.units) == 0 {
		return nil
	}
	m.count()
	return m.push(j)
}

func (m *Model) decided(j job, err error) tea.Cmd {
	if err != nil {
		m.ctx.Fail(fmt.Errorf("the decision was not recorded: %w", err))
		// What was decided after it rests on a screen that was wrong: all of it
		// goes back to how it was, newest first.
		undo := append([]job{j}, m.jobs.wait...)
		for i := len(undo) - 1; i >= 0; i-- {
			for _, u := range undo[i].units {
				m.setVerdict(u.id, u.was)
			}
		}
		m.jobs.wait = nil
		m.count()
		return m.push(job{kind: jobLoad})
	}
	return m.pump()
}

// refresh makes a new snapshot.
func (m *Model) refresh() tea.Cmd {
	if m.id == "" || m.jobs.has(jobLoad) {
		return nil
	}
	return m.push(job{kind: jobLoad, fresh: true})
}

// Busy says what is under way, while it is.
func (m *Model) Busy() string {
	switch {
	case m.jobs.has(jobApply):
		return "writing to your files…"
	case m.jobs.has(jobHistory):
		return "looking for an apply to take back…"
	case m.jobs.has(jobUndo):
		return "taking the apply back…"
	case m.jobs.has(jobPreview):
		return "comparing with your files…"
	case m.jobs.fresh():
		return "taking a snapshot…"
	}
	return ""
}

// ready says whether a deciding key may act now, and tells why not.
func (m *Model) ready() bool {
	switch {
	case m.set == nil || len(m.set.Files) == 0:
		return false
	case m.ctx.Clock.Now().Before(m.settled):
		m.ctx.Say("the diff has just changed: look at it, then press again")
		return false
	case m.jobs.has(jobApply) || m.jobs.has(jobUndo) || m.jobs.has(jobPreview):
		m.ctx.Say("an apply is under way: wait for it")
		return false
	}
	return true
}

// looked says whether a risky unit was on the screen long enough to be seen.
func (m *Model) looked(id string) bool {
	at, ok := m.opened[id]
	return ok && m.ctx.Clock.Now().Sub(at) >= kit.Grace
}
