package egress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"fumehood/isolate/egress/record"
)

func TestCloseEndsEverythingAndWritesItDown(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("all kinds", func(t *testing.T) {
		e := entry("ws.test:443", "GET /ws")
		e.Upgrade = true
		w := newWorld(t, entry("ssh.test:22", "CONNECT"), entry("ok.test:443", "GET /**"), e)
		forever := make(chan bool)
		t.Cleanup(func() { close(forever) })
		w.bytes("ssh.test:22", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		w.tls("ok.test:443", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			select {
			case <-forever:
			case <-r.Context().Done():
			}
		})
		w.rawTLS("ws.test:443", func(c net.Conn) {
			r := bufio.NewReader(c)
			if _, err := http.ReadRequest(r); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				_, _ = io.Copy(io.Discard, r)
			}
		}).start()
		var open []net.Conn
		open = append(open, w.conn(), w.tunnel("ssh.test:22"), w.tunnel("ok.test:443"), w.within("ok.test:443"))
		ws, _, _ := upgraded(w, "ws.test:443", "")
		open = append(open, ws)
		for _, protocol := range []string{"h1", "h2"} {
			resp, err := w.client(protocol).Get("https://ok.test/" + protocol) // its body never ends
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
		began := time.Now()
		w.proxy.Close()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("got %v until it was closed, want at most 2 s", took)
		}
		for i, c := range open {
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if _, err := io.Copy(io.Discard, c); err != nil && isTimeout(err) {
				t.Errorf("connection %d: got it open, want it ended", i)
			}
		}
		got := map[string]bool{}
		for _, a := range w.some(4) { // no waiting: Close wrote them
			got[a.Host+a.Path] = a.Allowed
		}
		for _, want := range []string{"ssh.test", "ok.test/h1", "ok.test/h2", "ws.test/ws"} {
			if !got[want] {
				t.Errorf("got %v written down, want %s", got, want)
			}
		}
	})
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("got %d goroutines, want %d\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
		runtime.Gosched()
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func TestManyConnectionsTakeLittleMemory(t *testing.T) {
	const n = 500
	var entered sync.WaitGroup
	entered.Add(n)
	gate := make(chan bool)
	w := newWorld(t, withAccount(entry("mine.test:443", "GET /**")))
	w.plain("unused.test:80", echo)
	w.tls("mine.test:443", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		entered.Done()
		<-gate
	}).start()
	before := heap()
	var wg sync.WaitGroup
	conns := make([]net.Conn, n)
	for i := range conns {
		wg.Go(func() {
			conns[i] = w.within("mine.test:443")
			_, _ = io.WriteString(conns[i], "GET / HTTP/1.1\r\nHost: mine.test\r\n\r\n")
		})
	}
	wg.Wait()
	entered.Wait()
	// The clients' and the destination's own part is in it as well.
	grown := (heap() - before) >> 20
	t.Logf("%d connections: %d MiB, clients and destination included", n, grown)
	if grown > 100 {
		t.Errorf("got %d MiB for %d connections, want at most 100", grown, n)
	}
	close(gate)
	w.attempts(func([]record.Attempt) bool { return true })
}
