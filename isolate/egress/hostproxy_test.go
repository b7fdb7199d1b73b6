package egress

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"fumehood/isolate/egress/rule"
)

// hostProxy is a proxy of the host's own, which knows where names below .test are.
type hostProxy struct {
	w    *world
	auth string // what it wants to be sent
	mu   sync.Mutex
	got  []string
}

func (h *hostProxy) serve(c net.Conn) {
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.got = append(h.got, req.Method+" "+req.RequestURI)
	h.mu.Unlock()
	if got := req.Header.Get("Proxy-Authorization"); got != h.auth {
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
		return
	}
	target := req.RequestURI
	if req.Method != http.MethodConnect {
		target = req.URL.Host
		if !strings.Contains(target, ":") {
			target += ":80"
		}
	}
	far, err := net.Dial("tcp", h.w.to["far "+target])
	if err != nil {
		_, _ = io.WriteString(c, "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer far.Close()
	if req.Method == http.MethodConnect {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(far, r); closeWrite(far) }()
		_, _ = io.Copy(c, far)
		return
	}
	_ = req.Write(far)
	_, _ = io.Copy(c, far)
}

func (h *hostProxy) asked() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.got, "; ")
}

func TestHostsOwnProxyIsUsed(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			w := newWorld(t, withAccount(entry("ok.test:443", "GET /**")), entry("plain.test:80", "GET /**"), entry("ssh.test:22", "CONNECT"),
				entry("gone.test:443", "GET /**"), entry("direct.test:443", "GET /**"))
			h := &hostProxy{w: w, auth: "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass-word"))}
			w.tls("ok.test:443", echo).plain("plain.test:80", echo).tls("direct.test:443", echo)
			w.bytes("ssh.test:22", func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n"); _, _ = io.Copy(c, c) })
			for _, to := range []string{"ok.test:443", "plain.test:80", "ssh.test:22"} {
				w.to["far "+to] = w.to[to]
				delete(w.to, to)
			}
			if scheme == "https" {
				cert, err := w.ca.certificate(rule.Authority{Host: "localhost"})
				if err != nil {
					t.Fatal(err)
				}
				w.bytes("proxy.test:1", func(c net.Conn) { h.serve(tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*cert}})) })
			} else {
				w.bytes("proxy.test:1", h.serve)
			}
			_, port, _ := net.SplitHostPort(w.to["proxy.test:1"])
			at := &url.URL{Scheme: scheme, Host: "localhost:" + port, User: url.UserPassword("me", "pass-word")}
			w.cfg.Upstream.Proxy = func(u *url.URL) (*url.URL, error) {
				if u.Hostname() == "direct.test" {
					return nil, nil //nolint:nilnil // straight
				}
				return at, nil
			}
			w.start()
			if status, text := get(t, w.client(), "https://ok.test/x"); status != 200 {
				t.Errorf("https: got %d, %q, want 200", status, text)
			}
			if status, text := get(t, w.client(), "http://plain.test/x"); status != 200 {
				t.Errorf("http: got %d, %q, want 200", status, text)
			}
			if status, _ := get(t, w.client(), "https://direct.test/x"); status != 200 {
				t.Errorf("NO_PROXY: got %d, want 200", status)
			}
			if status, text := get(t, w.client(), "https://gone.test/x"); status != 502 || !strings.Contains(text, "the host's proxy refused: status 503") {
				t.Errorf("refused there: got %d, %q", status, text)
			}
			c := w.tunnel("ssh.test:22")
			if line, err := bufio.NewReader(c).ReadString('\n'); line != "SSH-2.0-x\r\n" {
				t.Errorf("opaque: got %q, %v", line, err)
			}
			_ = c.Close()
			if got, want := h.asked(), "CONNECT ok.test:443; GET http://plain.test/x; CONNECT gone.test:443; CONNECT ssh.test:22"; got != want && got != strings.Replace(want, "plain.test/", "plain.test:80/", 1) {
				t.Errorf("got %q at the host's proxy, want %q", got, want)
			}
			for _, a := range w.some(5) {
				if a.Allowed && a.Host != "direct.test" && a.Detail != byProxy {
					t.Errorf("got %+v, want %q", a, byProxy)
				}
				if strings.Contains(fmt.Sprintf("%+v", a), "pass-word") {
					t.Errorf("got %+v, want no password", a)
				}
			}
			// The password is not known: what the proxy says of it goes nowhere.
			h.mu.Lock()
			h.auth = "Basic other"
			h.mu.Unlock()
			w.proxy.ways.closeIdle()
			for _, u := range []string{"https://ok.test/", "http://plain.test/"} {
				status, text := get(t, w.client(), u)
				if status != 502 || !strings.Contains(text, "wants another user or password") {
					t.Errorf("%s: got %d, %q, want 502", u, status, text)
				}
			}
			if c := w.conn(); true {
				if status, _, _ := answerOf(c, "CONNECT ssh.test:22 HTTP/1.1\r\n\r\n"); status != 502 {
					t.Errorf("opaque: got %d, want 502", status)
				}
			}
		})
	}
}

