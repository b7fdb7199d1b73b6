package egress

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"fumehood/isolate/egress/rule"
)

// switchProtocols carries what was agreed to be something else than HTTP, such
// as a websocket. What comes from the destination is still searched for the
// secret, and what goes there still counts as an upload.
func (t *trip) switchProtocols(resp *http.Response) {
	far, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || t.out.upgrade == "" || !strings.EqualFold(resp.Header.Get("Upgrade"), t.out.upgrade) {
		t.fail(refusal{reason: rule.Unreachable, detail: "it changed to a protocol that nobody asked for", status: http.StatusBadGateway})
		return
	}
	near, early, err := http.NewResponseController(t.w).Hijack()
	if err != nil { // HTTP/2 from inside has no upgrades
		t.fail(refusal{reason: rule.Upgrade, detail: "not over HTTP/2"})
		return
	}
	defer near.Close()
	head := http.Header{}
	dropHops(resp.Header, true)
	t.copyHeader(head, resp.Header)
	t.p.jar.Learn(t.out.to.authority.Host, head.Values("Set-Cookie"))
	head.Set("Connection", "Upgrade")
	head.Set("Upgrade", t.out.upgrade)
	if err := writeHead(near, head); err == nil {
		t.both(near, early.Reader, far)
	}
	said := t.said
	said.Allowed, said.Status, said.Up, said.Down = true, resp.StatusCode, t.up.n.Load(), t.down.Load()
	if r := t.up.refused.Load(); r != nil {
		said.Reason = string(r.reason)
	}
	t.p.record(said)
}

func writeHead(w io.Writer, h http.Header) error {
	b := bufio.NewWriter(w)
	_, _ = b.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = h.Write(b) // the writer keeps its first error until Flush
	_, _ = b.WriteString("\r\n")
	return b.Flush()
}

// both copies each way until one ends.
func (t *trip) both(near net.Conn, early *bufio.Reader, far io.ReadWriteCloser) {
	var wg sync.WaitGroup
	t.up.r = io.NopCloser(early)
	end := func() { _, _ = near.Close(), far.Close() } // how it ends says nothing
	wg.Go(func() {
		defer end()
		_, _ = io.CopyBuffer(struct{ io.Writer }{far}, struct{ io.Reader }{t.up}, make([]byte, copyBuffer))
	})
	wg.Go(func() {
		defer end()
		down := t.reader(far)
		for buf := make([]byte, copyBuffer); ; {
			n, err := down.Read(buf)
			t.down.Add(int64(n))
			_, werr := near.Write(buf[:n])
			if errors.Join(err, werr) != nil {
				return
			}
		}
	})
	wg.Wait()
}
