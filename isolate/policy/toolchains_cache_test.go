package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCaches(t *testing.T) {
	never := []string{"/h/u/.state/fumehood"}
	tests := []struct {
		name    string
		host    tree
		given   []Place
		want    []string // name path real
		left    []Place
		refused string
	}{
		{
			name: "what a language fetched, and nothing beside it",
			host: tree{"/h/u/.cargo/registry/cache/x": "", "/h/u/.cargo/credentials.toml": "", "/h/u/.npm/_cacache/x": "", "/h/u/.npm/_logs/x": "", "/h/u/.m2/settings.xml": ""},
			want: []string{"cargo-registry /h/u/.cargo/registry /h/u/.cargo/registry", "npm /h/u/.npm/_cacache /h/u/.npm/_cacache"},
		},
		{
			name: "what was built from other repositories, only when it is named",
			host: tree{"/h/u/.cache/go-build/00/x": "", "/h/u/go/pkg/mod/x": ""},
			want: []string{"go-mod /h/u/go/pkg/mod /h/u/go/pkg/mod"},
		},
		{
			name:  "named",
			host:  tree{"/h/u/.cache/go-build/00/x": "", "/data/x": ""},
			given: same("/data", "/h/u/.cache/go-build"),
			want:  []string{"go-build /h/u/.cache/go-build /h/u/.cache/go-build"},
			left:  same("/data"),
		},
		{
			name: "an input stays as it is, and so do those around and in it",
			host: tree{"/h/u/go/pkg/mod/x": "", "/h/u/.cargo/registry/x": "", "/h/u/.m2/repository/a": ""}, given: same("/h/u/go/pkg", "/h/u/.cargo/registry/src", "/h/u/.m2/repository"),
			left: same("/h/u/go/pkg", "/h/u/.cargo/registry/src", "/h/u/.m2/repository"),
		},
		{name: "on another disk", host: tree{"/h/u/.m2/repository": "/data/m2", "/data/m2/x": ""}, want: []string{"maven /h/u/.m2/repository /data/m2"}},
		{name: "a home that is a link", host: tree{"/h/u": "/disk/u", "/disk/u/.npm/_cacache/x": ""}, want: []string{"npm /h/u/.npm/_cacache /disk/u/.npm/_cacache"}},
		{name: "leads to keys", host: tree{"/h/u/.m2/repository": "/h/u/.ssh", "/h/u/.ssh/id": ""}, refused: "holds credentials"},
		{name: "leads elsewhere in the home", host: tree{"/h/u/.m2/repository": "/h/u/docs", "/h/u/docs/x": ""}, refused: "another place in the home"},
		{name: "leads to the home", host: tree{"/h/u/.m2/repository": "/h/u", "/h/u/x": ""}, refused: "is the home or holds it"},
		{name: "leads to fumehood's own", host: tree{"/h/u/.m2/repository": "/h/u/.state/fumehood", "/h/u/.state/fumehood/x": ""}, refused: "never visible inside"},
		{name: "leads to the system's", host: tree{"/h/u/.m2/repository": "/proc/1", "/proc/1/x": ""}, refused: "running system"},
		{name: "in a repository", host: tree{"/h/u/.m2/.git/HEAD": "", "/h/u/.m2/repository/x": ""}, refused: "inside the repository /h/u/.m2"},
		{name: "leads into a repository", host: tree{"/h/u/.m2/repository": "/src/app/m2", "/src/app/.git/HEAD": "", "/src/app/m2/x": ""}, refused: "inside the repository /src/app"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			caches, left, refused := Caches("/h/u", tt.given, never, tt.host.exists, tt.host.resolve)
			var got []string
			for _, c := range caches {
				got = append(got, c.Name+" "+c.Path+" "+c.Real)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("caches (-want +got)\n" + diff)
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Error("left (-want +got)\n" + diff)
			}
			why := ""
			for _, r := range refused {
				why += r.Why
			}
			if (why == "") != (tt.refused == "") || !strings.Contains(why, tt.refused) {
				t.Errorf("got refused %q, want %q", why, tt.refused)
			}
		})
	}
}

// A row's folder is that of its layer, and none may lie in another.
func TestCacheRowsAreApart(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range cacheRows() {
		if seen[r.name] || strings.ContainsAny(r.name, "/.") || r.name == "" {
			t.Errorf("row %q: want a name of its own, of letters and dashes", r.name)
		}
		seen[r.name] = true
		if (len(r.hidden) > 0 || r.asked) != (r.why != "") {
			t.Errorf("row %q: hides %v, asked %v, why %q: want a reason where there is something to say", r.name, r.hidden, r.asked, r.why)
		}
		for _, o := range cacheRows()[:i] {
			if within(r.dir, o.dir) || within(o.dir, r.dir) {
				t.Errorf("rows %q and %q lie in one another", r.name, o.name)
			}
		}
	}
}
