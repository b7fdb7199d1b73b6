package terminal

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"

	"fumehood/isolate"
	"fumehood/session"
)

// maxQueued bounds what waits to go in, in items. It is reached only when the
// session no longer answers.
const maxQueued = 10_000

// item is one thing that goes in. Exactly one field is set.
type item struct {
	keys  []session.Key
	paste string
	mouse *session.Mouse
	size  *isolate.Size
}

// queue holds what goes into the session, in the order in which it was typed.
// Only one item is ever on its way: Cmds run at once and in any order, so that
// a key each would make "rpnift" of "printf".
type queue struct {
	items []item
	busy  bool
	lost  int
}

func (q *queue) add(i item) {
	if len(q.items) >= maxQueued {
		q.lost++
		return
	}
	q.items = append(q.items, i)
}

func (q *queue) key(k session.Key) {
	if n := len(q.items); n > 0 && q.items[n-1].keys != nil && len(q.items[n-1].keys) < 256 {
		q.items[n-1].keys = append(q.items[n-1].keys, k)
		return
	}
	q.add(item{keys: []session.Key{k}})
}

func (q *queue) mouse(m session.Mouse) {
	if n := len(q.items); n > 0 && m.Kind == "motion" && q.items[n-1].mouse != nil && q.items[n-1].mouse.Kind == "motion" {
		q.items[n-1].mouse = &m
		return
	}
	q.add(item{mouse: &m})
}

// resize drops an older size that has not gone in yet.
func (q *queue) resize(s isolate.Size) {
	if s.Cols == 0 || s.Rows == 0 {
		return
	}
	if n := len(q.items); n > 0 && q.items[n-1].size != nil {
		q.items[n-1].size = &s
		return
	}
	q.add(item{size: &s})
}

// send starts the next item on its way, if none is.
func (m *Model) send() tea.Cmd {
	q := &m.in
	if q.busy || len(q.items) == 0 || m.id == "" {
		return nil
	}
	it := q.items[0]
	q.items = q.items[1:]
	q.busy = true
	id, gen := m.id, m.inGen
	return func() tea.Msg {
		return sentMsg{Session: id, Gen: gen, Err: it.put(m.ctx.Base, m.backend, id)}
	}
}

func (i item) put(ctx context.Context, b Backend, id string) error {
	switch {
	case i.keys != nil:
		return b.Keys(ctx, id, i.keys)
	case i.mouse != nil:
		return b.Mouse(ctx, id, *i.mouse)
	case i.size != nil:
		return b.Resize(ctx, id, *i.size)
	}
	return b.Paste(ctx, id, i.paste)
}

func (m *Model) sent(msg sentMsg) tea.Cmd {
	if msg.Gen != m.inGen {
		return nil
	}
	m.in.busy = false
	if msg.Err != nil {
		// What was typed for a session that is gone is not kept for the next.
		n := len(m.in.items)
		m.in.items = nil
		if !errors.Is(msg.Err, context.Canceled) && !m.over() && n > 0 {
			m.ctx.Fail(msg.Err)
		}
		return nil
	}
	if m.in.lost > 0 {
		m.in.lost = 0
		m.ctx.Fail(errors.New("the session answered too late: some keys were dropped"))
	}
	return m.send()
}
