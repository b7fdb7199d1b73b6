package egress

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
)

// proxyAuth takes the credential for the proxy itself out of a header. None is
// asked for (docs/decisions/0015); what is not fumehood's own is a foreign one.
func proxyAuth(h http.Header) (refusal, bool) {
	values := h.Values("Proxy-Authorization")
	h.Del("Proxy-Authorization")
	for _, v := range values {
		scheme, rest, _ := strings.Cut(v, " ")
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		user, _, ok := strings.Cut(string(b), ":")
		if !strings.EqualFold(scheme, "basic") || err != nil || !ok || user != "fumehood" {
			return refusal{reason: rule.Foreign, detail: "header Proxy-Authorization"}, true
		}
	}
	return refusal{}, false
}

// misshapen refuses what net/http reads but no request for a destination is.
func misshapen(r *http.Request, x exchange) (refusal, bool) {
	switch u := r.URL; {
	case u.User != nil:
		return refusal{reason: rule.Foreign, detail: "URL userinfo"}, true
	case u.Opaque != "" || u.Fragment != "" || u.Path == "*":
		return refusal{reason: rule.BadPath, detail: "not a path"}, true
	case u.Scheme != "" && u.Scheme != x.scheme:
		return refusal{reason: rule.Disagree, detail: "the URL's scheme is not the tunnel's"}, true
	case r.Method == http.MethodTrace || strings.EqualFold(r.Method, "TRACK"):
		// The answer is the request itself, with what was attached to it.
		return refusal{reason: rule.Operation, detail: "TRACE"}, true
	}
	return refusal{}, false
}

// agrees tells whether what a request says of its destination is one thing.
func agrees(r *http.Request, x exchange) bool {
	port := uint16(80)
	if x.scheme == "https" {
		port = 443
	}
	for _, s := range []string{r.Host, r.URL.Host} {
		if s == "" {
			continue
		}
		a, err := rule.ParseAuthority(s, port)
		if err != nil || a != x.authority {
			return false
		}
	}
	return true
}

// hostHeader leaves out the port that is the scheme's own, as clients do.
func hostHeader(x exchange) string {
	if x.scheme == "https" && x.authority.Port == 443 || x.scheme == "http" && x.authority.Port == 80 {
		if x.authority.IP.Is6() {
			return "[" + x.authority.Host + "]"
		}
		return x.authority.Host
	}
	return x.authority.String()
}

// upgradeOf is the protocol that a request wants to change to. h2c is no wish of
// the destination's to know: a proxy may leave it out (RFC 9110, 7.8), and Java
// asks for it with each plain request.
func upgradeOf(h http.Header) string {
	var want []string
	for _, v := range h.Values("Upgrade") {
		for _, p := range strings.Split(v, ",") {
			if p = strings.TrimSpace(p); p != "" && !strings.EqualFold(p, "h2c") {
				want = append(want, p)
			}
		}
	}
	return strings.Join(want, ", ")
}

// ascii escapes what is none in a query. Some servers part the request's line at
// every blank of Latin 1 (0x85, 0xA0).
func ascii(query string) string {
	var out strings.Builder
	for i := range len(query) {
		if c := query[i]; c >= 0x80 {
			_, _ = fmt.Fprintf(&out, "%%%02X", c) // a Builder takes all
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// websocket tells whether a request asks for one (RFC 6455, 4.1). An entry that
// allows upgrades allows nothing else: "tcp" or "HTTP/2.0" would be a tunnel in
// which no operation is looked at.
func websocket(h http.Header) bool {
	return strings.EqualFold(upgradeOf(h), "websocket") && len(h.Values("Sec-WebSocket-Key")) == 1
}

// hopHeaders are about one connection and are never passed on (RFC 9110, 7.6.1).
func hopHeaders() []string {
	return []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
	}
}

// dropHops takes out those headers, and in an answer also those that its
// Connection names. In a request those stay: what the inside names there could
// be what is attached, and what it wants to be dropped it need not send.
func dropHops(h http.Header, answer bool) {
	if answer {
		for _, v := range h.Values("Connection") {
			for _, name := range strings.Split(v, ",") {
				h.Del(strings.TrimSpace(name))
			}
		}
	}
	for _, name := range hopHeaders() {
		h.Del(name)
	}
}

// framing tells whether a header says where a request ends, or is about one
// connection, by the name that CGI servers read.
func framing(name string) bool {
	name = plainName(name)
	return name == "content-length" || name == "host" || name == "expect" || slices.ContainsFunc(hopHeaders(), func(hop string) bool {
		return strings.EqualFold(hop, name)
	})
}

// outHeader is what of a request's header goes on.
func outHeader(in http.Header, upgrade string) http.Header {
	h := in.Clone()
	trailers := false
	for _, v := range h.Values("Te") {
		trailers = trailers || strings.Contains(strings.ToLower(v), "trailers")
	}
	dropHops(h, false)
	for name := range h {
		if rule.IsOverride(name) || strings.Contains(name, "_") && framing(name) {
			delete(h, name)
		}
	}
	if trailers { // gRPC refuses to answer without
		h.Set("Te", "trailers")
	}
	if upgrade != "" {
		h.Set("Connection", "Upgrade")
		h.Set("Upgrade", upgrade)
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "") // else net/http sends its own
	}
	return h
}
