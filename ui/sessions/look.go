package sessions

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"fumehood/session"
)

// looked takes a frame of the quick look and asks for the next one.
func (m *Model) looked(msg frameMsg) tea.Cmd {
	if !m.look || msg.Gen != m.lookGen || msg.Session != m.current {
		return nil
	}
	if msg.Err != nil {
		if !errors.Is(msg.Err, context.Canceled) {
			m.ctx.Fail(fmt.Errorf("look at the terminal: %w", msg.Err))
		}
		m.stopLook()
		return nil
	}
	m.lookFrame = msg.Frame
	if msg.Frame.Ended {
		return nil
	}
	if wait := m.lookPace.Wait(m.ctx.Clock.Now()); wait > 0 {
		return m.ctx.Clock.After(wait, lookMsg{Gen: m.lookGen})
	}
	return m.nextLook()
}

func (m *Model) relook() tea.Cmd {
	if !m.look {
		return nil
	}
	m.stopLook()
	m.look = true
	m.lookFrame = session.Frame{}
	return m.nextLook()
}

func (m *Model) nextLook() tea.Cmd {
	m.lookGen++
	ctx, cancel := context.WithCancel(m.ctx.Base)
	m.lookCancel = cancel
	id, gen, since := m.current, m.lookGen, m.lookFrame.Gen
	return func() tea.Msg {
		defer cancel()
		f, err := m.backend.Frame(ctx, id, since, 0)
		return frameMsg{Session: id, Gen: gen, Frame: f, Err: err}
	}
}

func (m *Model) stopLook() {
	m.look = false
	m.lookGen++
	if m.lookCancel != nil {
		m.lookCancel()
		m.lookCancel = nil
	}
}
