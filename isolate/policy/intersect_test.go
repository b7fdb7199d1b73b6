package policy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/egress/rule"
)

// TestEveryPolicyFieldIsIntersected holds the table to the struct: each field
// of a policy is a row's, and no row has two.
func TestEveryPolicyFieldIsIntersected(t *testing.T) {
	p := new(Policy)
	rows := map[any]string{}
	for _, n := range narrowings() {
		at := n.at(p)
		if other, ok := rows[at]; ok {
			t.Errorf("%q and %q are one field", other, n.key)
		}
		rows[at] = n.key
	}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		if _, ok := rows[v.Addr().Interface()]; ok {
			delete(rows, v.Addr().Interface())
			return
		}
		if v.Kind() != reflect.Struct {
			t.Errorf("no row for %s", path)
			return
		}
		for i := range v.NumField() {
			walk(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	}
	walk(reflect.ValueOf(p).Elem(), "")
	for _, key := range rows {
		t.Errorf("the row %q is of no field", key)
	}
	known := map[string]bool{"": true, "network.allow": true, "credentials": true}
	for _, f := range fields() {
		known[strings.TrimPrefix(f.table+"."+f.key, ".")] = true
	}
	for _, n := range narrowings() {
		if !known[n.key] {
			t.Errorf("%q is no key of the file", n.key)
		}
	}
}

// set parses keys onto the default.
func parsed(t *testing.T, src string) *Policy {
	t.Helper()
	p, err := Parse("user", []byte("tool = \"x\"\n"+src))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestIntersectTakesTheNarrower(t *testing.T) {
	tests := []struct {
		key, user, repo, want string // the key's values; want as it is printed
		wider, trustable      bool
	}{
		{"limits.memory", `"4GiB"`, `"1GiB"`, "1GiB", false, false},
		{"limits.memory", `"1GiB"`, `"4GiB"`, "1GiB", true, true},
		{"limits.memory", `"1GiB"`, `"none"`, "1GiB", true, false},
		{"limits.memory", `"none"`, `"1GiB"`, "1GiB", false, false},
		{"limits.memory", `"none"`, `"none"`, "none", false, false},
		{"limits.cpus", `2`, `8`, "2", true, true},
		{"limits.cpus", `8`, `2`, "2", false, false},
		{"limits.processes", `64`, `"none"`, "64", true, false},
		{"limits.disk", `"none"`, `"2GiB"`, "2GiB", false, false},
		{"limits.run_time", `"never"`, `"5m"`, "5m", false, false},
		{"limits.run_time", `"5m"`, `"10m"`, "5m", true, true},
		{"limits.session_time", `"1h"`, `"never"`, "1h", true, false},
		{"limits.output_chars", `100`, `200`, "100", true, true},
		{"limits.output_bytes", `"1MiB"`, `"1KiB"`, "1KiB", false, false},
		{"lifecycle.idle", `"10m"`, `"never"`, "10m", true, false},
		{"lifecycle.idle", `"never"`, `"1m"`, "1m", false, false},
		{"boundary.proven", `"shown"`, `"required"`, "required", false, false},
		{"boundary.proven", `"required"`, `"shown"`, "required", true, false},
		{"boundary.require", `["landlock"]`, `["landlock>=6"]`, "landlock, landlock>=6", false, false},
		{"boundary.require", `["landlock", "seccomp"]`, `[]`, "landlock, seccomp", false, false},
		{"boundary.enforced_by", `"process restriction"`, `"container"`, "process restriction", true, false},
		{"boundary.debuggers", `false`, `true`, "false", true, false},
		{"boundary.debuggers", `true`, `false`, "false", false, false},
		{"filesystem.include", `["a", "b"]`, `["b"]`, "b", false, false},
		{"filesystem.include", `["a"]`, `["a", "b"]`, "a", true, true},
		{"filesystem.include", `"none"`, `["b"]`, "none", true, true},
		{"filesystem.include", `["a"]`, `"none"`, "none", false, false},
		{"filesystem.include", `["a"]`, `"auto"`, "none", true, true},
		{"filesystem.exclude", `["*.pem"]`, `["*.key"]`, "*.pem, *.key", false, false},
		{"filesystem.exclude", `["*.pem"]`, `[]`, "*.pem", false, false},
		{"filesystem.history", `"head"`, `"none"`, "none", false, false},
		{"filesystem.history", `"head"`, `"all"`, "head", true, false},
		{"filesystem.inputs", `["/srv/a"]`, `[]`, "none", false, false},
		{"filesystem.inputs", `["/srv/a"]`, `["/srv/a", "/srv/b"]`, "/srv/a", true, false},
		{"filesystem.toolchains", `"auto"`, `"none"`, "none", false, false},
		{"filesystem.toolchains", `"none"`, `"auto"`, "none", true, true},
		{"filesystem.toolchains", `["/nix/store"]`, `"auto"`, "/nix/store", true, false},
		{"filesystem.toolchains", `"auto"`, `["/nix/store"]`, "auto", true, false},
		{"terminal.clipboard", `"ask"`, `"deny"`, "deny", false, false},
		{"terminal.clipboard", `"deny"`, `"allow"`, "deny", true, false},
		{"results.leave", `"diff"`, `"artifacts"`, "diff", true, false},
		{"results.artifacts", `["*.png"]`, `["*.png", "*.sh"]`, "*.png", true, false},
		{"results.review", `"me"`, `"nobody"`, "me", false, false},
		{"lifecycle.keep", `["diff", "output"]`, `["diff"]`, "diff, output", false, false},
		{"tenant", `"me"`, `"you"`, "me", true, false},
		{"tool", `"a"`, `"b"`, "a", false, false},
		{"owner", `"a"`, `"b"`, "a", false, false},
		{"reviewed", `2026-11-30`, `2020-01-01`, "2026-11-30", false, false},
	}
	seen := map[string]bool{"": true, "network.allow": true, "credentials": true}
	for _, tt := range tests {
		seen[tt.key] = true
		t.Run(fmt.Sprintf("%s %s with %s", tt.key, tt.user, tt.repo), func(t *testing.T) {
			read := func(value string) *Policy {
				src := tt.key + " = " + value + "\n"
				p, err := Parse("p", []byte(src))
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			user, repo := read(tt.user), read(tt.repo)
			before := clone(user)
			got, wide := Intersect(user, repo)
			if diff := cmp.Diff(before, user); diff != "" {
				t.Errorf("the user's policy was changed:\n%s", diff)
			}
			if s := valueOf(got, tt.key); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
			if len(wide) > 1 || (len(wide) == 1) != tt.wider {
				t.Fatalf("got %v, want a widening %v", wide, tt.wider)
			}
			trusted, wide := IntersectTrusting(user, repo, func(Widening) bool { return true })
			want := tt.want
			if tt.trustable {
				want = valueOf(repo, tt.key)
			}
			if s := valueOf(trusted, tt.key); s != want {
				t.Errorf("trusted: got %s, want %s", s, want)
			}
			if len(wide) == 1 && (wide[0].Key != tt.key || wide[0].Why == "" || wide[0].InForce != tt.trustable || wide[0].Trustable != tt.trustable) {
				t.Errorf("got %+v, want %s, trustable %v", wide[0], tt.key, tt.trustable)
			}
			again, wide := Intersect(got, repo)
			if s := valueOf(again, tt.key); s != tt.want || len(wide) > 0 != tt.wider {
				t.Errorf("again: got %s, %v, want %s", s, wide, tt.want)
			}
		})
	}
	for _, n := range narrowings() {
		if !seen[n.key] {
			t.Errorf("no case for %q", n.key)
		}
	}
}

func valueOf(p *Policy, key string) string {
	for _, n := range narrowings() {
		if n.key == key {
			return textOf(n.at(p))
		}
	}
	return "no field"
}

func TestIntersectOfEqualsIsTheSame(t *testing.T) {
	for seed := range uint64(100) {
		p := new(Policy)
		invent(newDice(seed), reflect.ValueOf(p).Elem(), "")
		got, wide := Intersect(p, clone(p))
		p.dropUnused()
		if string(Encode(got)) != string(Encode(p)) || len(wide) > 0 {
			t.Fatalf("seed %d: got %v and\n%s\nwant\n%s", seed, wide, Encode(got), Encode(p))
		}
	}
}

// TestIntersectAllowsNothingThatEitherRefuses decides requests by the user's
// policy, by the repository's and by what comes of both.
func TestIntersectAllowsNothingThatEitherRefuses(t *testing.T) {
	// Below amazonaws.com anyone can have a name below s3.
	hosts := []string{"a.example.test", "b.example.test", "x.a.example.test", "example.test", "sts.amazonaws.com", "b.s3.amazonaws.com", "x.b.s3.amazonaws.com"}
	dests := append([]string{"*.example.test", "*.a.example.test", "*.amazonaws.com", "*.b.s3.amazonaws.com"}, hosts...)
	ops := []string{"GET /**", "GET /a/**", "GET /a/*", "GET /a/b", "PUT /**", "PUT /a/b", "HEAD /*"}
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/b", "/c/d"}
	entries := func(r *dice) []Allow {
		var out []Allow
		for range 1 + r.IntN(3) {
			a := Allow{
				Destination: dests[r.IntN(len(dests))] + ":443", Query: []string{"any", "none", "x=*"}[r.IntN(3)],
				Account: []string{"none", "one", "two"}[r.IntN(3)], Upgrade: r.IntN(2) == 0,
				MaxUpload: Bytes(r.IntN(3) * 100), PerMinute: r.IntN(3) * 10,
			}
			for range 1 + r.IntN(2) {
				a.Operations = append(a.Operations, ops[r.IntN(len(ops))])
			}
			if r.IntN(8) == 0 {
				a = Allow{Destination: a.Destination, Operations: []string{connect}, Query: "any", Account: "none"}
			}
			out = append(out, a)
		}
		return out
	}
	table := func(p *Policy) *rule.Table {
		tab, err := rule.Compile(p.Entries())
		if err != nil || mixed(p.Network.Allow) {
			return nil // what can't be meant is no policy
		}
		return tab
	}
	tried, allowed, kept := 0, 0, 0
	for seed := range uint64(2500) {
		r := newDice(seed)
		user, repo := new(Policy), new(Policy)
		user.Network.Allow, repo.Network.Allow = entries(r), entries(r)
		got, _ := Intersect(user, repo)
		ut, rt, gt := table(user), table(repo), table(got)
		if ut == nil || rt == nil {
			continue
		}
		if gt == nil {
			_, err := rule.Compile(got.Entries())
			t.Fatalf("seed %d: %v of\n%s\nand\n%s\ncomes\n%s", seed, err, Encode(user), Encode(repo), Encode(got))
		}
		if len(got.Network.Allow) > 0 {
			kept++
		}
		for _, host := range hosts {
			a := rule.Authority{Host: host, Port: 443}
			if g := gt.Reach(a); g.Opaque && (!ut.Reach(a).Opaque || !rt.Reach(a).Opaque) {
				t.Fatalf("seed %d: an opaque tunnel to %s, which one refuses", seed, host)
			}
			for _, path := range paths {
				for _, method := range []string{"GET", "PUT", "HEAD"} {
					q := rule.Request{Authority: a, Method: method, Path: path}
					tried++
					g := gt.Decide(q)
					if g.Entry == nil {
						continue
					}
					allowed++
					if u := ut.Decide(q); u.Entry == nil && !ut.Reach(a).Opaque {
						t.Fatalf("seed %d: %s %s%s is allowed, and the user's refuses: %+v\n%s", seed, method, host, path, g, Encode(user))
					}
					if r := rt.Decide(q); r.Entry == nil {
						t.Fatalf("seed %d: %s %s%s is allowed, and the repository's refuses: %+v\n%s", seed, method, host, path, g, Encode(repo))
					}
				}
			}
		}
	}
	if allowed < 300 || kept < 300 {
		t.Errorf("got %d of %d allowed, %d policies with entries, want some hundred: the test shows nothing", allowed, tried, kept)
	}
}

// mixed tells of an opaque tunnel to where another entry looks at operations.
func mixed(all []Allow) bool {
	for _, a := range all {
		for _, b := range all {
			_, _, meet := meetDestination(a.Destination, b.Destination)
			if meet && contains(a.Operations, connect) != contains(b.Operations, connect) {
				return true
			}
		}
	}
	return false
}

func TestIntersectKeepsAccountsWithinTheUsersEntries(t *testing.T) {
	user := parsed(t, anEntry+aCred)
	tests := []struct {
		name, entry, want, why string
		trustable              bool
	}{
		{"the same", anEntry, "a.example.test:443: GET /** as reader", "", false},
		{"a narrower path", with(anEntry, "operations", `["GET /pkg/*"]`), "a.example.test:443: GET /pkg/* as reader", "", false},
		{"without the account", with(anEntry, "account", `"none"`), "a.example.test:443: GET /**", "", false},
		{"another operation", with(anEntry, "operations", `["PUT /**"]`), "", "PUT /**; a credential goes only where", false},
		{"one more operation", with(anEntry, "operations", `["GET /**", "PUT /x"]`), "a.example.test:443: GET /** as reader", "PUT /x", false},
		{"another destination", with(anEntry, "destination", `"b.example.test:443"`), "", "no entry of yours", false},
		{"another port", with(anEntry, "destination", `"a.example.test:8443"`), "", "no entry of yours", false},
		{"every name", with(anEntry, "destination", `"*.example.test:443"`), "a.example.test:443: GET /** as reader", "names that your entry does not have", false},
		{"another account", with(anEntry, "account", `"writer"`), "", `not of the account "writer"`, false},
		{"its answers", with(anEntry, "returns_secret", `true`), "a.example.test:443: GET /** as reader", "answers", false},
		{"an opaque tunnel", with(with(anEntry, "operations", `["CONNECT"]`), "account", `"none"`), "", "opaque tunnel", false},
		{"a network of yours", with(with(anEntry, "addresses", `["10.0.0.0/8"]`), "account", `"none"`), "a.example.test:443: GET /**", "10.0.0.0/8", false},
		{"a new place without account", with(with(anEntry, "destination", `"b.example.test:443"`), "account", `"none"`), "", "no entry of yours", true},
		{"an address", with(with(anEntry, "destination", `"127.0.0.1:443"`), "account", `"none"`), "", "yours to open", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			repo, err := ParseRepository("r.toml", []byte(tt.entry), user)
			if err != nil {
				t.Fatal(err)
			}
			got, wide := Intersect(user, repo)
			if s := entriesText(got); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
			if tt.why == "" && len(wide) > 0 || tt.why != "" && (len(wide) != 1 || !strings.Contains(wide[0].Why, tt.why) || wide[0].Trustable != tt.trustable) {
				t.Errorf("got %v, want one with %q, trustable %v", wide, tt.why, tt.trustable)
			}
			for _, c := range got.Credentials {
				if len(scopes(got, c.Name)) == 0 {
					t.Errorf("the credential %s is in force and no entry names it", c.Name)
				}
			}
			if errs := Check(got); len(errs) > 0 {
				t.Errorf("what comes out is refused: %v", errs)
			}
			trusted, _ := IntersectTrusting(user, repo, func(Widening) bool { return true })
			want := tt.want
			if tt.trustable {
				want = entriesText(repo)
			}
			if s := entriesText(trusted); s != want {
				t.Errorf("trusted: got %q, want %q", s, want)
			}
		})
	}
}

func TestIntersectOfAddressesAndDestinations(t *testing.T) {
	for _, tt := range []struct {
		list []string
		in   string
		want bool
	}{
		{[]string{"10.0.0.0/8"}, "10.2.0.0/16", true},
		{[]string{"10.0.0.0/8"}, "10.2.3.4", true},
		{[]string{"10.2.3.4"}, "10.0.0.0/8", false},
		{[]string{"10.0.0.0/8"}, "192.168.0.1", false},
		{[]string{"169.254.0.0/16"}, "169.254.169.254", false}, // metadata, which a network does not name
		{[]string{"169.254.169.254"}, "169.254.169.254", true},
		{[]string{"169.254.0.0/16"}, "169.254.7.7", true},
		{nil, "10.0.0.1", false},
	} {
		if got := addressWithin(tt.list, tt.in); got != tt.want {
			t.Errorf("%s within %v: got %v, want %v", tt.in, tt.list, got, tt.want)
		}
	}
	for _, tt := range []struct {
		out, in string
		want    bool
	}{
		{"*.amazonaws.com:443", "sts.amazonaws.com:443", true},
		{"*.amazonaws.com:443", "b.s3.amazonaws.com:443", false},
		{"*.amazonaws.com:443", "*.b.s3.amazonaws.com:443", false},
		{"*.amazonaws.com:443", "*.amazonaws.com:443", true},
		{"*.example.test:443", "*.a.example.test:443", true},
		{"*.example.test:443", "example.test:443", false},
		{"*.example.test:443", "A.Example.Test:443", true},
		{"a.example.test:443", "A.example.test.:443", true},
		{"*.example.test:443", "*.Example.test:443", true},
		{"a.example.test:443", "*.a.example.test:443", false},
		{"a.example.test:443", "a.example.test:8443", false},
		{"*.example.test:443", "127.0.0.1:443", false},
	} {
		if got := namesAll(tt.out, tt.in); got != tt.want {
			t.Errorf("%s names all of %s: got %v, want %v", tt.out, tt.in, got, tt.want)
		}
	}
}

func entriesText(p *Policy) string {
	var out []string
	for _, a := range p.Network.Allow {
		out = append(out, entryText(a))
	}
	return strings.Join(out, "; ")
}

// TestIntersectSharesCaps: two entries of a repository within one of the user's
// must not have its cap twice.
func TestIntersectSharesCaps(t *testing.T) {
	user := parsed(t, "[[network.allow]]\ndestination = \"*.example.test:443\"\noperations = [\"PUT /**\"]\nmax_upload = \"10MiB\"\nrequests_per_minute = 1\n")
	one := "[[network.allow]]\ndestination = \"a.example.test:443\"\noperations = [\"PUT /**\"]\nmax_upload = \"8MiB\"\nrequests_per_minute = 1\n"
	two := strings.ReplaceAll(one, "a.example", "b.example")
	got, wide := Intersect(user, parsed(t, one))
	if s, want := entriesText(got), "a.example.test:443: PUT /**, uploads up to 8MiB, 1 requests per minute"; s != want || len(wide) > 0 {
		t.Errorf("got %s, %v, want %s", s, wide, want)
	}
	got, _ = Intersect(user, parsed(t, one+two))
	if s := entriesText(got); s != "" {
		t.Errorf("one request a minute shared by two: got %s, want none", s)
	}
	user.Network.Allow[0].PerMinute = 0
	got, _ = Intersect(user, parsed(t, one+two))
	if s, want := entriesText(got), "a.example.test:443: PUT /**, uploads up to 5MiB, 1 requests per minute; b.example.test:443: PUT /**, uploads up to 5MiB, 1 requests per minute"; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestParseRepositoryRefusesWhatIsTheUsersOwn(t *testing.T) {
	user := parsed(t, anEntry+aCred+"[filesystem]\ninputs = [\"/srv/a\"]\n")
	for _, tt := range []struct{ name, src, key string }{
		{"a credential", aCred, "credentials"},
		{"a command", with(aCred, "source", `"command:/bin/cat /etc/shadow"`), "credentials"},
		{"no credentials, said aloud", "credentials = []\ntool = \"x\"\n", "credentials"},
		{"an input", "[filesystem]\ninputs = [\"/etc\"]\n", "filesystem.inputs"},
		{"the user's own input", "[filesystem]\ninputs = [\"/srv/a\"]\n", "filesystem.inputs"},
		{"toolchains", "[filesystem]\ntoolchains = [\"/opt/x\"]\n", "filesystem.toolchains"},
		{"a misspelt key", "[limits]\nmemroy = \"1GiB\"\n", "limits.memroy"},
		{"what is not built", "boundary.debuggers = true\n", "boundary.debuggers"},
		{"an entry that can't be meant", with(anEntry, "operations", `["GET"]`), "network.allow[0].operations"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParseRepository(".fumehood/policy.toml", []byte(tt.src), user)
			all := faultsIn(err)
			if p != nil || len(all) == 0 || all[0].Key != tt.key || all[0].File != ".fumehood/policy.toml" || tt.src != "" && all[0].Line < 1 {
				t.Errorf("got %v, %v, want a fault of %s with its place", p, err, tt.key)
			}
		})
	}
	for _, src := range []string{"[limits]\nmemory = \"1GiB\"\n", "[filesystem]\ninputs = []\ntoolchains = \"none\"\n", anEntry, "[network]\nallow = []\n"} {
		if _, err := ParseRepository("r", []byte(src), user); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

func TestARepositorysSilenceChangesNothing(t *testing.T) {
	user := parsed(t, anEntry+aCred+"[limits]\nmemory = \"none\"\nrun_time = \"never\"\n[filesystem]\nhistory = \"all\"\nexclude = [\"a\"]\n")
	repo, err := ParseRepository("r", []byte("tool = \"this repository\"\n"), user)
	if err != nil {
		t.Fatal(err)
	}
	got, wide := Intersect(user, repo)
	if diff := cmp.Diff(user, got); diff != "" || len(wide) > 0 {
		t.Errorf("got %v, (-want +got)\n%s", wide, diff)
	}
	repo, _ = ParseRepository("r", []byte("[network]\nallow = []\n[limits]\nmemory = \"2GiB\"\n"), user)
	got, wide = Intersect(user, repo)
	if len(got.Network.Allow)+len(got.Credentials) > 0 || len(wide) > 0 {
		t.Errorf("got %v, %v, %v, want no network, no credentials, nothing wider", got.Network, got.Credentials, wide)
	}
	want := []string{"network.allow: 0 of the repository's entries are within yours, instead of your 1", "limits.memory: 2GiB instead of none"}
	if diff := cmp.Diff(want, Narrowed(user, got, wide)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What was trusted is wider, not narrower; what is left of the user's own entries
// is counted without it.
func TestTrustedEntriesAreNotCalledNarrower(t *testing.T) {
	const other = "[[network.allow]]\ndestination = \"other.example.test:443\"\noperations = [\"GET /**\"]\naccount = \"none\"\n"
	for _, c := range []struct {
		user string
		want []string
	}{
		{"[network]\nallow = []\n", nil},
		{anEntry + aCred, []string{"network.allow: 0 of the repository's entries are within yours, instead of your 1"}},
	} {
		user := parsed(t, c.user)
		repo, err := ParseRepository("r", []byte(other), user)
		if err != nil {
			t.Fatal(err)
		}
		got, wide := IntersectTrusting(user, repo, func(Widening) bool { return true })
		if len(got.Network.Allow) != 1 || len(wide) != 1 {
			t.Fatalf("got %v, %v, want the trusted entry alone", got.Network.Allow, wide)
		}
		if diff := cmp.Diff(c.want, Narrowed(user, got, wide)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

// TestGlobCoversAgreesWithTrying compares with all short paths.
func TestGlobCoversAgreesWithTrying(t *testing.T) {
	var paths []string
	var grow func(s string, n int)
	grow = func(s string, n int) {
		paths = append(paths, s)
		for _, c := range []string{"a", "b", "/"} {
			if n > 0 {
				grow(s+c, n-1)
			}
		}
	}
	grow("/", 5)
	var globs []string
	for _, a := range []string{"", "a", "*", "**", "a*", "*a", "a**", "b"} {
		globs = append(globs, "/"+a)
		for _, b := range []string{"", "a", "*", "**", "*b"} {
			globs = append(globs, "/"+a+"/"+b)
		}
	}
	fits := func(glob, path string) bool {
		g, p, left := globTokens(glob), globTokens(path), maxSpent
		return covers(g, p, globBytes(g, p), &left)
	}
	yes := 0
	for _, out := range globs {
		for _, in := range globs {
			want := true
			for _, p := range paths {
				if fits(in, p) && !naive(in, p) || !fits(in, p) && naive(in, p) {
					t.Fatalf("%s fits %s: got %v", in, p, fits(in, p))
				}
				if naive(in, p) && !naive(out, p) {
					want = false
					break
				}
			}
			left := maxSpent
			if got := globCovers(out, in, &left); got != want {
				t.Errorf("globCovers(%s, %s) = %v, want %v", out, in, got, want)
			}
			if want {
				yes++
			}
		}
	}
	if yes < 100 {
		t.Errorf("got %d covered, want more: the test shows nothing", yes)
	}
}

// naive matches by trying every run.
func naive(glob, s string) bool {
	switch {
	case glob == "":
		return s == ""
	case strings.HasPrefix(glob, "**"):
		return naive(glob[2:], s) || s != "" && naive(glob, s[1:])
	case glob[0] == '*':
		return naive(glob[1:], s) || s != "" && s[0] != '/' && naive(glob, s[1:])
	}
	return s != "" && s[0] == glob[0] && naive(glob[1:], s[1:])
}

// TestIntersectEndsSoonOnHostilePatterns: a repository's file at the limit of
// the size, full of patterns that cost most to compare.
func TestIntersectEndsSoonOnHostilePatterns(t *testing.T) {
	user := parsed(t, "[[network.allow]]\ndestination = \"*.example.test:443\"\noperations = [\"GET /"+strings.Repeat("*a*b", 40)+"\", \"GET /"+strings.Repeat("**a", 60)+"\"]\n")
	var src strings.Builder
	for i := range 60 {
		fmt.Fprintf(&src, "[[network.allow]]\ndestination = \"h%d.example.test:443\"\noperations = [\"GET /%s%d\", \"GET /%s%d\"]\n", i, strings.Repeat("*a**b", 40), i, strings.Repeat("**ab*a", 40), i)
	}
	repo := parsed(t, src.String())
	start := time.Now()
	if got, _ := Intersect(user, repo); len(got.Network.Allow) > 120 {
		t.Errorf("got %d entries", len(got.Network.Allow))
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v, want far less than a person waits", took)
	} else {
		t.Log(took)
	}
}
