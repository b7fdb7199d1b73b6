package rule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCompileRefusesWhatCannotBeMeant(t *testing.T) {
	ok := Entry{Destination: "a.test:443", Operations: []string{"GET /**"}}
	with := func(change func(*Entry)) Entry {
		e := ok
		change(&e)
		return e
	}
	op := func(ops ...string) Entry { return with(func(e *Entry) { e.Operations = ops }) }
	to := func(dest string) Entry { return with(func(e *Entry) { e.Destination = dest }) }
	tunnel := func(change func(*Entry)) Entry {
		e := Entry{Destination: "a.test:443", Operations: []string{"CONNECT"}}
		change(&e)
		return e
	}
	for _, tt := range []struct {
		name     string
		e        Entry
		key, msg string
	}{
		{"nothing", Entry{}, "destination", "no port"},
		{"no port", to("a.test"), "destination", "no port"},
		{"a URL", to("https://a.test:443"), "destination", "URL"},
		{"a path", to("a.test/x:443"), "destination", "URL"},
		{"any host", to("*:443"), "destination", "wildcard"},
		{"a wildcard within", to("a.*.test:443"), "destination", "wildcard"},
		{"a wildcard as part", to("*a.example.test:443"), "destination", "wildcard"},
		{"two wildcards", to("*.*.example.test:443"), "destination", "wildcard"},
		{"a wildcard and an address", to("*.10.0.0.1:443"), "destination", "address"},
		{"a wildcard and an IPv6 address", to("*.[::1]:443"), "destination", "address"},
		{"a top level domain", to("*.test:443"), "destination", "anyone"},
		{"a public suffix", to("*.com:443"), "destination", "anyone"},
		{"a public suffix of two", to("*.co.uk:443"), "destination", "anyone"},
		{"a public suffix by wildcard", to("*.foo.ck:443"), "destination", "anyone"},
		{"a private suffix", to("*.github.io:443"), "destination", "anyone"},
		{"a private suffix in upper case", to("*.GitHub.IO.:443"), "destination", "anyone"},
		{"a number", to("0x7f.1:443"), "destination", "address"},

		{"no operation", op(), "operations", "none"},
		{"a method alone", op("GET"), "operations", "method and a path"},
		{"a path alone", op("/x"), "operations", "method and a path"},
		{"nothing as operation", op(""), "operations", "method and a path"},
		{"any method", op("* /**"), "operations", "wildcard"},
		{"lower case", op("get /**"), "operations", "lower case"},
		{"mixed case", op("Get /**"), "operations", "lower case"},
		{"no token", op("G(T /**"), "operations", "not a method"},
		{"a list of methods", op("GET,HEAD /**"), "operations", "not a method"},
		{"a long method", op(strings.Repeat("A", maxMethod+1) + " /"), "operations", "not a method"},
		{"TRACE", op("TRACE /**"), "operations", "gives the request back"},
		{"CONNECT with a path", op("CONNECT /"), "operations", "no path"},
		{"CONNECT beside others", op("CONNECT", "GET /"), "operations", "opaque"},
		{"CONNECT behind others", op("GET /", "CONNECT"), "operations", "opaque"},
		{"no slash", op("GET api/**"), "operations", "slash"},
		{"a wildcard first", op("GET **/x"), "operations", "not with a wildcard"},
		{"two spaces", op("GET  /x"), "operations", "slash"},
		{"a space behind", op("GET /x "), "operations", "percent-encoded"},
		{"a query", op("GET /x?a=1"), "operations", "query"},
		{"a fragment", op("GET /x#a"), "operations", "percent-encoded"},
		{"a URL as path", op("GET https://a.test/"), "operations", "slash"},
		{"dots", op("GET /a/../b"), "operations", "dots"},
		{"dots with parameters", op("GET /a/..;x/b"), "operations", "dots"},
		{"escaped dots", op("GET /a/%2E%2E/b"), "operations", "matched as itself"},
		{"a dot", op("GET /./**"), "operations", "dots"},
		{"two slashes", op("GET //a/**"), "operations", "//"},
		{"two slashes and no wildcard", op("GET /a//b"), "operations", "matched by nothing"},
		{"alternatives", op("GET /{a,b}"), "operations", "only * and **"},
		{"a set", op("GET /[ab]"), "operations", "only * and **"},
		{"a backslash", op(`GET /a\b`), "operations", "percent-encoded"},
		{"three asterisks", op("GET /***"), "operations", "three asterisks"},
		{"lower-case escape", op("GET /a%2fb"), "operations", "upper case"},
		{"a lone percent sign", op("GET /100%"), "operations", "%25"},
		{"a path with other readings", op("GET /a%2Fb"), "operations", "matched by nothing"},
		{"a path that can't be", op("GET /a%00"), "operations", "can't be allowed"},
		{"too many", op(strings.Split(strings.Repeat("GET /x,", maxOperations+1), ",")...), "operations", "more than"},
		{"git without a verb", op("git /x"), "operations", "git"},
		{"another verb", op("git clone /x"), "operations", "git"},
		{"git without a path", op("git fetch"), "operations", "git"},
		{"git's own path", op("git push /x/git-receive-pack"), "operations", "repository"},
		{"git's refs", op("git fetch /x/info/refs"), "operations", "repository"},
		{"git with a slash", op("git fetch /x/"), "operations", "repository"},
		{"git and dots", op("git fetch /../x"), "operations", "dots"},
		{"git and other readings", op("git fetch /a%2Fb"), "operations", "matched by nothing"},
		{"a push as POST", op("POST /x/git-receive-pack"), "operations", "git push"},

		{"a query with its mark", with(func(e *Entry) { e.Query = "?a=*" }), "query", "?"},
		{"a query with a space", with(func(e *Entry) { e.Query = "a b" }), "query", "percent-encoded"},
		{"a query, lower-case escape", with(func(e *Entry) { e.Query = "a=%2f" }), "query", "upper case"},
		{"an address that is none", with(func(e *Entry) { e.Addresses = []string{"ten"} }), "addresses", "neither"},
		{"a prefix that is none", with(func(e *Entry) { e.Addresses = []string{"10.0.0.0/33"} }), "addresses", "neither"},
		{"any address", with(func(e *Entry) { e.Addresses = []string{"0.0.0.0/0"} }), "addresses", "any address"},
		{"any IPv6 address", with(func(e *Entry) { e.Addresses = []string{"::/0"} }), "addresses", "any address"},
		{"bits behind", with(func(e *Entry) { e.Addresses = []string{"10.1.2.3/8"} }), "addresses", "bits"},
		{"mapped", with(func(e *Entry) { e.Addresses = []string{"::ffff:10.0.0.1"} }), "addresses", "IPv4"},
		{"a zone", with(func(e *Entry) { e.Addresses = []string{"fe80::1%eth0"} }), "addresses", "zone"},
		{"less than no upload", with(func(e *Entry) { e.MaxUpload = -1 }), "max_upload", "less"},
		{"fewer than no requests", with(func(e *Entry) { e.PerMinute = -1 }), "requests_per_minute", "less"},
		{"a secret of no account", with(func(e *Entry) { e.ReturnsSecret, e.Account = true, "none" }), "returns_secret", "account"},

		{"a tunnel with an account", tunnel(func(e *Entry) { e.Account = "x" }), "account", "opaque"},
		{"a tunnel with a query", tunnel(func(e *Entry) { e.Query = "none" }), "query", "opaque"},
		{"a tunnel with an upgrade", tunnel(func(e *Entry) { e.Upgrade = true }), "upgrade", "opaque"},
		{"a tunnel with an upload", tunnel(func(e *Entry) { e.MaxUpload = 1 }), "max_upload", "opaque"},
		{"a tunnel with a rate", tunnel(func(e *Entry) { e.PerMinute = 1 }), "requests_per_minute", "opaque"},
		{"a tunnel with a secret", tunnel(func(e *Entry) { e.ReturnsSecret = true }), "returns_secret", "opaque"},
	} {
		_, err := Compile([]Entry{{Destination: "other.test:1", Operations: []string{"GET /"}}, tt.e})
		var f *Fault
		if !errors.As(err, &f) || f.Entry != 1 || f.Key != tt.key || !strings.Contains(f.Msg, tt.msg) {
			t.Errorf("%s: got %v, want entry 1, %s: ...%s...", tt.name, err, tt.key, tt.msg)
		}
	}
	for _, e := range []Entry{
		ok, tunnel(func(*Entry) {}),
		to("*.example.test:443"), to("*.blog.github.io:443"), to("*.example.co.uk:443"), to("10.0.0.1:80"),
		op("GET /**", "M-SEARCH /x", "VERSION-CONTROL /**"), op("GET /@s/*", "GET /@s%2F*"), op("GET /a%2Fb", "GET /a/b"), op("git push /a%2Fb", "git push /a/b"), op("git fetch /**", "git push /x.git"),
		op("GET /**.js", "GET /a**"), op("GET /%C3%BC"), op("GET /.git/..x"),
		with(func(e *Entry) { e.Query = "none" }), with(func(e *Entry) { e.Query = "a=*&b=/?**" }), with(func(e *Entry) { e.Query = "any" }),
		with(func(e *Entry) { e.Addresses = []string{"10.0.0.0/8", "fc00::/7", "127.0.0.1", "::1"} }),
		with(func(e *Entry) {
			e.Account, e.ReturnsSecret, e.Upgrade, e.MaxUpload, e.PerMinute = "x", true, true, 1, 1
		}),
	} {
		if _, err := Compile([]Entry{e}); err != nil {
			t.Errorf("the control %+v: got %v, want it accepted", e, err)
		}
	}
}

