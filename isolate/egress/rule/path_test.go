package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadingsOfAPath(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"", "/"},
		{"/", "/"},
		{"/a/b.tar.gz", "/a/b.tar.gz"},
		{"/a/", "/a/"},
		{"/%61%2D%7e", "/a-~"},
		{"/a%20b", "/a%20b"},
		{"/@scope%2fname", "/@scope%2Fname /@scope/name"},
		{"/a%40b", "/a%40b /a@b"},
		{"/a%2Fb%40c", "/a%2Fb%40c /a/b%40c /a/b@c"},
		{`/a\b`, "/a%5Cb /a/b"},
		{"/a%5cb", "/a%5Cb /a/b"},
		{"/a//b", "/a//b /a/b"},
		{"/a;v=1/b", "/a;v=1/b /a/b"},
		{"/a%3bv/b", "/a%3Bv/b /a;v/b /a/b"},
		{"/a;x%2Fb", "/a;x%2Fb /a;x/b /a /a/b"},
		{"/a%252Fb", "/a%252Fb /a/b"},
		{"/a%3Fb", "/a%3Fb /a"},
		{"/c%23/d", "/c%23/d /c"},
		{"/100%25", "/100%25"},
		{"/[x]", "/%5Bx%5D"},
		{"/%EF%BC%8F", "/%EF%BC%8F // /"},
		{"/main...feature", "/main...feature"},
		{"/.git/.a", "/.git/.a"},
		{"/*", "/*"},
	} {
		got, bad := readings(tt.raw)
		want := strings.Fields(tt.want)
		slices.Sort(got)
		slices.Sort(want)
		if bad != "" || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %q, want %q", tt.raw, got, bad, want)
		}
	}
}

// attacks are paths of real traversals and confusions.
var attacks = map[string]string{
	"dots":                          "/a/../b",
	"dots at the end":               "/a/..",
	"one dot":                       "/./a",
	"only dots":                     "/..",
	"three dots":                    "/a/.../b",
	"escaped":                       "/a/%2e%2e/b",
	"half escaped":                  "/a/.%2E/b",
	"escaped slash":                 "/a%2f..%2fb",
	"escaped twice":                 "/a/%252e%252e%252fb",
	"escaped twice, the digits":     "/a/%25%32%65%25%32%65/b",
	"escaped three times":           "/a/%25252e%25252e/b",
	"escaped three times, no dot":   "/a%25252Fb",
	"backslash":                     `/a/..\b`,
	"escaped backslash":             "/a/..%5cb",
	"backslash escaped twice":       "/a%255c..%255cb",
	"parameters (Tomcat)":           "/a/..;/b",
	"parameters with a value":       "/a/..;x=y/b",
	"escaped dots with parameters":  "/a/%2e%2e;/b",
	"parameters escaped":            "/a/..%3b/b",
	"a parameter ends in an escape": "/a/..;%2fb",
	"one dot with parameters":       "/a/.;/b",
	"overlong UTF-8 (Nimda)":        "/a/..%c0%af../b",
	"overlong dots":                 "/a/%c0%ae%c0%ae/b",
	"%u escape (IIS)":               "/a/%u002e%u002e/b",
	"%u escape, escaped":            "/a/%25u002e%25u002e/b",
	"dots and a space (Windows)":    "/a/..%20/b",
	"fullwidth dots":                "/a/%ef%bc%8e%ef%bc%8e/b",
	"two-dot leader":                "/a/%e2%80%a5/b",
	"fullwidth slash around dots":   "/a%ef%bc%8f..%ef%bc%8fb",
	"fullwidth percent":             "/a/%ef%bc%852e%ef%bc%852e/b",
	"a cut leaves dots":             "/a/..%3f/b",
	"a cut leaves dots, fragment":   "/a/..%23/b",
	"NUL":                           "/a/b%00.html",
	"NUL escaped twice":             "/a/b%2500",
	"newline":                       "/a%0d%0aX: y",
	"a newline escaped":             "/a%0aX",
	"C1 control":                    "/a%c2%85b",
	"DEL":                           "/a%7fb",
	"raw control":                   "/a\x01b",
	"raw NUL":                       "/a\x00b",
	"raw space":                     "/a b",
	"raw UTF-8":                     "/\u00fc",
	"invalid escape":                "/a%zz",
	"half an escape":                "/a%2",
	"percent at the end":            "/a%",
	"not UTF-8":                     "/a%ff",
	"a surrogate":                   "/a%ed%a0%80",
	"not UTF-8, escaped twice":      "/a%25ff",
	"fragment":                      "/a#b",
	"a query in it":                 "/a?b",
	"asterisk form":                 "*",
	"no slash":                      "a/b",
	"a URL":                         "http://a.test/",
	"escaped first slash":           "%2fa",
	"longer than any":               "/" + strings.Repeat("a", maxPath),
	"too many ways":                 "/a%2F;%5C%252F%253B%255C%3B//b%3F%23%253F%ef%bc%8f%ef%bc%9b%ef%bc%9f%25EF%25BC%258F",
}

