// Package egress is the only way out of a session: an HTTP proxy that the
// supervisor serves on a listener made inside the session's network namespace.
// It lets through what an entry of the policy names, as destination, operation
// and account, and writes every attempt down. The decisions are rule's and
// account's, which are pure; the mechanics are net/http's. Everything that
// comes in, from inside or from a destination, is hostile. A Proxy owns its
// goroutines: Close ends them and waits.
//
// What this does not cover: what an allowed operation's bodies carry, a secret
// that a destination splits over two frames of a websocket, and a malformed
// HTTP/2 stream, which net/http resets without telling anyone.
package egress

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// Address is where the proxy is reached from inside.
const Address = "127.0.0.1:3128"

// Config is what a proxy needs. Functions may be called from several goroutines.
type Config struct {
	Session string
	Entries []rule.Entry
	// Accounts that the entries name.
	Accounts []account.Account
	// Secret reads an account's real credential; Stale says that the destination
	// refused it, so that the next read must not come from a store of old ones.
	Secret func(ctx context.Context, name string) (string, error)
	Stale  func(name string)
	// Other tells whose placeholder a value is, when another session's.
	Other func(value string) (session string, ok bool)
	// Record writes an attempt down, one call after the other. Recorded is how
	// many bytes the record has already, from earlier lives of the session.
	Record   func(record.Attempt)
	Recorded int64
	// Upstream is how connections are made and what they are verified against.
	Upstream Upstream
	// Omit leaves a part out. Only session/prove fills it, through StandIn.
	Omit Part
}

// Proxy serves one session.
type Proxy struct {
	cfg     Config
	ca      *authority
	table   atomic.Pointer[rule.Table]
	finder  *account.Finder
	jar     *account.Jar
	cutters cutters
	ways    ways
	outer   *http.Server // what comes in on the listener
	inner   *http.Server // what comes in through an opened tunnel
	tunnels *queue
	caps    caps
	ledger  *ledger
	conns   connSet
	waiting atomic.Int64  // requests without a slot
	slots   chan struct{} // one for each request that is being carried
	ctx     context.Context
	cancel  context.CancelFunc
	stop    sync.Once

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // handlers; added to with mu held, while not closed
}

// Bounds of what one session's inside can make the supervisor hold.
const (
	maxConns      = 768
	maxRequests   = 768 // carried at once; the others wait
	maxWaiting    = 512 // wait at once; more are refused
	maxStreams    = 64  // of one HTTP/2 connection
	maxHeader     = 64 << 10
	maxAnswer     = 256 << 10 // a destination's header
	headerTimeout = 30 * time.Second
	idleTimeout   = 15 * time.Minute
	dialTimeout   = 20 * time.Second
	closeTimeout  = 3 * time.Second
	ioBuffer      = 16 << 10 // of a connection to a destination, each way
	copyBuffer    = 16 << 10
	farWrite      = 256 << 10 // that the kernel keeps of one connection to a destination
	farRead       = 512 << 10
	innerWindow   = 128 << 10 // what one HTTP/2 connection from inside may have under way
	streamWindow  = 1 << 20   // what one HTTP/2 stream of a destination may
	answerWindow  = 16 << 20  // and all streams of one connection
)

// New makes a proxy with a certificate authority of its own.
func New(cfg Config) (*Proxy, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	jar, err := account.NewJar()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		cfg: cfg, ca: ca, jar: jar, finder: account.NewFinder(cfg.Accounts), tunnels: newQueue(), caps: newCaps(),
		ledger: newLedger(cfg.Session, cfg.Recorded, cfg.Record), slots: make(chan struct{}, maxRequests),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.ways.p = p
	if err := p.Allow(cfg.Entries); err != nil {
		return nil, err
	}
	p.outer = p.server(p.serve)
	p.inner = p.server(p.serveTunnel)
	p.inner.TLSConfig = ca.config()
	return p, nil
}

func (p *Proxy) server(h http.HandlerFunc) *http.Server {
	return &http.Server{
		Handler: p.counted(h), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:                     log.New(io.Discard, "", 0), // what net/http logs is the inside's own bytes
		DisableGeneralOptionsHandler: true, BaseContext: func(net.Listener) context.Context { return p.ctx },
		ConnContext: withConn, ConnState: p.connState,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: innerWindow, MaxReceiveBufferPerStream: innerWindow / 2,
		},
	}
}

// counted keeps count of the handlers, so that Close can wait for what they
// still write down.
func (p *Proxy) counted(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*incoming); ok {
			c.handled.Store(true)
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			panic(http.ErrAbortHandler) // net/http's way to end a connection without an answer
		}
		p.work.Add(1)
		p.mu.Unlock()
		defer p.work.Done()
		h(w, r)
	}
}

// CA is the certificate that the inside has to trust, in PEM. Its key never
// leaves this process's memory.
func (p *Proxy) CA() []byte { return p.ca.pem }

// Allow replaces the entries. Requests under way go on; connections that rest
// are not used again, since what was checked of them may count no more.
func (p *Proxy) Allow(entries []rule.Entry) error {
	t, err := rule.Compile(entries)
	if err != nil {
		return err
	}
	p.table.Store(t)
	p.ways.closeIdle()
	return nil
}

// Counts is what was attempted so far, also beyond the bound of the record.
func (p *Proxy) Counts() Counts { return p.ledger.counts() }

// Serve serves the listener until Close.
func (p *Proxy) Serve(l net.Listener) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return l.Close()
	}
	p.work.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.work.Done()
		_ = p.inner.Serve(p.tunnels) // ends with Close
	}()
	err := p.outer.Serve(&bounded{Listener: l, slots: make(chan struct{}, maxConns), done: p.ctx.Done(), set: &p.conns})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends every connection, both ways, and returns when what was under way
// is written down.
func (p *Proxy) Close() {
	p.stop.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cancel()
		_ = p.outer.Close() // what can fail is a connection that is gone
		_ = p.inner.Close()
		_ = p.tunnels.Close()
		p.conns.closeAll() // net/http's Close leaves out what was taken over
		p.ways.closeIdle()
		ended := make(chan struct{})
		go func() { p.work.Wait(); close(ended) }()
		t := time.NewTimer(closeTimeout)
		defer t.Stop()
		select {
		case <-ended:
		case <-t.C: // a source of a credential that hangs
		}
		p.ledger.close()
	})
}

// onClose has f called when the proxy ends, until stop is.
func (p *Proxy) onClose(f func()) (stop func() bool) { return context.AfterFunc(p.ctx, f) }

// serve answers what comes in on the listener: CONNECT, or a request with an
// absolute URL.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if ref, bad := proxyAuth(r.Header); bad {
		p.refuse(w, r, ref)
		return
	}
	if r.Method == http.MethodConnect {
		p.connect(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		p.refuse(w, r, refusal{reason: rule.BadAuthority, detail: "not a request for a proxy"})
		return
	}
	a, err := rule.ParseAuthority(r.URL.Host, 80)
	if err != nil {
		p.refuse(w, r, refusal{reason: rule.BadAuthority, detail: err.Error()})
		return
	}
	p.forward(w, r, exchange{scheme: "http", authority: a})
}

// exchange is where a request goes to.
type exchange struct {
	scheme    string
	authority rule.Authority
}
