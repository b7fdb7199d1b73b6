package witness

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"fumehood/isolate/egress/far"
)

// Bounds of what is kept.
const (
	maxBody = 64 << 10
	maxTap  = 256 << 10
	maxLog  = 10_000
	patient = 10 * time.Second
)

// Server is one destination. It speaks TLS and plain HTTP on one port.
type Server struct {
	ca   *far.Authority
	l    net.Listener
	http *http.Server
	in   chan net.Conn
	done chan struct{}
	wg   sync.WaitGroup

	mu    sync.Mutex
	log   []Seen
	taps  []*tap
	plans map[string]plan
	open  map[net.Conn]bool // not handed to http yet
}

type plan struct {
	reply Reply
	to    string
}

// Start opens one on loopback.
func Start() (*Server, error) {
	ca, err := far.NewAuthority("fumehood wall tests")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the destination of the wall tests: %w", err)
	}
	s := &Server{ca: ca, l: l, in: make(chan net.Conn), done: make(chan struct{}), plans: map[string]plan{}, open: map[net.Conn]bool{}}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: patient,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, tapKey{}, c) },
	}
	// Each request comes over a connection of its own, so that each is looked up.
	s.http.SetKeepAlivesEnabled(false)
	s.wg.Go(s.accept)
	s.wg.Go(func() { _ = s.http.Serve(opened{s}) }) // ends with Close
	return s, nil
}

// At is its address.
func (s *Server) At() string { return s.l.Addr().String() }

// Roots is what its certificates are verified against, in PEM.
func (s *Server) Roots() []byte { return s.ca.PEM() }

// Plan says how the request with a nonce is answered; to is Redirect's place.
func (s *Server) Plan(nonce string, r Reply, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans[nonce] = plan{r, to}
}

// With gives the requests that carried a nonce in header, path or query.
func (s *Server) With(nonce string) []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Seen
	for _, r := range s.log {
		if r.Nonce == nonce || bytes.Contains([]byte(r.Path+"?"+r.Query), []byte(nonce)) {
			out = append(out, r)
		}
	}
	return out
}

// Count is how many requests have arrived.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// Carried tells whether a word was among the bytes of any connection, as a
// request or not.
func (s *Server) Carried(word string) bool {
	s.mu.Lock()
	taps := slices.Clone(s.taps)
	s.mu.Unlock()
	return slices.ContainsFunc(taps, func(t *tap) bool { return t.has([]byte(word)) })
}

// Visit sends the server a request with a nonce from this process, which shows
// that it is alive.
func (s *Server) Visit(ctx context.Context, nonce string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.At()+"/visit/"+nonce, nil)
	if err != nil {
		return err
	}
	r.Header.Set(NonceHeader, nonce)
	// No proxy of the environment stands between.
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patient}
	resp, err := c.Do(r)
	if err != nil {
		return fmt.Errorf("visit the destination of the wall tests: %w", err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// Close ends every connection.
func (s *Server) Close() error {
	close(s.done)
	err := s.l.Close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close() // nobody waits for it
	}
	taps := s.taps
	s.mu.Unlock()
	for _, t := range taps {
		_ = t.Close() // one that was taken over is unknown to the server
	}
	err = errors.Join(err, s.http.Close())
	s.wg.Wait()
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return // it was closed
		}
		s.hold(c, true)
		s.wg.Go(func() {
			defer s.hold(c, false)
			t, err := s.sniff(c)
			if err != nil {
				_ = c.Close() // it spoke neither
				return
			}
			s.mu.Lock()
			s.taps = append(s.taps, t)
			s.mu.Unlock()
			select {
			case s.in <- t:
			case <-s.done:
				_ = t.Close() // the run ends
			}
		})
	}
}

func (s *Server) hold(c net.Conn, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is {
		s.open[c] = true
		return
	}
	delete(s.open, c)
}

// sniff finds out what a connection speaks.
func (s *Server) sniff(c net.Conn) (*tap, error) {
	if err := c.SetDeadline(time.Now().Add(patient)); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	below := &readAhead{Conn: c, r: r}
	t := &tap{Conn: below}
	if first[0] == 22 { // a handshake record (RFC 8446, 5.1)
		tc := tls.Server(below, s.ca.Config("http/1.1"))
		if err := tc.Handshake(); err != nil {
			return nil, err
		}
		t.Conn, t.tls, t.sni = tc, true, tc.ConnectionState().ServerName
	}
	return t, c.SetDeadline(time.Time{})
}

// opened is the listener that http takes connections from once it is known what
// they speak.
type opened struct{ s *Server }

func (o opened) Accept() (net.Conn, error) {
	select {
	case c := <-o.s.in:
		return c, nil
	case <-o.s.done:
		return nil, net.ErrClosed
	}
}

// Close does nothing: the server's own does.
func (opened) Close() error { return nil }

func (o opened) Addr() net.Addr { return o.s.l.Addr() }

type readAhead struct {
	net.Conn
	r *bufio.Reader
}

func (c *readAhead) Read(b []byte) (int, error) { return c.r.Read(b) }

type tapKey struct{}

// tap keeps what came over a connection, after TLS.
type tap struct {
	net.Conn
	tls bool
	sni string

	mu  sync.Mutex
	all []byte
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, b[:min(n, maxTap-len(t.all))]...)
	return n, err
}

func (t *tap) has(word []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.all, word)
}
