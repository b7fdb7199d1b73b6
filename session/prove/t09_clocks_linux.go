package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
	"fumehood/session"
)

// The longest that each clock is waited for. A longer one of the policy's is
// tried in a copy of it.
const (
	clockRun     = 700 * time.Millisecond
	clockSession = 1200 * time.Millisecond
	clockIdle    = 700 * time.Millisecond
	// clockLate is how long after its time a clock may have ended it.
	clockLate = 3 * time.Second
	// clockForeign is the longest of another sandbox's, which can't be chosen.
	clockForeign = 3 * time.Second
)

// clocks outlasts each clock that the policy has.
func clocks(ctx context.Context, e *env) ([]walls.Attempt, error) {
	if e.target.kind() == foreign {
		return e.together(ctx, 1, []job{{
			"run_time", "sleep past the run's limit, and heed no signal", "ended at the limit",
			func(ctx context.Context) (outcome, error) { return foreignClock(ctx, e) },
		}})
	}
	c := &clockRuns{e: e, runs: captures{e: e}}
	l := e.pol.Limits
	jobs := []job{
		c.past("run_time sleep", "heed no signal and sleep past the run's limit", "run_time", l.RunTime, clockRun, "sleep"),
		c.past("run_time spin", "heed no signal and spin past the run's limit", "run_time", l.RunTime, clockRun, "spin"),
		c.many(l.SessionTime),
		c.idle(e.pol.Lifecycle.Idle),
	}
	return e.together(ctx, len(jobs), jobs)
}

type clockRuns struct {
	e    *env
	runs captures
}

// timed is the policy under test with one clock alone.
func timed(p *policy.Policy, name string, value time.Duration) *policy.Policy {
	out := *p
	out.Limits.RunTime, out.Limits.SessionTime, out.Lifecycle.Idle = 0, 0, 0
	switch name {
	case "run_time":
		out.Limits.RunTime = value
	case "session_time":
		out.Limits.SessionTime = value
	case "idle":
		out.Lifecycle.Idle = value
	}
	return &out
}

// clockExpected says what has to come of a clock.
func clockExpected(name string, value, tried time.Duration) string {
	if value <= 0 {
		return "no limit"
	}
	text := fmt.Sprintf("ended at %s, within %v after it, named as %s; all gone", policy.FormatDuration(tried), clockLate, name)
	if tried != value {
		text += fmt.Sprintf(" (a copy of the policy with %s instead of %s: the same mechanism)", policy.FormatDuration(tried), policy.FormatDuration(value))
	}
	return text
}

func noClock(name string) outcome { return notApplicable("the policy sets " + name + " to never") }

// past is one run that goes on past a clock.
func (c *clockRuns) past(id, tried, name string, value, most time.Duration, how string) job {
	value, short := value, min(value, most)
	return job{id, tried, clockExpected(name, value, short), func(ctx context.Context) (outcome, error) {
		if value <= 0 {
			return noClock(name), nil
		}
		return longEnough(name, value, most, func(short time.Duration) (clockSeen, error) {
			r, err := c.runs.run(ctx, timed(c.e.pol, name, short), func(program, _ string) []string {
				return []string{program, "outlast", how, strconv.FormatInt((short + clockLate + time.Second).Milliseconds(), 10)}
			})
			if err != nil {
				return clockSeen{}, err
			}
			return clockSeen{value: short, took: r.gone.Sub(r.began), limit: r.res.Limit, state: string(r.end.State), seen: r.seen, left: r.left}, nil
		})
	}}
}

// clockTries is how often a clock is tried that was over before there was anything
// to end, each time four times as long: a busy machine is slow to begin and to
// go on.
const clockTries = 3

// longEnough tries a clock of at most the policy's value, and judges it.
func longEnough(name string, value, most time.Duration, try func(short time.Duration) (clockSeen, error)) (outcome, error) {
	for left := clockTries; ; left-- {
		s, err := try(min(value, most))
		if err != nil {
			return outcome{}, err
		}
		if s.seen && !s.cut || s.limit == nil || left == 1 || most >= value {
			o := judgeClock(name, s)
			if left < clockTries {
				o.observed += fmt.Sprintf("; tried with %s, as a shorter one was over before it had done anything", policy.FormatDuration(min(value, most)))
			}
			return o, nil
		}
		most *= 4
	}
}

// many is one run after the other, none of which is long.
func (c *clockRuns) many(value time.Duration) job {
	short := min(value, clockSession)
	return job{"session_time", "run one short command after the other past the session's limit", clockExpected("session_time", value, short), func(ctx context.Context) (outcome, error) {
		if value <= 0 {
			return noClock("session_time"), nil
		}
		runs := 0
		o, err := longEnough("session_time", value, clockSession, func(short time.Duration) (clockSeen, error) {
			var seen clockSeen
			var err error
			seen, runs, err = c.runsUntil(ctx, short)
			return seen, err
		})
		o.observed += fmt.Sprintf("; %d runs were made by then", runs)
		return o, err
	}}
}

