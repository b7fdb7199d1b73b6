package session

import (
	"iter"

	"fumehood/diffreview"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

// ChangeDecisions changes the recorded decisions of a session under its lock. The
// caller appends the event that says what was changed.
func (h *Host) ChangeDecisions(d store.Dir, change func(*diffreview.Decisions) error) error {
	return h.decide(d, change)
}

// LoadDecisions reads the recorded decisions of a session.
func LoadDecisions(d store.Dir) (*diffreview.Decisions, error) { return loadDecisions(d) }

// StoreDirs are the folders of a session's baseline and snapshot.
func StoreDirs(d store.Dir) baseline.Dirs { return baselineDirs(d) }

// TrafficOf gathers attempts that were read elsewhere, oldest first.
func TrafficOf(attempts iter.Seq[Attempt]) Traffic {
	t := traffic{group: map[string]int{}}
	for a := range attempts {
		t.add(a)
	}
	return t.view
}
