package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

func TestEventsArriveAsTheyAreSent(t *testing.T) {
	for _, protocol := range []string{"h1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			next := make(chan bool)
			w := newWorld(t, withAccount(entry("mine.test:443", "GET /**")))
			w.tls("mine.test:443", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for i := 0; ; i++ {
					_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-next:
					case <-r.Context().Done():
						return
					}
				}
			}).start()
			resp, err := w.client(protocol).Get("https://mine.test/events")
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(resp.Body)
			for i := range 20 { // each is sent only after the one before was read
				for lines.Scan() && lines.Text() == "" {
				}
				if got, want := lines.Text(), fmt.Sprintf("data: %d", i); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				next <- true
			}
			_ = resp.Body.Close()
			if a := w.nth(1); !a.Allowed || a.Down == 0 || a.Status != 200 {
				t.Errorf("got %+v, want it allowed, with its bytes", a)
			}
		})
	}
}

// zeros is a body without end.
type zeros struct{ left int64 }

func (z *zeros) Read(b []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(b)), z.left)
	z.left -= n
	return int(n), nil
}

// heap is what is held, without what waits to be taken back: a pool keeps its
// content over one collection, and how full spans are is chance.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func TestLongUploadTakesNoMoreMemory(t *testing.T) {
	const size = 200 << 20
	for _, protocol := range []string{"h1", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			var got, most atomic.Int64
			w := newWorld(t, withAccount(entry("mine.test:443", "POST /**")))
			w.tls("mine.test:443", func(_ http.ResponseWriter, r *http.Request) {
				b := make([]byte, 1<<20)
				for i := 0; ; i++ {
					n, err := r.Body.Read(b)
					got.Add(int64(n))
					if i%512 == 0 {
						most.Store(max(most.Load(), int64(heap())))
					}
					if err != nil {
						return
					}
				}
			}).start()
			before := int64(heap())
			status, _ := do(t, w.client(protocol), http.MethodPost, "https://mine.test/up", &zeros{left: size})
			if status != 200 || got.Load() != size {
				t.Errorf("got %d and %d bytes, want 200 and %d", status, got.Load(), size)
			}
			if grown := most.Load() - before; grown > 24<<20 {
				t.Errorf("got %d MiB more in use during it, want at most 24", grown>>20)
			}
			if a := w.nth(1); a.Up != size {
				t.Errorf("got %d bytes written down, want %d", a.Up, size)
			}
		})
	}
}

func TestUploadsOfAnEntryEndTogetherAtItsCap(t *testing.T) {
	const limit = 1 << 20
	e := entry("ok.test:443", "POST /**")
	e.MaxUpload = limit
	var arrived atomic.Int64
	w := newWorld(t, e)
	w.tls("ok.test:443", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		arrived.Add(n)
	}).start()
	c := w.client()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			req, _ := http.NewRequest(http.MethodPost, "https://ok.test/up", &zeros{left: limit / 2}) // of unknown length
			resp, err := c.Do(req)
			if err != nil {
				return // ended in the middle
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		})
	}
	wg.Wait()
	// A request that a client could not begin, on a connection that ended with
	// another one, leaves no line.
	w.attempts(func(all []record.Attempt) bool {
		return slices.ContainsFunc(all, func(a record.Attempt) bool { return a.Reason == string(rule.Upload) })
	})
	w.proxy.Close()
	said := w.attempts(func([]record.Attempt) bool { return true })
	var up int64
	over := 0
	for _, a := range said {
		up += a.Up
		if a.Reason == string(rule.Upload) {
			over++
		}
	}
	if up > limit || arrived.Load() > limit || over == 0 {
		t.Errorf("got %d bytes written down, %d arrived, %d refused, want at most %d and some refused", up, arrived.Load(), over, limit)
	}
}

func TestKnownLengthOverTheCapIsRefusedBeforeAnyByte(t *testing.T) {
	e := entry("ok.test:443", "POST /**")
	e.MaxUpload = 100
	var reached atomic.Int64
	w := newWorld(t, e)
	w.tls("ok.test:443", func(http.ResponseWriter, *http.Request) { reached.Add(1) }).start()
	status, _ := do(t, w.client(), http.MethodPost, "https://ok.test/up", bytes.NewReader(make([]byte, 101)), "Expect", "100-continue")
	if status != 413 || reached.Load() != 0 {
		t.Errorf("got %d, %d requests, want 413 and none", status, reached.Load())
	}
	if status, _ := do(t, w.client(), http.MethodPost, "https://ok.test/up", bytes.NewReader(make([]byte, 100))); status != 200 {
		t.Errorf("up to the cap: got %d, want 200", status)
	}
}

func TestExpectationIsAnsweredByTheDestination(t *testing.T) {
	var got atomic.Value
	w := newWorld(t, entry("ok.test:443", "POST /**"))
	w.tls("ok.test:443", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		b, _ := io.ReadAll(r.Body)
		got.Store(string(b))
	}).start()
	if status, _ := do(t, w.client(), http.MethodPost, "https://ok.test/yes", strings.NewReader("body"), "Expect", "100-continue"); status != 200 || got.Load() != "body" {
		t.Errorf("got %d, %v, want 200 and the body", status, got.Load())
	}
	if status, _ := do(t, w.client(), http.MethodPost, "https://ok.test/no", strings.NewReader("body"), "Expect", "100-continue"); status != 417 {
		t.Errorf("got %d, want 417", status)
	}
	if a := w.nth(2); a.Up != 0 {
		t.Errorf("got %d bytes sent, want none", a.Up)
	}
}

