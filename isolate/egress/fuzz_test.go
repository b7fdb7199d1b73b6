package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// fuzzed is a proxy with destinations, kept over all inputs.
type fuzzed struct {
	p     *Proxy
	addr  string
	roots *tls.Config

	mu  sync.Mutex
	bad []string
}

// judge looks at what a destination got: only what the entries allow, and no
// credential but the account's own.
func (f *fuzzed) judge(host string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what it carries is nobody's business here
		wrong := ""
		switch {
		case !strings.HasPrefix(r.URL.Path, "/ok/") || strings.Contains(r.URL.Path, ".."):
			wrong = "a path that no entry names"
		case r.Method != http.MethodGet && r.Method != http.MethodPost:
			wrong = "a method that no entry names"
		case r.Host != host:
			wrong = "another host"
		case host == "mine.test" && r.Header.Get("Authorization") != "Bearer "+secret:
			wrong = "not the account's credential"
		case host != "mine.test" && len(r.Header.Values("Authorization")) > 0, len(r.Header.Values("Cookie")) > 0, len(r.Header.Values("X-Api-Key")) > 0,
			len(r.Trailer) > 0, len(r.Header.Values("Proxy-Authorization")) > 0, len(r.Header.Values("Upgrade")) > 0:
			wrong = "a foreign credential, a trailer or an upgrade"
		}
		if wrong != "" {
			f.mu.Lock()
			f.bad = append(f.bad, wrong+": "+r.Method+" "+r.Host+r.URL.String())
			f.mu.Unlock()
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}
}

func newFuzzed(t testing.TB) *fuzzed {
	t.Helper()
	f := &fuzzed{}
	w := newWorld(t, entry("ok.test:443", "GET /ok/**", "POST /ok/**"), entry("ok.test:80", "GET /ok/**"), withAccount(entry("mine.test:443", "GET /ok/**")))
	w.tls("ok.test:443", f.judge("ok.test")).plain("ok.test:80", f.judge("ok.test")).tls("mine.test:443", f.judge("mine.test"))
	w.cfg.Record = func(record.Attempt) {}
	w.start()
	f.p, f.addr = w.proxy, w.addr
	f.roots = &tls.Config{RootCAs: w.roots()}
	return f
}

// send sends bytes to the proxy, or within a tunnel, and gives all that comes.
func (f *fuzzed) send(t testing.TB, tunnel string, b []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if tunnel != "" {
		_, _ = io.WriteString(c, "CONNECT "+tunnel+":443 HTTP/1.1\r\n\r\n")
		head := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
		if _, err := io.ReadFull(c, head); err != nil {
			t.Fatal(err)
		}
		cfg := f.roots.Clone()
		cfg.ServerName = tunnel
		tc := tls.Client(c, cfg)
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = tc.Write(b); _ = tc.CloseWrite() }()
		out, _ := io.ReadAll(tc) // how it ends says nothing
		return out
	}
	go func() { _, _ = c.Write(b); closeWrite(c) }()
	out, _ := io.ReadAll(c)
	return out
}

// FuzzInside sends the proxy any bytes. Whatever they are, a destination only
// gets what the entries allow, and nobody inside gets the secret.
func FuzzInside(f *testing.F) {
	for _, s := range []string{
		"GET /ok/1 HTTP/1.1\r\nHost: mine.test\r\n\r\n", "GET /ok/../x HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"POST /ok/1 HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"GET http://ok.test/ok/1 HTTP/1.1\r\nHost: ok.test\r\nConnection: Authorization\r\nAuthorization: Bearer x\r\n\r\n",
		"GET /ok/%2e%2e/x HTTP/1.1\r\nHost: ok.test\r\nX-HTTP-Method-Override: DELETE\r\n\r\n",
		"GET /ok/1?access_token=x;a=b HTTP/1.1\r\nHost: mine.test\r\nCookie: a=b\r\nAuthorization: Bearer " + placeholder + "\r\n\r\n",
		"POST /ok/1 HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-Api-Key\r\n\r\n1\r\na\r\n0\r\nX-Api-Key: b\r\n\r\n",
		"GET /ok/1 HTTP/1.1\r\nHost: ok.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "CONNECT ok.test:443 HTTP/1.1\r\n\r\n\x16\x03\x01",
	} {
		f.Add(uint8(0), []byte(s))
		f.Add(uint8(1), []byte(s))
		f.Add(uint8(2), []byte(s))
	}
	w := newFuzzed(f)
	f.Fuzz(func(t *testing.T, where uint8, b []byte) {
		out := w.send(t, []string{"", "ok.test", "mine.test"}[where%3], b)
		if bytes.Contains(bytes.ToLower(out), []byte(secret)) {
			t.Errorf("got %q inside, want no secret", out)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.bad) > 0 {
			t.Errorf("got %q at a destination, want nothing of it", w.bad)
			w.bad = nil
		}
	})
}

// FuzzOutside has a destination answer any bytes to a request with an account:
// the secret does not come inside, and the proxy goes on.
func FuzzOutside(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n" + secret, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nreal-\r\n12\r\nsecret-0123456789 x\r\n0\r\nX: " + secret + "\r\n\r\n",
		"HTTP/1.1 103 Early\r\nLink: " + secret + "\r\n\r\nHTTP/1.1 200 " + secret + "\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /" + secret + "\r\n" + secret + ": 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b", "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + secret,
	} {
		f.Add([]byte(s))
	}
	attach, err := account.ParseAttach("Authorization: Bearer {secret}")
	if err != nil {
		f.Fatal(err)
	}
	var mu sync.Mutex
	var answer []byte
	w := newWorld(f, withAccount(entry("mine.test:443", "GET /**")))
	w.cfg.Accounts[0].Attach = attach
	w.cfg.Record = func(a record.Attempt) {
		if strings.Contains(a.Path+a.Host+a.Detail, secret) {
			panic("the record has the secret")
		}
	}
	w.rawTLS("mine.test:443", func(c net.Conn) {
		b := make([]byte, 4096)
		if _, err := c.Read(b); err == nil {
			mu.Lock()
			defer mu.Unlock()
			_, _ = c.Write(answer)
		}
	}).start()
	c := w.client()
	f.Fuzz(func(t *testing.T, b []byte) {
		mu.Lock()
		answer = b
		mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://mine.test/", nil)
		defer c.CloseIdleConnections()
		resp, err := c.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				t.Errorf("got no end within 20 s for %q", b)
			}
			return
		}
		text, _ := io.ReadAll(resp.Body) // how it ends says nothing
		_ = resp.Body.Close()
		var all bytes.Buffer
		_ = resp.Header.Write(&all)
		_ = resp.Trailer.Write(&all)
		all.Write(text)
		if bytes.Contains(bytes.ToLower(all.Bytes()), []byte(secret)) {
			t.Errorf("got %q inside, want no secret", &all)
		}
	})
}

// FuzzHello reads any bytes as the beginning of a connection: none is lost.
func FuzzHello(f *testing.F) {
	f.Add(helloBytes(f, "a.test"))
	f.Add([]byte("SSH-2.0-x\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		h := readHello(r, func(time.Duration) {})
		rest, _ := io.ReadAll(r)
		if !h.odd && !bytes.Equal(append(h.read, rest...), b) {
			t.Errorf("got %q and %q, want %q", h.read, rest, b)
		}
		if h.name != "" && !bytes.Contains(b, []byte(h.name[:1])) {
			t.Errorf("got name %q out of nothing", h.name)
		}
		_ = namesAgree(h.name, rule.Authority{Host: "a.test", Port: 443})
	})
}
