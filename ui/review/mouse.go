package review

import (
	tea "charm.land/bubbletea/v2"
)

// click goes to the file or the row under the pointer.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || m.set == nil || msg.Y < headLines {
		return nil
	}
	y := msg.Y - headLines
	if msg.X < m.listWidth() {
		es := m.entries()
		i := m.files.Top + y
		if i >= len(es) || y >= m.listDrawn {
			return nil
		}
		again := m.files.At == i && m.inList
		m.files.At, m.inList = i, true
		if es[i].kind == entryFile {
			m.goFile(es[i].file)
			if again {
				m.inList = false
			}
			return nil
		}
		return m.openEntry()
	}
	m.inList = false
	r := m.cur.Top + y - 1
	if rows := m.laid().rows; y > 0 && r < len(rows) {
		m.cur.At = r
		if rows[r].kind == rowGap {
			return m.openGap()
		}
	}
	return nil
}

func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	d := 3
	if msg.Button == tea.MouseWheelUp {
		d = -3
	} else if msg.Button != tea.MouseWheelDown {
		return nil
	}
	if msg.X < m.listWidth() {
		return m.entry(d / 3)
	}
	m.cur.Move(d, len(m.laid().rows))
	return nil
}