// Every hint that gives a glob gives one that is accepted.
func TestHintsCanBeFollowed(t *testing.T) {
	for bad, want := range map[string]string{
		"GET **/x": `"/**/x"`, "GET /a b": `"/a%20b"`, "GET /***": `"/**"`, "GET /a%2f*": `"/a%2F*"`, "GET /%7Ex": `"/~x"`,
		"POST /x/git-receive-pack": `"git push /x"`, "get /": `"GET": methods are case-sensitive and in upper case`, "GET /a%2Fb": `add "GET /a/b" if that may be done as well`,
	} {
		_, err := Compile([]Entry{{Destination: "a.test:443", Operations: []string{bad}}})
		var f *Fault
		if !errors.As(err, &f) || f.Hint != want {
			t.Errorf("%q: got %+v, want the hint %s", bad, f, want)
		}
	}
}

func TestCompileRefusesEntriesThatContradictEachOther(t *testing.T) {
	get := func(dest string) Entry { return Entry{Destination: dest, Operations: []string{"GET /**"}} }
	tunnel := func(dest string) Entry { return Entry{Destination: dest, Operations: []string{"CONNECT"}} }
	for _, tt := range []struct {
		name string
		list []Entry
		at   int // -1 is accepted
		key  string
	}{
		{"the same twice", []Entry{get("a.test:443"), get("b.test:443"), get("A.test.:443")}, 2, "destination"},
		{"the same tunnel twice", []Entry{tunnel("a.test:443"), tunnel("a.test:443")}, 1, "destination"},
		{"the same but for words", []Entry{{Destination: "a.test:1", Operations: []string{"GET /", "PUT /"}, Query: "any", Account: "none", Name: "1"}, {Destination: "a.test:1", Operations: []string{"PUT /", "GET /"}, Name: "2"}}, 1, "destination"},
		{"another port", []Entry{get("a.test:443"), get("a.test:444")}, -1, ""},
		{"another operation", []Entry{get("a.test:443"), {Destination: "a.test:443", Operations: []string{"PUT /"}}}, -1, ""},
		{"another account", []Entry{get("a.test:443"), {Destination: "a.test:443", Operations: []string{"GET /**"}, Account: "x"}}, -1, ""},
		{"a tunnel beside", []Entry{get("a.test:443"), tunnel("a.test:443")}, 1, "operations"},
		{"a tunnel before", []Entry{tunnel("a.test:443"), get("x.test:1"), get("a.test:443")}, 2, "operations"},
		{"a tunnel above", []Entry{tunnel("*.example.test:443"), get("a.example.test:443")}, 1, "operations"},
		{"a tunnel below", []Entry{get("*.example.test:443"), tunnel("a.b.example.test:443")}, 1, "operations"},
		{"a tunnel below, first", []Entry{tunnel("a.b.example.test:443"), get("*.example.test:443")}, 1, "operations"},
		{"a tunnel within", []Entry{get("*.example.test:443"), tunnel("*.b.example.test:443")}, 1, "operations"},
		{"a tunnel at another port", []Entry{get("a.test:443"), tunnel("a.test:22")}, -1, ""},
		{"a tunnel above that names it not", []Entry{tunnel("*.example.test:443"), get("example.test:443")}, -1, ""},
		{"a tunnel beside an address", []Entry{tunnel("10.0.0.1:443"), get("10.0.0.2:443")}, -1, ""},
		{"a tunnel across a public suffix", []Entry{tunnel("*.amazonaws.com:443"), get("x.s3.amazonaws.com:443")}, -1, ""},
	} {
		_, err := Compile(tt.list)
		var f *Fault
		switch {
		case tt.at < 0 && err != nil, tt.at >= 0 && !errors.As(err, &f):
			t.Errorf("%s: got %v, want a fault %v", tt.name, err, tt.at >= 0)
		case tt.at >= 0 && (f.Entry != tt.at || f.Key != tt.key || f.Hint == ""):
			t.Errorf("%s: got %+v, want entry %d, key %s and a hint", tt.name, f, tt.at, tt.key)
		}
	}
}

