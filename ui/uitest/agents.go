package uitest

import (
	"context"

	"fumehood/session"
)

// Agents gives what was set.
func (b *Backend) Agents(context.Context) []session.AgentChoice {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Choices == nil {
		return []session.AgentChoice{{ID: "shell", Title: "shell", Ready: true}, {ID: "demo", Title: "demo agent", Ready: true}}
	}
	return b.Choices
}
