package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// heard is what a destination read, request by request.
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) serve(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off, as whoever reads it sees
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprintf("%s %s %s %q", r.Method, r.Host, r.URL, b))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.list...)
}

func TestBytesFromInsideAreOneRequestOrNone(t *testing.T) {
	for _, row := range []struct {
		name, send string
		want       []string // what the destination may get
	}{
		{"two lengths", "POST /a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nbodyDELETE /x HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"length and chunks", "POST /a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nDELETE /x HTTP/1.1\r\nHost: ok.test\r\n\r\n", []string{`POST ok.test /a ""`}},
		{"odd coding", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", nil},
		{"two codings", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", nil},
		{"blank before the colon", "POST /a HTTP/1.1\r\nHost: ok.test\r\nContent-Length : 4\r\n\r\nbody", nil},
		{"bare CR in a value", "GET /a HTTP/1.1\r\nHost: ok.test\r\nX-A: b\rDELETE /x HTTP/1.1\r\n\r\n", nil},
		{"NUL in a value", "GET /a HTTP/1.1\r\nHost: ok.test\r\nX-A: \x00\r\n\r\n", nil},
		{"folded header", "GET /a HTTP/1.1\r\nHost: ok.test\r\nX-A: b\r\n Host: evil.test\r\n\r\n", []string{`GET ok.test /a ""`}},
		{"bad chunk", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n0x4\r\nbody\r\n0\r\n\r\n", nil},
		{"bare LF in chunks", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n4\nbody\n0\n\n", nil},
		{"two hosts", "GET /a HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n", nil},
		{"no host", "GET /a HTTP/1.1\r\n\r\n", nil},
		{"HTTP/0.9", "GET /a\r\n", nil},
		{"HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n", []string{`GET ok.test /a ""`}},
		{"another host", "GET /a HTTP/1.1\r\nHost: evil.test\r\n\r\n", nil},
		{"absolute form, another host", "GET https://evil.test/a HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"absolute form, another scheme", "GET http://ok.test:443/a HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"absolute form", "GET https://ok.test/a HTTP/1.1\r\nHost: ok.test\r\n\r\n", []string{`GET ok.test /a ""`}},
		{"opaque form", "GET ok.test:a HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"star", "OPTIONS * HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"tunnel in a tunnel", "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"trace", "TRACE /a HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"h2c before all", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", nil},
		{"odd expectation", "POST /a HTTP/1.1\r\nHost: ok.test\r\nExpect: 200-maybe\r\nContent-Length: 4\r\n\r\nbody", nil},
		{"a header without end", "GET /a HTTP/1.1\r\nHost: ok.test\r\nX-A: " + strings.Repeat("a", 200<<10) + "\r\n\r\n", nil},
		{"dots", "GET /a/../x HTTP/1.1\r\nHost: ok.test\r\n\r\n", nil},
		{"a trailer with a credential", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n4\r\nbody\r\n0\r\nAuthorization: Bearer mine\r\n\r\n", nil},
		{"a trailer that was not announced", "POST /a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nAuthorization: Bearer mine\r\n\r\n", []string{`POST ok.test /a "body"`}},
		{"two at once", "GET /a HTTP/1.1\r\nHost: ok.test\r\n\r\nGET /x HTTP/1.1\r\nHost: ok.test\r\n\r\nGET /a HTTP/1.1\r\nHost: ok.test\r\n\r\n", []string{`GET ok.test /a ""`, `GET ok.test /a ""`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got heard
			w := newWorld(t, entry("ok.test:443", "GET /a", "POST /a")).tls("ok.test:443", got.serve).start()
			c := w.within("ok.test:443")
			go func() { _, _ = io.WriteString(c, row.send) }() // it may be refused midway
			r := bufio.NewReader(c)
			for range max(1, strings.Count(row.send, " HTTP/1.1\r\n")) {
				resp, err := http.ReadResponse(r, &http.Request{Method: "GET"})
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				if resp.Close {
					break
				}
			}
			_ = c.Close()
			w.some(1)
			w.proxy.Close()
			if g, want := got.all(), row.want; fmt.Sprint(g) != fmt.Sprint(want) {
				t.Errorf("got %q at the destination, want %q", g, want)
			}
		})
	}
}

func TestBytesToTheListenerLeaveALine(t *testing.T) {
	for _, row := range []struct {
		name, send string
		status     int
		reason     rule.Reason
	}{
		{"no proxy's request", "GET /a HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403, rule.BadAuthority},
		{"path after the authority", "CONNECT ok.test:443/a HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403, rule.BadAuthority},
		{"path in its place", "CONNECT /a HTTP/1.1\r\nHost: ok.test:443\r\n\r\n", 403, rule.BadAuthority},
		{"no port", "CONNECT ok.test HTTP/1.1\r\n\r\n", 403, rule.BadAuthority},
		{"userinfo", "CONNECT me@ok.test:443 HTTP/1.1\r\n\r\n", 403, rule.BadAuthority},
		{"number for an address", "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", 403, rule.BadAuthority},
		{"no entry", "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", 403, rule.NoEntry},
		{"loopback", "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n", 403, rule.NoEntry},
		{"loopback, plain", "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403, rule.NoEntry},
		{"metadata", "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n", 403, rule.NoEntry},
		{"a line without end", "CONNECT " + strings.Repeat("a", 300<<10) + ":443 HTTP/1.1\r\n\r\n", 431, rule.NotHTTP},
		{"an overlong name", "CONNECT " + strings.Repeat("a", 3000) + ":443 HTTP/1.1\r\n\r\n", 403, rule.BadAuthority},
		{"TLS to the listener", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n", 400, rule.NotHTTP},
		{"no request", "nonsense\r\n\r\n", 400, rule.NotHTTP},
		{"two lengths", "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, rule.NotHTTP},
		{"scheme", "GET ftp://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403, rule.BadAuthority},
		{"https in the clear", "GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", 403, rule.BadAuthority},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, entry("ok.test:443", "GET /a")).tls("ok.test:443", echo).start()
			status, text, err := answerOf(w.conn(), row.send)
			if err != nil && status == 0 || status != row.status {
				t.Errorf("got %d, %q, %v, want %d", status, text, err, row.status)
			}
			if a := w.nth(1); a.Reason != string(row.reason) || a.Allowed {
				t.Errorf("got %+v, want %q", a, row.reason)
			}
			if status, _ := get(t, w.client(), "https://ok.test/a"); status != 200 {
				t.Errorf("after it: got %d, want 200", status)
			}
		})
	}
}

func TestTunnelTakesTLSForItsDestinationOnly(t *testing.T) {
	for _, row := range []struct {
		name, send string
		reason     rule.Reason
	}{
		{"bytes", "\x00\x01\x02", rule.NotTLS},
		{"odd TLS", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", rule.NotTLS},
		{"plain HTTP for another", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", rule.Disagree},
		{"ssh", "SSH-2.0-x\r\n\r\n", rule.NotHTTP},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, entry("ok.test:443", "GET /a")).tls("ok.test:443", echo).start()
			c := w.tunnel("ok.test:443")
			_, _ = io.WriteString(c, row.send)
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.CloseWrite() // no more comes
			}
			_, _ = io.Copy(io.Discard, c)
			if a := w.nth(1); a.Reason != string(row.reason) || a.Allowed {
				t.Errorf("got %+v, want %q", a, row.reason)
			}
		})
	}
}

func TestPlainHTTPThroughATunnelIsDecidedAsThat(t *testing.T) {
	w := newWorld(t, entry("plain.test:80", "GET /a"), withAccount(entry("mine.test:80", "GET /a")))
	w.plain("plain.test:80", echo).plain("mine.test:80", echo).start()
	for hostport, want := range map[string]int{"plain.test:80": 200, "mine.test:80": 403} {
		host := strings.TrimSuffix(hostport, ":80")
		status, text, err := answerOf(w.tunnel(hostport), "GET /a HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if status != want || err != nil {
			t.Errorf("%s: got %d, %q, %v, want %d", hostport, status, text, err, want)
		}
	}
	w.attempts(func(a []record.Attempt) bool { return len(a) == 2 })
}
