package review

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// Keys is the place's table.
func (m *Model) Keys() []kit.Binding {
	if m.searching {
		return []kit.Binding{
			{Keys: []string{"enter"}, Help: "search", Hint: 1, Do: func() tea.Cmd { m.searching = false; return m.startSearch(1) }},
			{Keys: []string{"esc", "ctrl+c"}, Show: "esc", Help: "no search", Hint: 2, Do: func() tea.Cmd { m.searching = false; m.search.Set(""); return nil }},
		}
	}
	none := m.set == nil || len(m.set.Files) == 0
	tab := "files"
	if m.inList {
		tab = "diff"
	}
	by := func(d int) func() tea.Cmd { return func() tea.Cmd { return m.line(d) } }
	rows, sideways := []kit.Binding{}, []string{">", "right"}
	if m.inList {
		sideways = sideways[:1] // there the arrow opens the diff
		rows = append(rows,
			kit.Binding{Keys: []string{"enter", "space", "right", "l"}, Show: "enter", Help: "open the diff", Hint: 1, Off: none, Group: "decide", Do: m.openEntry},
			kit.Binding{Keys: []string{"x", "u"}, Help: "only in the diff", Off: none, Group: "decide", Do: m.onlyInDiff})
	} else {
		rows = append(rows,
			kit.Binding{Keys: []string{"space"}, Help: "approve", Hint: 1, Off: none, Group: "decide", Do: m.approveHunk},
			kit.Binding{Keys: []string{"x"}, Help: "reject", Hint: 2, Off: none, Group: "decide", Do: func() tea.Cmd { return m.decideHunk(diffreview.Rejected) }},
			kit.Binding{Keys: []string{"u"}, Help: "back to undecided", Off: none, Group: "decide", Do: func() tea.Cmd { return m.decideHunk(diffreview.Undecided) }})
	}
	rows = append(rows,
		kit.Binding{Keys: []string{"."}, Help: "next open", Hint: 3, Off: none, Group: "move", Do: m.nextUndecided},
		kit.Binding{Keys: []string{"!"}, Help: "next risky", Group: "move", Off: none, Do: m.nextRisky},
		kit.Binding{Keys: []string{"a"}, Help: "approve file", Hint: 6, Off: none, Group: "decide", Do: m.approveFile},
		kit.Binding{Keys: []string{"A"}, Help: "apply", Hint: 5, Off: m.set == nil || m.tally.approved == 0, Group: "host", Do: m.askApply},
		kit.Binding{Keys: []string{"U"}, Help: "take the newest apply back", Off: m.id == "", Group: "host", Do: m.askUndo},
		kit.Binding{Keys: []string{"tab"}, Help: tab, Hint: hint(m.narrow(), 4), Off: none, Group: "move", Do: m.otherSide},
		kit.Binding{Keys: []string{"j", "down"}, Show: "j k", Help: "line", Group: "move", Do: by(1)},
		kit.Binding{Keys: []string{"k", "up"}, Help: "line up", Group: "move", Do: by(-1)},
		kit.Binding{Keys: []string{"J", "]"}, Show: "J ]", Help: "next hunk", Group: "move", Off: none, Do: func() tea.Cmd { return m.hunk(1) }},
		kit.Binding{Keys: []string{"K", "["}, Show: "K [", Help: "hunk before", Group: "move", Off: none, Do: func() tea.Cmd { return m.hunk(-1) }},
		kit.Binding{Keys: []string{"}"}, Help: "next file", Group: "move", Off: none, Do: func() tea.Cmd { return m.nextFile(1) }},
		kit.Binding{Keys: []string{"{"}, Help: "file before", Group: "move", Off: none, Do: func() tea.Cmd { return m.nextFile(-1) }},
		kit.Binding{Keys: []string{"pgdown", "ctrl+f"}, Show: "pgdn", Help: "page down", Group: "move", Do: by(m.page() - 1)},
		kit.Binding{Keys: []string{"pgup", "ctrl+b"}, Show: "pgup", Help: "page up", Group: "move", Do: by(1 - m.page())},
		kit.Binding{Keys: []string{"ctrl+d"}, Help: "half a page down", Group: "move", Do: by(m.page() / 2)},
		kit.Binding{Keys: []string{"ctrl+u"}, Help: "half a page up", Group: "move", Do: by(-m.page() / 2)},
		kit.Binding{Keys: []string{"g", "home"}, Help: "first line", Group: "move", Do: by(-1 << 30)},
		kit.Binding{Keys: []string{"G", "end"}, Help: "last line", Group: "move", Do: by(1 << 30)},
		kit.Binding{Keys: sideways, Show: "> <", Help: "move long lines", Group: "show", Off: m.inList, Do: func() tea.Cmd { m.left += 16; return nil }},
		kit.Binding{Keys: []string{"left", "<"}, Help: "move them back", Group: "show", Off: m.inList, Do: func() tea.Cmd { m.left = max(0, m.left-16); return nil }},
		kit.Binding{Keys: []string{"w"}, Help: "mark changed words: " + onOff(m.words), Group: "show", Do: func() tea.Cmd { m.words = !m.words; return nil }},
		kit.Binding{Keys: []string{"W"}, Help: "mark tabs and spaces: " + onOff(m.white), Group: "show", Do: func() tea.Cmd { m.white = !m.white; return nil }},
		kit.Binding{Keys: []string{"z"}, Help: "fold lock and generated files", Group: "show", Off: none, Do: m.toggleFold},
		kit.Binding{Keys: []string{"h"}, Help: "what is left out", Group: "show", Off: m.set == nil, Do: m.showLeftOut},
		kit.Binding{Keys: []string{"/"}, Help: "search", Group: "move", Off: none, Do: func() tea.Cmd { m.searching = true; m.search.Set(""); return nil }},
		kit.Binding{Keys: []string{"n"}, Help: "next hit", Group: "move", Off: m.search.String() == "", Do: func() tea.Cmd { return m.startSearch(1) }},
		kit.Binding{Keys: []string{"N"}, Help: "hit before", Group: "move", Off: m.search.String() == "", Do: func() tea.Cmd { return m.startSearch(-1) }},
		kit.Binding{Keys: []string{"R", "ctrl+r"}, Show: "R", Help: "new snapshot", Hint: 7, Off: m.id == "", Group: "host", Do: m.refresh},
		kit.Binding{Keys: []string{"esc"}, Help: "back to the list, then to sessions", Group: "move", Do: m.escape},
	)
	return rows
}

