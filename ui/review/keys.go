package review

import (
	"cmp"

	tea "charm.land/bubbletea/v2"

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
	unread := kit.When(m.set == nil, "there is no change set to show")
	none := cmp.Or(unread, kit.When(m.set != nil && len(m.set.Files) == 0, "nothing has changed"))
	inList := kit.When(m.inList, "that is for the diff: tab")
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
			kit.Binding{Keys: []string{"space"}, Help: "approve" + m.unitWord(), Hint: 1, Off: none, Group: "decide", Do: m.approveHunk},
			kit.Binding{Keys: []string{"x"}, Help: "reject" + m.unitWord(), Hint: 2, Off: none, Group: "decide", Do: m.rejectHunk},
			kit.Binding{Keys: []string{"u"}, Help: "back to undecided", Off: none, Group: "decide", Do: m.undecideHunk},
			kit.Binding{Keys: []string{"v"}, Help: m.linesHelp(), Hint: hint(m.lines.on, 3), Off: none, Group: "decide", Do: m.toggleLines},
			kit.Binding{Keys: []string{"V"}, Help: "range of lines, on or off", Off: none, Group: "decide", Do: m.toggleRange},
			kit.Binding{Keys: []string{"shift+down"}, Show: "shift ↑ ↓", Help: "a longer range", Off: none, Group: "decide", Do: func() tea.Cmd { return m.extend(1) }},
			kit.Binding{Keys: []string{"shift+up"}, Help: "its other end", Off: none, Group: "decide", Do: func() tea.Cmd { return m.extend(-1) }},
			kit.Binding{Keys: []string{"+"}, Help: "open unchanged lines", Off: none, Group: "show", Do: m.openGap},
			kit.Binding{Keys: []string{"enter"}, Help: "open them, on their row", Off: none, Group: "show", Do: m.enter},
			kit.Binding{Keys: []string{"-"}, Help: "fold them again", Off: none, Group: "show", Do: m.foldGap})
	}
	rows = append(rows,
		kit.Binding{Keys: []string{"."}, Help: "next open", Hint: 3, Off: none, Group: "move", Do: m.nextUndecided},
		kit.Binding{Keys: []string{"!"}, Help: "next risky", Group: "move", Off: none, Do: m.nextRisky},
		kit.Binding{Keys: []string{"a"}, Help: "approve file", Hint: 6, Off: none, Group: "decide", Do: m.approveFile},
		kit.Binding{Keys: []string{"backspace"}, Help: "take the last decision back", Off: kit.When(len(m.past.keys) == 0, "nothing was decided since this review was opened"), Group: "decide", Do: m.takeBack},
		kit.Binding{Keys: []string{"A"}, Help: "apply", Hint: 5, Off: cmp.Or(m.away("a bundle is applied where its session is"), unread, m.unapproved()), Group: "host", Do: m.askApply},
		kit.Binding{Keys: []string{"U"}, Help: "take the newest apply back", Off: cmp.Or(m.away("nothing is applied from a bundle"), m.nobody()), Group: "host", Do: m.askUndo},
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
		kit.Binding{Keys: sideways, Show: "> <", Help: "move long lines", Group: "show", Off: inList, Do: func() tea.Cmd { m.sideways(1); return nil }},
		kit.Binding{Keys: []string{"left", "<"}, Help: "move them back", Group: "show", Off: inList, Do: func() tea.Cmd { m.sideways(-1); return nil }},
		kit.Binding{Keys: []string{"w"}, Help: "mark changed words: " + onOff(m.words), Group: "show", Do: func() tea.Cmd { m.words = !m.words; return nil }},
		kit.Binding{Keys: []string{"W"}, Help: "mark tabs and spaces: " + onOff(m.white), Group: "show", Do: func() tea.Cmd { m.white = !m.white; return nil }},
		kit.Binding{Keys: []string{"s"}, Help: "side by side: " + onOff(m.side), Group: "show", Off: none, Do: m.toggleSide},
		kit.Binding{Keys: []string{"z"}, Help: "fold lock, generated and vendored files", Group: "show", Off: none, Do: m.toggleFold},
		kit.Binding{Keys: []string{"H"}, Help: "hide what is decided: " + onOff(m.hide), Group: "show", Off: none, Do: m.toggleHide},
		kit.Binding{Keys: []string{"o"}, Help: "the file as decided now", Group: "show", Off: none, Do: m.askResult},
		kit.Binding{Keys: []string{"h"}, Help: "what is left out", Group: "show", Off: unread, Do: m.showLeftOut},
		kit.Binding{Keys: []string{"/"}, Help: "search", Group: "move", Off: none, Do: func() tea.Cmd { m.searching = true; m.search.Set(""); return nil }},
		kit.Binding{Keys: []string{"n"}, Help: "next hit", Group: "move", Off: kit.When(m.search.String() == "", "nothing is searched for: / searches"), Do: func() tea.Cmd { return m.startSearch(1) }},
		kit.Binding{Keys: []string{"N"}, Help: "hit before", Group: "move", Off: kit.When(m.search.String() == "", "nothing is searched for: / searches"), Do: func() tea.Cmd { return m.startSearch(-1) }},
		kit.Binding{Keys: []string{"R", "ctrl+r"}, Show: "R", Help: "new snapshot", Hint: 7, Off: cmp.Or(m.away("a bundle stays as it is"), m.nobody()), Group: "host", Do: m.refresh},
		kit.Binding{Keys: []string{"esc"}, Help: "back to the list, then to sessions", Group: "move", Do: m.escape},
	)
	rows = append(rows, m.askKeys(none)...)
	return rows
}

