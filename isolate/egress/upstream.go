package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fumehood/isolate/egress/rule"
)

// Upstream is how destinations are reached. The zero value is as the host does.
type Upstream struct {
	// Proxy is the host's own proxy for a URL, nil for none. Its URL may hold a
	// password, which goes to that proxy and into nothing else.
	Proxy func(*url.URL) (*url.URL, error)
	// CAFile and CADir are where the host's own programs were told to find
	// certificates (SSL_CERT_FILE, SSL_CERT_DIR); empty is the system's.
	CAFile, CADir string
	// Resolve looks a name up; nil asks the host's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Own lists this machine's addresses; nil asks the kernel.
	Own func() ([]netip.Addr, error)
	// To sends a destination to another address and trusts its certificate by
	// Roots: how wall tests stand in for a destination. Only session/prove fills it.
	To    map[string]string
	Roots []byte // PEM
}

// ways are how requests go on: straight to the destination, or through the
// host's own proxy. The two never share a dialer, so that the address of that
// proxy is no destination that the inside could reach without an entry. They are
// made at the first request: a session without one spends nothing on them.
type ways struct {
	p    *Proxy
	once sync.Once

	mu          sync.Mutex
	made        bool
	direct, via *http.Transport
}

// way is one of them. proxy is nil when it is straight.
type way struct {
	transport *http.Transport
	proxy     *url.URL
}

type proxyKey struct{}

func (w way) into(ctx context.Context) context.Context {
	return context.WithValue(ctx, proxyKey{}, w.proxy)
}

// byProxy is the detail of an attempt whose name was not resolved here.
const byProxy = "resolved by the host's proxy"

func (s *ways) make() {
	s.once.Do(func() {
		roots := hostRoots(s.p.cfg.Upstream)
		direct, via := s.transport(roots), s.transport(roots)
		direct.DialContext = s.p.dial
		via.DialContext = s.p.dialProxy
		via.Proxy = func(r *http.Request) (*url.URL, error) {
			u, _ := r.Context().Value(proxyKey{}).(*url.URL)
			return u, nil
		}
		via.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			return proxyAnswer(resp.StatusCode)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.direct, s.via, s.made = direct, via, true
	})
}

func (s *ways) transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 32, MaxIdleConns: 256,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: dialTimeout, ExpectContinueTimeout: time.Second,
		MaxResponseHeaderBytes: maxAnswer, WriteBufferSize: ioBuffer, ReadBufferSize: ioBuffer,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: answerWindow, MaxReceiveBufferPerStream: streamWindow},
	}
}

func (s *ways) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made {
		s.direct.CloseIdleConnections()
		s.via.CloseIdleConnections()
	}
}

// to is the way to a destination.
func (s *ways) to(x exchange) (way, error) {
	s.make()
	u, err := s.proxyFor(x)
	if err != nil || u == nil {
		return way{transport: s.direct}, err
	}
	return way{transport: s.via, proxy: u}, nil
}

// proxyFor is the host's own proxy for a destination. Names are resolved there
// then, but an address is judged here.
func (s *ways) proxyFor(x exchange) (*url.URL, error) {
	if s.p.cfg.Upstream.Proxy == nil {
		return nil, nil //nolint:nilnil // no proxy is an answer, as in net/http
	}
	u, err := s.p.cfg.Upstream.Proxy(&url.URL{Scheme: x.scheme, Host: x.authority.String()})
	if err != nil { // it may quote the URL, password and all
		return nil, refusal{reason: rule.Unreachable, detail: "the host's proxy setting can't be read", status: http.StatusBadGateway}
	}
	if u == nil {
		return nil, nil //nolint:nilnil // as above
	}
	return u, s.p.literal(s.p.reach(s.p.table.Load(), x.authority), x.authority)
}

// tunnel opens a connection for an opaque tunnel, and tells whether the host's
// own proxy did.
func (s *ways) tunnel(ctx context.Context, a rule.Authority) (far net.Conn, byHost bool, err error) {
	u, err := s.proxyFor(exchange{scheme: "https", authority: a})
	if err != nil {
		return nil, false, err
	}
	if u == nil {
		far, err = s.p.dial(ctx, "tcp", a.String())
		return far, false, err
	}
	s.make()
	far, err = tunnelThrough(ctx, s.p.dialProxy, s.via.TLSClientConfig, u, a.String())
	return far, true, err
}

// hostRoots is what certificates of destinations are verified against, as
// OpenSSL and Go find it on the host: a file, and a folder besides.
func hostRoots(u Upstream) *x509.CertPool {
	pool := x509.NewCertPool()
	if u.CAFile == "" && u.CADir == "" {
		if p, err := x509.SystemCertPool(); err == nil {
			pool = p // without any, nothing is trusted
		}
		pool.AppendCertsFromPEM(u.Roots)
		return pool
	}
	files := bundles()
	if u.CAFile != "" {
		files = []string{u.CAFile}
	}
	for _, name := range files {
		if b, err := readBounded(name); err == nil {
			pool.AppendCertsFromPEM(b)
			break
		}
	}
	for _, b := range folderCerts(u.CADir) {
		pool.AppendCertsFromPEM(b)
	}
	pool.AppendCertsFromPEM(u.Roots)
	return pool
}

// folderCerts is what the files of a list of folders hold, of the system's when
// it is empty.
func folderCerts(dirs string) [][]byte {
	list := filepath.SplitList(dirs)
	if len(list) == 0 {
		list = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
	}
	var out [][]byte
	for _, dir := range list {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // most hosts have one of them
		}
		for _, e := range entries[:min(len(entries), maxCertFiles)] {
			if b, err := readBounded(filepath.Join(dir, e.Name())); err == nil {
				out = append(out, b)
			}
		}
	}
	return out
}

// maxCertFiles bounds how many files of one folder are read.
const maxCertFiles = 4096
