package start

import (
	"context"

	"fumehood/session"
)

// Backend is what the page asks before and at a start.
type Backend interface {
	Agents(ctx context.Context) []session.AgentChoice
	Policies(ctx context.Context) []string
	Preview(ctx context.Context, r session.Request) (session.Preview, error)
	// TrustPolicy brings into force what the repository's own policy asks for, as it
	// was shown.
	TrustPolicy(r *session.RepositoryPolicy) error
	// Create copies the repository in and starts the session. It calls progress
	// from any goroutine, until it returns.
	Create(ctx context.Context, r session.Request, progress func(done, total int, bytes int64)) (id string, err error)
}