// away is why a key does nothing in the review of a bundle.
func (m *Model) away(why string) string { return kit.When(m.elsewhere(), why) }

func (m *Model) nobody() string { return kit.When(m.id == "", "no session is chosen") }

func (m *Model) unapproved() string {
	return kit.When(m.tally.approved == 0, "nothing is approved yet")
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
	cmd, ok := kit.Dispatch(m.Keys(), msg, m.ctx.Say)
	if !ok && m.searching {
		m.search.Key(msg)
	}
	return cmd
}

func (m *Model) linesHelp() string {
	switch {
	case m.lines.ranged:
		return "back to hunks"
	case m.lines.on:
		return "range of lines; again: hunks"
	}
	return "decide single lines"
}

// unitWord says what the deciding keys are for, where that is not the hunk.
func (m *Model) unitWord() string {
	switch {
	case m.lines.ranged:
		return " range"
	case m.lines.on:
		return " line"
	}
	return ""
}

func (m *Model) escape() tea.Cmd {
	switch {
	case m.lines.ranged:
		m.lines.ranged = false
		return nil
	case m.lines.on:
		m.lines = lineMode{}
		return nil
	}
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
	switch e := es[m.files.At]; e.kind {
	case entryFold:
		return m.unfold(e.fold)
	case entryLeft:
		return m.showLeftOut()
	case entryFile:
		m.inList = false
	}
	return nil
}

// toggleFold folds all groups, or opens all if none of their files is shown. It
// leaves the cursor on its file; from a folded entry it goes to the first file
// that comes out of it.
func (m *Model) toggleFold() tea.Cmd {
	on := m.row()
	if m.folded == allFolded {
		if on.kind == entryFold && m.inList {
			m.folded = [folds]bool{}
			return m.unfold(on.fold)
		}
		m.folded = [folds]bool{}
	} else {
		m.folded = allFolded
		if m.foldOf(m.file) >= 0 {
			for i := range m.set.Files {
				if m.foldOf(i) < 0 && !m.hidden(i) {
					m.goFile(i)
					break
				}
			}
			m.folded = allFolded
		}
	}
	if on.kind != entryLeft || !m.goRow(on) {
		m.goFile(m.file)
	}
	return nil
}

// unfold opens a group and goes to its first file.
func (m *Model) unfold(g int) tea.Cmd {
	m.folded[g] = false
	m.entries()
	for i := range m.set.Files {
		if int(m.listed.fold[i]) == g {
			m.goFile(i)
			break
		}
	}
	return nil
}
