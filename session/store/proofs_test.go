package store

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/walls"
)

func aProof(policyByte, kernel string) *walls.Record {
	s := walls.Shape{Kernel: kernel, Sysctls: map[string]string{"kernel.sysrq": "0"}, Groups: []int{}, Mounts: []string{}}
	return &walls.Record{
		Version: walls.RecordVersion, Policy: "p", PolicyHash: strings.Repeat(policyByte, 64), Shape: s, ShapeHash: s.Hash(),
		Date: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), By: "ada",
		Tests: []walls.Result{{Number: 1, Name: "read outside", Wall: walls.FilesystemWall, Verdict: walls.Held}},
	}
}

func proofsAt(t *testing.T) Proofs {
	t.Helper()
	return Root(filepath.Join(t.TempDir(), "fumehood", "sessions")).Proofs()
}

func save(t *testing.T, p Proofs, r *walls.Record) Mark {
	t.Helper()
	if err := p.Save(r); err != nil {
		t.Fatal(err)
	}
	m, err := p.Find(r.PolicyHash, r.ShapeHash)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAProofIsKeptForItsPolicyAndShape(t *testing.T) {
	p := proofsAt(t)
	if m, err := p.Find(strings.Repeat("a", 64), strings.Repeat("b", 64)); err != nil || m.Path != "" {
		t.Fatalf("got %+v, %v in a folder that is not there, want nothing", m, err)
	}
	one, other := aProof("a", "6.1"), aProof("a", "6.2")
	m1, m2 := save(t, p, one), save(t, p, other)
	if m1.Path == m2.Path {
		t.Fatalf("got one file for two shapes: %s", m1.Path)
	}
	for m, want := range map[Mark]*walls.Record{m1: one, m2: other} {
		got, err := p.Load(m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
	// A third shape has none: the one that was written last is told, to be stale.
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(m2.Path, past, past); err != nil {
		t.Fatal(err)
	}
	if m, err := p.Find(one.PolicyHash, strings.Repeat("0", 64)); err != nil || m.Path != m1.Path {
		t.Errorf("got %+v, %v, want the newest of another shape, %s", m, err, m1.Path)
	}
	if m, err := p.Find(strings.Repeat("c", 64), one.ShapeHash); err != nil || m.Path != "" {
		t.Errorf("got %+v, %v for another policy, want nothing", m, err)
	}
	for path, want := range map[string]os.FileMode{string(p): 0o700, m1.Path: 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("got %v, %v for %s, want mode %v", fi.Mode(), err, path, want)
		}
	}
}

func TestOnlyTheNewestProofsOfAPolicyAreKept(t *testing.T) {
	p := proofsAt(t)
	begin := time.Now().Add(-time.Hour)
	kernels := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	for i, k := range kernels {
		m := save(t, p, aProof("a", k))
		at := begin.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(m.Path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	save(t, p, aProof("b", "0"))
	last := save(t, p, aProof("a", "x"))
	all, err := p.of(last.Path[len(string(p))+1:][:64])
	if err != nil || len(all) != maxProofs || all[0].Path != last.Path {
		t.Fatalf("got %d records, %v, want the %d newest with the last one first", len(all), err, maxProofs)
	}
}

func TestWhatIsNoProofOfThisSandboxIsNotKept(t *testing.T) {
	for name, change := range map[string]func(r *walls.Record){
		"another sandbox": func(r *walls.Record) { r.Against = "bwrap {}" },
		"no policy":       func(r *walls.Record) { r.PolicyHash = "" },
		"a path":          func(r *walls.Record) { r.PolicyHash = "../../" + r.PolicyHash[6:] },
		"another shape":   func(r *walls.Record) { r.Shape.Kernel = "7" },
		"another version": func(r *walls.Record) { r.Version++ },
	} {
		p, r := proofsAt(t), aProof("a", "6.1")
		change(r)
		if err := p.Save(r); err == nil {
			t.Errorf("%s: got it kept, want it refused", name)
		}
	}
}

func TestADamagedProofProvesNothingAndSaysSo(t *testing.T) {
	whole := aProof("a", "6.1")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  string
	}{
		"cut":            {func(t *testing.T, path string) { edit(t, path, func(s string) string { return s[:len(s)/2] }) }, "damaged"},
		"empty":          {func(t *testing.T, path string) { edit(t, path, func(string) string { return "" }) }, "damaged"},
		"newer version":  {func(t *testing.T, path string) { edit(t, path, replace(`"version": 1`, `"version": 2`)) }, "version 2, this build reads 1"},
		"another policy": {func(t *testing.T, path string) { edit(t, path, replace("aaaa", "bbbb")) }, "than its name says"},
		"another shape":  {func(t *testing.T, path string) { edit(t, path, replace(`"kernel": "6.1"`, `"kernel": "6.2"`)) }, "does not have the hash"},
		"another sandbox": {func(t *testing.T, path string) {
			edit(t, path, replace(`"by": "ada"`, `"by": "ada", "against": "x {}"`))
		}, "than its name says"},
		"open to others": {func(t *testing.T, path string) { must(t, os.Chmod(path, 0o666)) }, "only this account can write"},
		"a link": {func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}, "wall-test record"},
	} {
		t.Run(name, func(t *testing.T) {
			p := proofsAt(t)
			m := save(t, p, whole)
			c.spoil(t, m.Path)
			m, err := p.Find(whole.PolicyHash, whole.ShapeHash)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Load(m)
			if r != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, %v, want nothing and an error with %q", r, err, c.want)
			}
			must(t, p.Save(whole)) // a new run takes its place
			if m, err = p.Find(whole.PolicyHash, whole.ShapeHash); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Load(m); err != nil {
				t.Errorf("got %v after a new run, want its record", err)
			}
		})
	}
}

func replace(old, now string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, now, 1) }
}

