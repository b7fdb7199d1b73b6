package rule

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Servers, and the proxies and frameworks in front of them, read one path in
// different ways. A path is allowed only if every reading of it is. A reading is
// what any of these turns, one after another in any order, make of the path:
// taking %2F and %5C for "/"; decoding all escapes, at most twice; taking "\" for
// "/"; taking "//" for "/"; leaving out the ";params" of segments; ending the
// path at a decoded "?" or "#"; replacing compatibility characters (NFKC).
//
// So /@scope%2Fname is allowed by "/**", but not by "/@scope/*" alone: to a server
// that does not decode, it is a name of one segment. "/@scope%2F*" beside it
// allows that one as well.

// The longest path, and how many readings one may have before it is refused.
const (
	maxPath     = 8 << 10
	maxReadings = 64
)

// reading is one way to read a path. After depth 0 the text is decoded, and a
// percent sign stands for itself until the next one decodes it.
type reading struct {
	text  string
	depth int
}

// readings lists every way to read a path, each in the form that globs are
// written in, or says why the path is refused.
func readings(raw string) (list []string, bad string) {
	if raw == "" {
		raw = "/" // RFC 9112, 3.2.1
	}
	if len(raw) > maxPath {
		return nil, "longer than 8192 bytes"
	}
	if plainPath(raw) {
		return []string{raw}, ""
	}
	text, bad := normalPath(raw)
	if bad != "" {
		return nil, bad
	}
	all := []reading{{text: text}}
	for i := 0; i < len(all); i++ {
		r := all[i]
		if bad := r.check(); bad != "" {
			return nil, bad
		}
		if s := r.normal(); !slices.Contains(list, s) {
			list = append(list, s)
		}
		for _, turn := range turns {
			next := turn(r)
			if next.text == r.text || slices.Contains(all, next) {
				continue
			}
			if len(all) == maxReadings {
				return nil, "it can be read in too many ways"
			}
			all = append(all, next)
		}
	}
	return list, ""
}

// plainPath tells whether a path can be read in one way only: nearly all can.
func plainPath(s string) bool {
	if s[0] != '/' {
		return false
	}
	dots := true // of the segment so far
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '/':
			if dots {
				return false // an empty segment, or one of dots
			}
			dots = true
		case c == ';' || !pchar(c):
			return false
		case c != '.':
			dots = false
		}
	}
	return !dots || strings.HasSuffix(s, "/")
}

// normalPath is RFC 3986, 6.2.2: escapes of unreserved characters are decoded,
// the others in upper case. What may not stand in a path unescaped is escaped.
func normalPath(raw string) (text, bad string) {
	if raw[0] != '/' {
		return "", "it does not begin with a slash"
	}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '%':
			d, ok := escape(raw, i)
			if !ok {
				return "", "an invalid escape"
			}
			put(&b, d, unreserved(d))
			i += 2
		case c <= ' ' || c >= 0x7f:
			return "", "a byte that has to be escaped"
		case c == '?' || c == '#':
			return "", "a query or fragment in it"
		default:
			put(&b, c, c == '/' || pchar(c))
		}
	}
	return b.String(), ""
}

// put writes a byte as it is or escaped.
func put(b *strings.Builder, c byte, plain bool) {
	if plain {
		b.WriteByte(c)
		return
	}
	const hex = "0123456789ABCDEF"
	b.Write([]byte{'%', hex[c>>4], hex[c&15]})
}

// normal gives a reading the form that globs are written in.
func (r reading) normal() string {
	if r.depth == 0 {
		return r.text
	}
	var b strings.Builder
	for i := range len(r.text) {
		put(&b, r.text[i], r.text[i] == '/' || pchar(r.text[i]))
	}
	return b.String()
}

func (r reading) check() (bad string) {
	if !utf8.ValidString(r.text) {
		return "it is not UTF-8 when it is decoded"
	}
	if strings.ContainsFunc(r.text, unicode.IsControl) {
		return "a control byte"
	}
	for s := range strings.SplitSeq(r.text, "/") {
		// Windows drops dots and spaces at the end of a name: ".. " climbs as well.
		if strings.Contains(s, ".") && strings.Trim(s, ". ") == "" {
			return "a segment of dots"
		}
	}
	if r.depth == 0 {
		return ""
	}
	for i := range len(r.text) {
		if r.text[i] == '%' && i+6 <= len(r.text) && r.text[i+1]|0x20 == 'u' && allHex(r.text[i+2:i+6]) {
			return "an escape of the form %uXXXX"
		}
	}
	if r.depth == maxDepth && decodeOnce(r.text) != r.text {
		return "it is escaped more than twice"
	}
	return ""
}

// maxDepth is how often a path is decoded; what still has escapes then is refused.
const maxDepth = 2

// turns is what makes one reading of another; what does not apply changes nothing.
var turns = []func(reading) reading{
	escapedSlash("%2F"),
	escapedSlash("%5C"),
	func(r reading) reading {
		if r.depth == maxDepth {
			return r
		}
		return reading{decodeOnce(r.text), r.depth + 1}
	},
	func(r reading) reading { return reading{strings.ReplaceAll(r.text, `\`, "/"), r.depth} },
	func(r reading) reading { return reading{collapse(r.text), r.depth} },
	func(r reading) reading { return reading{withoutParams(r.text), r.depth} },
	func(r reading) reading {
		if i := strings.IndexAny(r.text, "?#"); i >= 0 {
			return reading{r.text[:i], r.depth}
		}
		return r
	},
	func(r reading) reading { return reading{norm.NFKC.String(r.text), r.depth} },
}

func escapedSlash(esc string) func(reading) reading {
	return func(r reading) reading {
		if r.depth > 0 {
			return r // it is decoded, or stands for itself
		}
		return reading{strings.ReplaceAll(r.text, esc, "/"), 0}
	}
}

// decodeOnce decodes every escape and leaves what is none as it is.
func decodeOnce(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := escape(s, i); ok {
			b.WriteByte(c)
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func collapse(s string) string {
	if !strings.Contains(s, "//") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if i == 0 || s[i] != '/' || s[i-1] != '/' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func withoutParams(s string) string {
	if strings.IndexByte(s, ';') < 0 {
		return s
	}
	segments := strings.Split(s, "/")
	for i, seg := range segments {
		segments[i], _, _ = strings.Cut(seg, ";")
	}
	return strings.Join(segments, "/")
}

// escape decodes the escape that begins at s[i], if one does.
func escape(s string, i int) (byte, bool) {
	if s[i] != '%' || i+3 > len(s) || !allHex(s[i+1:i+3]) {
		return 0, false
	}
	return unhex(s[i+1])<<4 | unhex(s[i+2]), true
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

func allHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// unreserved is RFC 3986, 2.3.
func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// pchar is what may stand in a segment as it is (RFC 3986, 3.3).
func pchar(c byte) bool {
	return unreserved(c) || strings.IndexByte("!$&'()*+,;=:@", c) >= 0
}