// runsUntil makes short runs in a session of its own until its time is over.
func (c *clockRuns) runsUntil(ctx context.Context, short time.Duration) (seen clockSeen, runs int, err error) {
	c.runs.mu.Lock()
	begin := time.Now() // the clock of the session begins within
	rm, err := c.e.openRoom(ctx, timed(c.e.pol, "session_time", short))
	c.runs.mu.Unlock()
	if err != nil {
		return clockSeen{}, 0, err
	}
	s, ok := rm.(*sess)
	if !ok {
		return clockSeen{}, 0, errors.New("it needs a whole session")
	}
	for time.Since(begin) < short+clockLate+time.Second && s.dir.Live() {
		got, err := rm.probe(ctx, probe.Job{Actions: []probe.Action{{Do: "outlast", Args: map[string]string{"how": "sleep", "ms": "150"}}}}, how{})
		if err != nil || got.ended != "exit 0" {
			break // the record says why
		}
		runs++
	}
	for end := time.Now().Add(goneWithin); s.dir.Live() && time.Now().Before(end) && hogPause(ctx, lookEvery); {
		continue
	}
	w := hogWatch{name: filepath.Base(s.path), first: s.pid}
	left, err := w.gone(ctx)
	if err != nil {
		return clockSeen{}, 0, err
	}
	rec, err := s.dir.LoadRecord()
	if err != nil {
		return clockSeen{}, 0, err
	}
	return clockSeen{value: short, took: time.Since(begin), limit: rec.Limit, state: string(rec.State), seen: runs > 1, left: left}, runs, nil
}

// idle is a run that talks for longer than the clock and is silent then: it has
// to be ended for its silence, and not before.
func (c *clockRuns) idle(value time.Duration) job {
	short := min(value, clockIdle)
	const talk = 800 * time.Millisecond
	return job{"idle", fmt.Sprintf("write a line every 50 ms for %v, then be silent past the limit", talk), clockExpected("idle", value, short) + "; not before it is silent", func(ctx context.Context) (outcome, error) {
		if value <= 0 {
			return noClock("idle"), nil
		}
		lines := 0
		const want = int(talk / (50 * time.Millisecond))
		o, err := longEnough("idle", value, clockIdle, func(short time.Duration) (clockSeen, error) {
			r, err := c.runs.run(ctx, timed(c.e.pol, "idle", short), func(program, _ string) []string {
				return []string{program, "chatter", strconv.FormatInt(talk.Milliseconds(), 10), strconv.FormatInt((short + clockLate + time.Second).Milliseconds(), 10)}
			})
			if err != nil {
				return clockSeen{}, err
			}
			lines = bytes.Count(r.out, []byte(probe.Chatter))
			// Its last line comes one pause before it falls silent.
			return clockSeen{value: short, quiet: talk - 2*50*time.Millisecond, took: r.gone.Sub(r.began), limit: r.res.Limit, state: string(r.end.State), seen: r.seen, cut: lines < want, left: r.left}, nil
		})
		return judgeChatter(o, lines, want), err
	}}
}

// foreignClock outlasts the run_time of the policy in another sandbox.
func foreignClock(ctx context.Context, e *env) (outcome, error) {
	value := e.pol.Limits.RunTime
	switch {
	case value <= 0:
		return noClock("run_time"), nil
	case value > clockForeign:
		return errored(fmt.Sprintf("not shown: a run_time of %s is longer than a test may take; give a policy with at most %v", policy.FormatDuration(value), clockForeign)), nil
	}
	rm, err := e.openRoom(ctx, e.pol)
	if err != nil {
		return outcome{}, err
	}
	seen := false
	begin := time.Now()
	got, err := rm.probe(ctx, probe.Job{Actions: []probe.Action{{Do: "outlast", Args: map[string]string{
		"how": "sleep", "ms": strconv.FormatInt((value + clockLate).Milliseconds(), 10),
	}}}}, how{started: func(int) { seen, begin = true, time.Now() }})
	if err != nil {
		return outcome{}, err
	}
	took := time.Since(begin)
	line := fmt.Sprintf("the command ended with %s after %v", got.ended, took.Round(time.Millisecond))
	switch said, finished := got.said[0]; {
	case !seen:
		return errored("the probe was not seen"), nil
	case finished && said.Err != "":
		return errored(said.Err), nil
	case finished:
		return failed("nothing ended it", walls.Clock, line), nil
	case strings.HasPrefix(got.ended, endedFromOutside):
		return errored("it had to be ended by the test"), nil
	case took < value:
		return errored("it ended before the limit: " + got.ended), nil
	}
	return held("ended", walls.Clock, line), nil
}

// clockSeen is what was seen of a run against a clock.
type clockSeen struct {
	value time.Duration
	quiet time.Duration // how long the clock was kept from running
	took  time.Duration // until nothing of it was there any more
	limit *session.Limit
	state string
	seen  bool // it was there
	cut   bool // it was not done with what it does before
	left  []string
}
