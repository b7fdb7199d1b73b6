package egress

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"fumehood/isolate/egress/record"
)

// bulk is how much one measurement carries, in bytes.
const bulk = 256 << 20

// text is n bytes of no meaning, in letters and digits.
func text(n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789 \n\"{}:,ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	b := make([]byte, n)
	for i, x := 0, uint32(1); i < n; i++ {
		x = x*1664525 + 1013904223
		b[i] = letters[int(x>>16)%len(letters)]
	}
	return b
}

func benchWorld(b *testing.B) *world {
	b.Helper()
	w := newWorld(b, entry("opaque.test:443", "CONNECT"), entry("ok.test:443", "GET /**"), withAccount(entry("mine.test:443", "GET /**")))
	send := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/small" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		buf := text(256 << 10)
		for left := int64(bulk); left > 0; left -= int64(len(buf)) {
			if _, err := w.Write(buf); err != nil {
				return
			}
		}
	}
	w.bytes("opaque.test:443", func(c net.Conn) {
		buf := make([]byte, 256<<10)
		for left := int64(bulk); left > 0; left -= int64(len(buf)) {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	w.tls("ok.test:443", send).tls("mine.test:443", send)
	w.cfg.Record = func(record.Attempt) {}
	w.cfg.Upstream.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
	return w.start()
}

func drain(b *testing.B, r io.Reader) time.Duration {
	b.Helper()
	began := time.Now()
	if n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 256<<10)); n < bulk || err != nil {
		b.Fatalf("got %d bytes, %v, want %d", n, err, bulk)
	}
	return time.Since(began)
}

// BenchmarkOpaque compares an opaque tunnel with the same bytes straight from
// the destination. Budget: at least half as fast.
func BenchmarkOpaque(b *testing.B) {
	w := benchWorld(b)
	var through, direct time.Duration
	for b.Loop() {
		c := w.tunnel("opaque.test:443")
		through += drain(b, c)
		_ = c.Close()
		d, err := net.Dial("tcp", w.to["opaque.test:443"])
		if err != nil {
			b.Fatal(err)
		}
		direct += drain(b, d)
		_ = d.Close()
	}
	report(b, through, direct)
}

func report(b *testing.B, through, direct time.Duration) {
	b.Helper()
	b.ReportMetric(float64(direct)/float64(through), "x-of-direct")
	b.ReportMetric(float64(bulk)*float64(b.N)/(1<<20)/through.Seconds(), "MiB/s")
	b.ReportMetric(0, "ns/op")
}

// straight is a client that knows where names lead, without a proxy.
func (w *world) straight(h2 bool) *http.Client {
	pool := w.roots()
	pool.AppendCertsFromPEM(w.ca.pem)
	t := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2, DisableCompression: true,
		DialContext: func(ctx context.Context, _, hostport string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.to[hostport])
		},
	}
	w.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

// BenchmarkIntercepted compares an answer through the proxy, decrypted, searched
// where there is an account, and encrypted again, with the same straight from
// the destination. Budget: at least 0.3 times as fast.
func BenchmarkIntercepted(b *testing.B) {
	for _, row := range []struct {
		name, host string
		protocol   string
	}{{"h1", "ok.test", "h1"}, {"h2", "ok.test", "h2"}, {"searched", "mine.test", "h1"}} {
		b.Run(row.name, func(b *testing.B) {
			w := benchWorld(b)
			near, far := w.client(row.protocol), w.straight(row.protocol == "h2")
			var through, direct time.Duration
			for b.Loop() {
				for c, took := range map[*http.Client]*time.Duration{near: &through, far: &direct} {
					resp, err := c.Get("https://" + row.host + "/bulk")
					if err != nil {
						b.Fatal(err)
					}
					*took += drain(b, resp.Body)
					_ = resp.Body.Close()
				}
			}
			report(b, through, direct)
		})
	}
}

// BenchmarkSmall is what the proxy adds to a small request on connections that
// are open already. Budget: 2 ms.
func BenchmarkSmall(b *testing.B) {
	for _, host := range []string{"ok.test", "mine.test"} {
		b.Run(host, func(b *testing.B) {
			w := benchWorld(b)
			near, far := w.client(), w.straight(false)
			var through, direct time.Duration
			for b.Loop() {
				for c, took := range map[*http.Client]*time.Duration{near: &through, far: &direct} {
					began := time.Now()
					if status, _ := get(b, c, "https://"+host+"/small"); status != 200 {
						b.Fatal(status)
					}
					*took += time.Since(began)
				}
			}
			b.ReportMetric(float64((through-direct).Microseconds())/float64(b.N), "µs-added")
		})
	}
}
