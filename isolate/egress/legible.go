package egress

import (
	"net/http"
	"strings"
)

// legible tells whether text of a content type can be searched: in which ASCII
// is written as ASCII, or as UTF-16 or UTF-32, which are searched for as well.
// In EBCDIC or UTF-7 a secret would pass. Without a charset it is ASCII to
// whoever wrote it.
func legible(types []string) bool {
	for _, v := range types {
		for _, part := range strings.FieldsFunc(v, func(r rune) bool { return r == ';' || r == ',' }) {
			name, value, _ := strings.Cut(part, "=")
			if name = strings.ToLower(strings.TrimSpace(name)); name != "charset" && name != "charset*" {
				continue
			}
			if !asciiLike(strings.ToLower(strings.Trim(value, " \t\"'"))) {
				return false
			}
		}
	}
	return true
}

var charsets = strings.Fields("ascii us-ascii latin1 binary macintosh gbk gb2312 gb18030 big5 big5-hkscs shift_jis shift-jis sjis x-sjis iso-2022-jp tis-620 unicode")

// charsetKinds are beginnings of the others' names.
var charsetKinds = strings.Fields("utf-8 utf8 utf-16 utf16 utf-32 utf32 iso-8859- iso8859- iso_8859- windows-125 windows-874 windows-31j cp125 euc- koi8- x-mac- ansi_x3.4 ks_c_5601")

func asciiLike(charset string) bool {
	if charset == "" {
		return true
	}
	for _, c := range charsets {
		if charset == c {
			return true
		}
	}
	for _, k := range charsetKinds {
		if strings.HasPrefix(charset, k) {
			return true
		}
	}
	return false
}

// whole are the headers that ask for a part of an answer, of which each would
// hide half of a secret, or for it compressed or in a charset of the inside's
// choice. Some servers know a range by another name.
var whole = map[string]bool{
	"accept-charset": true, "accept-encoding": true, "a-im": true, "range": true, "if-range": true, "request-range": true, "x-range": true,
	"x-ms-range": true, "sec-websocket-extensions": true, // permessage-deflate
}

// readsAll makes the answer one that can be searched for a secret.
func readsAll(h http.Header) {
	for name := range h {
		if whole[plainName(name)] {
			delete(h, name)
		}
	}
	h.Set("Accept-Encoding", "identity")
	for name, values := range h {
		if plainName(name) == "accept" {
			for i, v := range values {
				values[i] = noCharset(v)
			}
		}
	}
}

// noCharset takes the charsets out of an Accept header. Servers answer in one
// that is asked for there.
func noCharset(v string) string {
	if !strings.Contains(strings.ToLower(v), "charset") {
		return v
	}
	if strings.ContainsAny(v, "\"\\") { // in which the commas may be none
		return "*/*"
	}
	var kinds []string
	for _, kind := range strings.Split(v, ",") {
		var parts []string
		for _, part := range strings.Split(kind, ";") {
			if name, _, _ := strings.Cut(part, "="); !strings.HasPrefix(strings.ToLower(strings.TrimSpace(name)), "charset") {
				parts = append(parts, part)
			}
		}
		kinds = append(kinds, strings.Join(parts, ";"))
	}
	return strings.Join(kinds, ",")
}

// plainName is a header's as CGI and WSGI servers read it, which can't tell
// underscores from hyphens.
func plainName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }
