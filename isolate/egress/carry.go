package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// trip is one request that is being carried.
type trip struct {
	p    *Proxy
	out  *permit
	said *record.Attempt
	w    http.ResponseWriter
	up   *upload
	way  way
	sent atomic.Bool // the destination got its header
	down atomic.Int64

	mu       sync.Mutex
	answered bool // the answer's own header is being written, so no 1xx any more
	interim  int
}

// maxInterim is how many 1xx answers one request may get.
const maxInterim = 50

var errInterim = errors.New("too many interim answers")

// carry sends the request on and its answer back.
func (p *Proxy) carry(w http.ResponseWriter, r *http.Request, out *permit, said *record.Attempt) {
	if ref := p.slot(r.Context()); ref != nil {
		p.answer(w, said, *ref)
		return
	}
	defer func() { <-p.slots }()
	t := &trip{p: p, out: out, said: said, w: w, up: &upload{caps: p.caps, entry: out.entry}}
	// Else a destination that answers while it still reads would wait for us,
	// and we for the end of the upload.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is
	way, err := p.ways.to(out.to)
	if err != nil {
		p.answer(w, said, refusalOf(err))
		return
	}
	if t.way = way; way.proxy != nil {
		said.Detail = byProxy
	}
	ctx := httptrace.WithClientTrace(way.into(r.Context()), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			if k := below(got.Conn); k != nil {
				said.Address = k.address
			}
			atRest(r.Context(), got.Conn)
		},
		WroteHeaders: func() { t.sent.Store(true) }, Got1xxResponse: t.passInterim,
	})
	resp, err := way.transport.RoundTrip(t.request(ctx, r))
	t.mu.Lock()
	t.answered = true
	t.mu.Unlock()
	if err != nil {
		t.fail(err)
		return
	}
	defer resp.Body.Close()
	t.answer(resp)
}

// slot waits for one of maxRequests. Who waits takes memory as well, and there
// can be many over HTTP/2, so that not all may.
func (p *Proxy) slot(ctx context.Context) *refusal {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	defer p.waiting.Add(-1)
	if p.waiting.Add(1) > maxWaiting {
		return &refusal{reason: rule.Rate, detail: "too many requests of this session are under way", status: http.StatusServiceUnavailable}
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &refusal{reason: rule.Unreachable, detail: "the request was given up", status: http.StatusBadGateway}
	}
}

// request is what goes out: only what was decided on.
func (t *trip) request(ctx context.Context, r *http.Request) *http.Request {
	req := &http.Request{
		Method: r.Method, Host: hostHeader(t.out.to), Header: t.out.header, ContentLength: r.ContentLength,
		URL: &url.URL{
			Scheme: t.out.to.scheme, Host: t.out.to.authority.String(), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: ascii(t.out.query),
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.Body != nil && r.ContentLength != 0 {
		t.up.r = r.Body
		req.Body = t.up
	}
	return req.WithContext(ctx)
}

// passInterim passes 1xx answers on. The transport calls it from its own
// goroutine.
func (t *trip) passInterim(code int, header textproto.MIMEHeader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.interim++; t.interim > maxInterim {
		return errInterim
	}
	if t.answered {
		return nil
	}
	h := t.w.Header()
	t.copyHeader(h, http.Header(header))
	t.w.WriteHeader(code)
	clear(h)
	return nil
}

// fail answers when there is no answer. What the destination got all the same
// is written down as that.
func (t *trip) fail(err error) {
	ref := refusalOf(err)
	if r := t.up.refused.Load(); r != nil {
		ref = *r
	}
	t.said.Up = t.up.n.Load()
	t.p.answerSent(t.w, t.said, ref, t.sent.Load())
}

// answer sends the destination's answer back and writes the attempt down,
// however it ends.
func (t *trip) answer(resp *http.Response) {
	p, said := t.p, t.said
	if resp.StatusCode == http.StatusUnauthorized && t.out.account != "" {
		p.cfg.Stale(t.out.account)
	}
	if t.way.proxy != nil && t.out.to.scheme == "http" && resp.StatusCode == http.StatusProxyAuthRequired {
		t.sent.Store(false)                  // it went no further
		t.fail(proxyAnswer(resp.StatusCode)) // it is not the inside that is asked
		return
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		t.switchProtocols(resp)
		return
	}
	body, err := t.searched(resp)
	if err != nil {
		t.fail(err)
		return
	}
	t.copyAnswer(resp)
	t.w.WriteHeader(resp.StatusCode)
	if resp.ContentLength < 0 || resp.ContentLength > ioBuffer {
		// Its header may be all that comes for long. A short body is worth a
		// moment's wait, to leave in one piece with it.
		_ = http.NewResponseController(t.w).Flush() // the next write tells
	}
	err = t.stream(body)
	if err == nil {
		t.trailers(resp)
	}
	said.Allowed, said.Status, said.Up, said.Down = true, resp.StatusCode, t.up.n.Load(), t.down.Load()
	if r := t.up.refused.Load(); r != nil {
		said.Reason = string(r.reason)
	} else if err != nil {
		said.Detail = "the answer broke off"
	}
	p.record(said)
	if err != nil {
		panic(http.ErrAbortHandler) // the inside must not take the part for the whole
	}
}

// copyAnswer copies the answer's header, and announces its trailers.
func (t *trip) copyAnswer(resp *http.Response) {
	dropHops(resp.Header, true)
	h := t.w.Header()
	t.copyHeader(h, resp.Header)
	t.p.jar.Learn(t.out.to.authority.Host, h.Values("Set-Cookie"))
	for name := range resp.Trailer {
		if !t.cutter().Holds(name) {
			h.Add("Trailer", name)
			h.Del("Content-Length") // HTTP/1.1 has trailers only after chunks
		}
	}
}

// stream copies the body as it comes: a client may wait for each piece.
func (t *trip) stream(body io.Reader) error {
	buf := buffers.get()
	defer buffers.put(buf)
	flusher := http.NewResponseController(t.w)
	for {
		n, err := body.Read(*buf)
		if n > 0 {
			if _, werr := t.w.Write((*buf)[:n]); werr != nil {
				return werr
			}
			t.down.Add(int64(n))
			_ = flusher.Flush() // the next write tells
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *trip) trailers(resp *http.Response) {
	h := t.w.Header()
	for name, values := range resp.Trailer {
		if t.cutter().Holds(name) {
			continue
		}
		if _, announced := h[http.TrailerPrefix+name]; !announced {
			h[http.TrailerPrefix+name] = t.cutAll(values)
		}
	}
}
