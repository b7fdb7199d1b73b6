package egress

import (
	"encoding/json"
	"sync"
	"time"

	"fumehood/isolate/egress/record"
)

// MaxRecord bounds the record of a session, in bytes. What is attempted beyond
// is only counted.
const MaxRecord = 64 << 20

// Full is the reason on the record's last line, when it has reached its bound.
const Full = "record full"

// Counts is what was attempted, written down or not.
type Counts struct {
	Allowed, Refused int64
	Up, Down         int64 // bytes
	Cut              int64 // secrets cut out of answers
	Unwritten        int64 // attempts that came after the record was full
}

// ledger writes attempts down, one after the other. A timer runs only while
// something is held back.
type ledger struct {
	session string
	write   func(record.Attempt)

	mu     sync.Mutex
	flood  flood
	size   int64
	full   bool
	closed bool
	n      Counts
	timer  *time.Timer
}

func newLedger(session string, size int64, write func(record.Attempt)) *ledger {
	return &ledger{session: session, size: size, full: size >= MaxRecord, write: write}
}

// record writes an attempt down, as ended now.
func (p *Proxy) record(a *record.Attempt) {
	a.MS = now().Sub(a.Time).Milliseconds()
	p.ledger.add(*a)
}

// Missed writes down attempts that did not come to the proxy.
func (p *Proxy) Missed(a record.Attempt) { p.ledger.add(a) }

func (l *ledger) add(a record.Attempt) {
	a.Session = l.session
	l.mu.Lock()
	defer l.mu.Unlock()
	times := int64(max(1, a.Times))
	if a.Allowed {
		l.n.Allowed += times
	} else {
		l.n.Refused += times
	}
	l.n.Up, l.n.Down, l.n.Cut = l.n.Up+a.Up, l.n.Down+a.Down, l.n.Cut+int64(a.Cut)
	if l.closed {
		return
	}
	l.lines(l.flood.add(a, now()))
	if l.timer == nil && l.flood.holds() {
		l.timer = time.AfterFunc(floodWindow, l.tick)
	}
}

func (l *ledger) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.closed {
		return
	}
	l.lines(l.flood.due(now()))
	if l.flood.holds() {
		l.timer = time.AfterFunc(floodWindow, l.tick)
	}
}

// lines writes under mu: the lines of the record are a chain.
func (l *ledger) lines(list []record.Attempt) {
	for _, a := range list {
		n := lineSize(a)
		switch {
		case l.full:
			l.n.Unwritten += int64(max(1, a.Times))
			continue
		case l.size+n > MaxRecord:
			l.full = true
			l.n.Unwritten += int64(max(1, a.Times))
			a = record.Attempt{
				Time: now(), Session: l.session, Reason: Full,
				Detail: "what is attempted from here on is counted, and written down no more",
			}
		}
		l.size += n
		l.write(a)
	}
}

// lineSize is how long a line gets, with its hash and what the store adds.
func lineSize(a record.Attempt) int64 {
	b, err := json.Marshal(a)
	if err != nil { // it has only text, numbers and a time of our own
		return 1 << 10
	}
	return int64(len(b)) + 192
}

func (l *ledger) counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// close writes what is held back. Nothing is written after it.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines(l.flood.rest(now()))
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
