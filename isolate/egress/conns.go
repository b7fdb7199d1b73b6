package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// connSet is every connection of a proxy, from inside and to destinations.
type connSet struct {
	mu     sync.Mutex
	all    map[*conn]struct{}
	closed bool
}

// conn is a connection that its set can end.
type conn struct {
	net.Conn
	set  *connSet
	free func() // nil or once, when it is closed
	once sync.Once
	in   incoming
	// address of a destination, as it was checked.
	address string
	reading reading
}

// below is the connection of a set that c is, or that it runs over.
func below(c net.Conn) *conn {
	for {
		t, ok := c.(*tls.Conn)
		if !ok {
			break
		}
		c = t.NetConn()
	}
	k, _ := c.(*conn)
	return k
}

// add takes a connection in; once the set is closed it closes it at once.
func (s *connSet) add(c net.Conn, free func()) *conn {
	k := &conn{Conn: c, set: s, free: free}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		if s.all == nil {
			s.all = map[*conn]struct{}{}
		}
		s.all[k] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		_ = k.Close() // the session ends
	}
	return k
}

func (s *connSet) closeAll() {
	s.mu.Lock()
	s.closed = true
	all := make([]*conn, 0, len(s.all))
	for c := range s.all {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		// What was not sent yet is of no use to anybody, and would stay in the
		// kernel's memory until the other end takes it.
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it is closed in any case
		}
		_ = c.Close() // the session ends
	}
}

func (c *conn) Read(b []byte) (int, error) {
	c.reading.set(true)
	defer c.reading.set(false)
	return c.Conn.Read(b)
}

func (c *conn) Close() error {
	c.once.Do(func() {
		c.reading.end()
		c.set.mu.Lock()
		delete(c.set.all, c)
		c.set.mu.Unlock()
		if c.free != nil {
			c.free()
		}
	})
	return c.Conn.Close()
}

// CloseWrite ends one direction, for tunnels.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return c.Close()
}

// bounded is a listener with so many connections at once as there are slots.
type bounded struct {
	net.Listener
	slots chan struct{}
	done  <-chan struct{}
	set   *connSet
}

func (l *bounded) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return l.set.add(c, func() { <-l.slots }), nil
}

// incoming is what is known of a connection that a server reads requests from.
type incoming struct {
	to      exchange // of a tunnel; the zero value on the listener
	begun   atomic.Bool
	handled atomic.Bool // the request that was begun has come to a handler
	since   time.Time   // when it was begun; the connection's own goroutine's
}

type connKey struct{}

// withConn keeps with each request what is known of its connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if in := incomingOf(c); in != nil {
		return context.WithValue(ctx, connKey{}, in)
	}
	return ctx
}

// incomingOf looks below TLS: net/http needs a *tls.Conn itself.
func incomingOf(c net.Conn) *incoming {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	switch c := c.(type) {
	case *conn:
		return &c.in
	case *peeked:
		return &c.in
	}
	return nil
}

// connState writes down what net/http answered by itself, with 400, 417, 431 or
// not at all, since it could not be read as a request: no handler hears of it.
func (p *Proxy) connState(c net.Conn, state http.ConnState) {
	in := incomingOf(c)
	if in == nil {
		return
	}
	switch state {
	case http.StateActive:
		in.handled.Store(false)
		in.since = now()
		in.begun.Store(true)
	case http.StateIdle:
		in.begun.Store(false)
	case http.StateClosed:
		if in.begun.Load() && !in.handled.Load() {
			// net/http closes half a second after its answer, and others come before.
			a := &record.Attempt{Time: in.since, Host: in.to.authority.Host, Port: int(in.to.authority.Port), Status: http.StatusBadRequest}
			a.Reason, a.Detail = string(rule.NotHTTP), "it can't be read as a request, or did not come to its end"
			p.record(a)
		}
	case http.StateNew, http.StateHijacked:
	}
}

// peeked is a connection of which some bytes were read ahead.
type peeked struct {
	net.Conn
	r  *bufio.Reader
	in incoming
}

func (c *peeked) Read(b []byte) (int, error) { return c.r.Read(b) }

// queue is the listener of the inner server: what connect opened.
type queue struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newQueue() *queue { return &queue{conns: make(chan net.Conn), done: make(chan struct{})} }

func (q *queue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.done:
		_ = c.Close() // the proxy ends
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
