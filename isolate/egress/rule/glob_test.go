package rule

import (
	"strings"
	"testing"
	"time"
)

func TestGlobMatchesAWholePath(t *testing.T) {
	for _, tt := range []struct {
		glob, yes, no string // lists
	}{
		{"/**", "/ /a /a/b //", "a"},
		{"/*", "/ /a", "/a/ /a/b //"},
		{"/a", "/a", "/ /a/ /ab /A"},
		{"/a/*", "/a/ /a/b", "/a /a/b/ /a/b/c /b/a"},
		{"/a/**", "/a/ /a/b /a/b/c", "/a /ab"},
		{"/a/*/c", "/a/b/c /a//c", "/a/b/b/c /a/c /a/b/c/"},
		{"/**/c", "//c /a/c /a/b/c", "/c /a/b/cc"},
		{"/**.js", "/.js /a.js /a/b.js", "/a.jsx /ajs"},
		{"/a*b*c", "/abc /axbxc /abcbc", "/ab/c /axbx /abcx"},
		{"/*-*/**x", "/a-b/x /-/yx /a--b/c/dx", "/a/-x /a-b/y"},
		{"/%2Fa", "/%2Fa", "//a /%2fa"},
		{"/@s/*-1.0*.tgz", "/@s/a-1.0.tgz /@s/a-1.0-1.0.tgz", "/@s/a-1.0.tg /@s/b/a-1.0.tgz"},
	} {
		g := newGlob(tt.glob, pathSep)
		for s := range strings.FieldsSeq(tt.yes) {
			if !g.match(s) {
				t.Errorf("%s: got no match of %q, want one", tt.glob, s)
			}
		}
		for s := range strings.FieldsSeq(tt.no) {
			if g.match(s) {
				t.Errorf("%s: got a match of %q, want none", tt.glob, s)
			}
		}
	}
}

// Whatever the glob and the path, a match takes steps in proportion to the
// path: backtracking would take longer than the age of the universe here.
func TestNoGlobMakesAMatchSlow(t *testing.T) {
	path := "/" + strings.Repeat("a", maxPath-1)
	deep := "/" + strings.Repeat("a/", maxPath/2-1)
	for _, text := range []string{
		"/" + strings.Repeat("**a", maxGlob/3-1) + "b",
		"/" + strings.Repeat("*a", maxGlob/2-1) + "b",
		"/" + strings.Repeat("*a**/", maxGlob/5-1) + "b",
		"/" + strings.Repeat("a", maxGlob/2) + "**" + strings.Repeat("a", maxGlob/2-3) + "b",
	} {
		g := newGlob(text, pathSep)
		start := time.Now()
		for range 10 {
			if g.match(path) || g.match(deep) {
				t.Fatalf("%.20s...: got a match of a path without b, want none", text)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%.20s...: got %v for 20 matches, want well under 5 s", text, took)
		}
	}
}

func TestAGlobOfAnyLengthMatches(t *testing.T) {
	for n := 2; n < maxGlob-4; n++ { // over every border between words
		text := "/*" + strings.Repeat("b", n-1)
		if g := newGlob(text, pathSep); !g.match("/a"+text[2:]) || g.match("/a"+text[2:]+"c") || g.match("/"+text[3:]) {
			t.Fatalf("a glob of %d bytes: got the wrong answer, want the one text matched", len(text))
		}
		text = "/" + strings.Repeat("c", n-1) + "**x*"
		if g := newGlob("/*"+text, pathSep); !g.match("/"+text) || g.match("/"+text+"/") {
			t.Fatalf("a glob of %d bytes: got the wrong answer, want no slash at its end", len(text)+2)
		}
	}
}

// naive is what a glob means, written down as plainly as can be.
func naive(glob, s, sep string) bool {
	switch {
	case glob == "":
		return s == ""
	case strings.HasPrefix(glob, "**"):
		return naive(glob[2:], s, sep) || s != "" && naive(glob, s[1:], sep)
	case glob[0] == '*':
		return naive(glob[1:], s, sep) || s != "" && !strings.Contains(sep, s[:1]) && naive(glob, s[1:], sep)
	}
	return s != "" && s[0] == glob[0] && naive(glob[1:], s[1:], sep)
}

func FuzzGlob(f *testing.F) {
	for _, s := range [][2]string{
		{"/**", "/a/b"}, {"/a*b**c", "/axb/c"}, {"/*/**/*", "/a//b"}, {"**", ""}, {"*", "a&b"}, {"a=*&b=**", "a=1&b=2&c"}, {"/**/a*/b", "/x/aa/b"}, {"/**a**a**a", "/aaaaaaaa"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, s string) {
		if len(text) > 14 || len(s) > 18 || strings.Contains(text, "***") || !ascii(text) {
			return // the naive one takes exponential time
		}
		for _, sep := range []string{pathSep, querySep} {
			if got, want := newGlob(text, sep).match(s), naive(text, s, sep); got != want {
				t.Fatalf("%q of %q between %q: got %v, want %v", text, s, sep, got, want)
			}
		}
	})
}

func TestCheckGlobSaysWhatToWrite(t *testing.T) {
	for _, tt := range []struct{ glob, fixed, msg string }{
		{"/a/***", "/a/**", "three asterisks"},
		{"/a b", "/a%20b", "percent-encoded"},
		{"/[ab]", "/%5Bab%5D", "only * and **"},
		{"/\u00fc", "/%C3%BC", "not ASCII"},
		{"/%7euser", "/~user", "matched as itself"},
		{"/a%2fb", "/a%2Fb", "upper case"},
		{"/100%", "", "%25"},
		{"/%zz", "", "%25"},
		{"/" + strings.Repeat("a", maxGlob), "", "more than"},
	} {
		fixed, err := checkGlob(tt.glob, "/")
		if err == nil || fixed != tt.fixed || !strings.Contains(err.Error(), tt.msg) {
			t.Errorf("%.30q: got %q, %v, want %q and ...%s...", tt.glob, fixed, err, tt.fixed, tt.msg)
		}
		if fixed == "" {
			continue
		}
		if again, err := checkGlob(fixed, "/"); err != nil || again != fixed {
			t.Errorf("%q: got %q, %v of its own hint %q, want that one accepted", tt.glob, again, err, fixed)
		}
	}
}
