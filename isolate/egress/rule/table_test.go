package rule

import (
	"testing"
)

func compileAll(t testing.TB, entries ...Entry) *Table {
	t.Helper()
	table, err := Compile(entries)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// ask is a request for a.test:443; the path may have its query.
func ask(t testing.TB, method, path string) Request {
	t.Helper()
	return askAt(t, "a.test:443", method, path, "")
}

func askAt(t testing.TB, where, method, path, query string) Request {
	t.Helper()
	a, err := ParseAuthority(where, 0)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Authority: a, Method: method, Path: path, Query: query}
}

func TestDestinations(t *testing.T) {
	table := compileAll(
		t,
		Entry{Name: "exact", Destination: "Packages.Example.test.:443", Operations: []string{"GET /"}},
		Entry{Name: "below", Destination: "*.example.test:443", Operations: []string{"GET /"}},
		Entry{Name: "deeper", Destination: "*.b.example.test:443", Operations: []string{"GET /"}},
		Entry{Name: "address", Destination: "192.0.2.7:80", Operations: []string{"GET /"}},
		Entry{Name: "address6", Destination: "[2001:DB8::1]:80", Operations: []string{"GET /"}},
		Entry{Name: "cloud", Destination: "*.amazonaws.com:443", Operations: []string{"GET /"}},
		Entry{Name: "unicode", Destination: "b\u00fccher.test:443", Operations: []string{"GET /"}},
	)
	for _, tt := range []struct{ where, want string }{
		{"packages.example.test:443", "exact"},
		{"PACKAGES.example.test.:443", "exact"},
		{"packages.example.test:444", ""},
		{"other.example.test:443", "below"},
		{"a.b.c.example.test:443", "below"},
		{"x.b.example.test:443", "below"}, // the first in the policy
		{"example.test:443", ""},          // never the suffix itself
		{"notexample.test:443", ""},
		{"example.test.evil.test:443", ""},
		{"a.example.test:80", ""},
		{"192.0.2.7:80", "address"},
		{"[::ffff:192.0.2.7]:80", "address"},
		{"192.0.2.8:80", ""},
		{"[2001:db8:0::1]:80", "address6"},
		{"sts.amazonaws.com:443", "cloud"},
		{"s3.amazonaws.com:443", ""},        // anyone's
		{"bucket.s3.amazonaws.com:443", ""}, // anyone's
		{"xn--bcher-kva.test:443", "unicode"},
	} {
		q := askAt(t, tt.where, "GET", "/", "")
		if got := table.Decide(q).Rule; got != tt.want {
			t.Errorf("%s: Decide got %q, want %q", tt.where, got, tt.want)
		}
		if got := table.Reach(q.Authority); got.Rule != tt.want || got.Named != (tt.want != "") || got.Opaque {
			t.Errorf("%s: Reach got %+v, want %q", tt.where, got, tt.want)
		}
	}
}

func TestReachOfAnOpaqueTunnel(t *testing.T) {
	table := compileAll(t, Entry{Name: "x", Destination: "*.db.test:5432", Operations: []string{"CONNECT"}, Addresses: []string{"10.0.0.0/8"}})
	q := askAt(t, "a.db.test:5432", "GET", "/", "")
	if got := table.Reach(q.Authority); !got.Named || !got.Opaque || got.Rule != "x" {
		t.Errorf("got %+v, want it named, opaque and by its name", got)
	}
	if got := table.Decide(q); got.Entry != nil || got.Reason != Operation || got.Rule != "x" {
		t.Errorf("got %+v for a request, want it refused as %q", got, Operation)
	}
}

