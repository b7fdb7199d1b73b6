package egress

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// reading tells whether a read of a connection is under way: then all that had
// come was taken, and nothing is left above it.
type reading struct {
	mu   sync.Mutex
	on   bool
	gone bool
	next chan struct{} // closed at the next change; nil when nobody waits
}

func (r *reading) set(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = on
	r.tell()
}

func (r *reading) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	r.tell()
}

func (r *reading) tell() {
	if r.next != nil {
		close(r.next)
		r.next = nil
	}
}

// look gives a channel to wait on when it is neither read nor closed.
func (r *reading) look() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on || r.gone {
		return nil
	}
	if r.next == nil {
		r.next = make(chan struct{})
	}
	return r.next
}

// maxUnread is how long a connection may take to come to rest.
const maxUnread = 5 * time.Second

// atRest waits until the transport reads the connection that it has just taken
// for a request, so that a destination's bytes beyond its last answer have been
// met while no answer was expected, which closes it. net/http offers a
// connection again before it looks for such bytes, and would take them for the
// answer to the request.
func atRest(ctx context.Context, c net.Conn) {
	if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return // its answers carry the number of their request
	}
	k := below(c)
	if k == nil {
		return
	}
	late := time.NewTimer(maxUnread)
	defer late.Stop()
	for {
		changed := k.reading.look()
		if changed == nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return // the transport sees it as well
		case <-late.C:
			_ = k.Close() // the request fails, and says so
			return
		}
	}
}
