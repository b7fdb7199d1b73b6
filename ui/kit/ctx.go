package kit

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/style"
)

// PlaceID names a place of the workbench. The numbers are the keys.
type PlaceID int

// The places. Start has no key of its own: it opens from Sessions.
const (
	Start PlaceID = iota
	Sessions
	Terminal
	Review
	Egress
	Walls
)

// Clock is time as the workbench sees it, so that tests can turn it.
type Clock interface {
	Now() time.Time
	// After gives a Cmd that answers with msg once d has passed.
	After(d time.Duration, msg tea.Msg) tea.Cmd
}

// RealClock is the machine's clock.
type RealClock struct{}

// Now is the current time.
func (RealClock) Now() time.Time { return time.Now() }

// After waits for d.
func (RealClock) After(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// Intent is something that a place wants of the frame around it. It is taken
// out within the same Update as it was put in, so that the next key already
// meets its effect; a message through a Cmd would come after that key.
type Intent interface{ intent() }

// Open goes to a place, for one session.
type Open struct {
	Place   PlaceID
	Session string
}

// Say puts a message above the hints.
type Say struct {
	Text  string
	Error bool
}

// Show puts a dialog on the stack.
type Show struct{ Dialog Dialog }

// Changed has the list of sessions read again: one stands otherwise by now.
type Changed struct{}

// Prove goes to the walls of a policy and runs its tests.
type Prove struct{ Policy string }

// Leave ends the workbench; sessions go on.
type Leave struct{}

func (Open) intent()    {}
func (Prove) intent()   {}
func (Say) intent()     {}
func (Show) intent()    {}
func (Leave) intent()   {}
func (Changed) intent() {}

// What a Cmd asks of the terminal around the workbench.
type (
	RedrawMsg       struct{} // draw all of it anew
	SuspendMsg      struct{} // give it back and stop, until the shell goes on with it
	AskClipboardMsg struct{} // the answer is a tea.ClipboardMsg, if one comes
	// SetClipboardMsg gives it a text. Control characters in it are dropped.
	SetClipboardMsg struct{ Text string }
)

// Send is a Cmd that answers with msg at once.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Ctx is what a place gets from the frame. It belongs to the program's one
// Update goroutine; a Cmd may use only Base.
type Ctx struct {
	Styles *style.Styles
	Clock  Clock
	// Base ends when the workbench does; calls to a session derive from it.
	Base   context.Context
	outbox []Intent
}

// Tell hands an intent to the frame.
func (c *Ctx) Tell(i Intent) { c.outbox = append(c.outbox, i) }

// Say tells a message of the ordinary kind.
func (c *Ctx) Say(text string) { c.Tell(Say{Text: text}) }

// Fail tells an error; it stays until a key.
func (c *Ctx) Fail(err error) { c.Tell(Say{Text: err.Error(), Error: true}) }

// Take empties the outbox.
func (c *Ctx) Take() []Intent {
	out := c.outbox
	c.outbox = nil
	return out
}
