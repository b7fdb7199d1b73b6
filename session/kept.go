package session

import (
	"context"
	"errors"
	"sync"

	"fumehood/session/store"
	"fumehood/session/wire"
)

// maxIdle is how many connections are kept: one waits for the next picture of a
// terminal while the other takes keys.
const maxIdle = 2

// kept holds connections to the session whose terminal is looked at: opening one
// for each key would take most of the time until it is seen. Nothing is under
// way on them.
type kept struct {
	mu   sync.Mutex
	d    store.Dir
	idle []*wire.Conn
}

// ask is askOnce on a connection that was kept, if there is one.
func (k *kept) ask(ctx context.Context, d store.Dir, q wire.Request) (*wire.Reply, error) {
	for {
		c, old := k.take(d), true
		if c == nil {
			var err error
			if c, err = dial(ctx, d); err != nil {
				return nil, err
			}
			old = false
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		r, err := k.talk(ctx, d, c, q)
		if stop() && err == nil {
			k.put(d, c)
		} else {
			_ = c.Close() // broken, or what comes next is of no use
		}
		var unsent *unsentError
		switch {
		case errors.As(err, &unsent) && old && ctx.Err() == nil:
			continue // its supervisor has gone; another may have come
		case errors.As(err, &unsent):
			return nil, gone(ctx, d, unsent.error)
		case err != nil:
			return nil, err
		case r.Error != "":
			return nil, errors.New(r.Error)
		}
		return r, nil
	}
}

// unsentError says that the other end had closed before all of a request was on
// its way: it did nothing.
type unsentError struct{ error }

func (k *kept) talk(ctx context.Context, d store.Dir, c *wire.Conn, q wire.Request) (*wire.Reply, error) {
	if err := request(c, q); err != nil {
		return nil, &unsentError{err}
	}
	return takeReply(ctx, d, c)
}

func (k *kept) take(d store.Dir) *wire.Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.idle)
	if n == 0 || k.d != d {
		return nil
	}
	c := k.idle[n-1]
	k.idle = k.idle[:n-1]
	return c
}

// put keeps a connection, and lets go of those to another session.
func (k *kept) put(d store.Dir, c *wire.Conn) {
	k.mu.Lock()
	var drop []*wire.Conn
	if k.d != d {
		k.d, drop, k.idle = d, k.idle, nil
	}
	if len(k.idle) < maxIdle {
		k.idle = append(k.idle, c)
	} else {
		drop = append(drop, c)
	}
	k.mu.Unlock()
	for _, c := range drop {
		_ = c.Close() // nothing is under way on it
	}
}
