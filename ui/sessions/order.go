package sessions

import (
	"sort"

	"fumehood/session"
)

// sortNow puts the rows in order. It runs when the place is entered, never
// while it is looked at: nothing moves under the cursor by itself.
func (m *Model) sortNow() {
	sort.SliceStable(m.rows, func(i, j int) bool {
		a, b := m.rows[i], m.rows[j]
		if ra, rb := rank(a.State), rank(b.State); ra != rb {
			return ra < rb
		}
		return a.Created.After(b.Created)
	})
	m.order = map[string]int{}
	for i, s := range m.rows {
		m.order[s.ID] = i
	}
	m.followCursor()
}

func (m *Model) keepOrder() {
	for _, s := range m.rows {
		if _, ok := m.order[s.ID]; !ok {
			m.order[s.ID] = len(m.order)
		}
	}
	sort.SliceStable(m.rows, func(i, j int) bool { return m.order[m.rows[i].ID] < m.order[m.rows[j].ID] })
	m.followCursor()
}

func (m *Model) followCursor() {
	for i, s := range m.shown() {
		if s.ID == m.current {
			m.list.At = i
		}
	}
}

// rank sorts what waits for the person first.
func rank(s session.State) int {
	switch s {
	case session.StateWaiting:
		return 0
	case session.StateRunning, session.StatePreparing:
		return 1
	case session.StateLimit, session.StateFailed:
		return 2
	case session.StateExited, session.StateStopped:
		return 3
	}
	return 3
}
