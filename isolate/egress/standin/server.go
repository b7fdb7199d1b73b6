package standin

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"fumehood/isolate/egress/far"
)

// Server is the servers. Whoever starts it closes it.
type Server struct {
	Root string // packages/ and git/ are served from below it

	ca    *far.Authority
	tls   *http.Server
	proxy *http.Server
	addr  string // of the TLS server
	out   string // of the proxy
	wg    sync.WaitGroup

	mu      sync.Mutex
	arrived []string
}

// What the proxy asks for. The password is looked for in all that a session
// wrote.
const (
	User     = "company"
	Password = "upstream-password-0123456789"
)

// Start listens on loopback.
func Start(root string) (*Server, error) {
	ca, err := far.NewAuthority("company of the tests")
	if err != nil {
		return nil, err
	}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen, on loopback: %w", err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen, on loopback: %w", err), secure.Close())
	}
	quiet := log.New(io.Discard, "", 0)
	s := &Server{Root: root, ca: ca, addr: secure.Addr().String(), out: plain.Addr().String()}
	s.tls = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, ErrorLog: quiet, TLSConfig: ca.Config("http/1.1")}
	s.proxy = &http.Server{Handler: http.HandlerFunc(s.tunnel), ReadHeaderTimeout: time.Minute, ErrorLog: quiet}
	s.wg.Go(func() { _ = s.tls.ServeTLS(secure, "", "") }) // ends with Close
	s.wg.Go(func() { _ = s.proxy.Serve(plain) })
	return s, nil
}

// Proxy is what HTTPS_PROXY has to be.
func (s *Server) Proxy() string { return "http://" + User + ":" + Password + "@" + s.out }

// CA is what has to be trusted, in PEM.
func (s *Server) CA() []byte { return s.ca.PEM() }

// Arrived is what came since it was last asked, a line a request: METHOD HOST
// URI BYTES AUTHORIZATION.
func (s *Server) Arrived() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.arrived
	s.arrived = nil
	return out
}

func (s *Server) wrote(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived = append(s.arrived, line)
}

// Close ends the servers and everything that is connected.
func (s *Server) Close() error {
	err := errors.Join(s.tls.Close(), s.proxy.Close())
	s.wg.Wait()
	return err
}

// tunnel answers a CONNECT to any host with the TLS server.
func (s *Server) tunnel(w http.ResponseWriter, r *http.Request) {
	asked := &http.Request{Header: http.Header{"Authorization": r.Header.Values("Proxy-Authorization")}}
	if user, password, _ := asked.BasicAuth(); user != User || password != Password {
		s.wrote("PROXY " + r.Host + " without its password")
		w.Header().Set("Proxy-Authenticate", "Basic realm=company")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	far.Tunnel(w, r, s.addr)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body := &counted{ReadCloser: r.Body}
	r.Body = body
	host, _, _ := strings.Cut(r.Host, ":")
	handle, ok := sites[host]
	if !ok {
		handle = answer
	}
	handle(s, w, r)
	s.wrote(fmt.Sprintf("%s %s %s %d %s", r.Method, host, r.URL.RequestURI(), body.n, r.Header.Get("Authorization")))
}

type counted struct {
	io.ReadCloser
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.n += int64(n)
	return n, err
}
