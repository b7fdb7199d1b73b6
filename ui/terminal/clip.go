package terminal

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// clips is what the inside wants in the clipboard of the person's own terminal.
type clips struct {
	newest   int // request in the newest picture
	bytes    int
	stale    bool           // what the next picture tells happened while nobody looked
	offered  int            // the request that the open menu is about, 0 for none
	answered map[string]int // newest request given or refused, by session
}

// tookClips looks for a request in the newest picture. Where the policy allows
// it, it is done if the person was looking; else it waits for a key.
func (m *Model) tookClips() tea.Cmd {
	c, f := &m.inner, m.frame
	if !m.have || f.Clips == c.newest && !c.stale {
		return nil
	}
	fresh := f.Clips > c.newest && !c.stale
	if f.Clips < c.newest || f.Clips < c.answered[m.id] {
		delete(c.answered, m.id) // it began again, and counts anew
	}
	c.newest, c.bytes, c.stale = f.Clips, f.ClipBytes, false
	if !f.ClipAllow || !m.active {
		return nil
	}
	m.answer(f.Clips)
	if !fresh {
		return nil
	}
	return m.fetchClip(f.Clips)
}

func (m *Model) answer(n int) {
	if m.inner.answered == nil {
		m.inner.answered = map[string]int{}
	}
	m.inner.answered[m.id] = n
}

// waitingClip is the request that waits for an answer, 0 for none. A session that
// began again counts from the beginning.
func (m *Model) waitingClip() int {
	n := m.inner.newest
	if !m.have || m.over() || n == 0 || m.inner.answered[m.id] == n {
		return 0
	}
	return n
}

// askedClip is the line that asks.
func (m *Model) askedClip() string {
	if !m.active || m.waitingClip() == 0 {
		return ""
	}
	return fmt.Sprintf(`the inside wants to write your clipboard (%s):  ctrl+\ c yes  ctrl+\ x no`, kit.Bytes(int64(m.inner.bytes)))
}

// openMenu holds fast which request its keys are about: one that comes while the
// menu is open is not what the person read.
func (m *Model) openMenu() tea.Cmd {
	m.mode = menu
	m.inner.offered = m.waitingClip()
	return nil
}

func (m *Model) giveClip() tea.Cmd {
	m.mode = inside
	if m.inner.offered == 0 {
		m.ctx.Say("it wants nothing in your clipboard")
		return nil
	}
	m.answer(m.inner.offered)
	return m.fetchClip(m.inner.offered)
}

func (m *Model) refuseClip() tea.Cmd {
	m.mode = inside
	if m.inner.offered == 0 {
		m.ctx.Say("it wants nothing in your clipboard")
		return nil
	}
	m.answer(m.inner.offered)
	m.ctx.Say("your clipboard was not written")
	return nil
}

func (m *Model) fetchClip(n int) tea.Cmd {
	id := m.id
	return func() tea.Msg {
		text, err := m.backend.ClipText(m.ctx.Base, id, n)
		return clipMsg{Session: id, Text: text, Err: err}
	}
}

// clipGiven hands the text to the person's terminal, and shows how it begins.
func (m *Model) clipGiven(msg clipMsg) tea.Cmd {
	if msg.Session != m.id || !m.active {
		return nil
	}
	if msg.Err != nil {
		m.ctx.Fail(fmt.Errorf("your clipboard was not written: %w", msg.Err))
		return nil
	}
	text := kit.ClipText(msg.Text)
	m.ctx.Say(fmt.Sprintf("the inside wrote %s to your clipboard: %s", kit.Bytes(int64(len(text))), kit.Cut(kit.Safe(text), 40)))
	return kit.Send(kit.SetClipboardMsg{Text: text})
}
