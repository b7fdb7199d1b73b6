package review

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/kit"
)

// pollEvery is how often it is asked whether the agent went on, while the review
// is looked at.
const pollEvery = 3 * time.Second

// pollMsg says that it is time to ask.
type pollMsg struct {
	Session string
	Serial  int
}

// watch begins to look whether anything happens inside after the snapshot.
func (m *Model) watch() tea.Cmd {
	m.polls++
	m.goneOn = false
	return m.nextPoll()
}

func (m *Model) nextPoll() tea.Cmd {
	if !m.active || m.id == "" {
		return nil
	}
	return m.ctx.Clock.After(pollEvery, pollMsg{m.id, m.polls})
}

// pollNow asks at once, and from then on in its turn.
func (m *Model) pollNow() tea.Cmd {
	m.polls++
	return m.poll(pollMsg{m.id, m.polls})
}

func (m *Model) poll(msg pollMsg) tea.Cmd {
	if msg.Session != m.id || msg.Serial != m.polls || !m.active {
		return nil
	}
	if m.set == nil || m.set.SnapshotAt.IsZero() || m.jobs.has(jobLoad) || m.goneOn {
		return m.nextPoll()
	}
	b, id, since := m.backend, m.id, m.set.SnapshotAt
	return m.askNow(func(ctx context.Context) func() tea.Cmd {
		gone, err := b.GoneOn(ctx, id, since)
		return func() tea.Cmd {
			if msg.Serial != m.polls {
				return nil
			}
			// No answer is no news: the next snapshot tells.
			if err == nil && m.set != nil && m.set.SnapshotAt.Equal(since) {
				m.goneOn = gone
			}
			return m.nextPoll()
		}
	})
}

// goneOnText is what the head says of it: the longest text that fits.
func (m *Model) goneOnText(w int) string {
	at := m.set.SnapshotAt.Format("15:04:05")
	for _, s := range []string{
		"the agent has gone on since the snapshot " + at + " (R refresh) ",
		"agent gone on since " + at + " (R) ",
		"gone on since " + at + " (R) ",
	} {
		if kit.Width(s) <= w {
			return s
		}
	}
	return "gone on (R) "
}
