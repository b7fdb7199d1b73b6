package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fumehood/session/baseline"
	"fumehood/session/store"
)

// soonEnough is how long a review that is opened waits for a fresh snapshot of a
// live session, where there is an older one to show.
const soonEnough = 150 * time.Millisecond

// open is the change set to begin a review with: of a fresh snapshot. Of a live
// session the newest there was is shown instead where the fresh one is not there
// by the time that it could be on the screen; that one is taken all the same.
// GoneOn tells then that there is more to see, and nothing changes by itself.
func (c *Client) open(ctx context.Context, d store.Dir) (*Review, error) {
	if !d.Live() {
		return c.Review(ctx, d, true, c.Ignored...)
	}
	soon := time.NewTimer(soonEnough)
	defer soon.Stop()
	taken, shown := make(chan error, 1), make(chan *Review, 1)
	defer close(shown)
	go func() { // ends with its supervisor's answer, or ctx
		err := c.Snapshot(ctx, d, c.Ignored...)
		taken <- err
		if old, ok := <-shown; ok && err == nil {
			c.compare(d, old)
		}
	}()
	old, err := Look(ctx, d)
	var enough <-chan time.Time // never: what there is can't be shown
	if err == nil && asked(old.Snap, c.Ignored) {
		enough = soon.C
	}
	select {
	case <-enough:
		shown <- old
		return old, nil
	case err := <-taken:
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		return Look(ctx, d)
	}
}

// same says of a snapshot that is shown that one taken later found nothing else.
type same struct{ shown, later time.Time }

// compare notes whether the newest snapshot has just what an older one has that
// is shown. When it can't be told, it is not the same.
func (c *Client) compare(d store.Dir, old *Review) {
	now, err := baseline.Open(baselineDirs(d))
	if err == nil && slices.Equal(now.Changes(), old.Snap.Changes()) {
		c.unchanged.Store(d.ID(), same{old.Snap.At, now.At})
	}
}

// GoneOn is Host.GoneOn, of what is shown.
func (c *Client) GoneOn(ctx context.Context, id string, since time.Time) (bool, error) {
	if v, ok := c.unchanged.Load(id); ok {
		if s, ok := v.(same); ok && s.shown.Equal(since) {
			since = s.later
		}
	}
	return c.Host.GoneOn(ctx, c.Root.Dir(id), since)
}
