package review

import (
	tea "charm.land/bubbletea/v2"
)

const (
	// sideFrom is the width at which old and new can stand side by side.
	sideFrom = 120
	// sideListFrom is the width at which the list of files stands beside both.
	sideListFrom = 180
)

// sideOn says whether old and new stand side by side now: wanted, and wide
// enough.
func (m *Model) sideOn() bool { return m.side && m.w >= sideFrom }

func (m *Model) toggleSide() tea.Cmd {
	if !m.side && m.w < sideFrom {
		m.ctx.Say("side by side needs 120 columns: the window is narrower")
		return nil
	}
	m.side = !m.side
	if m.sideOn() && m.narrow() {
		m.inList = false
	}
	m.relay()
	return nil
}
