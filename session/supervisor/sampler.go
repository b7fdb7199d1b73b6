package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fumehood/internal/beneath"
	"fumehood/isolate"
	"fumehood/isolate/limits"
	"fumehood/isolate/policy"
	"fumehood/session/wire"
)

// blindFor is how long a limit may go unsampled. A session that can't be
// looked at any more is not bounded any more.
const blindFor = 15 * time.Second

// sampler looks at what is inside while it works, and seldom while it rests,
// so that a session at rest costs nothing. It owns its state; one goroutine
// runs it.
type sampler struct {
	s     *supervisor
	limit int64 // of memory; 0 is none
	disk  limits.Disk
	dirs  []*beneath.Dir // workspace, home and caches; none without a limit on disk
	pace  limits.Pace

	nextLook time.Time     // at the processes
	full     time.Time     // the last full look at them
	seen     time.Time     // the last time that all limits were sampled
	done     chan struct{} // closed when run has returned
	usage    isolate.Usage
}

func (s *supervisor) newSampler() (*sampler, error) {
	m := &sampler{s: s, limit: int64(s.pol.Limits.Memory), disk: limits.Disk{Limit: int64(s.pol.Limits.Disk)}, done: make(chan struct{})}
	m.pace.Limit = m.limit
	if m.disk.Limit <= 0 {
		return m, nil
	}
	paths := []string{s.dir.Workspace(), s.dir.Home()}
	for _, c := range s.start.Caches {
		// Beside it lies what nobody can look into: the kernel's own part.
		paths = append(paths, isolate.UpperFolder(s.dir.Cache(c.Name)))
	}
	for _, path := range paths {
		d, err := beneath.OpenRoot(path, beneath.OneMount)
		if err != nil {
			m.close()
			return nil, fmt.Errorf("limit disk: %w", err)
		}
		m.dirs = append(m.dirs, d)
	}
	free, _, err := limits.Free(m.dirs[0])
	if err != nil {
		m.close()
		return nil, fmt.Errorf("limit disk: ask for free space: %w", err)
	}
	m.disk.Begin(free)
	return m, nil
}

func (m *sampler) close() {
	for _, d := range m.dirs {
		_ = d.Close() // only read from
	}
}

// run samples until ctx ends or a limit is reached.
func (m *sampler) run(ctx context.Context) {
	defer close(m.done)
	m.seen = time.Now()
	for {
		reached, err := m.look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case reached != nil:
			m.s.limit(reached.Name, reached.Value, reached.Used)
			return
		case err == nil:
			m.seen = time.Now()
		case m.blind(err) && (m.limit > 0 || m.dirs != nil):
			m.s.end(wire.End{State: wire.StateFailed, Began: true, Error: fmt.Sprintf("limits can't be sampled any more: %v", err)})
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(m.pause()):
		}
	}
}

// blind says that after this error nothing will be sampled any more, or nothing
// was for too long. A meter that is gone because the sandbox is, is no such end.
func (m *sampler) blind(err error) bool {
	if errors.Is(err, isolate.ErrNoMeter) {
		select {
		case <-m.s.sb.Done():
		default:
			return true
		}
	}
	return time.Since(m.seen) > blindFor
}

// wait returns when run has; its state is the caller's then.
func (m *sampler) wait() { <-m.done }

// pause is until the next look: at free space often, while anything works.
func (m *sampler) pause() time.Duration {
	next := max(time.Until(m.nextLook), time.Millisecond)
	if m.dirs != nil && !m.pace.AtRest() {
		next = min(next, limits.DiskEvery)
	}
	return next
}

