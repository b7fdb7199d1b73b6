package egress

import (
	"time"

	"fumehood/isolate/egress/record"
)

// Bounds of what is written down of refusals that are alike.
const (
	floodAfter  = 20 // in one window are written, each with a line of its own
	floodWindow = time.Second
	floodKinds  = 512 // are told apart at once
)

// flood tells which refusals are written down each, and which are counted and
// written as one line. A program that is refused and tries again at once, as
// coding agents do some thousand times a minute, would else fill the record.
// What is allowed is always written.
type flood struct {
	kinds map[kind]*burst
	held  int       // kinds of which some are held back
	next  time.Time // no window is looked at before
}

// kind is what makes refusals alike: all but the time and the path, which could
// be another each time.
type kind struct {
	method, host, rule, reason string
	port                       int
}

type burst struct {
	began time.Time
	n     int
	held  record.Attempt // the first of those that were not written
	times int
	hot   bool // it was too many the window before, so none is written each
}

// add takes an attempt in and gives what is to be written now.
func (f *flood) add(a record.Attempt, now time.Time) []record.Attempt {
	out := f.due(now)
	if a.Allowed {
		return append(out, a)
	}
	k := kind{a.Method, a.Host, a.Rule, a.Reason, a.Port}
	b := f.kinds[k]
	if b == nil {
		if f.kinds == nil {
			f.kinds = map[kind]*burst{}
		}
		if len(f.kinds) >= floodKinds {
			// As many hosts as that at once are a flood themselves.
			k = kind{reason: a.Reason}
			if b = f.kinds[k]; b == nil {
				b = &burst{began: now, hot: true}
				f.kinds[k] = b
			}
		} else {
			b = &burst{began: now}
			f.kinds[k] = b
		}
	}
	if b.n++; b.n <= floodAfter && !b.hot {
		return append(out, a)
	}
	n := max(1, a.Times)
	if b.times == 0 {
		b.held = a
		f.held++
	}
	b.times += n
	return out
}

// due gives the lines of windows that are over.
func (f *flood) due(now time.Time) []record.Attempt {
	if now.Before(f.next) {
		return nil
	}
	f.next = now.Add(floodWindow / 4)
	return f.flush(now, floodWindow)
}

// rest gives the lines of all windows.
func (f *flood) rest(now time.Time) []record.Attempt { return f.flush(now, 0) }

func (f *flood) flush(now time.Time, age time.Duration) []record.Attempt {
	var out []record.Attempt
	for k, b := range f.kinds {
		if now.Sub(b.began) < age {
			continue
		}
		if b.times == 0 {
			delete(f.kinds, k)
			continue
		}
		if b.held.Times = b.times; b.times == 1 {
			b.held.Times = 0
		}
		out = append(out, b.held)
		f.held--
		*b = burst{began: now, hot: true}
	}
	return out
}

// holds says that some are counted that no line tells of yet.
func (f *flood) holds() bool { return f.held > 0 }
