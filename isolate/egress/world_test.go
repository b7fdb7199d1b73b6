package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// The account of the tests.
const (
	secret      = "real-secret-0123456789"
	placeholder = "ph_0123456789abcdefghijABCDEFGHIJ0123456789"
)

// world is a proxy, its record, and destinations on loopback that stand for
// names below .test.
type world struct {
	testing.TB
	proxy *Proxy
	addr  string // of the proxy
	ca    *authority
	to    map[string]string
	cfg   Config
	tune  func(*Proxy) // before it serves

	mu   sync.Mutex
	said []record.Attempt
}

// What net/http's client logs has a destination's bytes in it; a supervisor
// logs nothing of it either.
func init() { log.SetOutput(io.Discard) }

func entry(destination string, operations ...string) rule.Entry {
	return rule.Entry{Name: "allow " + destination, Destination: destination, Operations: operations, Account: "none"}
}

func withAccount(e rule.Entry) rule.Entry {
	e.Account = "me"
	return e
}

func newWorld(t testing.TB, entries ...rule.Entry) *world {
	t.Helper()
	ca, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	attach, err := account.ParseAttach("Authorization: Bearer {secret}")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, ca: ca, to: map[string]string{}}
	w.cfg = Config{
		Session: "s1", Entries: entries, Accounts: []account.Account{{Name: "me", Attach: attach, Placeholder: placeholder}},
		Secret: func(context.Context, string) (string, error) { return secret, nil }, Stale: func(string) {},
		Other: func(v string) (string, bool) { return "s2", v == "another-sessions-placeholder-000000000000" },
		Record: func(a record.Attempt) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, a)
		},
		Upstream: Upstream{To: w.to, Roots: ca.pem},
	}
	return w
}

// start serves the proxy.
func (w *world) start() *world {
	w.Helper()
	p, err := New(w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	if w.tune != nil {
		w.tune(p)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.proxy, w.addr = p, l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	w.Cleanup(func() {
		p.Close()
		if err := <-served; err != nil {
			w.Errorf("serve: %v", err)
		}
	})
	return w
}

// tls serves a destination over TLS, with HTTP/2, and has the name lead there.
func (w *world) tls(hostport string, h http.HandlerFunc) *world {
	w.Helper()
	a, err := rule.ParseAuthority(hostport, 0)
	if err != nil {
		w.Fatal(err)
	}
	cert, err := w.ca.certificate(a)
	if err != nil {
		w.Fatal(err)
	}
	return w.tlsWith(hostport, &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}}, h)
}

func (w *world) tlsWith(hostport string, cfg *tls.Config, h http.HandlerFunc) *world {
	w.Helper()
	l := w.raw(hostport)
	s := &http.Server{Handler: h, TLSConfig: cfg, ReadHeaderTimeout: time.Minute, ErrorLog: discard}
	go func() { _ = s.ServeTLS(l, "", "") }() // ends with Close
	w.Cleanup(func() { _ = s.Close() })
	return w
}

// plain serves a destination over plain HTTP.
func (w *world) plain(hostport string, h http.HandlerFunc) *world {
	w.Helper()
	l := w.raw(hostport)
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: discard}
	go func() { _ = s.Serve(l) }() // ends with Close
	w.Cleanup(func() { _ = s.Close() })
	return w
}

// raw has a name lead to a listener.
func (w *world) raw(hostport string) net.Listener {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.to[hostport] = l.Addr().String()
	w.Cleanup(func() { _ = l.Close() })
	return l
}

// bytes serves each connection to a name with f.
func (w *world) bytes(hostport string, f func(net.Conn)) *world {
	w.Helper()
	l := w.raw(hostport)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	return w
}

// rawTLS does so within TLS, HTTP/1.1.
func (w *world) rawTLS(hostport string, f func(net.Conn)) *world {
	w.Helper()
	a, err := rule.ParseAuthority(hostport, 0)
	if err != nil {
		w.Fatal(err)
	}
	cert, err := w.ca.certificate(a)
	if err != nil {
		w.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"http/1.1"}}
	return w.bytes(hostport, func(c net.Conn) { f(tls.Server(c, cfg)) })
}

// client is one inside: it uses the proxy and trusts the session's certificate.
func (w *world) client(protocols ...string) *http.Client {
	w.Helper()
	t := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr}),
		TLSClientConfig:    &tls.Config{RootCAs: w.roots()},
		DisableCompression: true, ExpectContinueTimeout: time.Minute,
	}
	t.ForceAttemptHTTP2 = len(protocols) > 0 && protocols[0] == "h2"
	w.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *world) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.proxy.CA())
	return pool
}

// conn is a bare connection to the proxy.
func (w *world) conn() net.Conn {
	w.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// tunnel is a connection with a CONNECT that was answered.
func (w *world) tunnel(hostport string) net.Conn {
	w.Helper()
	c := w.conn()
	_, _ = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", hostport, hostport)
	var head strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); {
		if _, err := io.ReadFull(c, b); err != nil {
			w.Fatalf("CONNECT %s: got %q, want an answer", hostport, head.String())
		}
		head.Write(b)
	}
	if got, want := head.String(), "HTTP/1.1 200"; !strings.HasPrefix(got, want) {
		w.Fatalf("CONNECT %s: got %q, want %q", hostport, got, want)
	}
	return c
}

// within is such a tunnel with TLS in it.
func (w *world) within(hostport string) *tls.Conn {
	w.Helper()
	host, _, _ := strings.Cut(hostport, ":")
	c := tls.Client(w.tunnel(hostport), &tls.Config{RootCAs: w.roots(), ServerName: host, NextProtos: []string{"http/1.1"}})
	if err := c.Handshake(); err != nil {
		w.Fatal(err)
	}
	return c
}

// attempts are those written down, as soon as ok says so.
func (w *world) attempts(ok func([]record.Attempt) bool) []record.Attempt {
	w.Helper()
	for end := time.Now().Add(15 * time.Second); ; {
		w.mu.Lock()
		said := append([]record.Attempt(nil), w.said...)
		w.mu.Unlock()
		if ok(said) {
			return said
		}
		if time.Now().After(end) {
			w.Fatalf("got these attempts, want others: %+v", said)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func (w *world) some(n int) []record.Attempt {
	w.Helper()
	return w.attempts(func(a []record.Attempt) bool { return len(a) >= n })
}

// last is the n-th attempt, once it is there.
func (w *world) nth(n int) record.Attempt { return w.some(n)[n-1] }

func body(t testing.TB, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v after %q", err, b)
	}
	return string(b)
}

func get(t testing.TB, c *http.Client, u string, header ...string) (int, string) {
	t.Helper()
	return do(t, c, http.MethodGet, u, nil, header...)
}

func do(t testing.TB, c *http.Client, method, u string, b io.Reader, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, u, b)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	text := body(t, resp, err)
	return resp.StatusCode, text
}

// answerOf sends bytes and gives the first answer's status and body.
func answerOf(c net.Conn, request string) (int, string, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(b), err
}

func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "%s %s %s", r.Proto, r.Method, r.URL)
}

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}