// Ten thousand entries are far beyond what a policy has: the first of them must
// not be found by reading all the others.
func BenchmarkDecide(b *testing.B) {
	const n = 10_000
	var hosts, suffixes, paths []Entry
	for i := range n {
		hosts = append(hosts, Entry{Destination: fmt.Sprintf("h%d.example.test:443", i), Operations: []string{"GET /api/*/items/**", "POST /api/*"}, Query: "page=*"})
		suffixes = append(suffixes, Entry{Destination: fmt.Sprintf("*.h%d.example.test:443", i), Operations: []string{"GET /**", "git fetch /**"}})
		paths = append(paths, Entry{Destination: "a.test:443", Operations: []string{fmt.Sprintf("GET /api/%d/**", i)}})
	}
	for _, bb := range []struct {
		name               string
		list               []Entry
		where, path, query string
	}{
		{"of 10000 hosts", hosts, "h9999.example.test:443", "/api/v1/items/x/y", "page=7"},
		{"of 10000 suffixes", suffixes, "a.b.c.d.h9999.example.test:443", "/x/y/z.tar.gz", "a=1&b=2"},
		{"of 10000 hosts none", hosts, "a.b.c.d.other.test:443", "/x", ""},
		{"escaped path", hosts, "h9999.example.test:443", "/api/v1/items/@x%2Fy;z//a", "page=7"},
		{"of 10000 paths at one host", paths, "a.test:443", "/api/9999/x", ""},
	} {
		table := compileAll(b, bb.list...)
		q := askAt(b, bb.where, "GET", bb.path, bb.query)
		if got := table.Decide(q); (got.Entry == nil) != (got.Reason == NoEntry && bb.name == "of 10000 hosts none") {
			b.Fatalf("%s: got %+v", bb.name, got)
		}
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				table.Decide(q)
			}
		})
	}
	b.Run("hostile path", func(b *testing.B) {
		table := compileAll(b, Entry{Destination: "a.test:443", Operations: []string{"GET /" + strings.Repeat("*a**b", 200) + "c"}})
		q := askAt(b, "a.test:443", "GET", "/"+strings.Repeat("a%2F;%5C//b%3F", 550), "")
		for b.Loop() {
			table.Decide(q)
		}
	})
}