// hint is n where a key is worth a hint.
func hint(yes bool, n int) int {
	if yes {
		return n
	}
	return 0
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	cmd, ok := kit.Dispatch(m.Keys(), msg)
	if !ok && m.searching {
		m.search.Key(msg)
	}
	return cmd
}

func (m *Model) escape() tea.Cmd {
	if m.narrow() && !m.inList && m.set != nil && len(m.set.Files) > 0 {
		m.inList = true
		return nil
	}
	m.ctx.Tell(kit.Open{Place: kit.Sessions, Session: m.id})
	return nil
}

// otherSide goes between list and diff. A row that is no file has no diff to go
// to: the one drawn before it is of another row.
func (m *Model) otherSide() tea.Cmd {
	if m.inList && !m.onFile() {
		return nil
	}
	m.inList = !m.inList
	return nil
}

// onlyInDiff answers the keys that decide on one hunk: in the list none is
// under the cursor.
func (m *Model) onlyInDiff() tea.Cmd {
	if m.onFile() {
		m.ctx.Say("x and u are for the hunk under the cursor: enter opens the diff")
	}
	return nil
}

func (m *Model) openEntry() tea.Cmd {
	es := m.entries()
	if m.files.At >= len(es) {
		return nil
	}
	switch es[m.files.At].kind {
	case entryFold:
		return m.toggleFold()
	case entryLeft:
		return m.showLeftOut()
	case entryFile:
		m.inList = false
	}
	return nil
}

// toggleFold leaves the cursor on its file. From the folded entry it goes to
// the first file that comes out of it.
func (m *Model) toggleFold() tea.Cmd {
	on := m.row()
	m.folded = !m.folded
	if m.folded && m.inFold(m.file) {
		for i := range m.set.Files {
			if !m.inFold(i) {
				m.goFile(i)
				break
			}
		}
		m.folded = true
	}
	switch {
	case on == entryFold && m.inList && !m.folded:
		for i := range m.set.Files {
			if m.inFold(i) {
				m.goFile(i)
				break
			}
		}
	case on == entryLeft:
		m.goRow(entryLeft)
	default:
		m.goFile(m.file)
	}
	return nil
}

func (m *Model) approveHunk() tea.Cmd {
	id := m.unitID()
	if id != "" && m.risky[id] != nil && !m.looked(id) && m.ready() {
		m.ctx.Say("risky: read what it would do, then press again")
		return nil
	}
	return m.decideHunk(diffreview.Approved)
}

// decideHunk is for the unit under the cursor. The cursor stays: a second key
// that is already on its way can't meet another hunk.
func (m *Model) decideHunk(v diffreview.Verdict) tea.Cmd {
	id := m.unitID()
	if id == "" || !m.ready() {
		return nil
	}
	return m.decide(m.file, []string{id}, v)
}

// approveFile approves what is open in the file, save risky units that have not
// been on the screen, and units that were rejected.
func (m *Model) approveFile() tea.Cmd {
	f := m.fileNow()
	if f == nil || m.inList && !m.onFile() || !m.ready() {
		return nil
	}
	var ids []string
	skipped, rejected := 0, 0
	each(f, func(id string, v diffreview.Verdict) {
		switch {
		case v == diffreview.Rejected:
			rejected++
		case v != diffreview.Undecided:
		case m.risky[id] != nil && !m.looked(id):
			skipped++
		default:
			ids = append(ids, id)
		}
	})
	switch {
	case skipped > 0:
		m.ctx.Say(fmt.Sprintf("%s left open: look at it first (! goes there)", kit.Plural(skipped, "risky hunk")))
	case len(ids) == 0 && rejected > 0:
		m.ctx.Say("nothing open in this file; what is rejected stays so (u takes that back)")
	case len(ids) == 0:
		m.ctx.Say("nothing open in this file")
	}
	return m.decide(m.file, ids, diffreview.Approved)
}

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
	if r := m.cur.Top + y - 1; y > 0 && r < len(m.laid().rows) {
		m.cur.At = r
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
