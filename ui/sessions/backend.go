package sessions

import (
	"context"

	"fumehood/session"
)

// Backend is what the list asks of sessions.
type Backend interface {
	List(ctx context.Context, all bool) ([]session.Summary, error)
	Detail(ctx context.Context, id string) (session.Detail, error)
	Frame(ctx context.Context, id string, since uint64, offset int) (session.Frame, error)
	Stop(ctx context.Context, id string) error
	Remove(ctx context.Context, id string, force bool) error
}
