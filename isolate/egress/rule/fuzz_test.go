package rule

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// fuzzed is what FuzzDecide asks: narrow and wide operations side by side.
func fuzzed(t testing.TB) *Table {
	return compileAll(
		t,
		Entry{Name: "narrow", Destination: "a.test:443", Operations: []string{"GET /pub/*", "GET /@s/*/x", "GET /@s%2F*"}, Query: "none"},
		Entry{Name: "push", Destination: "a.test:443", Operations: []string{"git push /team/*"}},
		Entry{Name: "fetch", Destination: "a.test:443", Operations: []string{"git fetch /team/**"}},
		Entry{Name: "page", Destination: "a.test:443", Operations: []string{"PUT /**.js", "PUT /*-*/**/c"}, Query: "page=*"},
		Entry{Name: "wide", Destination: "a.test:443", Operations: []string{"GET /**", "POST /**"}},
	)
}

func FuzzDecide(f *testing.F) {
	for _, path := range attacks {
		f.Add("GET", path, "")
	}
	for _, s := range [][3]string{
		{"GET", "/pub/x%2fy", ""},
		{"GET", "/@s%2Fa/x", "a=1"},
		{"PUT", "/a%2Djs/x.js", "page=1&x=2"},
		{"POST", "/team/p/git-receive-pack", ""},
		{"POST", "/x%5cgit%2dreceive-pack", ""},
		{"GET", "/team/p/info/refs", "service=git-receive-pack"},
		{"GET", "/x/info/refs", "s%65rvice=git%252dreceive-pack"},
		{"POST", "/x", "%5Fmethod=DELETE"},
		{"GET", "/team%2Fp/info/refs", "service=git-upload-pack&service=git-receive-pack"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	table := fuzzed(f)
	f.Fuzz(func(t *testing.T, method, path, query string) {
		q := ask(t, method, path)
		q.Query = query
		got := table.Decide(q)
		if again := table.Decide(q); again != got {
			t.Fatalf("%s %q %q: got %+v, then %+v, want one answer", method, path, query, got, again)
		}
		other := q
		other.Path, other.Query = respelled(path), respelled(query)
		if strings.Contains(query, "service") || strings.Contains(respelledBack(query), "service") {
			other.Query = query // git's is compared as it is sent
		}
		if again := table.Decide(other); len(other.Path) <= maxPath && again != got {
			t.Fatalf("%s %q %q: got %+v, and for %q %q %+v, want one answer", method, path, query, got, other.Path, other.Query, again)
		}
		if got.Entry == nil {
			if got.Reason == "" || got.Rule == "" {
				t.Fatalf("%s %q %q: got %+v, want a reason and the nearest entry", method, path, query, got)
			}
			return
		}
		if climbs(path) {
			t.Fatalf("%q: got it allowed by %q, want no path with a dot segment allowed", path, got.Rule)
		}
		if got.Rule != "push" && (pushes(path) || strings.HasSuffix(path, "/info/refs") && strings.Contains(query, "receive-pack")) {
			t.Fatalf("%s %q %q: got it allowed by %q, want a push by \"git push\" alone", method, path, query, got.Rule)
		}
		if strings.Contains(strings.ToLower("&"+query), "&_method=") {
			t.Fatalf("%q: got it allowed by %q, want no other method", query, got.Rule)
		}
	})
}

var (
	anEscape = regexp.MustCompile(`%[0-9a-fA-F]{2}`)
	aPiece   = regexp.MustCompile(`%[0-9a-fA-F]{2}|[A-Za-z0-9._~-]`)
)

// respelled escapes what needs no escape, and turns the case of escapes.
func respelled(s string) string {
	if strings.Count(s, "%") != len(anEscape.FindAllString(s, -1)) {
		return s // refused, or of no matter
	}
	n := 0
	return aPiece.ReplaceAllStringFunc(s, func(p string) string {
		n++
		switch {
		case len(p) == 3 && n%2 == 0:
			return strings.ToLower(p)
		case len(p) == 3:
			return strings.ToUpper(p)
		case n%3 == 0:
			return "%" + strconv.FormatUint(uint64(p[0])|0x100, 16)[1:]
		}
		return p
	})
}

// unescaped is written without the code that it judges.
func unescaped(s string) string {
	return anEscape.ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[1:], 16, 8)
		return string([]byte{byte(n)})
	})
}

func respelledBack(s string) string { return unescaped(unescaped(s)) }

// everyLevel yields a path decoded again and again, with what some take for a
// slash as one.
func everyLevel(path string, yield func(string)) {
	for range 6 {
		for _, s := range []string{path, norm.NFKC.String(path)} {
			yield(strings.ReplaceAll(s, `\`, "/"))
		}
		path = unescaped(path)
	}
}

func climbs(path string) (yes bool) {
	everyLevel(path, func(s string) {
		for seg := range strings.SplitSeq(s, "/") {
			for _, end := range []string{"", ";", "?", "#"} {
				cut := seg
				if end != "" {
					cut, _, _ = strings.Cut(seg, end)
				}
				yes = yes || cut == "." || cut == ".."
			}
		}
	})
	return yes
}

func pushes(path string) (yes bool) {
	everyLevel(path, func(s string) { yes = yes || strings.Contains(s, "/git-receive-pack") })
	return yes
}

// The oracle of the fuzz test above must be able to say yes.
func TestTheOracleKnowsAttacks(t *testing.T) {
	for _, p := range []string{"/a/..", "/%2e/", "/%252e%252e/x", `/a\..\b`, "/..;x/", "/..%3fx", "/%ef%bc%8e/"} {
		if !climbs(p) {
			t.Errorf("%q: got no dot segment, want one", p)
		}
	}
	if climbs("/a..b/.c/d.") || !pushes("/x%252fgit-receive-pack") || pushes("/x/git-upload-pack") {
		t.Error("got the wrong answer of the oracle, want dots and pushes told from others")
	}
}
