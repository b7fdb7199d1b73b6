package account

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf16"
)

// minForm is the shortest form that is searched for: a shorter one would be
// found in ordinary text.
const minForm = 6

// forms are the ways in which a secret may be written in an answer. What this
// does not cover: base64 that is broken into lines or made of an encoding
// itself, digits parted by blanks, every character's choice of its own between two
// ways of escaping, and any compression or encryption.
func forms(secret string) [][]byte {
	list := []string{secret}
	for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
		for _, plain := range urlPlain {
			list = append(list, percent(secret, plain, digits, "%20"))
			if strings.Contains(secret, " ") {
				list = append(list, percent(secret, plain, digits, "+"))
			}
		}
		list = append(list,
			unicodes(secret, digits, func(c rune) bool { return !alnum(c) }),
			unicodes(secret, digits, func(c rune) bool { return c > '~' || strings.ContainsRune("\"\\", c) }),
			unicodes(secret, digits, func(c rune) bool { return c > '~' || strings.ContainsRune("\"\\<>&'", c) }),
			unicodes(secret, digits, func(c rune) bool { return c > '~' || strings.ContainsRune("\"\\<>&'+=/`", c) }),
			unicodes(secret, digits, func(rune) bool { return true }),
			each(secret, digits, "%", "", ""), each(secret, digits, `\x`, "", ""), each(secret, digits, "&#x", ";", ""), each(secret, digits, "", "", ":"),
			hexed(secret, digits))
	}
	list = append(list, decimals(secret), strings.ToUpper(secret), strings.ToLower(secret))
	list = append(list, jsonSlash.Replace(secret), jsonPlain.Replace(secret), jsonGo.Replace(secret))
	for _, r := range htmls() {
		list = append(list, r.Replace(secret))
	}
	list = append(list, base64s(secret)...)
	list = append(list, wide(secret, 0, 1), wide(secret, 1, 0), wider(secret, binary.LittleEndian), wider(secret, binary.BigEndian))
	return distinct(list)
}

// urlPlain are the characters that stay as they are besides letters and digits,
// for one library or another.
var urlPlain = []string{
	"",
	"-._~",                 // RFC 3986's unreserved ones; Go's query, Python's quote_plus
	"-._~/",                // Python's quote
	"-._~!*'()",            // JavaScript's encodeURIComponent
	"-._*",                 // HTML forms
	"-._~$&+=:@",           // Go's path segment
	"-._~$&+,/:;=@",        // Go's path
	"-._~!$&'()*+,;=:@",    // RFC 3986's path segment
	"-._~!$&'()*+,;=:@/",   // and its path
	"-._~!$&'()*+,;=:@/?#", // JavaScript's encodeURI
}

func distinct(list []string) [][]byte {
	var out [][]byte
	seen := map[string]bool{}
	for i, f := range list {
		// A secret has no line end (CheckSecret); UTF-16 of rare ones has such a
		// byte, and breaksOf lives by that none has.
		if f == "" || seen[f] || i > 0 && len(f) < minForm || strings.ContainsAny(f, "\r\n") {
			continue
		}
		seen[f] = true
		out = append(out, []byte(f))
	}
	return out
}

func alnum(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// percent is URL-encoding (RFC 3986, 2.1), which every library does with
// another set of characters that stay.
func percent(s, plain, digits, blank string) string {
	var out strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case alnum(rune(c)) || strings.IndexByte(plain, c) >= 0:
			out.WriteByte(c)
		case c == ' ':
			out.WriteString(blank)
		default:
			out.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return out.String()
}

// each writes every byte as two digits, as a program does that knows no plain
// characters.
func each(s, digits, before, after, between string) string {
	var out strings.Builder
	for i := range len(s) {
		if i > 0 {
			out.WriteString(between)
		}
		out.WriteString(before + string([]byte{digits[s[i]>>4], digits[s[i]&15]}) + after)
	}
	return out.String()
}

// decimals is HTML's, of every character.
func decimals(s string) string {
	var out strings.Builder
	for _, c := range s {
		out.WriteString("&#" + strconv.Itoa(int(c)) + ";")
	}
	return out.String()
}

// unicodes writes some characters as JSON's \uXXXX.
func unicodes(s, digits string, which func(rune) bool) string {
	var out strings.Builder
	for _, c := range s {
		if !which(c) {
			out.WriteRune(c)
			continue
		}
		for _, u := range utf16.Encode([]rune{c}) {
			out.Write([]byte{'\\', 'u', digits[u>>12], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
		}
	}
	return out.String()
}

func hexed(s, digits string) string {
	out := hex.EncodeToString([]byte(s))
	if digits[10] == 'A' {
		out = strings.ToUpper(out)
	}
	return out
}

var (
	jsonPlain = strings.NewReplacer(`"`, `\"`, `\`, `\\`)
	jsonSlash = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `/`, `\/`)
	jsonGo    = strings.NewReplacer(`"`, `\"`, `\`, `\\`, `<`, `\u003c`, `>`, `\u003e`, `&`, `\u0026`)
)

// htmls are the sets of characters that HTML libraries escape.
func htmls() []*strings.Replacer {
	base := []string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}
	with := func(more ...string) *strings.Replacer {
		return strings.NewReplacer(append(append([]string{}, base...), more...)...)
	}
	return []*strings.Replacer{
		with(),
		with(`"`, "&quot;"),
		with(`"`, "&quot;", "'", "&#39;"),
		with(`"`, "&#34;", "'", "&#39;"),
		with(`"`, "&#34;", "'", "&#39;", "+", "&#43;"),
		with(`"`, "&quot;", "'", "&#x27;"),
		with(`"`, "&quot;", "'", "&#x27;", "/", "&#x2F;"),
		with(`"`, "&quot;", "'", "&#x27;", "/", "&#x2F;", "`", "&#x60;", "=", "&#x3D;"),
		with(`"`, "&quot;", "'", "&apos;"),
	}
}

// base64s are the parts of the secret's base64 that are the same whatever
// stands around it, for the three places in a group where it may begin. So
// "user:secret" of Basic is found as well.
func base64s(s string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for lead := range 3 {
			text := enc.EncodeToString([]byte(strings.Repeat("x", lead) + s))
			first := (lead*8 + 5) / 6       // the first character that is the secret's alone
			last := (lead + len(s)) * 8 / 6 // the end of the last one
			out = append(out, text[min(first, last):last])
		}
	}
	return out
}

// wide is UTF-16 with the less significant byte at low.
func wide(s string, low, high int) string {
	var out strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		var pair [2]byte
		pair[low], pair[high] = byte(u), byte(u>>8)
		out.Write(pair[:])
	}
	return out.String()
}

// wider is UTF-32.
func wider(s string, order binary.AppendByteOrder) string {
	var out []byte
	for _, c := range s {
		out = order.AppendUint32(out, uint32(c))
	}
	return string(out)
}
