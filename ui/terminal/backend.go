package terminal

import (
	"context"

	"fumehood/isolate"
	"fumehood/session"
)

// Backend is what the pane asks of a session.
type Backend interface {
	// Frame gives the newest picture after since, waiting for one if need be.
	Frame(ctx context.Context, id string, since uint64, offset int) (session.Frame, error)
	// Detail tells a session that has ended from one that does not answer.
	Detail(ctx context.Context, id string) (session.Detail, error)
	// ClipText gives what the inside wanted in the clipboard by its n-th request.
	ClipText(ctx context.Context, id string, n int) (string, error)
	Keys(ctx context.Context, id string, keys []session.Key) error
	Paste(ctx context.Context, id, text string) error
	Mouse(ctx context.Context, id string, m session.Mouse) error
	Resize(ctx context.Context, id string, size isolate.Size) error
	Resume(ctx context.Context, id string, command []string, size isolate.Size) error
}
