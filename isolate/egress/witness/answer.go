package witness

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// serve writes a request down and answers it as it was planned.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	one := Seen{
		At: time.Now(), Nonce: r.Header.Get(NonceHeader), Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(),
	}
	if t, ok := r.Context().Value(tapKey{}).(*tap); ok {
		one.TLS, one.SNI = t.tls, t.sni
	}
	s.mu.Lock()
	p := s.plans[one.Nonce]
	s.mu.Unlock()
	one.Replied = p.reply
	if p.reply == Echo {
		s.keep(one)
		echo(w, r)
		return
	}
	var err error
	if one.Body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err == nil {
		one.Length, err = io.Copy(io.Discard, r.Body)
	}
	one.Length += int64(len(one.Body))
	// It is written down before the answer, which may be waited for.
	s.keep(one)
	if err != nil {
		return // half a request has no answer
	}
	answer(w, p, one.Nonce, sent(r), r.Host)
}

func (s *Server) keep(one Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) < maxLog {
		s.log = append(s.log, one)
	}
}

// sent is everything of a request that may be a credential, a line each.
func sent(r *http.Request) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(r.Header)) {
		out = append(out, r.Header[k]...)
	}
	for _, v := range r.URL.Query() {
		out = append(out, v...)
	}
	return out
}

// answer hands back what was sent, in one of the ways.
func answer(w http.ResponseWriter, p plan, nonce string, sent []string, host string) {
	text := strings.Join(sent, "\n")
	h, mark := w.Header(), Mark+nonce+"\n"
	write := func(parts ...string) {
		for _, part := range parts {
			_, _ = io.WriteString(w, part) // who asked may have gone
		}
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	switch p.reply {
	case Plain:
		write(mark)
	case Body:
		write(mark, text, "\n")
	case Headers:
		for _, v := range sent {
			h.Add("X-Echo", v)
		}
		write(mark)
	case Cookie:
		for i, v := range sent {
			h.Add("Set-Cookie", fmt.Sprintf("c%d=%s", i, url.QueryEscape(v)))
		}
		write(mark)
	case Base64:
		write(mark, base64.StdEncoding.EncodeToString([]byte(text)), "\n", base64.RawURLEncoding.EncodeToString([]byte("x"+text)), "\n")
	case Hex:
		write(mark, hex.EncodeToString([]byte(text)), "\n")
	case Escaped:
		write(mark, url.QueryEscape(text), "\n", fmt.Sprintf("%+q", text), "\n")
	case Gzip:
		h.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, mark+text+"\n")
		_ = z.Close()
	case Brotli:
		h.Set("Content-Encoding", "br")
		write(mark, text, "\n")
	case Split:
		flush := http.NewResponseController(w).Flush
		write(mark)
		for len(text) > 0 {
			n := min(3, len(text))
			write(text[:n])
			text = text[n:]
			_ = flush()
		}
	case Events:
		h.Set("Content-Type", "text/event-stream")
		write("data: ", mark, "\n")
		for _, line := range sent {
			write("data: ", line, "\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	case Location:
		h.Set("Location", "https://"+host+"/?t="+url.QueryEscape(text))
		w.WriteHeader(http.StatusFound)
		write(mark)
	case Trailer:
		h.Set("Trailer", "X-Echo")
		write(mark)
		_ = http.NewResponseController(w).Flush()
		h.Set("X-Echo", strings.Join(sent, ", "))
	case Redirect:
		h.Set("Location", p.to)
		w.WriteHeader(http.StatusFound)
		write(mark)
	case Echo: // was answered before
	}
}
