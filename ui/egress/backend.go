package egress

import (
	"context"

	"fumehood/session"
)

// Backend is what the place asks of a session.
type Backend interface {
	Egress(ctx context.Context, id string) (session.Traffic, error)
	Detail(ctx context.Context, id string) (session.Detail, error)
	// DraftEntry drafts the narrowest entry for a refused attempt.
	DraftEntry(ctx context.Context, id string, a session.Attempt) (session.Draft, error)
	// AllowEntry adds an entry to a session, and with mine to the user's own
	// policy too. It says what was done.
	AllowEntry(ctx context.Context, id, text string, mine bool) (string, error)
}
