package apply

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
)

func (s *site) compare(limit int64, ts ...Target) []Differs {
	s.t.Helper()
	var out []Differs
	o := s.options()
	o.DryRun = true
	if err := Compare(context.Background(), o, ts, limit, func(d Differs) error { out = append(out, d); return nil }); err != nil {
		s.t.Fatalf("compare: %v", err)
	}
	return out
}

func TestCompareTellsWhatMayBeMerged(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("same", "0", 0o644)
	s.write("there", "1", 0o644)
	s.write("edited", "mine", 0o755)
	s.write("empty", "", 0o644)
	s.write("large", strings.Repeat("x", 100), 0o644)
	s.write("dir/x", "x", 0o644)
	s.symlink("link", "mine")
	s.symlink("up", "dir")
	var ts []Target
	for _, p := range []string{"same", "there", "edited", "empty", "large", "gone", "dir", "link", "up/x"} {
		ts = append(ts, Target{Path: p, Base: f("0"), Want: f("1")})
	}
	before := s.snap()
	got := s.compare(50, ts...)
	s.wantSame(before)
	type row struct {
		Path    string
		Fixed   bool
		Found   diffreview.Kind
		Exec    bool
		Content string
	}
	var rows []row
	for _, d := range got {
		content := "too large"
		if d.Content != nil {
			content = string(d.Content)
		}
		rows = append(rows, row{d.Target.Path, d.Fixed, d.Found.Kind, d.Found.Exec, content})
		if !d.Fixed && d.Ancestor != f("0") {
			t.Errorf("%s: got ancestor %+v, want the base", d.Target.Path, d.Ancestor)
		}
	}
	const file, none = diffreview.KindFile, diffreview.KindAbsent
	want := []row{
		{"dir", true, none, false, "too large"},
		{"edited", false, file, true, "mine"},
		{"empty", false, file, false, ""},
		{"gone", false, none, false, "too large"},
		{"large", false, file, false, "too large"},
		{"link", false, diffreview.KindSymlink, false, "too large"},
		{"up/x", true, none, false, "too large"},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// merged is the target that a caller makes of a difference.
func merged(d Differs, want diffreview.Entry) Target {
	return Target{Path: d.Target.Path, Base: d.Found, Want: want, Merged: true, Approved: d.Target.Want}
}

func TestMergeIsWrittenUndoneAndNeverTakenForUnchanged(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "base+mine", 0o640)
	before := s.snap()
	first := Target{Path: "a", Base: f("base"), Want: f("agent1")}
	d := s.compare(100, first)
	if len(d) != 1 || string(d[0].Content) != "base+mine" {
		t.Fatalf("got %+v", d)
	}
	if res := s.apply(merged(d[0], f("agent1+mine"))); len(res.Written) != 1 {
		t.Fatalf("got %+v", res)
	}
	s.wantFile("a", "agent1+mine", 0o640)

	// A later apply must not take the merge for its own: it holds the user's lines.
	second := Target{Path: "a", Base: f("base"), Want: f("agent2")}
	if res := s.apply(second); len(res.Conflicts) != 1 {
		t.Fatalf("over the merge: got %+v, want a conflict", res)
	}
	s.wantFile("a", "agent1+mine", 0o640)
	d = s.compare(100, second)
	if len(d) != 1 || d[0].Ancestor != f("agent1") {
		t.Fatalf("got %+v, want agent1 as what both come of", d)
	}
	s.apply(merged(d[0], f("agent2+mine")))
	s.wantFile("a", "agent2+mine", 0o640)
	s.undo()
	s.wantFile("a", "agent1+mine", 0o640)
	if res := s.apply(second); len(res.Conflicts) != 1 {
		t.Fatalf("over the undone merge: got %+v, want a conflict", res)
	}
	if d = s.compare(100, second); len(d) != 1 || d[0].Ancestor != f("agent1") {
		t.Fatalf("got %+v, want agent1 as what both come of", d)
	}
	s.undo()
	s.wantSame(before)
	if res := s.apply(first); len(res.Conflicts) != 1 {
		t.Fatalf("over the user's file: got %+v, want a conflict", res)
	}
	if d = s.compare(100, first); len(d) != 1 || d[0].Ancestor != f("base") {
		t.Fatalf("got %+v, want the base as what both come of", d)
	}
}

func TestMergeOfAFileThatChangedAgainIsAConflict(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "mine", 0o644)
	s.write("b", "0", 0o644)
	d := s.compare(100, Target{Path: "a", Base: f("0"), Want: f("1")})
	for _, later := range []string{"mine, later", "0", "1"} {
		s.write("a", later, 0o644)
		before := s.snap()
		res := s.apply(merged(d[0], f("1+mine")), Target{Path: "b", Base: f("0"), Want: f("1")})
		if len(res.Conflicts) != 1 || !strings.Contains(res.Conflicts[0].Why, "merged") {
			t.Errorf("host has %q: got %+v, want a conflict", later, res)
		}
		s.wantSame(before)
	}
}

