package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session/store"
)

func accountAt(t testing.TB) *Host {
	t.Helper()
	dir := t.TempDir()
	return &Host{
		Root: store.Root(filepath.Join(dir, "state", "fumehood", "sessions")), Config: filepath.Join(dir, "config"),
		Home: dir, User: "ada", UID: os.Geteuid(), GID: os.Getegid(), Env: []string{"PATH=/usr/bin:/bin"},
	}
}

func provenHere(t testing.TB, h *Host, p *policy.Policy) *walls.Record {
	t.Helper()
	s, err := h.Shape(p)
	if err != nil {
		t.Fatal(err)
	}
	r := ran(s, 16, nil)
	r.PolicyHash = policy.Hash(p)
	if err := h.SaveProof(r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAProofStandsForItsPolicyAndShapeOnly(t *testing.T) {
	h := accountAt(t)
	p, _ := policy.Builtin(policy.DefaultName)
	stand := func() walls.Standing {
		t.Helper()
		st, err := h.Standing(p)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	if st := stand(); st.Record != nil {
		t.Fatalf("got %+v before any test, want nothing", st)
	}
	r := provenHere(t, h, p)
	if ok, why := stand().Proven(); !ok {
		t.Fatalf("got not proven: %s", why)
	}
	bad := ran(r.Shape, 3, map[int]walls.Verdict{3: walls.Failed})
	bad.PolicyHash = r.PolicyHash
	if err := h.SaveProof(bad); err != nil {
		t.Fatal(err)
	}
	if st := stand(); st.Of(walls.FilesystemWall) != walls.MarkFailed || st.Of(walls.NetworkWall) != walls.MarkHeld {
		t.Errorf("got %s and %s after one test failed, want that wall failed and the others as they were", st.Of(walls.FilesystemWall), st.Of(walls.NetworkWall))
	}
	provenHere(t, h, p)
	if ok, why := stand().Proven(); !ok {
		t.Errorf("got not proven after all held again: %s", why)
	}
	// Another policy has no proof, and another PATH is another shape where
	// toolchains follow it.
	q, _ := policy.Builtin(policy.DefaultName)
	q.Limits.Processes++
	if st, err := h.Standing(q); err != nil || st.Record != nil {
		t.Errorf("got %+v, %v for another policy, want nothing", st, err)
	}
	if err := os.MkdirAll(filepath.Join(h.Home, "tools"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Filesystem.Inputs = []string{"~/tools"}
	provenHere(t, h, p)
	if ok, why := stand().Proven(); !ok {
		t.Errorf("got not proven: %s", why)
	}
	if err := os.Rename(filepath.Join(h.Home, "tools"), filepath.Join(h.Home, "other")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("other", filepath.Join(h.Home, "tools")); err != nil {
		t.Fatal(err)
	}
	if st := stand(); len(st.Stale) == 0 {
		t.Error("got it proven with another folder behind the name, want it stale")
	}
}

// A proof that was made without the host's own proxy says nothing of where names
// lead with it.
func TestAProofIsStaleBehindTheHostsProxy(t *testing.T) {
	h := accountAt(t)
	open, _ := policy.Builtin("run-tests")
	closed, _ := policy.Builtin(policy.DefaultName)
	provenHere(t, h, open)
	provenHere(t, h, closed)
	for _, proxy := range []string{"HTTPS_PROXY=http://proxy.test:3128", "http_proxy=http://proxy.test:3128"} {
		behind := *accountAt(t)
		behind.Root, behind.Config, behind.Home = h.Root, h.Config, h.Home
		behind.Env = append(behind.Env, proxy)
		st, err := behind.Standing(open)
		if ok, why := st.Proven(); err != nil || ok || !strings.Contains(why, "way out was straight, is by the host's own proxy") {
			t.Errorf("%s: got %v, %q, %v, want it stale", proxy, ok, why, err)
		}
		st, err = behind.Standing(closed)
		if ok, why := st.Proven(); err != nil || !ok {
			t.Errorf("%s: got %q, %v for a policy without a way out, want it proven", proxy, why, err)
		}
	}
	if st, err := h.Standing(open); err != nil || len(st.Stale) > 0 {
		t.Errorf("got %v, %v without a proxy, want it proven", st.Stale, err)
	}
	if s, err := h.Shape(open); err != nil || !strings.Contains(ShapeText(s), "the way out straight") {
		t.Errorf("got %q, %v, want the way out named", ShapeText(s), err)
	}
}

func TestADamagedProofIsNoProof(t *testing.T) {
	h := accountAt(t)
	p, _ := policy.Builtin(policy.DefaultName)
	r := provenHere(t, h, p)
	m, err := h.Root.Proofs().Find(r.PolicyHash, r.ShapeHash)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Standing(p); err != nil { // and it is in the cache
		t.Fatal(err)
	}
	if err := os.WriteFile(m.Path, []byte(`{"version": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if st, err := h.Standing(p); err == nil || !strings.Contains(err.Error(), "damaged") || st.Record != nil {
			t.Fatalf("got %+v, %v, want an error and nothing proven", st, err)
		}
	}
	if got := h.Block(p, time.Now()); !strings.Contains(strings.Join(strings.Fields(got), " "), "damaged or half-written") {
		t.Errorf("got a block that does not say so:\n%s", got)
	}
}

func TestNothingStartsUnprovenWhereAProofIsRequired(t *testing.T) {
	h := accountAt(t)
	repo := filepath.Join(h.Home, "repo")
	file := filepath.Join(h.Home, "strict.toml")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(string(policy.Template()), `proven = "shown"`, `proven = "required"`, 1)
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	req := Request{Repo: repo, Policy: file, Agent: "command", Command: []string{"true"}}
	var u *UnprovenError
	if _, err := h.Prepare(t.Context(), req); !errors.As(err, &u) {
		t.Fatalf("got %v, want it refused", err)
	}
	if _, err := h.Create(t.Context(), req, nil); !errors.As(err, &u) {
		t.Fatalf("got %v, want it refused", err)
	}
	if left, _ := os.ReadDir(string(h.Root)); len(left) > 0 {
		t.Errorf("got %d folders of sessions, want none", len(left))
	}
	v, err := h.Preview(t.Context(), req)
	if err != nil || !v.Unproven || v.Err == "" || v.Block == "" {
		t.Errorf("got %+v, %v, want it shown in full, with why it can't start", v, err)
	}
	proving := req
	proving.Proving = true
	if _, err := h.Prepare(t.Context(), proving); err != nil {
		t.Errorf("got %v, want the wall tests to start their own sessions", err)
	}
	p, _, err := policy.Find(file, h.Config)
	if err != nil {
		t.Fatal(err)
	}
	provenHere(t, h, p)
	if _, err := h.Prepare(t.Context(), req); err != nil {
		t.Errorf("got %v, want it to start once proven", err)
	}
	if v, err := h.Preview(t.Context(), req); err != nil || v.Unproven || v.Err != "" {
		t.Errorf("got %+v, %v, want no refusal once proven", v, err)
	}
}

func BenchmarkStanding(b *testing.B) {
	h := accountAt(b)
	p, _ := policy.Builtin(policy.DefaultName)
	r := provenHere(b, h, p)
	for i := range r.Tests { // as large as a real one
		for range 20 {
			r.Tests[i].Attempts = append(r.Tests[i].Attempts, walls.Attempt{
				ID: "x", Nonce: "0011223344556677", Tried: strings.Repeat("t", 60), Expected: strings.Repeat("e", 60), Observed: strings.Repeat("o", 60),
				Witness: walls.Kernel, Evidence: strings.Repeat("v", 160), Control: strings.Repeat("c", 60), Verdict: walls.Held,
			})
		}
	}
	if err := h.SaveProof(r); err != nil {
		b.Fatal(err)
	}
	stand := func(b *testing.B, h *Host) {
		if st, err := h.Standing(p); err != nil || st.Record == nil {
			b.Fatalf("got %+v, %v", st, err)
		}
	}
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			stand(b, h)
		}
	})
	b.Run("record-read", func(b *testing.B) {
		for b.Loop() {
			stand(b, &Host{Root: h.Root, Config: h.Config, Home: h.Home, User: h.User, UID: h.UID, GID: h.GID, Env: h.Env})
		}
	})
}
