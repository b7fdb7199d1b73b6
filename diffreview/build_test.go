package diffreview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func numbered(n int, edit map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if e, ok := edit[i]; ok {
			b.WriteString(e)
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func only(t *testing.T, cs *ChangeSet) *File {
	t.Helper()
	if len(cs.Files) != 1 {
		t.Fatalf("got %d files, want 1", len(cs.Files))
	}
	return &cs.Files[0]
}

func TestBuildCutsHunksAsGitDoes(t *testing.T) {
	s := newSource(
		tree{"a": text(numbered(40, nil))},
		tree{"a": text(numbered(40, map[int]string{2: "two\n", 9: "", 30: "line 30\nmore\n"}))},
	)
	f := only(t, build(t, s))
	got := ""
	for _, h := range f.Hunks {
		got += fmt.Sprintf("@@ -%d,%d +%d,%d @@ ", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
	}
	if want := "@@ -1,12 +1,11 @@ @@ -28,6 +27,7 @@ "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if f.Whole != "" || f.Status != Modified || f.Added != 2 || f.Removed != 2 {
		t.Errorf("got whole %q status %s +%d -%d, want a plain edit +2 -2", f.Whole, f.Status, f.Added, f.Removed)
	}
}

func TestBuildGivesWholeUnitsToWhatIsNotInLines(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new node
		status   Status
		hunks    int
		whole    bool
	}{
		{"added", node{}, text("a\n"), Added, 1, true},
		{"added empty", node{}, text(""), Added, 0, true},
		{"deleted", text("a\n"), node{}, Deleted, 1, true},
		{"edit", text("a\n"), text("b\n"), Modified, 1, false},
		{"mode", text("a\n"), node{data: "a\n", exec: true}, ModeOnly, 0, true},
		{"mode and edit", text("a\n"), node{data: "b\n", exec: true}, Modified, 1, true},
		{"to link", text("a\n"), node{data: "b", link: true}, TypeOf, 0, true},
		{"link moved", node{data: "a", link: true}, node{data: "b", link: true}, Modified, 0, true},
		{"binary", text("a\x00"), text("b\x00"), Modified, 0, true},
		{"final newline", text("a\nb"), text("a\nb\n"), Modified, 1, false},
	} {
		old, new := tree{}, tree{}
		if c.status != Added {
			old["f"] = c.old
		}
		if c.status != Deleted {
			new["f"] = c.new
		}
		f := only(t, build(t, newSource(old, new)))
		if f.Status != c.status || len(f.Hunks) != c.hunks || (f.Whole != "") != c.whole {
			t.Errorf("%s: got %s, %d hunks, whole %q, want %s, %d, %v", c.name, f.Status, len(f.Hunks), f.Whole, c.status, c.hunks, c.whole)
		}
		for _, h := range f.Hunks {
			if (c.status == Added || c.status == Deleted) && h.ID != f.Whole {
				t.Errorf("%s: got a second decision %s beside %s", c.name, h.ID, f.Whole)
			}
		}
	}
}

func TestUnitIDsBelongToTheBytes(t *testing.T) {
	base := tree{"f": text(numbered(30, nil))}
	ids := func(new string) []string {
		f := only(t, build(t, newSource(base, tree{"f": text(new)})))
		return f.UnitIDs()
	}
	first := ids(numbered(30, map[int]string{2: "x\n", 20: "y\n"}))
	again := ids(numbered(30, map[int]string{2: "x\n", 20: "z\n"}))
	if first[0] != again[0] {
		t.Error("got another ID for an untouched hunk, want the same")
	}
	if first[1] == again[1] {
		t.Error("got the same ID for another content, want another")
	}
	if got := ids(numbered(30, map[int]string{2: "x\r\n", 20: "y\n"})); got[0] == first[0] {
		t.Error("got the same ID for a line with CR, want another")
	}
	if len(first[0]) != idLen {
		t.Errorf("got an ID of %d digits, want %d", len(first[0]), idLen)
	}
}

func TestBuildRefusesABrokenSource(t *testing.T) {
	file := Entry{Kind: KindFile, Blob: "00"}
	for _, c := range []struct {
		name string
		list []Change
	}{
		{"absolute", []Change{{Path: "/etc/passwd", New: file}}},
		{"above", []Change{{Path: "a/../../b", New: file}}},
		{"unclean", []Change{{Path: "a//b", New: file}}},
		{"empty", []Change{{Path: "", New: file}}},
		{"NUL", []Change{{Path: "a\x00b", New: file}}},
		{"no blob", []Change{{Path: "a", New: Entry{Kind: KindFile}}}},
		{"link with blob", []Change{{Path: "a", New: Entry{Kind: KindSymlink, Target: "b", Blob: "00"}}}},
		{"device", []Change{{Path: "a", New: Entry{Kind: "device"}}}},
		{"unsorted", []Change{{Path: "b", New: Entry{Kind: KindSymlink, Target: "x"}}, {Path: "a", New: file}}},
		{"twice", []Change{{Path: "b", New: Entry{Kind: KindSymlink, Target: "x"}}, {Path: "b", New: Entry{Kind: KindSymlink, Target: "x"}}}},
	} {
		if _, err := Build(context.Background(), listSource(c.list), Options{}); err == nil {
			t.Errorf("%s: got no error, want one", c.name)
		}
	}
}

type listSource []Change

func (l listSource) Changes() []Change                   { return l }
func (l listSource) Content(Blob, int64) ([]byte, error) { return nil, errors.New("no such blob") }

func TestBuildLeavesOutGitsOwnFolder(t *testing.T) {
	cs := build(t, newSource(tree{}, tree{".git/config": text("x"), "lib/.git/hooks/a": text("y"), "a.git/b": text("z")}))
	if f := only(t, cs); f.Path != "a.git/b" || len(cs.LeftOut) != 2 {
		t.Errorf("got %s and %v, want a.git/b and two left out", f.Path, cs.LeftOut)
	}
}

func TestBuildStopsWhenRisksCanNotBeFound(t *testing.T) {
	opt := Options{Risk: func(*ChangeSet, func(Blob) ([]byte, error)) error { return errors.New("no content") }}
	if _, err := Build(context.Background(), newSource(tree{}, tree{"a": text("x")}), opt); err == nil {
		t.Error("got a change set without its findings, want an error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Build(ctx, newSource(tree{}, tree{"a": text("x")}), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestOrderPutsRiskFirstThenCodeTestsDocsGenerated(t *testing.T) {
	s := newSource(tree{}, tree{
		"README.md": text("x"), "a.go": text("x"), "a_test.go": text("x"), "go.sum": text("x"),
		"run.sh": text("x"), ".envrc": text("x"), "docs/a.go": text("x"), "noted.go": text("x"), "vendor/a/b.go": text("x"),
	})
	cs, err := Build(context.Background(), s, Options{Risk: func(cs *ChangeSet, _ func(Blob) ([]byte, error)) error {
		for i := range cs.Files {
			f := &cs.Files[i]
			switch f.Path {
			case "run.sh":
				f.Findings = []Finding{{Rule: "r", Severity: Note}, {Rule: "r", Severity: Warn}}
			case ".envrc":
				f.Findings = []Finding{{Rule: "r", Severity: Danger}}
			case "noted.go":
				f.Findings = []Finding{{Rule: "r", Severity: Note}}
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i := range cs.Files {
		got += cs.Files[i].Path + " "
	}
	if want := ".envrc run.sh a.go noted.go a_test.go README.md docs/a.go go.sum vendor/a/b.go "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBuildDoesNotCompareWhatIsTooLarge(t *testing.T) {
	big := strings.Repeat("x\n", 400_001)
	f := only(t, build(t, newSource(tree{"f": text("a\n")}, tree{"f": text(big)})))
	if !f.Binary || f.Unshown == "" || f.Whole == "" || len(f.Hunks) != 0 {
		t.Errorf("got binary %v unshown %q hunks %d, want one whole unit with a reason", f.Binary, f.Unshown, len(f.Hunks))
	}
}

func TestManyLinesOfOneSymlinkAreOneUnit(t *testing.T) {
	f := only(t, build(t, newSource(tree{}, tree{"l": {data: "a\nb", link: true}})))
	if len(f.UnitIDs()) != 1 {
		t.Errorf("got %v, want one unit", f.UnitIDs())
	}
}

// TestLinesInAllAreBounded: a newline is a byte of the agent's and 48 of ours. What
// is beyond the bound is the same each time, and told to the rules as not shown.
func TestLinesInAllAreBounded(t *testing.T) {
	const files = 7
	new := tree{}
	for i := range files {
		new[fmt.Sprintf("f%d", i)] = node{data: strings.Repeat("\n", 399_999)}
	}
	var mu sync.Mutex
	told := map[string]bool{}
	cs, err := Build(context.Background(), newSource(tree{}, new), Options{RiskFile: func(f *File, _ func(Blob) ([]byte, error)) error {
		mu.Lock()
		defer mu.Unlock()
		told[f.Path] = f.Unshown != ""
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := int64(0)
	for i := range cs.Files {
		f := &cs.Files[i]
		lines += held(f)
		if want := i >= maxHeld/400_003; (f.Unshown != "") != want || f.Binary != want || told[f.Path] != want || f.Whole == "" {
			t.Errorf("%s: got %q, told %t, want not shown: %t", f.Path, f.Unshown, told[f.Path], want)
		}
	}
	if lines > maxHeld {
		t.Errorf("got %d lines held, want at most %d", lines, maxHeld)
	}
}
