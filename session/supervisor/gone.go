package supervisor

import (
	"time"

	"fumehood/session"
)

// mark is how everything inside stood at a live snapshot, while it stood still.
type mark struct {
	from, to time.Time // the snapshot's own time lies between
	heard    time.Time // the last output of anything
	work     int64     // cpu of the processes, nanoseconds
	execs    int
}

const (
	// A program that waits still wakes up now and then: so much cpu since the
	// snapshot counts as none.
	idleWork  = 50 * time.Millisecond
	idleShare = 50 // and a fiftieth of the time since
)

// markSnapshot notes how all stands, before what is inside goes on. A mark that
// can't be made leaves none, and then something counts as gone on.
func (s *supervisor) markSnapshot(from time.Time) {
	m := &mark{from: from, to: time.Now(), heard: s.heard()}
	u, err := s.sb.Usage()
	if err != nil {
		s.log.Printf("usage at a snapshot: %v", err)
		m = nil
	} else {
		m.work = u.Work
	}
	s.mu.Lock()
	if m != nil {
		m.execs = s.execs
	}
	s.marked = m
	s.mu.Unlock()
	if err := session.NoteLiveSnapshot(s.dir, time.Now()); err != nil {
		s.log.Printf("note a snapshot: %v", err)
	}
}

// goneOn tells whether anything inside has gone on since a snapshot.
func (s *supervisor) goneOn(since time.Time) bool {
	s.mu.Lock()
	m, execs := s.marked, s.execs
	s.mu.Unlock()
	heard := s.heard()
	switch {
	case m == nil || since.After(m.to): // of an earlier run, or none of a live one
		return heard.After(since)
	case since.Before(m.from): // a newer one was taken
		return true
	case heard.After(m.heard), execs != m.execs:
		return true
	}
	u, err := s.sb.Usage()
	if err != nil {
		return true
	}
	// Less than before: a process that had used some has ended.
	spare := int64(idleWork) + int64(time.Since(m.to))/idleShare
	return u.Work < m.work || u.Work-m.work > spare
}

// heard is when anything inside last wrote to its terminal or streams.
func (s *supervisor) heard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.rec.Started
	for r := range s.runs {
		at := time.Unix(0, r.last.Load())
		if r.term != nil {
			at, _ = r.term.Activity()
		}
		last = later(last, at)
	}
	return last
}