func TestReasonsNameTheNearestEntry(t *testing.T) {
	table := compileAll(
		t,
		Entry{Name: "first", Destination: "a.test:443", Operations: []string{"GET /first"}},
		Entry{Name: "query", Destination: "a.test:443", Operations: []string{"GET /q"}, Query: "none"},
		Entry{Name: "glob", Destination: "a.test:443", Operations: []string{"GET /q"}, Query: "page=*&size=10"},
		Entry{Name: "socket", Destination: "a.test:443", Operations: []string{"GET /socket", "GET /q"}, Query: "v=1", Upgrade: true},
		Entry{Name: "options", Destination: "a.test:443", Operations: []string{"OPTIONS /**"}},
	)
	for _, tt := range []struct {
		where, method, path, query string
		upgrade                    bool
		rule                       string
		want                       Reason
	}{
		{"b.test:443", "GET", "/../", "", false, "", NoEntry},
		{"a.test:80", "GET", "/first", "", false, "", NoEntry},
		{"a.test:443", "GET", "/../", "", false, "first", BadPath},
		{"a.test:443", "PUT", "/first", "", false, "first", Operation},
		{"a.test:443", "get", "/first", "", false, "first", Operation},
		{"a.test:443", "GET", "/firs", "", false, "first", Operation},
		{"a.test:443", "GET", "/first", "x", false, "first", ""},
		{"a.test:443", "GET", "/first", "", true, "first", Upgrade},
		{"a.test:443", "GET", "/q", "", false, "query", ""},
		{"a.test:443", "GET", "/q", "x", false, "query", Query},
		{"a.test:443", "GET", "/q", "page=2&size=10", false, "glob", ""},
		{"a.test:443", "GET", "/q", "p%61ge=2&size=10", false, "glob", ""},
		{"a.test:443", "GET", "/q", "page=2&x=1&size=10", false, "query", Query},
		{"a.test:443", "GET", "/q", "page=2;x=1&size=10", false, "query", Query},
		{"a.test:443", "GET", "/q", "page=%zz&size=10", false, "query", Query},
		{"a.test:443", "GET", "/first", "page=a#b&size=10", false, "first", BadPath},
		{"a.test:443", "GET", "/first", "page=\x01&size=10", false, "first", BadPath},
		{"a.test:443", "GET", "/first", "x= HTTP/1.0", false, "first", BadPath},
		{"a.test:443", "GET", "/first", "x=\x7f", false, "first", BadPath},
		{"a.test:443", "GET", "/q", "page=\u00fc&size=10", false, "query", Query},
		{"a.test:443", "GET", "/q", "page=2&size=10", true, "glob", Upgrade},
		{"a.test:443", "GET", "/q", "v=1", true, "socket", ""},
		{"a.test:443", "GET", "/socket", "v=1", true, "socket", ""},
		{"a.test:443", "GET", "/socket", "v=2", true, "socket", Query},
		{"a.test:443", "OPTIONS", "/", "", false, "options", ""},
		{"a.test:443", "OPTIONS", "*", "", false, "first", BadPath},
		{"a.test:443", "OPTIONS", "", "", false, "first", BadPath},
	} {
		q := askAt(t, tt.where, tt.method, tt.path, tt.query)
		q.Upgrade = tt.upgrade
		got := table.Decide(q)
		if got.Rule != tt.rule || got.Reason != tt.want || (got.Entry == nil) != (tt.want != "") {
			t.Errorf("%s %s %s?%s upgrade %v: got %+v, want %q by %q", tt.where, tt.method, tt.path, tt.query, tt.upgrade, got, tt.want, tt.rule)
		}
	}
}

func TestTheAccountOfTheRequestChoosesTheEntry(t *testing.T) {
	table := compileAll(
		t,
		Entry{Name: "plain", Destination: "a.test:443", Operations: []string{"GET /**"}, Account: "none"},
		Entry{Name: "reader", Destination: "a.test:443", Operations: []string{"GET /**"}, Account: "reader"},
		Entry{Name: "writer", Destination: "a.test:443", Operations: []string{"GET /**", "PUT /**"}, Account: "writer"},
		Entry{Name: "writer again", Destination: "a.test:443", Operations: []string{"GET /*"}, Account: "writer"},
	)
	for _, tt := range []struct {
		method   string
		accounts []string
		want     string
	}{
		{"GET", nil, "plain"},
		{"GET", []string{"reader"}, "reader"},
		{"GET", []string{"writer"}, "writer"},
		{"GET", []string{"other"}, "plain"},
		{"GET", []string{"none"}, "plain"},
		{"GET", []string{""}, "plain"},
		{"GET", []string{"writer", "reader"}, "reader"},
		{"PUT", nil, "writer"},
	} {
		q := ask(t, tt.method, "/x")
		q.Accounts = tt.accounts
		if got := table.Decide(q); got.Rule != tt.want {
			t.Errorf("%s with %v: got %+v, want %q", tt.method, tt.accounts, got, tt.want)
		}
	}

	// "none" is no account, whoever writes it.
	table = compileAll(
		t,
		Entry{Name: "reader", Destination: "a.test:443", Operations: []string{"GET /**"}, Account: "reader"},
		Entry{Name: "plain", Destination: "a.test:443", Operations: []string{"GET /**"}, Account: "none"},
	)
	q := ask(t, "GET", "/x")
	q.Accounts = []string{"none"}
	if got := table.Decide(q); got.Rule != "reader" {
		t.Errorf("got %+v, want the first entry", got)
	}
}
