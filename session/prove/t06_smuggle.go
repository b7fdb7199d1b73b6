package prove

import (
	"fmt"
	"slices"
	"strings"

	"fumehood/isolate/walls"
)

// smuggling hides a second request, of an operation that is not allowed, in the
// body or behind the end of an allowed one, where two servers that read the
// lengths in different ways would see two different things (RFC 9112, 11.2).
func (d *destination) smuggling(at entry, c credentials) []try {
	method := d.forbiddenMethod(at)
	second := func(n string) string {
		return fmt.Sprintf("%s /smuggled%s HTTP/1.1\r\nHost: %s\r\nX-Witness: %s\r\nConnection: close\r\n\r\n", method, n, at.host(), n)
	}
	var out []try
	for _, x := range []struct {
		id, what string
		head     []string // lines of the first request
		body     func(second string) string
	}{
		{"cl-te", "Content-Length and Transfer-Encoding", []string{"Content-Length: %d", "Transfer-Encoding: chunked"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"te-cl", "Transfer-Encoding and a short Content-Length", []string{"Transfer-Encoding: chunked", "Content-Length: 4"}, chunk},
		{"two-lengths", "two different lengths", []string{"Content-Length: 0", "Content-Length: %d"}, itself},
		{"length-list", "a list of lengths", []string{"Content-Length: 0, %d"}, itself},
		{"length-sign", "a length with a sign", []string{"Content-Length: +0"}, itself},
		{"te-space", "a space before the colon", []string{"Transfer-Encoding : chunked", "Content-Length: 5"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"te-odd", "an odd transfer coding", []string{"Transfer-Encoding: xchunked", "Content-Length: 5"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"te-twice", "two transfer codings", []string{"Transfer-Encoding: chunked", "Transfer-Encoding: identity"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"te-fold", "a folded header", []string{"Transfer-Encoding:\r\n chunked", "Content-Length: 5"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"bare-lf", "lines that end in LF alone", []string{"X-Odd: a\nTransfer-Encoding: chunked"}, func(s string) string { return "0\r\n\r\n" + s }},
		{"chunk-size", "a chunk size beyond 64 bits", []string{"Transfer-Encoding: chunked"}, func(s string) string { return "10000000000000000\r\n" + s }},
		{"chunk-ext", "a chunk extension with a line in it", []string{"Transfer-Encoding: chunked"}, func(s string) string { return "1;a=\nb\r\nx\r\n0\r\n\r\n" + s }},
		{"chunk-hex", "a chunk size with 0x", []string{"Transfer-Encoding: chunked"}, func(s string) string { return "0x0\r\n\r\n" + s }},
		{"pipelined", "a second request behind the first", []string{"Content-Length: 0"}, itself},
		{"zero-byte", "a zero byte in a header", []string{"X-Odd: a\x00b", "Content-Length: 0"}, itself},
	} {
		out = append(out, try{
			id: "smuggle-" + x.id, tried: "hide a second request behind " + x.what, expected: "no second request arrives that is not decided on",
			connect: at.tunnel(), sni: at.sni(), within: "400ms", judge: notSmuggled(method),
			send: func(n string) []byte {
				r := at.for1(n, c.placeholder)
				r.keep, r.body = true, ""
				body := x.body(second(n))
				for _, h := range x.head {
					if strings.Contains(h, "%d") {
						h = fmt.Sprintf(h, len(body))
					}
					r.headers = append(r.headers, h)
				}
				return append(r.bytes(), body...)
			},
		})
	}
	return out
}

func itself(s string) string { return s }

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(s), s) }

// forbiddenMethod is one that no operation for the destination has.
func (d *destination) forbiddenMethod(at entry) string {
	for _, m := range []string{"DELETE", "PUT", "PATCH", "POST"} {
		if !d.allowsMethod(at, m) {
			return m
		}
	}
	return "REPORT"
}

func (d *destination) allowsMethod(at entry, method string) bool {
	return slices.ContainsFunc(d.entries, func(e entry) bool {
		return d.same(e, at) && slices.ContainsFunc(e.rule.Operations, func(op string) bool {
			return strings.HasPrefix(op, method+" ") || method == "POST" && strings.HasPrefix(op, "git ")
		})
	})
}

// same tells whether two entries name the same place.
func (d *destination) same(a, b entry) bool {
	return a.at == b.at || a.at.Port == b.at.Port && a.suffix != "" && strings.HasSuffix(b.at.Host, "."+a.suffix)
}

// notSmuggled judges by the requests that the destination read: none of them is
// the hidden one. That bytes were sent is seen by the kernel.
func notSmuggled(method string) func(*passage) outcome {
	return func(p *passage) outcome {
		if o, ok := p.sound(); !ok {
			return o
		}
		for _, a := range p.arrived {
			if a.Method == method || strings.Contains(a.Path, "smuggled") {
				return failed("the hidden request arrived", walls.Listener, fmt.Sprintf("%s %s, nonce %s", a.Method, a.Path, p.nonce))
			}
		}
		for _, l := range p.lines {
			if l.Allowed && (l.Method == method || strings.Contains(l.Path, "smuggled")) {
				return failed("the proxy let the hidden request pass", walls.Proxy, line(l))
			}
		}
		if !p.seen.traced || p.seen.seg == nil {
			return errored("the kernel's answer was not seen")
		}
		c, found := lastOf(p.seen.seg, []string{"write", "sendto", "sendmsg"})
		if !found || !c.OK() || p.tell.Sent == 0 {
			return errored("it was not seen to be sent: " + p.tell.Broken)
		}
		evidence := fmt.Sprintf("%s; requests at the destination with nonce %s: %d", c, p.nonce, len(p.arrived))
		for _, l := range p.lines {
			if !l.Allowed {
				return held("refused: "+l.Reason, walls.Proxy, line(l)+"; "+evidence)
			}
		}
		if p.answer != nil {
			return held(fmt.Sprintf("no second request came of it (status %d)", p.answer.Status), walls.Listener, evidence)
		}
		return held("no second request came of it, and no answer", walls.Listener, evidence)
	}
}
