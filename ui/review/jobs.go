package review

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/session"
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
	jobAsk
)

// decision is one unit of a job: what stood before the key, and what is to stand.
// Of both only verdict, lines and edit are set.
type decision struct {
	id, path string
	was, to  diffreview.Decision
	text     []byte // of to.Edit, where the session's store does not have it yet
}

// choice is what is asked of the session.
func (d decision) choice(ctx context.Context, b Backend, id string) (session.Choice, error) {
	c := session.Choice{Unit: d.id, Path: d.path, Verdict: d.to.Verdict, Lines: d.to.Lines, Edit: d.text}
	if d.to.Edit != "" && d.text == nil {
		text, err := b.Text(ctx, id, d.to.Edit)
		if err != nil {
			return c, fmt.Errorf("your edit of %s: %w", diffreview.SafeName(d.path), err)
		}
		c.Edit = append([]byte{}, text...)
	}
	return c, nil
}

// job is one thing asked of the session.
type job struct {
	kind  jobKind
	fresh bool
	units []decision
	plan  string // of jobApply: what was shown
	says  string // of jobAsk: what is under way
	ask   func(ctx context.Context) func() tea.Cmd
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

// busy says that something is under way.
func (q *queue) busy() bool { return q.now != nil }

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
			set, comments, err := b.ChangeSet(ctx, id, j.fresh)
			return changeSetMsg{Session: id, Job: n, Set: set, Comments: comments, Err: err}
		}
	case jobDecide:
		units := j.units
		return func() tea.Msg {
			choices := make([]session.Choice, len(units))
			for i, u := range units {
				var err error
				if choices[i], err = u.choice(ctx, b, id); err != nil {
					return decidedMsg{Session: id, Job: n, Err: err}
				}
			}
			return decidedMsg{Session: id, Job: n, Err: b.Decide(ctx, id, choices)}
		}
	case jobPreview:
		return func() tea.Msg {
			msg := previewMsg{Session: id, Job: n}
			if msg.Check, msg.Would, msg.Err = b.PreviewApply(ctx, id); msg.Err == nil {
				msg.Set, msg.Comments, msg.Err = b.ChangeSet(ctx, id, false)
			}
			return msg
		}
	case jobApply:
		plan := j.plan
		return func() tea.Msg {
			done, err := b.Apply(ctx, id, plan)
			return appliedMsg{Session: id, Job: n, Done: done, Err: err}
		}
	case jobHistory:
		return func() tea.Msg {
			d, err := b.Detail(ctx, id)
			return historyMsg{Session: id, Job: n, Nothing: err == nil && !d.Stands && nothingApplied(d.Events)}
		}
	case jobAsk:
		return func() tea.Msg { return answerMsg{Session: id, Job: n, Do: j.ask(ctx)} }
	case jobUndo:
		return func() tea.Msg {
			done, err := b.Undo(ctx, id)
			return appliedMsg{Session: id, Job: n, Undo: true, Done: done, Err: err}
		}
	}
	return nil
}

// record puts decisions on units as they are on the screen now. They show at
// once and are taken back if they can't be recorded. What would change nothing,
// or fits no unit, is left out.
func (m *Model) record(units []decision) tea.Cmd {
	j := job{kind: jobDecide}
	for _, d := range units {
		if d.was == (diffreview.Decision{}) { // else whoever asks has just looked
			d.was = m.standing(d.id)
		}
		if d.was == d.to || !m.put(d.id, d.to) {
			continue
		}
		j.units = append(j.units, d)
		if d.was.Edit != d.to.Edit {
			m.relay()
		}
	}
	if len(j.units) == 0 {
		return nil
	}
	m.past.add(j.units)
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
				m.put(u.id, u.was)
			}
		}
		m.jobs.wait, m.past = nil, past{}
		m.count()
		return m.push(job{kind: jobLoad})
	}
	if slices.ContainsFunc(j.units, decision.rewrites) && !m.jobs.has(jobLoad) {
		m.jobs.wait = append(m.jobs.wait, job{kind: jobLoad}) // with what the rules find in the text
	}
	return m.pump()
}

// rewrites says whether another text stands in a hunk's place than before.
func (d decision) rewrites() bool { return d.to.Edit != "" && d.to.Edit != d.was.Edit }

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
	case m.jobs.now != nil && m.jobs.now.kind == jobAsk:
		return m.jobs.now.says
	case m.try.cancel != nil:
		return "trying " + kit.Safe(m.try.line) + "… " + kit.Age(m.ctx.Clock.Now().Sub(m.try.began)) + " (t ends it)"
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
	at, ok := m.looks[id]
	return ok && m.ctx.Clock.Now().Sub(at) >= kit.Grace
}
