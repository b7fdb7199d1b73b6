package prove

import (
	"context"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls/probe"
	"fumehood/isolate/walls/trace"
)

// target is what the tests are pointed at.
type target interface {
	// open makes a fresh sandbox. pol is the policy to start it with: the one
	// under test, or one with smaller limits.
	open(ctx context.Context, pol *policy.Policy) (room, error)
	// kind tells which witnesses there are.
	kind() kind
}

// kind is what sort of sandbox is tested.
type kind string

const (
	ours    kind = "session" // a session like any other
	bare    kind = "bare"    // isolate's sandbox alone, with a part left out
	foreign kind = "against" // another program's
)

// room is one sandbox.
type room interface {
	// probe runs a probe in it to its end.
	probe(ctx context.Context, job probe.Job, o how) (*ran, error)
	// workspace is where the copy of the repository lies on the host, and where
	// it appears inside; both are the same where nothing is copied.
	workspace() (host, inside string)
	// home is the folder inside that is the session's own, "" when unknown.
	home() string
	// first is the host's number of the sandbox's first process, 0 when unknown.
	first() int
	// close ends it, and waits until all of it is gone.
	close(ctx context.Context) error
}

// how is how a probe is run.
type how struct {
	// patience is how long the probe may be silent; 0 is attemptFor.
	patience time.Duration
	trace    bool
	// seek are texts that the tracer looks for in what the kernel hands out.
	seek []string
	// started is told the probe's number on the host before it gets its job.
	started func(pid int)
}

// ran is what came of a probe.
type ran struct {
	log   *trace.Log // nil when it was not traced
	blind string     // why it could not be traced though it should have been
	hello probe.Hello
	said  map[int]probe.Said
	out   []byte // all of its output, at most maxOut
	done  bool   // it made its last attempt
	ended string // how its process ended: "exit 0", "signal killed", ...
}

// maxOut bounds what is kept of a probe's output.
const maxOut = 32 << 20
