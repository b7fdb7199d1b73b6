package prove

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// ending is one way in which a sandbox comes to its end, with a daemon and a
// stopped child in it that no signal ends.
type ending struct {
	id, tried string
	// bound has the session's first client be a process of its own, with which
	// the captured run ends.
	bound bool
	// stays says that an empty group of the kernel's may stay until the next
	// start: nobody is left to take it away.
	stays bool
	says  []string // what the record may say afterwards
	do    func(ctx context.Context, l *life) error
	// undo ends what a stopped process holds up; also when do has failed.
	undo func(l *life)
}

const livesFor = 20 * time.Second

// atOnce is how many of them are made at the same time. Most wait.
const atOnce = 4

func nothingOutlives(ctx context.Context, e *env) ([]walls.Attempt, error) {
	switch e.target.kind() {
	case ours:
		return together(e, len(endings), func(i int) walls.Attempt { return e.endSession(ctx, endings[i]) }), nil
	case foreign:
		return together(e, len(launchEndings), func(i int) walls.Attempt { return e.endLaunch(ctx, launchEndings[i]) }), nil
	case bare:
		rm, err := e.openRoom(ctx, e.lasting())
		if err != nil {
			return nil, err
		}
		a := e.endBare(ctx, rm)
		e.tell(walls.Event{Test: e.test, Attempt: &a})
		return []walls.Attempt{a}, rm.close(ctx)
	}
	return nil, errors.New("a target of no known kind")
}

// together makes n attempts, some at once, and tells of each in its order.
func together(e *env, n int, one func(i int) walls.Attempt) []walls.Attempt {
	out := make([]walls.Attempt, n)
	done := make([]chan struct{}, n)
	free := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range n {
		done[i] = make(chan struct{})
		wg.Go(func() {
			free <- struct{}{}
			out[i] = one(i)
			<-free
			close(done[i])
		})
	}
	for i := range n {
		<-done[i]
		e.tell(walls.Event{Test: e.test, Attempt: &out[i]})
	}
	wg.Wait()
	return out
}

// attempt makes the record of an end.
func (l lifetime) attempt(id, tried, word string, o outcome) walls.Attempt {
	r := row{id: id, tried: tried, expected: fmt.Sprintf("all gone within %v, and nothing left", endsWithin)}
	a := r.attempt(word, false, o, "")
	if l.processes > 0 {
		a.Control = clean(l.live())
	}
	return a
}

// daemonJob leaves the daemon and the stopped child behind.
func daemonJob(word, file string, linger time.Duration) probe.Job {
	return probe.Job{Actions: []probe.Action{{Do: "daemon", Args: map[string]string{
		"word": word, "lives": livesFor.String(), "linger": linger.String(), "file": file,
	}}}}
}

// endBare ends a sandbox's first process.
func (e *env) endBare(ctx context.Context, rm room) walls.Attempt {
	const id, tried = "first-kill", "KILL to the sandbox's first process"
	_, word := nonce()
	var l lifetime
	fail := func(err error) walls.Attempt { return l.attempt(id, tried, word, errored(err.Error())) }
	_, ws := rm.workspace()
	got, err := rm.probe(ctx, daemonJob(word, ws+"/beat", 0), how{})
	if err != nil {
		return fail(err)
	}
	if said := got.said[0]; said.Err != "" {
		return fail(errors.New(said.Err))
	}
	_, _, l = observe(ctx, word)
	h, err := herdBelow(rm.first())
	if err != nil {
		return fail(err)
	}
	l.processes = len(h)
	if err := unix.Kill(rm.first(), unix.SIGKILL); err != nil {
		return fail(fmt.Errorf("%s: %w", tried, err))
	}
	l.took, l.alive = h.ended(ctx)
	return l.attempt(id, tried, word, outlived(l))
}
