package session

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"fumehood/session/store"
)

// trafficCache keeps what was read of each session's record, so that a look
// every second reads only what is new.
type trafficCache struct {
	mu  sync.Mutex
	of  map[store.Dir]*traffic
	use []store.Dir // in the order of their last use
}

// maxCached bounds how many sessions' records are kept.
const maxCached = 64

// Egress gives what a session tried to reach.
func (h *Host) Egress(d store.Dir) (Traffic, error) {
	h.traffic.mu.Lock()
	defer h.traffic.mu.Unlock()
	t, err := h.traffic.read(d)
	if err != nil {
		return Traffic{}, fmt.Errorf("read the egress record of session %s: %w", d.ID(), err)
	}
	rec, err := d.LoadRecord()
	if err != nil {
		return Traffic{}, err
	}
	if t.view.Policy, err = rec.PolicyName, t.entries(d, rec); err != nil {
		return Traffic{}, err
	}
	v := t.view
	v.Groups, v.Live = slices.Clone(v.Groups), d.Live()
	return v, nil
}

// counts is how many requests of a session were let through and refused; -1
// each when that can't be read.
func (h *Host) counts(d store.Dir) (allowed, refused int) {
	h.traffic.mu.Lock()
	defer h.traffic.mu.Unlock()
	t, err := h.traffic.read(d)
	if err != nil {
		return -1, -1
	}
	return t.view.Allowed, t.view.Refused
}

// read takes in what is new; mu is held.
func (c *trafficCache) read(d store.Dir) (*traffic, error) {
	if c.of == nil {
		c.of = map[store.Dir]*traffic{}
	}
	t := c.of[d]
	if t == nil {
		t = &traffic{group: map[string]int{}}
		c.of[d] = t
	}
	if i := slices.Index(c.use, d); i >= 0 {
		c.use = slices.Delete(c.use, i, i+1)
	}
	c.use = append(c.use, d)
	if len(c.use) > maxCached {
		delete(c.of, c.use[0])
		c.use = c.use[1:]
	}
	var err error
	t.at, err = d.EgressFrom(t.at, t.add)
	t.view.Damaged = t.at.Damaged
	return t, err
}

// entries says what the policy lets through, once for each form of its file.
func (t *traffic) entries(d store.Dir, rec *store.Record) error {
	fi, err := os.Stat(d.Policy())
	if err != nil || fi.ModTime().Equal(t.mark) {
		return err
	}
	pol, err := frozen(d, rec)
	if err != nil {
		return err
	}
	t.view.Entries = nil
	for _, a := range pol.Network.Allow {
		t.view.Entries = append(t.view.Entries, EntryText(a))
	}
	t.mark = fi.ModTime()
	return nil
}

// since gives what a reader that stopped at an earlier place has not seen.
func since(d store.Dir, at store.EgressAt) (Traffic, error) {
	t := &traffic{at: at, group: map[string]int{}}
	_, err := d.EgressFrom(at, t.add)
	return t.view, err
}

// EgressEnd is where a session's egress record ends now.
func EgressEnd(d store.Dir) (store.EgressAt, error) {
	return d.EgressFrom(store.EgressAt{}, func(Attempt) {})
}

// RefusedSince counts what was let through and refused since, and lists what was
// refused, most often first, at most 50 destinations and reasons.
func RefusedSince(d store.Dir, at store.EgressAt) (Egress, []Refused, error) {
	v, err := since(d, at)
	if err != nil {
		return Egress{}, nil, fmt.Errorf("read the egress record: %w", err)
	}
	return Egress{Allowed: v.Allowed, Refused: v.Refused}, refusedIn(v.Groups), nil
}
