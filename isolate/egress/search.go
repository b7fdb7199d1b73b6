package egress

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/rule"
)

// copyHeader copies a destination's header with the secret cut out. A name that
// holds it goes altogether: writing asterisks there would make no header.
func (t *trip) copyHeader(to, from http.Header) {
	for name, values := range from {
		if strings.EqualFold(name, refusedHeader) {
			continue // it would pass for the policy's word
		}
		if t.cutter().Holds(name) {
			t.said.Cut++
			continue
		}
		to[name] = append(to[name], t.cutAll(values)...)
	}
}

func (t *trip) cutAll(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		b := []byte(v)
		if n := t.cutter().Cut(b); n > 0 {
			t.said.Cut += n
			v = string(b)
		}
		out[i] = v
	}
	return out
}

// cutter has every secret that was attached in this session so far, to whatever
// request: what one operation stored another may read. Only an entry that is
// meant to return its account's does.
func (t *trip) cutter() *account.Cutter {
	if !t.p.searches() {
		return account.NewCutter()
	}
	return t.p.cutters.but(t.out.returns())
}

// searches tells whether anything of this session is ever searched. Where it is,
// every request asks for what can be, also before the first secret is attached:
// an answer may last until after.
func (p *Proxy) searches() bool { return len(p.cfg.Accounts) > 0 && !p.omits(PartSearch) }

// reader is what comes from the destination with the secrets cut out.
func (t *trip) reader(r io.Reader) io.Reader {
	if !t.p.searches() {
		return r
	}
	return account.NewReader(r, t.cutter, func() { t.said.Cut++ })
}

// searched is the answer's body with the secrets cut out, uncompressed if it was
// compressed. What can't be read so is refused.
func (t *trip) searched(resp *http.Response) (io.Reader, error) {
	if !t.p.searches() {
		return resp.Body, nil
	}
	body := io.Reader(resp.Body)
	if bodied(resp) {
		if !legible(resp.Header.Values("Content-Type")) {
			return nil, refusal{reason: rule.Unsearchable, detail: "its charset", status: http.StatusBadGateway}
		}
		var err error
		if body, err = plain(resp); err != nil {
			return nil, err
		}
	}
	return t.reader(body), nil
}

// bodied tells whether an answer may have a body at all.
func bodied(resp *http.Response) bool {
	return resp.Request.Method != http.MethodHead && resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified &&
		resp.ContentLength != 0
}

// plain takes the compression off an answer. It was asked not to be compressed;
// some destinations do it all the same.
func plain(resp *http.Response) (io.Reader, error) {
	unsearchable := refusal{reason: rule.Unsearchable, status: http.StatusBadGateway}
	codings := strings.Join(resp.Header.Values("Content-Encoding"), ",")
	kind := strings.ToLower(strings.TrimSpace(codings))
	if kind == "" || kind == "identity" {
		return resp.Body, nil
	}
	if resp.StatusCode == http.StatusPartialContent { // the middle of something compressed
		return nil, unsearchable
	}
	var body io.Reader
	switch kind {
	case "gzip", "x-gzip":
		body = &lazy{open: func() (io.Reader, error) { return gzip.NewReader(resp.Body) }}
	case "deflate":
		body = &lazy{open: func() (io.Reader, error) { return inflate(resp.Body) }}
	default:
		return nil, unsearchable
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.Header.Del("Content-Md5")
	resp.Header.Del("Digest")
	return body, nil
}

// inflate reads both of what is called deflate: with a zlib header (RFC 9110,
// 8.4.1.2), and without, as some servers have it.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&15 == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// lazy opens a reader at the first read, since that may wait for the body while
// the header can go on already.
type lazy struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (l *lazy) Read(b []byte) (int, error) {
	if l.r == nil {
		r, err := l.open()
		if errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(b)
}
