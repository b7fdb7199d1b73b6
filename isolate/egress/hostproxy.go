package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/proxy"

	"fumehood/isolate/egress/rule"
)

type dialFunc func(ctx context.Context, network, hostport string) (net.Conn, error)

// tunnelThrough asks the host's own proxy for a tunnel to a destination. None of
// its words are in an error: they could hold what it was sent.
func tunnelThrough(ctx context.Context, dial dialFunc, trust *tls.Config, u *url.URL, to string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	switch u.Scheme {
	case "socks5", "socks5h":
		return socks(ctx, dial, u, to)
	case "http", "https":
	default:
		return nil, proxyFault("the host's proxy setting has a scheme that is not known")
	}
	c, err := dial(ctx, "tcp", proxyAddress(u))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // unblocks what follows
	defer stop()
	if u.Scheme == "https" {
		cfg := trust.Clone()
		cfg.ServerName, cfg.NextProtos = u.Hostname(), nil
		t := tls.Client(c, cfg)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = c.Close() // it broke
			return nil, proxyFault("the host's proxy: " + plainCause(err))
		}
		c = t
	}
	out, err := askTunnel(c, u, to)
	if err != nil {
		_ = c.Close() // it is of no use
		return nil, refusalOr(err, "the host's proxy broke off")
	}
	return out, nil
}

func askTunnel(c net.Conn, u *url.URL, to string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	req.Header.Set("User-Agent", "")
	if u.User != nil {
		password, _ := u.User.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	bound := &io.LimitedReader{R: c, N: maxAnswer}
	r := bufio.NewReader(bound)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if err := proxyAnswer(resp.StatusCode); err != nil {
		return nil, err
	}
	bound.N = math.MaxInt64
	if r.Buffered() > 0 { // a destination that speaks first
		return &ahead{Conn: c, r: r}, nil
	}
	return c, nil
}

// ahead is a connection of which some bytes were read with the proxy's answer.
type ahead struct {
	net.Conn
	r *bufio.Reader
}

func (c *ahead) Read(b []byte) (int, error) { return c.r.Read(b) }

func (c *ahead) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

func socks(ctx context.Context, dial dialFunc, u *url.URL, to string) (net.Conn, error) {
	var auth *proxy.Auth
	if u.User != nil {
		password, _ := u.User.Password()
		auth = &proxy.Auth{User: u.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", proxyAddress(u), auth, forwarder(dial))
	if err != nil {
		return nil, proxyFault("the host's proxy setting can't be read")
	}
	with, ok := d.(proxy.ContextDialer)
	if !ok {
		return nil, proxyFault("the host's proxy setting can't be read")
	}
	c, err := with.DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, refusalOr(err, "the host's proxy refused")
	}
	return c, nil
}

type forwarder dialFunc

func (f forwarder) Dial(network, addr string) (net.Conn, error) {
	return f(context.Background(), network, addr)
}

func (f forwarder) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f(ctx, network, addr)
}

// IsProxy tells whether a variable names a proxy that can be used: a URL, or a
// host and a port.
func IsProxy(value string) bool {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		return false
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return true
	}
	return false
}

func proxyAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// proxyAnswer refuses what the host's proxy refused.
func proxyAnswer(status int) error {
	switch {
	case status/100 == 2:
		return nil
	case status == http.StatusProxyAuthRequired:
		return proxyFault("the host's proxy wants another user or password")
	}
	return proxyFault(fmt.Sprintf("the host's proxy refused: status %d", status))
}

func proxyFault(detail string) refusal {
	return refusal{reason: rule.Unreachable, detail: detail, status: http.StatusBadGateway}
}

// refusalOr keeps a refusal and puts our own words in any other error's place.
func refusalOr(err error, detail string) error {
	var r refusal
	if errors.As(err, &r) {
		return r
	}
	return proxyFault(detail)
}
