package bundle

import (
	"context"
	"time"

	"fumehood/session"
)

// What a review asks of a session that is on another machine is refused by name,
// so that a key says why it does nothing.

// PreviewSend gives none: comments go home with the decisions.
func (r *Remote) PreviewSend(context.Context, string) (*session.Message, error) {
	return nil, notHere("the agent that comments go to (they go home with the decisions)")
}

// SendComments likewise.
func (r *Remote) SendComments(context.Context, string) (session.Sent, error) {
	return session.Sent{}, notHere("the agent that comments go to (they go home with the decisions)")
}

// Try likewise.
func (r *Remote) Try(context.Context, string, []string) (session.Tried, error) {
	return session.Tried{}, notHere("the workspace to try in")
}

// Merges likewise.
func (r *Remote) Merges(context.Context, string) ([]session.Merge, error) {
	return nil, notHere("the repository to merge with")
}

// Resolve likewise.
func (r *Remote) Resolve(context.Context, string, []session.ResolutionChoice) error {
	return notHere("the repository to merge with")
}

// GoneOn is false: a file stays as it is.
func (r *Remote) GoneOn(context.Context, string, time.Time) (bool, error) { return false, nil }
