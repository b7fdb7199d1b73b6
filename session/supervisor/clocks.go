package supervisor

import (
	"context"
	"fmt"
	"time"

	"fumehood/session/wire"
)

// startClocks arms the limits that are watched from outside.
func (s *supervisor) startClocks(m *sampler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-s.began:
		case <-ctx.Done():
			close(m.done)
			return
		}
		l := s.pol.Limits
		s.clock(ctx, "session_time", l.SessionTime)
		// The policy's run_time is for captured commands; what the user asked
		// for at this start holds for an attached one too.
		run := s.start.RunTime
		if run <= 0 && !s.start.TTY {
			run = l.RunTime
		}
		s.clock(ctx, "run_time", run)
		if idle := s.pol.Lifecycle.Idle; idle > 0 {
			go s.idleClock(ctx, idle)
		}
		go m.run(ctx)
	}()
	return cancel
}

// leastWarning is the shortest notice worth giving.
const leastWarning = 5 * time.Second

// clock ends the session once value of unpaused time has gone by, with a
// warning a tenth of it (at most a minute) before.
func (s *supervisor) clock(ctx context.Context, name string, value time.Duration) {
	if value <= 0 {
		return
	}
	begin := time.Now()
	ahead := min(value/10, time.Minute)
	go func() {
		warned := ahead < leastWarning
		for {
			used := time.Since(begin) - s.pausedFor()
			next := value - used
			if !warned {
				next -= ahead
			}
			if next <= 0 && !warned {
				warned = true
				s.warnOnce(name, fmt.Sprintf("limit %s: %v left of %v", name, (value-used).Round(time.Second), value))
				continue
			}
			if next <= 0 {
				s.limit(name, value.String(), used.Round(10*time.Millisecond).String())
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
			}
		}
	}()
}

// clockRun arms run_time for one exec.
func (s *supervisor) clockRun(r *run) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	value := s.pol.Limits.RunTime
	if value <= 0 || r.tty {
		return cancel
	}
	go func() {
		select {
		case <-ctx.Done():
		case <-time.After(value):
			used := time.Since(r.started).Round(10 * time.Millisecond).String()
			r.tell(wire.End{State: wire.StateLimit, Began: true, Limit: &wire.Limit{Name: "run_time", Value: value.String(), Used: used}})
			// Its children can't be told from the session's others, so a run
			// over its time ends the session, as it would for the main command.
			s.limit("run_time", value.String(), used)
		}
	}()
	return cancel
}

// idleClock ends the session when nothing was written or typed for so long.
func (s *supervisor) idleClock(ctx context.Context, idle time.Duration) {
	for {
		quiet := time.Since(s.lastActivity())
		if quiet >= idle {
			s.limit("idle", idle.String(), quiet.Round(10*time.Millisecond).String())
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(idle-quiet, 10*time.Millisecond)):
		}
	}
}

// limit ends the session because a limit was reached.
func (s *supervisor) limit(name, value, used string) {
	_ = s.event("limit", fmt.Sprintf("%s: %s reached, used %s", name, value, used), nil)
	s.end(wire.End{State: wire.StateLimit, Began: true, Limit: &wire.Limit{Name: name, Value: value, Used: used}})
}

// warnOnce tells every client and the record one line, once per key.
func (s *supervisor) warnOnce(key, text string) {
	s.mu.Lock()
	seen := s.lastWarn[key]
	s.lastWarn[key] = true
	var clients []*wire.Conn
	for r := range s.runs {
		r.mu.Lock()
		for c := range r.watchers {
			clients = append(clients, c)
		}
		r.mu.Unlock()
	}
	s.mu.Unlock()
	if seen {
		return
	}
	_ = s.event("warning", text, nil)
	for _, c := range clients {
		go func() { _ = c.Write(wire.KindNotice, []byte(text)) }() // a client that does not read must not hold the clock
	}
}

func (s *supervisor) pausedFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

func (s *supervisor) lastActivity() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.rec.Started
	for r := range s.runs {
		last = later(last, r.activity())
	}
	return last
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
