package rule

import (
	"iter"
	"slices"
	"strings"
)

// Overrides lists the headers by which frameworks and fronts take another
// method, path or host than the request's own. The proxy must not carry them:
// what was decided would not be what is done.
func Overrides() []string {
	return []string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-HTTP-Host-Override", "X-HTTP-Path-Override", "X-Host", "X-Script-Name",
		"X-Envoy-Original-Path", "X-Envoy-Original-Host", "X-Proxy-Host", "X-Proxy-URL", "X-URL-Scheme", "Forwarded", "Proxy-Host",
	}
}

// overridePrefixes are families of them: X-Original-URL and X-Rewrite-URL are
// the path to IIS and others, X-Forwarded-Host and -Prefix the place.
var overridePrefixes = []string{"x-original-", "x-rewrite-", "x-forwarded-", "x-forward-"}

// IsOverride tells whether a header is one of them, in any case and also with
// underscores, which CGI and WSGI servers can't tell from hyphens.
func IsOverride(header string) bool {
	header = strings.ToLower(strings.ReplaceAll(header, "_", "-"))
	return slices.ContainsFunc(Overrides(), func(o string) bool { return strings.EqualFold(o, header) }) ||
		slices.ContainsFunc(overridePrefixes, func(p string) bool { return strings.HasPrefix(header, p) })
}

// OverrideParams lists the parameters of a query that name another method. A
// query that has one is refused.
func OverrideParams() []string {
	return []string{
		"_method", "_HttpMethod", "httpMethod", "$httpMethod", "http_method", "method_override", "methodOverride", "override_method",
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
	}
}

// methods are what "method=" names in a query where it stands for the request's
// own. Any other word there is an API's own operation.
var methods = strings.Fields("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK")

func isMethod(s string) bool {
	return slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, strings.TrimSpace(s)) })
}

// overrideNames is OverrideParams as foldName gives them.
var overrideNames = func() map[string]bool {
	m := map[string]bool{}
	for _, p := range OverrideParams() {
		m[foldName(p)] = true
	}
	return m
}()

// overridden tells whether a query names another method than the request's.
func overridden(method, query string) bool {
	for part := range parts(query) {
		for name, value := range spellings(part) {
			name = foldName(name)
			if overrideNames[name] || name == "method" && isMethod(value) && !strings.EqualFold(strings.TrimSpace(value), method) {
				return true
			}
		}
	}
	return false
}

// splits tells whether a query has bytes that end it, or the line that it is
// sent in. HTTP/2 carries them.
func splits(query string) bool {
	return strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' })
}

// parts yields the parameters of a query as they were sent. Some servers split
// at ";" as well.
func parts(query string) iter.Seq[string] {
	return strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' })
}

// spellings yields the name and the value of a parameter as servers may read
// them: decoded not at all, once and twice.
func spellings(part string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		name, value, _ := strings.Cut(part, "=")
		for range maxDepth + 1 {
			if !yield(name, value) {
				return
			}
			was := [2]string{name, value}
			if name, value = decodeForm(name), decodeForm(value); was == [2]string{name, value} {
				return
			}
		}
	}
}

func decodeForm(s string) string {
	if strings.IndexByte(s, '+') >= 0 {
		s = strings.ReplaceAll(s, "+", " ")
	}
	return decodeOnce(s)
}

// foldName brings together the names that PHP and others take for one: in any
// case, up to a NUL or an index, with dots, spaces and hyphens as underscores.
func foldName(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.TrimSpace(s)
	if len(s) > 1 {
		if i := strings.IndexByte(s[1:], '['); i >= 0 {
			s = s[:i+1]
		}
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '.' || r == ' ' || r == '-' || r == '[':
			return '_'
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// queryRule is what an entry says of queries.
type queryRule struct {
	none bool
	glob *glob // nil is any
}

func (r queryRule) allows(query string) bool {
	switch {
	case r.none:
		return query == ""
	case r.glob == nil:
		return true
	}
	text, ok := normalQuery(query)
	return ok && r.glob.match(text)
}

func compileQuery(s string) (queryRule, *Fault) {
	switch s {
	case "", "any":
		return queryRule{}, nil
	case "none":
		return queryRule{none: true}, nil
	}
	fixed, err := checkGlob(strings.TrimPrefix(s, "?"), "/?")
	if err == nil && s[0] == '?' {
		err = errQuestion
	}
	if err != nil {
		return queryRule{}, &Fault{Key: "query", Msg: quoted(s, err), Hint: instead(fixed, `"any", "none", or as "page=*"`)}
	}
	return queryRule{glob: newGlob(s, querySep)}, nil
}

// normalQuery is RFC 3986, 6.2.2, as for paths.
func normalQuery(raw string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '%':
			d, ok := escape(raw, i)
			if !ok {
				return "", false
			}
			put(&b, d, unreserved(d))
			i += 2
		case c <= ' ' || c >= 0x7f || c == '#':
			return "", false
		default:
			put(&b, c, c == '/' || c == '?' || pchar(c))
		}
	}
	return b.String(), true
}
