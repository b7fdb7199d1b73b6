package account

import (
	"encoding/base64"
	"strings"
)

// readings are what may be the credential itself in a slot's value, the
// likeliest last. A value without one, such as a scheme alone, has none.
func readings(value string) []string {
	value = strings.TrimSpace(value)
	if value == "" || scheme(value) {
		return nil
	}
	out := []string{value}
	name, rest, ok := strings.Cut(value, " ")
	if rest = strings.TrimSpace(rest); !ok || rest == "" {
		return out
	}
	if strings.EqualFold(name, "basic") {
		return append(append(out, rest), basic(rest)...)
	}
	if strings.Contains(rest, "=") && strings.ContainsAny(rest, ", \"") || strings.HasPrefix(strings.ToUpper(name), "AWS") {
		out = append(out, params(rest)...)
	}
	return append(out, rest)
}

// scheme says that a value is an authentication scheme's name and no more.
func scheme(s string) bool {
	return oneOf(strings.Fields("basic bearer token digest negotiate ntlm dpop apikey"), strings.ToLower(s))
}

// basic are the two sides of user:password; tools put a token on either.
func basic(text string) []string {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		b, err := enc.DecodeString(text)
		if err != nil {
			continue
		}
		user, password, _ := strings.Cut(string(b), ":")
		var out []string
		for _, s := range []string{user, password} {
			if s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// params are the values of Digest's, AWS4-HMAC-SHA256's and others' parameters,
// and the parts of those between slashes and colons.
func params(rest string) []string {
	var out []string
	for _, p := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' }) {
		_, value, ok := strings.Cut(p, "=")
		if !ok {
			value = p
		}
		value = strings.Trim(value, `"`)
		out = append(out, value)
		if id, _, ok := strings.Cut(strings.ReplaceAll(value, ":", "/"), "/"); ok {
			out = append(out, id)
		}
	}
	return out
}

// Strip takes every credential out of a request and gives the query without.
func Strip(header map[string][]string, query string) string { return StripBut(header, query) }

// StripBut does as Strip, and leaves the slots that are named as Found names
// them, such as "header Cookie" when the destination set all that is in it.
func StripBut(header map[string][]string, query string, keep ...string) string {
	for name, values := range header {
		if oneOf(keep, shown("header", name)) {
			continue
		}
		if headerNames().carries(name) || isProtocol(name) && anyCredential(values) {
			delete(header, name)
		}
	}
	return dropParams(query, func(name, value string) bool {
		return (paramNames().carries(name) || longParam(name, value)) && !oneOf(keep, shown("query", strings.ToLower(name)))
	})
}

func anyCredential(protocols []string) bool {
	for _, v := range protocols {
		for _, p := range strings.Split(v, ",") {
			if credential(words(p)) {
				return true
			}
		}
	}
	return false
}

// Tidy takes out of a request's header what acts on other headers. Connection
// may name any header to be dropped on the way, the attached one too, so that
// the request would arrive as nobody's; a trailer would bring a credential after
// the decision. An upgrade stays.
func Tidy(header map[string][]string) {
	upgrade := false
	for name, values := range header {
		if !strings.EqualFold(name, "Connection") {
			continue
		}
		for _, v := range values {
			for _, option := range strings.Split(v, ",") {
				upgrade = upgrade || strings.EqualFold(strings.TrimSpace(option), "upgrade")
			}
		}
	}
	for name := range header {
		switch strings.ToLower(name) {
		case "connection", "proxy-connection", "keep-alive", "trailer":
			delete(header, name)
		}
	}
	if upgrade {
		header["Connection"] = []string{"Upgrade"}
	}
}

// dropParams gives a query without some of its parameters, everything else as
// it was.
func dropParams(query string, drop func(name, value string) bool) string {
	var out strings.Builder
	split(query, func(pair string) {
		name, value, _ := strings.Cut(pair, "=")
		if drop(decoded(name), unescape(value)) {
			return
		}
		if out.Len() > 0 {
			out.WriteByte('&')
		}
		out.WriteString(pair)
	})
	return out.String()
}

// split gives the pairs of a query. Some servers part them by ";" as well, so
// that one's value is another's parameter.
func split(query string, pair func(string)) {
	for query != "" {
		i := strings.IndexAny(query, "&;")
		if i < 0 {
			i = len(query)
		}
		if i > 0 {
			pair(query[:i])
		}
		query = query[min(i+1, len(query)):]
	}
}

// unescape takes off one layer of URL-encoding; what is none stays, as lenient
// servers have it.
func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%' && i+2 < len(s) && nibble(s[i+1]) >= 0 && nibble(s[i+2]) >= 0:
			out.WriteByte(byte(nibble(s[i+1])<<4 | nibble(s[i+2])))
			i += 2
		case s[i] == '+':
			out.WriteByte(' ')
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// decoded takes off layers until none is left, or three are: no server goes on.
func decoded(s string) string {
	for range 3 {
		next := unescape(s)
		if next == s {
			break
		}
		s = next
	}
	return strings.TrimSpace(s)
}

func nibble(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}

func isCookie(name string) bool { return strings.HasPrefix(strings.ToLower(name), "cookie") }

func isProtocol(name string) bool { return strings.EqualFold(name, "Sec-Websocket-Protocol") }
