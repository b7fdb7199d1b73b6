package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fumehood/isolate/limits"
	"fumehood/isolate/plan"
)

const (
	proveFor  = 2 * time.Second
	proveStep = 2 * time.Millisecond
)

// Pause stops everything inside but PID 1, and returns when that is proven from
// the host's /proc: every thread stopped, twice the same ones. Else it is an
// error, and all run again. resume lets them run; its error says that something
// ran meanwhile after all (a process can set a timer that continues it), so
// that what was read during the pause must not be trusted. Jobs that were
// stopped before stay so. One pause at a time: a second waits for the first's
// resume, and so does Spawn.
func (s *Sandbox) Pause(ctx context.Context) (resume func() error, err error) {
	if err := s.enterGate(ctx); err != nil {
		return nil, fmt.Errorf("pause: %w", err)
	}
	s.pauses++
	number := s.pauses
	if err := s.askPause(ctx, number); err != nil {
		s.leaveGate()
		return nil, fmt.Errorf("pause: %w", err)
	}
	proof, err := proveStopped(ctx, s.PID())
	if err != nil {
		err = errors.Join(fmt.Errorf("pause: %w", err), s.askResume(number))
		s.leaveGate()
		return nil, err
	}
	done := false
	return func() error {
		if done {
			return nil
		}
		done = true
		defer s.leaveGate()
		return errors.Join(stillStopped(s.PID(), proof), s.askResume(number))
	}, nil
}

// askPause must not leave a pause behind that nobody ends: without an answer
// the sandbox can't be told from one that is stuck, and is ended.
func (s *Sandbox) askPause(ctx context.Context, number int) error {
	if err := s.ctl.Send(plan.ToStage{Pause: number}); err != nil {
		return err
	}
	a, err := s.await(func(m plan.FromStage) *plan.Answer { return m.Paused }, number)
	if err != nil {
		return err
	}
	if a.Err != "" {
		return errors.New(a.Err) // PID 1 let all run again
	}
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), s.askResume(number))
	}
	return nil
}

func (s *Sandbox) askResume(number int) error {
	if err := s.ctl.Send(plan.ToStage{Resume: number}); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	a, err := s.await(func(m plan.FromStage) *plan.Answer { return m.Resumed }, number)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if a.Err != "" {
		return fmt.Errorf("resume: %s", a.Err)
	}
	return nil
}

// awaitFor is longer than PID 1 tries.
const awaitFor = 8 * time.Second

func (s *Sandbox) await(pick func(plan.FromStage) *plan.Answer, number int) (*plan.Answer, error) {
	t := time.NewTimer(awaitFor)
	defer t.Stop()
	select {
	case m := <-s.answers:
		if a := pick(m); a != nil && a.Number == number {
			return a, nil
		}
		return nil, errors.Join(errors.New("an answer to something else"), s.Kill())
	case <-s.done:
		return nil, ErrEnded
	case <-t.C:
		return nil, errors.Join(fmt.Errorf("no answer from PID 1 within %v", awaitFor), s.Kill())
	}
}

// stopped is one thread as it was when it was stopped. Its switches tell
// whether it has run since.
type stopped struct {
	pid, tid int
	start    string
	switches string
}

// proveStopped looks until two walks in a row find the same threads, each
// stopped and unmoved.
func proveStopped(ctx context.Context, first int) ([]stopped, error) {
	deadline := time.Now().Add(proveFor)
	var last []stopped
	var why error
	for time.Now().Before(deadline) && ctx.Err() == nil {
		now, err := lookAt(first)
		if err == nil && last != nil && slices.Equal(now, last) {
			return now, nil
		}
		last, why = now, err
		if err != nil {
			last = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(proveStep):
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, errors.Join(fmt.Errorf("not proven stopped within %v", proveFor), why)
}

// stillStopped compares with the proof at the end of a pause.
func stillStopped(first int, proof []stopped) error {
	now, err := lookAt(first)
	if err != nil {
		return fmt.Errorf("a process ran during the pause: %w", err)
	}
	if !slices.Equal(now, proof) {
		return errors.New("a process ran during the pause")
	}
	return nil
}

// lookAt lists every thread below first, or says which one is not stopped. A
// thread that vanishes while it looks is an error too: the walk may then have
// missed one that moved.
func lookAt(first int) ([]stopped, error) {
	pids, err := limits.Tree(first)
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, errors.New("no process there")
	}
	out := []stopped{}
	for _, pid := range pids {
		// A zombie is looked at too: its other threads may still run.
		tids, err := limits.Tasks(pid)
		if err != nil {
			return nil, err
		}
		for _, tid := range tids {
			one, err := lookThread(pid, tid)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b stopped) int { return a.tid - b.tid })
	return out, nil
}

func lookThread(pid, tid int) (stopped, error) {
	// The state is read after the counter: a thread that ran in between is
	// either not stopped now or has another count the next time.
	status, err := readStatus(pid, tid)
	if err != nil {
		return stopped{}, err
	}
	st, err := limits.ReadStat(pid, tid)
	if err != nil {
		return stopped{}, err
	}
	switch st.State {
	case 'T', 'Z', 'X':
	default:
		return stopped{}, fmt.Errorf("process %d, thread %d is in state %c", pid, tid, st.State)
	}
	vol, err := number(status, "voluntary_ctxt_switches")
	if err != nil {
		return stopped{}, err
	}
	invol, err := number(status, "nonvoluntary_ctxt_switches")
	if err != nil {
		return stopped{}, err
	}
	return stopped{pid: pid, tid: tid, start: st.Start, switches: strconv.Itoa(vol) + "+" + strconv.Itoa(invol)}, nil
}

// enterGate waits for its turn: a pause lasts for as long as a snapshot takes.
func (s *Sandbox) enterGate(ctx context.Context) error {
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-s.done:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Sandbox) leaveGate() { <-s.gate }
