package rule

import (
	"slices"
	"strings"
	"testing"
)

func TestDraftGivesTheNarrowestEntry(t *testing.T) {
	for _, tt := range []struct {
		host         string
		port         uint16
		method, path string
		dest, query  string
		ops          []string
		opens        string
	}{
		{"a.test", 443, "GET", "/x/y", "a.test:443", "any", []string{"GET /x/y"}, "any query"},
		{"a.test", 443, "GET", "/x/y?", "a.test:443", "none", []string{"GET /x/y"}, "nothing beyond"},
		{"a.test", 443, "POST", "/x?a=%61&b", "a.test:443", "a=a&b", []string{"POST /x"}, "nothing beyond"},
		{"A.Test.", 8443, "DELETE", "", "a.test:8443", "any", []string{"DELETE /"}, "any query"},
		{"::1", 80, "GET", "/?", "[::1]:80", "none", []string{"GET /"}, "a loopback address"},
		{"a.test", 443, "GET", "/%7ea%2fb?", "a.test:443", "none", []string{"GET /~a%2Fb", "GET /~a/b"}, "other paths"},
		{"a.test", 443, "GET", "/a//b?", "a.test:443", "none", []string{"GET /a//b", "GET /a/b"}, "other paths"},
		{"a.test", 443, "GET", "/ab?x=*", "a.test:443", "x=*", []string{"GET /ab"}, "asterisk"},
		{"a.test", 443, "GET", "/a?none", "a.test:443", "any", []string{"GET /a"}, "any query"},
		{"a.test", 443, "CONNECT", "", "a.test:443", "any", []string{"GET /**", "HEAD /**"}, "every path"},
		{"a.test", 443, "GET", "/t/p.git/info/refs", "a.test:443", "any", []string{"git fetch /t/p.git"}, "push"},
		{"a.test", 443, "GET", "/t/p.git/info/refs?service=git-receive-pack", "a.test:443", "any", []string{"git push /t/p.git"}, "writing"},
		{"a.test", 443, "POST", "/t/p.git/git-receive-pack", "a.test:443", "any", []string{"git push /t/p.git"}, "writing"},
		{"a.test", 443, "POST", "/t/p.git/git-upload-pack", "a.test:443", "any", []string{"git fetch /t/p.git"}, "reading"},
	} {
		e, opens := Draft(tt.host, tt.port, tt.method, tt.path)
		if e.Destination != tt.dest || e.Query != tt.query || !slices.Equal(e.Operations, tt.ops) || e.Account != "none" || !strings.Contains(opens, tt.opens) {
			t.Errorf("%s %s: got %+v, %q, want %s %v query %s, ...%s...", tt.method, tt.path, e, opens, tt.dest, tt.ops, tt.query, tt.opens)
		}
	}
}

func TestDraftSaysWhatNoEntryCanAllow(t *testing.T) {
	for name, tt := range map[string]struct {
		host         string
		port         uint16
		method, path string
	}{
		"a number as host": {"0x7f.1", 443, "GET", "/"},
		"no port":          {"a.test", 0, "GET", "/"},
		"dots":             {"a.test", 443, "GET", "/../x"},
		"all of a server":  {"a.test", 443, "OPTIONS", "*"},
		"another method":   {"a.test", 443, "POST", "/x?_method=DELETE"},
		"lower case":       {"a.test", 443, "get", "/x"},
		"no method":        {"a.test", 443, "G T", "/x"},
		"TRACE":            {"a.test", 443, "TRACE", "/x"},
		"a lookup":         {"a.test", 53, "", ""},
		"many readings":    {"a.test", 443, "GET", "/a%2Fb;c//d%5Ce%3Ff"},
		"an asterisk":      {"a.test", 443, "GET", "/a*b?"},
		"one, escaped":     {"a.test", 443, "GET", "/a%2Ab?"},
		"a push anywhere":  {"a.test", 443, "POST", "/**/git-receive-pack"},
		"a fetch anywhere": {"a.test", 443, "POST", "/team/**/git-upload-pack"},
		"an odd push":      {"a.test", 443, "POST", "/x;y/git-receive-pack"},
		"an odd service":   {"a.test", 443, "GET", "/x/info/refs?service=x"},
	} {
		e, opens := Draft(tt.host, tt.port, tt.method, tt.path)
		if e.Destination != "" || e.Operations != nil || !strings.HasPrefix(opens, "No entry can allow it: ") {
			t.Errorf("%s: got %+v, %q, want no entry and why", name, e, opens)
		}
	}
}

// A drafted entry allows what it was drafted for, and no other method, host or
// port.
func FuzzDraft(f *testing.F) {
	for _, s := range []string{"/", "/a?b=c", "/a%2fb?x=*", "/a**b?none", "/x/info/refs?service=git-upload-pack", "/x/git-receive-pack", "/a;b//c?", "/%25%32%35", "/a*b%2A?any", "/?" + "?"} {
		f.Add("GET", s)
		f.Add("POST", s)
	}
	f.Fuzz(func(t *testing.T, method, target string) {
		e, opens := Draft("a.test", 443, method, target)
		if opens == "" {
			t.Fatalf("%q %q: got no sentence, want one", method, target)
		}
		if e.Destination == "" {
			return
		}
		table, err := Compile([]Entry{e})
		if err != nil {
			t.Fatalf("%q %q: got %v of %+v, want an entry that is accepted", method, target, err, e)
		}
		if method == "CONNECT" {
			return
		}
		path, query, asked := strings.Cut(target, "?")
		if strings.HasPrefix(e.Operations[0], "git fetch") && !asked && method == "GET" {
			query = "service=git-upload-pack"
		}
		if got := table.Decide(askAt(t, "a.test:443", method, path, query)); got.Entry == nil {
			t.Fatalf("%q %q: got %+v from %+v, want it allowed", method, target, got, e)
		}
		for _, q := range []Request{askAt(t, "b.test:443", method, path, query), askAt(t, "a.test:80", method, path, query), askAt(t, "a.test:443", "X"+method, path, query)} {
			if got := table.Decide(q); got.Entry != nil {
				t.Fatalf("%q %q: got %+v allowed by %+v, want it refused", method, target, q, e)
			}
		}
	})
}
