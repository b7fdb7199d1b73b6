package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

var noDeadline time.Time

// opaque carries bytes both ways without a look, as the entry says; but a TLS
// server name in the first of them must be the destination's.
func (p *Proxy) opaque(w http.ResponseWriter, r *http.Request, a rule.Authority, said *record.Attempt) {
	far, byHost, err := p.ways.tunnel(r.Context(), a)
	if err != nil {
		p.answer(w, said, refusalOf(err))
		return
	}
	defer far.Close()
	if k := below(far); k != nil {
		said.Address = k.address
	}
	if byHost {
		said.Detail = byProxy
	}
	near, early, ok := open(w)
	if !ok {
		return
	}
	defer near.Close()
	said.Allowed, said.Status = true, http.StatusOK
	var up, down atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() { // from the start: many a server speaks first
		n, _ := splice(near, far) // how a tunnel ends says nothing
		down.Store(n)
		closeWrite(near)
	})
	wg.Go(func() {
		n, agreed := p.upwards(far, near, early, a)
		up.Store(n)
		if !agreed {
			said.Allowed, said.Reason, said.Detail = false, string(rule.Disagree), "the TLS server name is not the destination, or can't be read"
			_, _ = near.Close(), far.Close() // nothing of it was sent
			return
		}
		closeWrite(far)
	})
	wg.Wait()
	said.Up, said.Down = up.Load(), down.Load()
	p.record(said)
}

// upwards sends what comes from inside, once its first bytes are no ClientHello
// for another name. It gives how much that was, and whether the names agree.
func (p *Proxy) upwards(far, near net.Conn, early *bufio.Reader, a rule.Authority) (sent int64, agreed bool) {
	h := readHello(early, func(d time.Duration) { _ = near.SetReadDeadline(deadline(d)) })
	if (h.odd || !namesAgree(h.name, a)) && !p.omits(PartNames) {
		return 0, false
	}
	n, err := far.Write(h.read)
	sent = int64(n)
	if err == nil && early.Buffered() > 0 {
		var m int64
		m, err = io.CopyN(far, early, int64(early.Buffered()))
		sent += m
	}
	if err == nil && !h.ended {
		m, _ := splice(far, near)
		sent += m
	}
	return sent, true
}

func deadline(d time.Duration) time.Time {
	if d == 0 {
		return noDeadline
	}
	return now().Add(d)
}

// splice copies until the end; between two TCP sockets the kernel does it
// (splice(2)), which net only tries on the bare sockets.
func splice(to, from net.Conn) (int64, error) { return io.Copy(bare(to), bare(from)) }

func bare(c net.Conn) net.Conn {
	for {
		k, ok := c.(*conn)
		if !ok {
			return c
		}
		c = k.Conn
	}
}

func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite() // it is closed for good soon
		return
	}
	_ = c.Close()
}
