package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/policy"
	"fumehood/session/store"
)

// recorded is a session's folder and what writes its egress record.
func recorded(t *testing.T) (*Host, store.Dir, func(...Attempt)) {
	t.Helper()
	root := store.Root(t.TempDir())
	d, err := root.Create()
	if err != nil {
		t.Fatal(err)
	}
	pol, err := policy.Parse("p.toml", []byte("[[network.allow]]\ndestination = \"a.test:443\"\noperations = [\"GET /**\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(d.Policy(), policy.Encode(pol)); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveRecord(&store.Record{ID: d.ID(), PolicyName: "p"}); err != nil {
		t.Fatal(err)
	}
	l, err := d.OpenEgress()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &Host{Root: root}, d, func(list ...Attempt) {
		t.Helper()
		for _, a := range list {
			if err := l.Append(a); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRefusalsAreGroupedAndCounted(t *testing.T) {
	h, d, write := recorded(t)
	write(
		Attempt{Allowed: true, Method: "GET", Host: "a.test", Port: 443, Path: "/x"},
		Attempt{Method: "CONNECT", Host: "b.test", Port: 443, Reason: "no entry", Times: 13},
		Attempt{Method: "POST", Host: "a.test", Port: 443, Path: "/x", Reason: "operation not allowed"},
	)
	v, err := h.Egress(d)
	if err != nil {
		t.Fatal(err)
	}
	if v.Allowed != 1 || v.Refused != 14 || len(v.Attempts) != 3 || len(v.Groups) != 2 || v.Live {
		t.Fatalf("got %d allowed, %d refused, %d attempts, %d groups, live %v, want 1, 14, 3, 2, false", v.Allowed, v.Refused, len(v.Attempts), len(v.Groups), v.Live)
	}
	if d := cmp.Diff([]string{"a.test:443: GET /**"}, v.Entries); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	write(
		Attempt{Method: "CONNECT", Host: "b.test", Port: 443, Reason: "no entry"},
		Attempt{Method: "POST", Host: "a.test", Port: 443, Path: "/y", Reason: "operation not allowed"},
	)
	now, err := h.Egress(d)
	if err != nil {
		t.Fatal(err)
	}
	if g := now.Groups; len(g) != 2 || g[0].Times != 14 || g[1].Times != 2 || g[1].Paths != 2 || g[1].Last.Path != "/y" {
		t.Fatalf("got groups %+v, want the same two, of 14 and of 2 with 2 paths", g)
	}
	if len(v.Attempts) != 3 || v.Groups[0].Times != 13 {
		t.Fatalf("got an earlier answer changed: %d attempts, %d times", len(v.Attempts), v.Groups[0].Times)
	}
	if a, r := h.counts(d); a != 1 || r != 16 {
		t.Fatalf("got %d allowed and %d refused, want 1 and 16", a, r)
	}
}

func TestARunIsToldItsOwnRefusalsOnly(t *testing.T) {
	_, d, write := recorded(t)
	write(Attempt{Method: "GET", Host: "old.test", Port: 443, Reason: "no entry"})
	at, err := EgressEnd(d)
	if err != nil {
		t.Fatal(err)
	}
	write(
		Attempt{Method: "GET", Host: "b.test", Port: 443, Reason: "no entry"},
		Attempt{Method: "CONNECT", Host: "c.test", Port: 443, Reason: "no entry", Times: 3},
		Attempt{Method: "POST", Host: "b.test", Port: 443, Reason: "no entry"},
		Attempt{Method: "LOOKUP", Host: "c.test", Reason: "names are not resolved inside"},
		Attempt{Allowed: true, Method: "GET", Host: "a.test", Port: 443},
	)
	n, list, err := RefusedSince(d, at)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Egress{Allowed: 1, Refused: 6}); n != want {
		t.Errorf("got %+v, want %+v", n, want)
	}
	want := []Refused{{"c.test:443", "no entry", 3}, {"b.test:443", "no entry", 2}, {"c.test", "names are not resolved inside", 1}}
	if d := cmp.Diff(want, list); d != "" {
		t.Errorf("refused (-want +got):\n%s", d)
	}
}

// The inside decides how many attempts there are, and of what.
func TestAFloodOfAttemptsIsBoundedInMemory(t *testing.T) {
	tr := &traffic{group: map[string]int{}}
	const n = 3 * maxAttempts
	for i := range n {
		tr.add(Attempt{Time: time.Unix(int64(i), 0), Method: "GET", Host: fmt.Sprintf("h%d.test", i), Port: 443, Reason: "no entry"})
	}
	v := tr.view
	if len(v.Attempts) != maxAttempts || cap(v.Attempts) > 3*maxAttempts || v.First != n-maxAttempts {
		t.Errorf("got %d attempts in room for %d, %d older, want the newest %d", len(v.Attempts), cap(v.Attempts), v.First, maxAttempts)
	}
	if got := v.Attempts[0].Host; got != fmt.Sprintf("h%d.test", n-maxAttempts) {
		t.Errorf("got %q first, want the oldest of the newest", got)
	}
	if len(v.Groups) != maxGroups || v.Beyond != n-maxGroups || v.Refused != n {
		t.Errorf("got %d groups and %d refusals beyond of %d, want %d and %d of %d", len(v.Groups), v.Beyond, v.Refused, maxGroups, n-maxGroups, n)
	}
	if list := refusedIn(v.Groups); len(list) != maxRefused {
		t.Errorf("got a list of %d, want %d", len(list), maxRefused)
	}
}