func (m *sampler) look(ctx context.Context) (*limits.Error, error) {
	now := time.Now()
	switch {
	case now.Before(m.nextLook):
	case m.stillAtRest(now):
		// A little of the processor's time shows in no count, and fills a disk.
		m.nextLook = now.Add(limits.RestEvery)
	default:
		m.full = now
		u, err := m.s.sb.Usage()
		if err != nil {
			m.nextLook = now.Add(limits.BusyEvery)
			return nil, err
		}
		m.usage = u
		m.s.sample(u)
		if u.Over {
			return memoryReached(u, m.limit), nil
		}
		m.nextLook = now.Add(m.pace.Next(u.RSS, u.Work))
	}
	if m.dirs == nil {
		return nil, nil
	}
	free, names, err := limits.Free(m.dirs[0])
	if err != nil || !m.disk.Due(free, now) && !m.disk.DueNames(names, now) {
		return nil, err
	}
	m.disk.FreeNames = names
	return m.walk(ctx, free)
}

// memoryReached says what was over which limit on memory.
func memoryReached(u isolate.Usage, limit int64) *limits.Error {
	e := &limits.Error{Name: "memory", Value: policy.Bytes(limit).String(), Used: limits.Bytes(u.RSS)}
	switch {
	case u.Pressed != "":
		e.Value = "the machine's for " + u.Pressed + " queues"
		e.Used = "all of it, most by this session's sockets"
	case u.Kernel != 0:
		e.Used = fmt.Sprintf("%s by the kernel since the session began, with the machine short of memory, and %s by its processes", limits.Bytes(u.Kernel), e.Used)
	}
	return e
}

// restFull is how often a session at rest is looked at in full.
const restFull = 10 * time.Second

// stillAtRest spares a session at rest the full look: without processor time
// nothing in it allocates or writes.
func (m *sampler) stillAtRest(now time.Time) bool {
	if !m.pace.AtRest() || now.Sub(m.full) >= restFull {
		return false
	}
	work, err := m.s.sb.Work()
	return err == nil && m.pace.Still(work)
}

func (m *sampler) walk(ctx context.Context, free int64) (*limits.Error, error) {
	use, err := limits.WalkDisk(ctx, m.dirs, limits.DiskEntries(m.disk.Limit))
	if err != nil {
		return nil, err
	}
	u, err := m.s.sb.Usage() // what files without a name take
	if err != nil {
		return nil, err
	}
	used, over := m.disk.Found(use, u.Deleted, free, time.Now())
	if !over {
		return nil, nil
	}
	return &limits.Error{Name: "disk", Value: policy.Bytes(m.disk.Limit).String(), Used: used}, nil
}

// memory says whether the kernel has ended the session for its memory.
func (m *sampler) memory() *limits.Error {
	peak, yes := m.s.sb.OutOfMemory()
	if !yes {
		return nil
	}
	return &limits.Error{Name: "memory", Value: policy.Bytes(m.limit).String(), Used: limits.Bytes(max(peak, m.limit))}
}

// last looks once more at the disk when nothing inside writes any more: the
// kernel ends a process whose one file reaches the limit, and a command can be
// done with it before the next look.
func (m *sampler) last(ctx context.Context) *limits.Error {
	if m.dirs == nil {
		return nil
	}
	free, _, err := limits.Free(m.dirs[0])
	if err != nil {
		m.s.log.Printf("last look at the disk: %v", err)
	}
	if !m.disk.Last(free) {
		return nil
	}
	use, err := limits.WalkDisk(ctx, m.dirs, limits.DiskEntries(m.disk.Limit))
	if err != nil {
		m.s.log.Printf("last look at the disk: %v", err)
		return nil
	}
	used, over := m.disk.Found(use, 0, free, time.Now())
	if !over {
		return nil
	}
	return &limits.Error{Name: "disk", Value: policy.Bytes(m.disk.Limit).String(), Used: used}
}

func (s *supervisor) sample(u isolate.Usage) {
	s.missed()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peak.PeakRSS = max(s.peak.PeakRSS, u.RSS)
	s.peak.Procs = max(s.peak.Procs, u.Processes)
	s.peak.CPUMS = max(s.peak.CPUMS, u.CPU/int64(time.Millisecond))
}