func TestBothWaysAtOnce(t *testing.T) {
	w := newWorld(t, withAccount(entry("mine.test:443", "POST /**")))
	w.tls("mine.test:443", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		b := make([]byte, 64)
		for {
			n, err := r.Body.Read(b)
			_, _ = w.Write(b[:n])
			_ = http.NewResponseController(w).Flush()
			if err != nil {
				return
			}
		}
	}).start()
	from, to := io.Pipe()
	req, _ := http.NewRequest(http.MethodPost, "https://mine.test/", from)
	go func() { _, _ = io.WriteString(to, "0\n") }()
	resp, err := w.client("h2").Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	for i := range 10 {
		if got, err := r.ReadString('\n'); got != strconv.Itoa(i)+"\n" {
			t.Fatalf("got %q, %v, want %d", got, err, i)
		}
		_, _ = fmt.Fprintf(to, "%d\n", i+1)
	}
	_ = to.Close()
}

// upgraded is a tunnel in which a change of protocol was asked for.
func upgraded(w *world, hostport, extra string) (net.Conn, *bufio.Reader, *http.Response) {
	w.Helper()
	host, _, _ := strings.Cut(hostport, ":")
	c := w.within(hostport)
	_, _ = fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate\r\n%s\r\n", host, extra)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		w.Fatal(err)
	}
	return c, r, resp
}

func TestWebsocketPassesWhereTheEntrySaysSo(t *testing.T) {
	e := withAccount(entry("mine.test:443", "GET /ws"))
	e.Upgrade, e.MaxUpload = true, 1000
	w := newWorld(t, e)
	extensions := make(chan string, 1)
	w.rawTLS("mine.test:443", func(c net.Conn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		extensions <- req.Header.Get("Sec-WebSocket-Extensions") + "|" + req.Header.Get("Upgrade")
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: "+secret+"\r\n\r\nfirst "+secret+"\n")
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, line)
		}
	}).start()
	c, r, resp := upgraded(w, "mine.test:443", "Authorization: Bearer "+placeholder+"\r\n")
	if got, want := <-extensions, "|websocket"; got != want || resp.StatusCode != 101 {
		t.Errorf("got %d, %q at the destination, want 101, %q", resp.StatusCode, got, want)
	}
	for i, want := range []string{"first " + strings.Repeat("*", len(secret)) + "\n", "one\n", "two\n"} {
		if got, err := r.ReadString('\n'); got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		_, _ = io.WriteString(c, []string{"one\n", "two\n", strings.Repeat("x", 2000) + "\n"}[i])
	}
	if b, err := io.ReadAll(r); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("past the cap: got %q, %v, want the end", b, err)
	}
	a := w.nth(1)
	if !a.Allowed || a.Status != 101 || a.Cut != 2 || a.Up != 8 || a.Reason != string(rule.Upload) || leaks(fmt.Sprint(resp.Header)) {
		t.Errorf("got %+v, header %v, want 101, 2 cut, 8 bytes up", a, resp.Header)
	}
}

func TestNoUpgradeWithoutTheEntrysWord(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /ws")).tls("ok.test:443", echo).start()
	if _, _, resp := upgraded(w, "ok.test:443", ""); resp.StatusCode != 403 {
		t.Errorf("got %d, want 403", resp.StatusCode)
	}
	w.attempts(func(a []record.Attempt) bool { return len(a) == 1 && a[0].Reason == string(rule.Upgrade) })
}

// "upgrade" is a word for websockets: in anything else no operation is seen.
func TestUpgradeIsToAWebsocketOnly(t *testing.T) {
	e := entry("ok.test:443", "GET /ws")
	e.Upgrade = true
	w := newWorld(t, e)
	w.rawTLS("ok.test:443", func(c net.Conn) {
		if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		}
	}).start()
	for header, want := range map[string]int{
		"Upgrade: websocket\r\nSec-WebSocket-Key: AAAA":      101,
		"Upgrade: WebSocket\r\nSec-WebSocket-Key: AAAA":      101,
		"Upgrade: websocket":                                 403,
		"Upgrade: tcp\r\nSec-WebSocket-Key: AAAA":            403,
		"Upgrade: HTTP/2.0":                                  403,
		"Upgrade: foo, websocket\r\nSec-WebSocket-Key: AAAA": 403,
	} {
		c := w.within("ok.test:443")
		status, _, err := answerOf(c, "GET /ws HTTP/1.1\r\nHost: ok.test\r\nConnection: Upgrade\r\n"+header+"\r\n\r\n")
		if status != want {
			t.Errorf("%q: got %d, %v, want %d", header, status, err, want)
		}
	}
}

// Its line comes when the connection has ended, and belongs before what was
// asked for meanwhile.
func TestWhatCantBeReadIsWrittenDownAsOfItsTime(t *testing.T) {
	w := newWorld(t, entry("ok.test:443", "GET /**")).tls("ok.test:443", echo).start()
	status, _, err := answerOf(w.within("ok.test:443"), "GET /a%zz HTTP/1.1\r\nHost: ok.test\r\n\r\n")
	answered := time.Now()
	if a := w.nth(1); status != 400 || a.Status != 400 || a.Time.After(answered) {
		t.Errorf("got %d, %v and %+v, want 400 and the time of the request, before %v", status, err, a, answered)
	}
}