func TestPathsThatAreReadInDifferentWaysAreRefused(t *testing.T) {
	table := compileAll(t, Entry{Name: "all", Destination: "a.test:443", Operations: []string{"GET /**"}})
	for name, path := range attacks {
		got := table.Decide(ask(t, "GET", path))
		if got.Entry != nil || got.Reason != BadPath || got.Detail == "" || got.Rule != "all" {
			t.Errorf("%s: got %+v for %.60q, want it refused as %q", name, got, path, BadPath)
		}
		if strings.ContainsAny(got.Detail, "\x00\n") {
			t.Errorf("%s: got the detail %q, want none of the path's bytes", name, got.Detail)
		}
	}
	for _, path := range []string{"/", "/a", "/a//b", "/@scope%2fname", "/a;b", "/a%3Fb", "/c%23", "/100%25", "/a%20b", "/%C3%BC", "/x/main...feature", "/!a/@v/list"} {
		if got := table.Decide(ask(t, "GET", path)); got.Entry == nil {
			t.Errorf("the control %q: got %+v, want it allowed", path, got)
		}
	}
}

// A path leaves an operation's bounds in one reading at least: that one counts.
func TestEveryReadingHasToBeAllowed(t *testing.T) {
	for _, tt := range []struct {
		ops  []string
		path string
		want bool
	}{
		{[]string{"GET /@scope/*"}, "/@scope/name", true},
		{[]string{"GET /@scope/*"}, "/@scope%2Fname", false},
		{[]string{"GET /@scope%2F*"}, "/@scope%2Fname", false},
		{[]string{"GET /@scope/*", "GET /@scope%2F*"}, "/@scope%2Fname", true},
		{[]string{"GET /@scope/*", "GET /@scope%2F*"}, "/@scope%2Fname%2Fadmin", false},
		{[]string{"GET /pub/*"}, "/pub/x%2Fadmin", false},
		{[]string{"GET /pub/*"}, "/pub/x%252Fadmin", false},
		{[]string{"GET /pub/*"}, `/pub/x\admin`, false},
		{[]string{"GET /pub/*"}, "/pub/x%EF%BC%8Fadmin", false},
		{[]string{"GET /*/info"}, "/admin%3F/info", false},
		{[]string{"GET /*/info"}, "/admin%23/info", false},
		{[]string{"GET /*/info"}, "/admin;/info", true},
		{[]string{"GET /a;*/info"}, "/a;x/info", false},
		{[]string{"GET /a/b"}, "/a//b", false},
		{[]string{"GET /a/b"}, "/a/%62", true},
		{[]string{"GET /a/b%20c"}, "/a/b%20c", true},
	} {
		got := compileAll(t, Entry{Destination: "a.test:443", Operations: tt.ops}).Decide(ask(t, "GET", tt.path))
		if (got.Entry != nil) != tt.want {
			t.Errorf("%v for %s: got %+v, want allowed %v", tt.ops, tt.path, got, tt.want)
		}
	}
}

// What one entry allows of a path does not help another.
func TestReadingsAreOneEntrysOwn(t *testing.T) {
	table := compileAll(
		t,
		Entry{Name: "1", Destination: "a.test:443", Operations: []string{"GET /@scope/*"}},
		Entry{Name: "2", Destination: "a.test:443", Operations: []string{"GET /@scope%2F*"}},
	)
	if got := table.Decide(ask(t, "GET", "/@scope%2Fname")); got.Entry != nil {
		t.Errorf("got it allowed by %q, want each entry to allow all readings or none", got.Rule)
	}
}

func TestReadingsStayBounded(t *testing.T) {
	for i := range 200 {
		raw := "/" + strings.Repeat(fmt.Sprintf("a%%2F;%%25%02X//%%3F", i), 400)
		if len(raw) > maxPath {
			raw = raw[:maxPath-maxPath%3]
		}
		if list, _ := readings(raw); len(list) > maxReadings {
			t.Fatalf("%.30q: got %d readings, want at most %d", raw, len(list), maxReadings)
		}
	}
}
