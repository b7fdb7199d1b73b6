package walls

import (
	"context"

	"fumehood/session"
)

// Backend is what the place asks of a session.
type Backend interface {
	Detail(ctx context.Context, id string) (session.Detail, error)
}