func edit(t *testing.T, path string, f func(string) string) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	after := f(string(b))
	if after == string(b) {
		t.Fatalf("got no change of %s", path)
	}
	must(t, os.WriteFile(path, []byte(after), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheHashOfAProgramIsReadAgainWhenItsFileIsAnother(t *testing.T) {
	p := proofsAt(t)
	save(t, p, aProof("a", "6.1")) // and so there is a folder
	program := filepath.Join(t.TempDir(), "program")
	hash := func(content string) string {
		t.Helper()
		must(t, os.WriteFile(program+".new", []byte(content), 0o700))
		must(t, os.Rename(program+".new", program))
		first, err := p.Build(program)
		must(t, err)
		again, err := p.Build(program)
		must(t, err)
		if want := fmt.Sprintf("%x", sha256.Sum256([]byte(content))); first != want || again != want {
			t.Fatalf("got %s, then %s, want %s", first, again, want)
		}
		return first
	}
	one, kept := hash("one"), filepath.Join(string(p), "build.json")
	if b, err := os.ReadFile(kept); err != nil || !strings.Contains(string(b), one) {
		t.Errorf("got %q, %v, want the hash kept", b, err)
	}
	hash("two")
	must(t, os.WriteFile(kept, []byte(`{"sha256": "`+one+`"`), 0o600)) // damaged
	hash("two")
	fi, err := os.Stat(program)
	must(t, err)
	must(t, os.WriteFile(program, []byte("six"), 0o700)) // of the same size and times
	must(t, os.Chtimes(program, fi.ModTime(), fi.ModTime()))
	if got, err := p.Build(program); err != nil || got != fmt.Sprintf("%x", sha256.Sum256([]byte("six"))) {
		t.Errorf("got %s, %v, want the hash of what is there now", got, err)
	}
	must(t, os.Chmod(kept, 0o666)) // others could have written it
	edit(t, kept, replace(`"sha256":"`, `"sha256":"00`))
	hash("two")
	if m, err := p.Find(strings.Repeat("a", 64), strings.Repeat("0", 64)); err != nil || m.Path == "" || m.Path == kept {
		t.Errorf("got %+v, %v, want it to be no record", m, err)
	}
}
