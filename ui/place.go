package ui

import (
	tea "charm.land/bubbletea/v2"

	"fumehood/ui/egress"
	"fumehood/ui/kit"
	"fumehood/ui/review"
	"fumehood/ui/sessions"
	"fumehood/ui/start"
	"fumehood/ui/terminal"
	"fumehood/ui/walls"
)

// Backend is what the workbench asks of sessions: what its places ask, taken
// together. Each call may block and is made outside the program's loop.
type Backend interface {
	sessions.Backend
	start.Backend
	terminal.Backend
	review.Backend
	egress.Backend
	walls.Backend
}

// Place is one screen of the workbench.
type Place interface {
	// Update takes the place's own answers at any time, and keys, mouse and
	// pastes while the place is active. It does no I/O.
	Update(msg tea.Msg) tea.Cmd
	// View draws at most h lines of w cells, and says where the cursor is.
	View(w, h int) (string, *tea.Cursor)
	// Keys is the place's table of keys as it stands.
	Keys() []kit.Binding
	Title() string
	// Busy says what the place waits for, "" when for nothing. It is drawn as
	// long as it is so, unless a message stands there.
	Busy() string
	// Grab says that the frame's own keys go to the place as well.
	Grab() bool
	// Enter makes the place active, for a session ("" when there is none).
	Enter(session string) tea.Cmd
	// Exit ends what the place does only while it is looked at.
	Exit()
}
