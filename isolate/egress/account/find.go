package account

import (
	"slices"
	"strings"
)

// Request is what is searched of a request. The maps are as net/http has them,
// but names in them may be in any case.
type Request struct {
	Header  map[string][]string
	Trailer map[string][]string // what is announced; values come after the body
	Path    string              // escaped, as it is sent
	Query   string              // raw
}

// Finder finds credentials in requests. It never changes once it is made, and
// may be used by several goroutines.
type Finder struct {
	mine    []Account
	m       *matcher // of the placeholders, in all forms; nil without any
	headers map[string]bool
	params  map[string]bool
}

// NewFinder makes a finder for a session's accounts. Where these attach is a
// slot as well, whatever its name is.
func NewFinder(mine []Account) *Finder {
	f := &Finder{mine: mine, headers: map[string]bool{}, params: map[string]bool{}}
	var all [][]byte
	var owners []int32
	for i, a := range mine {
		if a.Attach.Header != "" {
			f.headers[strings.Join(words(a.Attach.Header), "")] = true
		}
		if a.Attach.Query != "" {
			f.params[strings.Join(words(a.Attach.Query), "")] = true
		}
		if a.Placeholder == "" {
			continue
		}
		for _, form := range forms(a.Placeholder) {
			all = append(all, form)
			owners = append(owners, int32(i))
		}
	}
	if len(all) > 0 {
		f.m = newMatcher(all, owners)
	}
	return f
}

// Look finds the credentials of a request: what stands in a slot, and this
// session's placeholders wherever they stand.
func (f *Finder) Look(r Request) []Found {
	var out []Found
	for _, name := range sorted(r.Header) {
		slot := f.header(name)
		for _, v := range r.Header[name] {
			switch {
			case slot && isCookie(name):
				out = append(out, f.cookies(shown("header", name), v)...)
			case slot:
				out = append(out, f.slot(shown("header", name), v)...)
			case isProtocol(name):
				out = append(out, f.protocols(shown("header", name), v)...)
			default:
				out = append(out, f.placeholders(shown("header", name), v)...)
			}
		}
	}
	for _, name := range sorted(r.Trailer) {
		if f.header(name) {
			// Its value is not there yet, and never will be: see Tidy.
			out = append(out, Found{Slot: shown("trailer", name)})
		}
	}
	return append(append(out, f.query(r.Query)...), f.path(r.Path)...)
}

func (f *Finder) header(name string) bool {
	return headerNames().carries(name) || f.headers[strings.Join(words(name), "")]
}

func (f *Finder) param(name string) bool {
	return paramNames().carries(name) || f.params[strings.Join(words(name), "")]
}

// slot is what stands in a place for credentials: one that is none of ours, or
// every placeholder of ours in it.
func (f *Finder) slot(slot, value string) []Found {
	if ours := f.placeholders(slot, value); len(ours) > 0 {
		return ours
	}
	list := readings(value)
	if len(list) == 0 {
		return nil
	}
	return []Found{{Slot: slot, Value: list[len(list)-1], Readings: list}}
}

// cookies gives each pair by itself: a destination's own beside a foreign one.
func (f *Finder) cookies(slot, value string) []Found {
	var out []Found
	for _, pair := range pairs(value) {
		_, v, _ := strings.Cut(pair, "=")
		found := f.slot(slot, strings.Trim(v, `"`))
		if len(found) == 0 {
			found = []Found{{Slot: slot}} // a name alone may be one too
		}
		for i := range found {
			found[i].Cookie = pair
		}
		out = append(out, found...)
	}
	return out
}

// protocols looks for credentials among the names of websocket protocols, where
// browsers have to put them: openai-insecure-api-key.KEY,
// base64url.bearer.authorization.k8s.io.KEY.
func (f *Finder) protocols(slot, value string) []Found {
	var out []Found
	for _, p := range strings.Split(value, ",") {
		if p = strings.TrimSpace(p); credential(words(p)) {
			_, key, _ := cutLast(p, ".")
			out = append(out, f.slot(slot, key)...)
			continue
		}
		out = append(out, f.placeholders(slot, p)...)
	}
	return out
}

func (f *Finder) query(query string) []Found {
	var out []Found
	split(query, func(pair string) {
		name, value, _ := strings.Cut(pair, "=")
		name = decoded(name)
		if f.param(name) || longParam(name, unescape(value)) {
			out = append(out, f.slot(shown("query", strings.ToLower(name)), unescape(value))...)
			return
		}
		out = append(out, f.placeholders("query", pair)...)
	})
	if len(out) == 0 { // one that goes across pairs
		return f.placeholders("query", query)
	}
	return out
}

// path looks at parameters of its segments (";jsessionid=...") too, which some
// servers read.
func (f *Finder) path(path string) []Found {
	out := f.placeholders("path", path)
	for _, segment := range strings.Split(path, "/") {
		params := strings.Split(decoded(segment), ";")
		for _, p := range params[1:] {
			if name, value, ok := strings.Cut(p, "="); ok && value != "" && f.param(name) && len(out) == 0 {
				out = append(out, Found{Slot: shown("path", strings.ToLower(name)), Value: value, Readings: readings(value)})
			}
		}
	}
	return out
}

// placeholders are this session's in a string, as it is written and after its
// escapes are taken off.
func (f *Finder) placeholders(slot, s string) []Found {
	if f.m == nil || s == "" {
		return nil
	}
	var seen []int32
	look := func(s string) {
		f.m.scan(0, []byte(s), func(_, _ int, owner int32) {
			if !slices.Contains(seen, owner) {
				seen = append(seen, owner)
			}
		})
	}
	look(s)
	if plain := decoded(s); plain != s {
		look(plain)
	}
	var out []Found
	for _, i := range seen {
		p := f.mine[i].Placeholder
		out = append(out, Found{Slot: slot, Account: f.mine[i].Name, Value: p, Readings: []string{p}})
	}
	return out
}

// Look is Finder's for one request without path and trailers.
func Look(header map[string][]string, query string, mine []Account) []Found {
	return NewFinder(mine).Look(Request{Header: header, Query: query})
}

func sorted(m map[string][]string) []string {
	list := make([]string, 0, len(m))
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// shown is a slot for records: a name comes from inside, so it is bounded and
// only what a name may consist of.
func shown(where, name string) string {
	name = strings.Map(func(r rune) rune {
		if alnum(r) || strings.ContainsRune("-_.[]", r) {
			return r
		}
		return '?'
	}, clip(name))
	return where + " " + name
}
