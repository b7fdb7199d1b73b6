package review

import (
	"context"

	"fumehood/diffreview"
	"fumehood/session"
)

// Backend is what a review asks of a session. All of it runs in this process
// but the snapshot, for which a live supervisor is asked.
type Backend interface {
	// ChangeSet gives the change set of the newest snapshot; fresh makes one.
	ChangeSet(ctx context.Context, id string, fresh bool) (*diffreview.ChangeSet, error)
	// Decide records one verdict for units; paths are theirs, one each.
	Decide(ctx context.Context, id string, unitIDs, paths []string, v diffreview.Verdict) error
	// PreviewApply says what an apply would write now, and writes nothing.
	PreviewApply(ctx context.Context, id string) (session.Applied, []string, error)
	Apply(ctx context.Context, id string) (session.Applied, error)
	Undo(ctx context.Context, id string) (session.Applied, error)
	// Detail has the session's newest events, applies among them.
	Detail(ctx context.Context, id string) (session.Detail, error)
}
