package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func withCache(in Input) Input {
	in.Caches = []Layered{{
		Lower: Place{Host: "/home/someone/.npm/_cacache", Inside: "/home/someone/.npm/_cacache", FD: 9, Dev: 3, Ino: 4},
		Upper: Place{Host: "/var/state/cache/npm", FD: 10, Dev: 5, Ino: 6},
	}}
	return in
}

func TestACacheIsMountedOnceAndSeenBelowHome(t *testing.T) {
	p := compile(t, withCache(input()))
	var got []Step
	for _, s := range p.Steps {
		if s.Do == Cache || s.Do == CacheView {
			got = append(got, s)
		}
	}
	want := []Step{
		{
			Do: Cache, Target: "home/someone/.npm/_cacache", Source: "/home/someone/.npm/_cacache", FD: 9, Dev: 3, Ino: 4,
			Upper: Folder{Path: "/var/state/cache/npm", FD: 10, Dev: 5, Ino: 6},
		},
		{Do: CacheView, Target: ".npm/_cacache", Source: "/home/someone/.npm/_cacache"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
	again, err := Decode(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Error("decoded (-want +got)\n" + diff)
	}
	i := slices.IndexFunc(p.Landlock.Rules, func(r Rule) bool { return r.Path == "/home/someone/.npm/_cacache" })
	if i < 0 || p.Landlock.Rules[i].Access&fsWriteFile == 0 {
		t.Errorf("got rules %+v, want one that lets the cache be written", p.Landlock.Rules)
	}
	for _, m := range Expected(got) {
		if m.Point != "/" && (m.RO || m.Type != "overlay" || !m.Own || !m.NoSUID || !m.NoDev) {
			t.Errorf("got %+v, want an overlay of the sandbox's own, without set-user-id and devices", m)
		}
	}
}

func TestACacheIsInTheWayOfNothing(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"in the workspace", func(in *Input) { in.Caches[0].Lower.Inside = "/home/someone/project/x" }, "one lies in the other"},
		{"around the workspace", func(in *Input) { in.Caches[0].Lower.Inside = "/home/someone" }, "one lies in the other"},
		{"the home's content", func(in *Input) { in.Caches[0].Lower.Host = "/home" }, "holds the home"},
		{"around an input", func(in *Input) { in.Caches[0].Lower.Inside = "/home/someone/go" }, "would cover the read-only input"},
		{"an input itself", func(in *Input) { in.Caches[0].Lower.Inside = "/home/someone/go/pkg/mod" }, "would cover the read-only input"},
		{"a layer in the host's folder", func(in *Input) { in.Caches[0].Upper.Host = "/home/someone/.npm/_cacache/x" }, "lie in one another"},
		{"one in another", func(in *Input) {
			in.Caches = append(in.Caches, in.Caches[0])
			in.Caches[1].Lower.Inside += "/x"
		}, "one lies in the other"},
		{"a shared layer", func(in *Input) {
			in.Caches = append(in.Caches, in.Caches[0])
			in.Caches[1].Lower.Inside = "/home/someone/other"
		}, "share a layer"},
		{"a file", func(in *Input) { in.Caches[0].Lower.File = true }, "want folders"},
		{"a system place", func(in *Input) { in.Caches[0].Lower.Inside = "/etc/x" }, "sandbox's own"},
		{"not clean", func(in *Input) { in.Caches[0].Upper.Host = "/var/../x" }, "clean paths"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := withCache(input())
			tt.change(&in)
			if _, err := Compile(in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
	if _, err := Compile(withCache(input())); err != nil {
		t.Errorf("got %v for the plain one, want none", err)
	}
}

// A cache inside a read-only folder of a toolchain comes after it.
func TestACacheCanLieInAReadOnlyFolder(t *testing.T) {
	in := withCache(input())
	in.ReadOnly = append(in.ReadOnly, Place{Host: "/home/someone/.npm", Inside: "/home/someone/.npm"})
	var got []string
	for _, s := range compile(t, in).Steps {
		if strings.Contains(s.Target, ".npm") {
			got = append(got, string(s.Do)+" "+s.Target)
		}
	}
	want := []string{"overlay home/someone/.npm", "cache home/someone/.npm/_cacache", "home view .npm", "cache view .npm/_cacache"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)\n" + diff)
	}
}