// TestMergeIsOfTheFileThatWasReadAlone: not even what fumehood wrote before may
// stand there instead, for going back to it was the user's doing.
func TestMergeIsOfTheFileThatWasReadAlone(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "0", 0o644)
	s.apply(Target{Path: "a", Base: f("0"), Want: f("1")})
	s.write("a", "1+mine", 0o644)
	d := s.compare(100, Target{Path: "a", Base: f("0"), Want: f("2")})
	if len(d) != 1 || d[0].Ancestor != f("1") {
		t.Fatalf("got %+v", d)
	}
	s.write("a", "1", 0o644)
	if res := s.apply(merged(d[0], f("2+mine"))); len(res.Conflicts) != 1 {
		t.Errorf("got %+v, want a conflict", res)
	}
	s.wantFile("a", "1", 0o644)
}

func TestDeletionOverAHostEditComesBack(t *testing.T) {
	s := newSite(t)
	s.write("d/a", "mine", 0o600)
	before := s.snap()
	d := s.compare(100, Target{Path: "d/a", Base: s.store.file("0")})
	s.apply(merged(d[0], diffreview.Entry{}))
	if _, err := os.Lstat(filepath.Join(s.repo, "d")); err == nil {
		t.Error("the emptied folder is still there")
	}
	s.undo()
	s.wantSame(before)
}

func TestHistoryTellsMerges(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "mine", 0o644)
	s.write("b", "0", 0o644)
	d := s.compare(100, Target{Path: "a", Base: f("0"), Want: f("1")})
	s.apply(merged(d[0], f("1+mine")), Target{Path: "b", Base: f("0"), Want: f("1")})
	h, err := History(s.journal)
	if err != nil || len(h) != 1 {
		t.Fatalf("got %+v, %v", h, err)
	}
	i := slices.IndexFunc(h[0].Files, func(w Written) bool { return w.Path == "a" })
	if a, b := h[0].Files[i], h[0].Files[1-i]; !a.Merged || a.Approved != f("1") || a.To.Blob != f("1+mine").Blob || b.Merged {
		t.Errorf("got %+v", h[0].Files)
	}
}

// TestJournalOfTheFirstVersionIsRead: one that was written before merges were
// known.
func TestJournalOfTheFirstVersionIsRead(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.file("1"), Units: []string{"u"}})
	p := filepath.Join(s.journal, "000001.jsonl")
	b, err := os.ReadFile(p)
	must(t, err)
	var out []byte
	prev := ""
	for _, line := range strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\n")
		line = strings.Replace(line, `"version":2`, `"version":1`, 1)
		at := strings.Index(line, `"prev":"`) + len(`"prev":"`)
		end := at + strings.IndexByte(line[at:], '"')
		line = line[:at] + prev + line[end:]
		prev = lineHash([]byte(line))
		out = append(append(out, line...), '\n')
	}
	must(t, os.WriteFile(p, out, 0o600))
	s.undo()
	s.wantFile("a", "0", 0o644)
}
