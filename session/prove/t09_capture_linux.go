package prove

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// captures makes captured runs, each in a session of its own, by the calls that
// "run --json" makes.
type captures struct {
	e  *env
	mu sync.Mutex // held while a session is made
}

// capturedRun is how one came out, and what was seen of it.
type capturedRun struct {
	dir   store.Dir
	pol   *policy.Policy // it ran with
	began time.Time
	res   *session.Result
	end   *wire.End
	// out is what the supervisor stored of its standard output, and gap how many
	// bytes of it are no longer stored.
	out []byte
	gap int64
	// seen says that it was in the host's process table; gone is when it was not
	// any more, and left what was after goneWithin.
	seen bool
	gone time.Time
	left []string
}

// run makes one; argv is given where the probe lies inside, and where it runs.
func (c *captures) run(ctx context.Context, pol *policy.Policy, argv func(program, repo string) []string) (*capturedRun, error) {
	r, name, err := c.start(ctx, pol, argv)
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan bool, 1)
	go func() {
		for hogPause(watching, lookEvery) {
			if all, err := processesOf(name); err == nil && len(all) > 0 {
				seen <- true
				return
			}
		}
		seen <- false
	}()
	r.began = time.Now()
	if r.res, r.end, err = c.e.host.RunResult(ctx, r.dir, strings.NewReader("")); err != nil {
		return nil, err
	}
	stop()
	r.seen = <-seen
	for {
		if r.left, err = processesOf(name); err != nil {
			return nil, err
		}
		r.gone = time.Now()
		if len(r.left) == 0 || time.Since(r.began) > testFor || !hogPause(ctx, lookEvery) {
			break
		}
	}
	err = r.dir.ReadOutput(func(st store.Stream, p []byte) error {
		if st == store.Stdout {
			r.out = append(r.out, p...)
		}
		return nil
	}, func(n int64) error { r.gap += n; return nil })
	if err != nil {
		return nil, fmt.Errorf("read what was stored: %w", err)
	}
	return r, nil
}

func (c *captures) start(ctx context.Context, pol *policy.Policy, argv func(program, repo string) []string) (*capturedRun, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.e
	e.rooms++
	with := *pol
	if e.loosen != nil {
		e.loosen(&with)
	}
	file := filepath.Join(e.dir, fmt.Sprintf("policy-%d.toml", e.rooms))
	if err := atomicfile.Write(file, policy.Encode(&with), 0o600); err != nil {
		return nil, "", fmt.Errorf("policy of a session: %w", err)
	}
	name := fmt.Sprintf("%s-%s-%d", probe.Name, e.id, e.rooms)
	program := isolate.HomeInside + "/" + name
	dest, err := e.far()
	if err != nil {
		return nil, "", err
	}
	id, err := e.host.Create(ctx, session.Request{
		Repo: e.repo, Policy: file, Agent: "command", Name: fmt.Sprintf("walls-%d", e.rooms), Command: argv(program, e.repo), Hold: true, Bound: true, Proving: true, Stand: dest.stand(""),
	}, nil)
	if err != nil {
		return nil, "", fmt.Errorf("start a session: %w", err)
	}
	s := &sess{e: e, dir: e.host.Root.Dir(id), path: program}
	e.open = append(e.open, s)
	rec, err := s.dir.LoadRecord()
	if err != nil {
		return nil, "", err
	}
	if err := copyProgram(filepath.Join(s.dir.Home(), name), rec.UID, rec.GID); err != nil {
		return nil, "", err
	}
	return &capturedRun{dir: s.dir, pol: &with}, name, nil
}

// job is one attempt of those that are made beside each other.
type job struct {
	id, tried, expected string
	do                  func(ctx context.Context) (outcome, error)
}

// together makes attempts beside each other, so many at once, and tells of each
// in its order.
func (e *env) together(ctx context.Context, lanes int, jobs []job) ([]walls.Attempt, error) {
	type done struct {
		at  int
		o   outcome
		err error
	}
	next, results := make(chan int, len(jobs)), make(chan done)
	for i := range jobs {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			for i := range next {
				o, err := jobs[i].do(ctx)
				if err != nil {
					o = errored(err.Error())
				}
				results <- done{i, o, ctx.Err()}
			}
		})
	}
	go func() { wg.Wait(); close(results) }()
	out := make([]walls.Attempt, len(jobs))
	var errs []error
	for d := range results {
		_, text := nonce()
		r := row{id: jobs[d.at].id, tried: jobs[d.at].tried, expected: jobs[d.at].expected}
		out[d.at] = r.attempt(text, false, d.o, "")
		e.tell(walls.Event{Test: e.test, Attempt: &out[d.at]})
		errs = append(errs, d.err)
	}
	return out, errors.Join(errs...)
}
