package diffreview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// maxCost is many times what each of these costs, and well below what it cost as
// the square of its input, without the race detector.
const maxCost = 5 * time.Second

// within fails when do takes longer than maxCost of processor time: how much else
// runs on the machine does not count.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	begin := processorTime(t)
	do()
	if took := processorTime(t) - begin; took > slower*maxCost {
		t.Errorf("%s: got %v, want under %v", what, took, maxCost)
	} else {
		t.Logf("%s: %v", what, took)
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCostsAreBounded holds what one agent can make in a minute: nothing may cost
// the square of it.
func TestCostsAreBounded(t *testing.T) {
	var old, new strings.Builder
	for i := range 390_000 {
		fmt.Fprintf(&old, "line %d\n", i)
		if i%8 == 4 {
			fmt.Fprintf(&new, "LINE %d\n", i)
		} else {
			fmt.Fprintf(&new, "line %d\n", i)
		}
	}
	src := newSource(tree{"f": text(old.String())}, tree{"f": text(new.String())})
	var cs *ChangeSet
	within(t, "build", func() { cs = build(t, src) })
	f := only(t, cs)
	if len(f.Hunks) < 45_000 {
		t.Fatalf("got %d hunks, want tens of thousands", len(f.Hunks))
	}
	for i := range 10_000 {
		f.Findings = append(f.Findings, Finding{Rule: "r", Severity: Warn, Line: i * 31 % 400_000})
		f.Findings = append(f.Findings, Finding{Rule: "q", Severity: Danger, Line: 0})
	}
	var d Decisions
	for i := range 99_000 {
		d.Set(rec(Approved, "f"), fmt.Sprintf("%040x", i))
	}
	within(t, "lapsed decisions", func() {
		if d.Fill(cs) != 1 {
			t.Error("got no lapsed file, want one")
		}
	})
	within(t, "risks", func() {
		if n := len(f.Risky()); n != len(f.Hunks) {
			t.Errorf("got %d risky hunks, want all %d", n, len(f.Hunks))
		}
	})
	within(t, "approve all", func() { d.ApproveAll(cs, []string{"r", "q"}, nil, rec(Approved, "")) })
	f.Decide(f.Hunks[100].ID, Decision{Verdict: Rejected})
	within(t, "outcomes", func() {
		if out, err := Outcomes(f, src.all); err != nil || len(out) != 1 || out[0].Content == nil {
			t.Errorf("got %v, %v, want a part", out, err)
		}
	})
}

func TestRenamesAreBounded(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		name    string
		old     func(i int) (path, data string)
		new     func(i int) (path, data string)
		renames int
	}{
		{"one content", func(i int) (string, string) { return fmt.Sprintf("a/%d", i), "same\n" }, func(i int) (string, string) { return fmt.Sprintf("b/%d", i), "same\n" }, n},
		{"one content and other names", func(i int) (string, string) { return fmt.Sprintf("a/%d", i), "same\n" }, func(i int) (string, string) { return fmt.Sprintf("b/x%d", i), "same\n" }, n},
		{"one name", func(i int) (string, string) { return fmt.Sprintf("a/%d/index", i), fmt.Sprintf("a %d\n", i) }, func(i int) (string, string) { return fmt.Sprintf("b/%d/index", i), fmt.Sprintf("b %d\n", i) }, 0},
		{"nothing in common", func(i int) (string, string) { return fmt.Sprintf("a/%d", i), fmt.Sprintf("a %d\n", i) }, func(i int) (string, string) { return fmt.Sprintf("b/x%d", i), fmt.Sprintf("b %d\n", i) }, 0},
	} {
		old, new := tree{}, tree{}
		for i := range n {
			p, data := c.old(i)
			old[p] = text(data)
			p, data = c.new(i)
			new[p] = text(data)
		}
		src := newSource(old, new)
		within(t, c.name, func() {
			cs := build(t, src)
			got := 0
			for i := range cs.Files {
				if cs.Files[i].Status == Renamed {
					got++
				}
			}
			if got != c.renames {
				t.Errorf("%s: got %d renames, want %d", c.name, got, c.renames)
			}
		})
	}
}

func TestRenamesOfLargeFilesAreBounded(t *testing.T) {
	old, new := tree{}, tree{}
	for i := range 6 {
		var a, b strings.Builder
		for j := range 100_000 {
			fmt.Fprintf(&a, "%d %d\n", i, j)
			fmt.Fprintf(&b, "%d %d\n", i+1000, j)
		}
		old[fmt.Sprintf("a/%d", i)], new[fmt.Sprintf("b/%d", i)] = text(a.String()), text(b.String())
	}
	within(t, "large files", func() { build(t, newSource(old, new)) })
}

// TestNamesakesPairFirst: of two candidates that are as alike, the one of the same
// name is where the file came from; and the more alike one goes before.
func TestNamesakesPairFirst(t *testing.T) {
	body := numbered(40, nil)
	cs := build(t, newSource(
		tree{"x/other": text(body + "1\n"), "x/name": text(body + "2\n"), "x/third": text(numbered(40, map[int]string{1: "a\n", 2: "b\n", 3: "c\n"}))},
		tree{"y/name": text(body + "3\n"), "y/fourth": text(body + "4\n")},
	))
	got := ""
	for i := range cs.Files {
		f := &cs.Files[i]
		got += fmt.Sprintf("%s %s<%s; ", f.Status, f.Path, f.OldPath)
	}
	if want := "deleted x/third<; renamed y/fourth<x/other; renamed y/name<x/name; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestIgnoredFilesDoNotPair: what was asked for by its own path alone is applied
// alone.
func TestIgnoredFilesDoNotPair(t *testing.T) {
	src := newSource(tree{"a": text(numbered(20, nil))}, tree{"b": text(numbered(20, nil))})
	list := src.Changes()
	list[0].Ignored = true
	cs := build(t, fixed{src, list})
	if len(cs.Files) != 2 {
		t.Errorf("got %d files, want a deleted and an added one", len(cs.Files))
	}
}
