package term

import (
	"bytes"
	"context"
	"io"
	"time"
)

// subLimit is how many bytes wait for a subscriber before the output waits for
// it; it may be passed by one read.
const subLimit = 256 << 10

// Subscription is a client's view of the raw output.
type Subscription struct {
	t     *Terminal
	ready chan struct{} // of one: there is something to take
	room  chan struct{} // of one: something was taken
	gone  chan struct{}

	// guarded by t.mu
	buf    []byte
	resync bool // bytes were lost: the next thing is a repaint
	lost   bool
	closed bool
}

// Subscribe begins a raw view: first what brings an empty terminal of this
// size into the present state, then every byte of output. While the output so far
// is short, the beginning is that output itself, so that a command's lines appear
// as they would without us.
func (t *Terminal) Subscribe() *Subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := &Subscription{
		t: t, ready: make(chan struct{}, 1), room: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	if int64(len(t.early)) == t.total {
		u.buf = bytes.Clone(t.early)
	} else {
		u.resync = true
	}
	t.subs[u] = struct{}{}
	u.signal()
	return u
}

// signal says that there is something to take.
func (u *Subscription) signal() {
	select {
	case u.ready <- struct{}{}:
	default:
	}
}

// add appends output and says whether the subscriber is behind. t.mu is held.
func (u *Subscription) add(p []byte) bool {
	if u.resync {
		return false // the repaint will hold it
	}
	u.buf = append(u.buf, p...)
	u.signal()
	return len(u.buf) > subLimit
}

// waitFor lets the output wait for a subscriber that is behind, as a slow
// terminal holds its program up; one that takes nothing for Options.Stall loses
// what waits.
func (t *Terminal) waitFor(u *Subscription) {
	timer := time.NewTimer(t.opts.Stall)
	defer timer.Stop()
	for {
		t.mu.Lock()
		behind := len(u.buf) > subLimit && !u.closed
		t.mu.Unlock()
		if !behind {
			return
		}
		select {
		case <-u.room:
		case <-u.gone:
			return
		case <-t.quit:
			return
		case <-timer.C:
			t.mu.Lock()
			if len(u.buf) > subLimit {
				u.buf, u.resync, u.lost = nil, true, true
			}
			t.mu.Unlock()
			return
		}
	}
}

// Next waits for output. lost says that bytes were left out because the
// subscriber took nothing for too long; what is returned with it begins with a
// repaint of the whole screen. At the end it returns io.EOF.
func (u *Subscription) Next(ctx context.Context) (p []byte, lost bool, err error) {
	for {
		p, lost, err = u.take()
		if len(p) > 0 || err != nil {
			return p, lost, err
		}
		select {
		case <-u.ready:
		case <-u.gone:
			return nil, false, ErrEnded
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (u *Subscription) take() (p []byte, lost bool, err error) {
	u.t.mu.Lock()
	defer u.t.mu.Unlock()
	switch {
	case u.closed:
		return nil, false, ErrEnded
	case u.resync:
		p, lost = u.t.screen.Repaint(), u.lost
		u.resync, u.lost = false, false
	case len(u.buf) > 0:
		p, u.buf = u.buf, nil
		select {
		case u.room <- struct{}{}:
		default:
		}
	case u.t.ended:
		return nil, false, io.EOF
	}
	return p, lost, nil
}

// Close ends the subscription.
func (u *Subscription) Close() {
	u.t.mu.Lock()
	defer u.t.mu.Unlock()
	if u.closed {
		return
	}
	u.closed = true
	u.buf = nil
	delete(u.t.subs, u)
	close(u.gone)
}
