package walls

import (
	"context"

	"fumehood/isolate/walls"
	"fumehood/session"
)

// Backend is what the place asks of a session and of the wall tests.
type Backend interface {
	Detail(ctx context.Context, id string) (session.Detail, error)
	// Walls gives the frozen policy of a session with what is proven of it; with
	// no session the policy that is named, "" being that of a new session.
	Walls(ctx context.Context, id, policy string) (session.Walls, error)
	// Prove runs wall tests and keeps what they prove. It calls tell from any
	// goroutine, until it returns. What ctx ended is not kept.
	Prove(ctx context.Context, run walls.Run, tell func(walls.Event)) (*walls.Record, error)
	// Mutate leaves out one part of the walls at a time and says which tests
	// noticed. It calls tell as Prove does.
	Mutate(ctx context.Context, policy string, tell func(walls.Event)) (*walls.Matrix, error)
	// SaveRecord writes a record to a new file and gives its whole path.
	SaveRecord(ctx context.Context, rec *walls.Record, path string) (string, error)
}
