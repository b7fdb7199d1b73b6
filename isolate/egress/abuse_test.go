package egress

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

func TestHeaderThatNeverEndsIsGivenUp(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /**")).tls("ok.test:443", echo)
	w.tune = func(p *Proxy) {
		p.outer.ReadHeaderTimeout, p.inner.ReadHeaderTimeout = 50*time.Millisecond, 50*time.Millisecond
	}
	w.start()
	for _, open := range []func() net.Conn{w.conn, func() net.Conn { return w.within("ok.test:443") }} {
		c := open()
		_, _ = io.WriteString(c, "GET /a HTTP/1.1\r\nHost: ok.")
		if b, err := io.ReadAll(c); isTimeout(err) {
			t.Errorf("got %q and no end, want the connection ended", b)
		}
	}
	for _, a := range w.some(2) {
		if a.Reason != string(rule.NotHTTP) || a.Allowed {
			t.Errorf("got %+v, want %q", a, rule.NotHTTP)
		}
	}
}

// frames is a tunnel on which HTTP/2 is spoken by hand.
func frames(w *world, hostport string) (*tls.Conn, *http2.Framer) {
	w.Helper()
	host, _, _ := strings.Cut(hostport, ":")
	c := tls.Client(w.tunnel(hostport), &tls.Config{RootCAs: w.roots(), ServerName: host, NextProtos: []string{"h2"}})
	if err := c.Handshake(); err != nil {
		w.Fatal(err)
	}
	_, _ = io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(); err != nil {
		w.Fatal(err)
	}
	return c, f
}

func head(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // into memory
	}
	return b.Bytes()
}

func TestFloodsOfFramesHarmNothing(t *testing.T) {
	for _, row := range []struct {
		name  string
		flood func(f *http2.Framer, i int) error
	}{
		{"streams reset at once", func(f *http2.Framer, i int) error {
			id := uint32(2*i + 1)
			if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head(":method", "GET", ":scheme", "https", ":path", "/slow", ":authority", "ok.test"), EndStream: true, EndHeaders: true}); err != nil {
				return err
			}
			return f.WriteRSTStream(id, http2.ErrCodeCancel)
		}},
		{"a header without end", func(f *http2.Framer, i int) error {
			if i == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(":method", "GET", ":scheme", "https", ":path", "/slow", ":authority", "ok.test")})
			}
			return f.WriteContinuation(1, false, head("x-more", strings.Repeat("a", 1000)))
		}},
		{"settings", func(f *http2.Framer, _ int) error { return f.WriteSettings() }},
		{"pings", func(f *http2.Framer, _ int) error { return f.WritePing(false, [8]byte{}) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			var most, now atomic.Int64
			w := newWorld(t, entry("ok.test:443", "GET /**"))
			w.tls("ok.test:443", func(w http.ResponseWriter, r *http.Request) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				if r.URL.Path == "/slow" {
					<-r.Context().Done()
				}
			}).start()
			c, f := frames(w, "ok.test:443")
			go func() { _, _ = io.Copy(io.Discard, c) }() // so that it can answer
			for i := range 5000 {
				if row.flood(f, i) != nil {
					break // it was ended
				}
			}
			if status, _ := get(t, w.client(), "https://ok.test/after"); status != 200 {
				t.Errorf("after it: got %d, want 200", status)
			}
			if most.Load() > 4*maxStreams {
				t.Errorf("got %d requests at the destination at once, want at most %d", most.Load(), 4*maxStreams)
			}
			_ = c.Close()
		})
	}
}

func TestHeadersOfHTTP2AreJudgedAlike(t *testing.T) {
	for _, row := range []struct {
		name  string
		pairs []string
		ok    bool
	}{
		{"as it should be", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "ok.test"}, true},
		{"another host", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "evil.test"}, false},
		{"a host beside the authority", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "evil.test", "host", "ok.test"}, false},
		{"a tunnel", []string{":method", "CONNECT", ":authority", "ok.test:443"}, false},
		{"a websocket's tunnel", []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/a", ":authority", "ok.test"}, false},
		{"a path that is none", []string{":method", "GET", ":scheme", "https", ":path", "a", ":authority", "ok.test"}, false},
		{"a line break", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "ok.test", "x-a", "b\r\nx-c: d"}, false},
		{"a coding", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "ok.test", "transfer-encoding", "chunked"}, false},
		{"a credential", []string{":method", "GET", ":scheme", "https", ":path", "/a", ":authority", "ok.test", "authorization", "Bearer x"}, false},
		{"two methods", []string{":method", "GET", ":method", "DELETE", ":scheme", "https", ":path", "/a", ":authority", "ok.test"}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got heard
			w := newWorld(t, entry("ok.test:443", "GET /**", "DELETE /**", "CONNECT2 /**")).tls("ok.test:443", got.serve).start()
			c, f := frames(w, "ok.test:443")
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(row.pairs...), EndStream: true, EndHeaders: true})
			for {
				fr, err := f.ReadFrame()
				if err != nil || fr.Header().StreamID == 1 && (fr.Header().Flags.Has(http2.FlagDataEndStream) || fr.Header().Type == http2.FrameRSTStream) || fr.Header().Type == http2.FrameGoAway {
					break
				}
			}
			_ = c.Close()
			w.proxy.Close()
			if n := len(got.all()); (n == 1) != row.ok || n > 1 {
				t.Errorf("got %q at the destination, want it there: %v", got.all(), row.ok)
			}
		})
	}
}

func TestEntriesCountFromTheMomentTheyAreAllowed(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /a")).tls("ok.test:443", echo).start()
	c := w.client("h2")
	ask := func(want int) {
		t.Helper()
		if got, text := get(t, c, "https://ok.test/b"); got != want {
			t.Errorf("got %d, %q, want %d", got, text, want)
		}
	}
	ask(403)
	for _, row := range []struct {
		operation string
		want      int
	}{{"GET /b", 200}, {"GET /a", 403}} {
		if err := w.proxy.Allow([]rule.Entry{entry("ok.test:443", row.operation)}); err != nil {
			t.Fatal(err)
		}
		ask(row.want) // on the tunnel that is open
	}
	if err := w.proxy.Allow([]rule.Entry{{Destination: "nonsense"}}); err == nil {
		t.Error("got an entry that can't be meant accepted, want an error")
	}
	ask(403)
	w.attempts(func(a []record.Attempt) bool { return len(a) == 4 })
}
