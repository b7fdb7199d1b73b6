package review

import (
	"context"
	"time"

	"fumehood/diffreview"
	"fumehood/session"
)

// elsewhere is a backend that has a session's record and nothing else, as a bundle
// has: what needs the session or its repository is not offered then.
type elsewhere interface{ Elsewhere() bool }

func (m *Model) elsewhere() bool {
	e, ok := m.backend.(elsewhere)
	return ok && e.Elsewhere()
}

// Backend is what a review asks of a session. All of it runs in this process
// but the snapshot and what is sent to the agent, for which a live supervisor is
// asked.
type Backend interface {
	// ChangeSet gives the change set of the newest snapshot and all comments;
	// fresh makes one.
	ChangeSet(ctx context.Context, id string, fresh bool) (*diffreview.ChangeSet, []diffreview.Comment, error)
	// Decide records decisions, all or none.
	Decide(ctx context.Context, id string, choices []session.Choice) error
	// Comment records a comment, or one without text takes it back; it gives
	// the comment as it is recorded, with who made it.
	Comment(ctx context.Context, id string, c diffreview.Comment) (diffreview.Comment, error)
	// Text gives content out of the session's store.
	Text(ctx context.Context, id string, b diffreview.Blob) ([]byte, error)
	// PreviewSend gives the message that the comments which were not sent make, nil
	// when there is none. SendComments hands it over.
	PreviewSend(ctx context.Context, id string) (*session.Message, error)
	SendComments(ctx context.Context, id string) (session.Sent, error)
	// Try runs a command on a fresh copy with only what is approved.
	Try(ctx context.Context, id string, argv []string) (session.Tried, error)
	// Merges gives the files that you changed as well; Resolve records choices.
	Merges(ctx context.Context, id string) ([]session.Merge, error)
	Resolve(ctx context.Context, id string, choices []session.ResolutionChoice) error
	// GoneOn says whether anything happened inside since.
	GoneOn(ctx context.Context, id string, since time.Time) (bool, error)
	// OpenEdit puts text into a file for an editor; CloseEdit reads it again and
	// takes the file away.
	OpenEdit(ctx context.Context, id string, text []byte) (string, error)
	CloseEdit(ctx context.Context, id, path string) ([]byte, error)
	// PreviewApply says what an apply would write now, and writes nothing.
	PreviewApply(ctx context.Context, id string) (session.Applied, []string, error)
	// Apply writes it, unless it is no longer what the plan of a preview says; an
	// empty plan is any.
	Apply(ctx context.Context, id, plan string) (session.Applied, error)
	Undo(ctx context.Context, id string) (session.Applied, error)
	// Detail has the session's newest events, applies among them.
	Detail(ctx context.Context, id string) (session.Detail, error)
}