func TestVariableNamesAProxyOrIsRefused(t *testing.T) {
	for value, want := range map[string]bool{
		"http://proxy.test:3128": true, "proxy.test:3128": true, "https://me:pw@proxy.test": true, "socks5://127.0.0.1:1080": true, "socks5h://p.test": true,
		"ftp://proxy.test": false, "http://": false, "http://a b": false, ":3128": false, "http://[::1": false,
	} {
		if got := IsProxy(value); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func TestHostsOwnProxyIsNoDestination(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /**"))
	h := &hostProxy{w: w}
	w.bytes("proxy.test:1", h.serve)
	at := &url.URL{Scheme: "http", Host: w.to["proxy.test:1"]}
	w.cfg.Upstream.Proxy = func(*url.URL) (*url.URL, error) { return at, nil }
	w.start()
	if status, _, _ := answerOf(w.conn(), "CONNECT "+at.Host+" HTTP/1.1\r\n\r\n"); status != 403 {
		t.Errorf("got %d, want 403", status)
	}
	if h.asked() != "" {
		t.Errorf("got %q at the proxy, want nothing", h.asked())
	}
}

func TestAddressesAreJudgedAlsoInFrontOfTheHostsProxy(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /**"))
	w.cfg.Upstream.Proxy = func(*url.URL) (*url.URL, error) { return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, nil }
	w.cfg.Omit = PartDestination // so that a literal without an entry comes so far
	w.start()
	for _, u := range []string{"http://127.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/"} {
		if status, text := get(t, w.client(), u); status != 403 || !strings.Contains(text, string(rule.BadAddress)) {
			t.Errorf("%s: got %d, %q, want 403", u, status, text)
		}
	}
}

func TestSocksProxyOfTheHost(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /**"), entry("ssh.test:22", "CONNECT"))
	w.tls("ok.test:443", echo).bytes("ssh.test:22", func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n") })
	far := map[string]string{"ok.test": w.to["ok.test:443"], "ssh.test": w.to["ssh.test:22"]}
	clear(w.to)
	w.bytes("proxy.test:1", func(c net.Conn) { // RFC 1928, no authentication
		b := make([]byte, 300)
		_, _ = io.ReadFull(c, b[:2])
		_, _ = io.ReadFull(c, b[:b[1]])
		_, _ = c.Write([]byte{5, 0})
		_, _ = io.ReadFull(c, b[:5])
		name := make([]byte, int(b[4])+2)
		_, _ = io.ReadFull(c, name)
		to, err := net.Dial("tcp", far[string(name[:len(name)-2])])
		if err != nil {
			return
		}
		defer to.Close()
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() { _, _ = io.Copy(to, c); closeWrite(to) }()
		_, _ = io.Copy(c, to)
	})
	at := &url.URL{Scheme: "socks5", Host: w.to["proxy.test:1"]}
	w.cfg.Upstream.Proxy = func(*url.URL) (*url.URL, error) { return at, nil }
	w.start()
	if status, text := get(t, w.client(), "https://ok.test/"); status != 200 {
		t.Errorf("got %d, %q, want 200", status, text)
	}
	if line, err := bufio.NewReader(w.tunnel("ssh.test:22")).ReadString('\n'); line != "SSH-2.0-x\r\n" {
		t.Errorf("got %q, %v", line, err)
	}
}
