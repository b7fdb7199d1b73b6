package session

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
	"fumehood/isolate/policy"
	"fumehood/session/store"
)

// gitDesk is a desk in a git repository with one commit.
func gitDesk(t *testing.T, files map[string]string, then func(repo string)) *desk {
	t.Helper()
	return newDeskIn(t, files, func(repo string) {
		git(t, repo, "init", "-q", "-b", "main")
		git(t, repo, "config", "user.name", "Ada")
		git(t, repo, "config", "user.email", "ada@example.test")
		git(t, repo, "add", "-A")
		git(t, repo, "commit", "-qm", "first")
		then(repo)
	})
}

func git(t *testing.T, repo string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", repo}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestIntendedBranchIsWhatIsThere shows the states that a kill can leave beside
// those of regress_branch_killed: between the event and the record, and an
// intention for a name that is another's by now.
func TestIntendedBranchIsWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(k *desk, b *store.Branch)
		err    error
		left   string
	}{
		"event told, record not": {change: func(*desk, *store.Branch) {}},
		"the name is another commit's": {
			change: func(k *desk, _ *store.Branch) { git(k.T, k.repo, "branch", "-qf", "b", "main") },
			err:    ErrNothingToUndo, left: "b\nmain\n",
		},
		"another intention of that name": {
			change: func(_ *desk, b *store.Branch) { b.Commit = strings.Repeat("1", 40) },
			err:    ErrNothingToUndo, left: "b\nmain\n",
		},
		"no branch": {
			change: func(k *desk, _ *store.Branch) { git(k.T, k.repo, "branch", "-qD", "b") },
			err:    ErrNothingToUndo, left: "main\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := gitDesk(t, map[string]string{"a": "1\n"}, func(string) {})
			k.agent(map[string]string{"a": "2\n"})
			k.approve()
			if _, err := k.apply(ApplyOptions{To: ApplyTo{Branch: "b"}}); err != nil {
				t.Fatal(err)
			}
			list, err := k.d.Branches()
			k.must(err)
			list[0].Intended = true
			c.change(k, &list[0])
			k.must(k.d.SaveBranches(list))
			k.must(os.Remove(k.d.Events())) // a kill came before what it would tell
			pol, _ := policy.Builtin("default")
			k.must(writePrivate(k.d.Policy(), policy.Encode(pol)))
			if det, err := k.h.DetailOf(context.Background(), k.d); err != nil || !det.Stands {
				t.Errorf("got that nothing may stand: %v", err)
			}
			if _, err = k.h.Undo(context.Background(), k.d, ""); !errors.Is(err, c.err) {
				t.Errorf("undo: got %v, want %v", err, c.err)
			}
			if c.left == "" {
				c.left = "main\n"
			}
			if diff := cmp.Diff(c.left, git(t, k.repo, "for-each-ref", "--format=%(refname:short)")); diff != "" {
				t.Errorf("branches (-want +got):\n%s", diff)
			}
			if _, err = k.h.Undo(context.Background(), k.d, ""); !errors.Is(err, ErrNothingToUndo) {
				t.Errorf("a second undo: got %v, want that there is nothing", err)
			}
		})
	}
}

// TestRefusedBranchLeavesNoIntention: git ended, and there is nothing to look for.
func TestRefusedBranchLeavesNoIntention(t *testing.T) {
	k := gitDesk(t, map[string]string{"a": "1\n"}, func(repo string) { git(t, repo, "branch", "b") })
	k.agent(map[string]string{"a": "2\n"})
	k.approve()
	if _, err := k.h.Apply(context.Background(), k.d, ApplyOptions{To: ApplyTo{Branch: "b/below"}}); err == nil {
		t.Fatal("a branch below another was made")
	}
	list, err := k.d.Branches()
	k.must(err)
	if len(list) > 0 {
		t.Errorf("got %v, want no branch on record", list)
	}
}

// branchOf applies to a branch and gives what git has there at a path.
func (k *desk) branchOf(name string) (Applied, error) {
	k.Helper()
	return k.apply(ApplyOptions{To: ApplyTo{Branch: name}})
}

func (k *desk) wantAt(rev, path, want string) {
	k.Helper()
	cmd := exec.Command("git", "-C", k.repo, "show", rev+":"+path)
	out, err := cmd.Output()
	if want == "" {
		if err == nil {
			k.Errorf("%s has %s: %q, want none", rev, path, out)
		}
		return
	}
	if err != nil || string(out) != want {
		k.Errorf("%s:%s: got %q, %v, want %q", rev, path, out, err, want)
	}
}

func (k *desk) branchMerges(name string) []Merge {
	k.Helper()
	list, err := k.h.Merges(context.Background(), k.d, ApplyOptions{To: ApplyTo{Branch: name}})
	k.must(err)
	return list
}

// TestBranchConflictsAreSettledLikeThoseOfTheWorkTree: the commit has neither the
// user's uncommitted edits nor the agent's edits of the same lines.
func TestBranchConflictsAreSettledLikeThoseOfTheWorkTree(t *testing.T) {
	for _, c := range []struct {
		name string
		take diffreview.Take
		edit string
		want string
	}{
		{name: "the commit's", take: diffreview.TakeHost, want: "1\n2\n3\n4\n5 agent\n"},
		{name: "the agent's", take: diffreview.TakeAgent, want: "1 mine, and agent\n2\n3\n4\n5 agent\n"},
		{name: "both", take: diffreview.TakeBoth, want: "1\n1 mine, and agent\n2\n3\n4\n5 agent\n"},
		{name: "own text", take: diffreview.TakeEdit, edit: "one\n", want: "one\n2\n3\n4\n5 agent\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := gitDesk(t, map[string]string{"a": "1\n2\n3\n4\n5\n"}, func(repo string) {
				(&desk{T: t}).write(repo, map[string]string{"a": "1 mine\n2\n3 mine\n4\n5\n"})
			})
			k.agent(map[string]string{"a": "1 mine, and agent\n2\n3 mine\n4\n5 agent\n"})
			k.approve()
			a, err := k.branchOf("b")
			if !errors.Is(err, ErrNothing) || !strings.Contains(why(a.Conflicts, "a"), `"fumehood review --to branch:b"`) {
				t.Fatalf("got %v, %v, want a conflict that says how to settle it", a.Conflicts, err)
			}
			if got := git(t, k.repo, "branch", "--list", "b"); got != "" {
				t.Fatalf("a branch was made: %q", got)
			}
			list := k.branchMerges("b")
			if len(list) != 1 || list[0].Open != 1 || list[0].Commit == "" {
				t.Fatalf("got %+v, want one merge with one conflict, of the commit", list)
			}
			for _, p := range list[0].Parts {
				if p.ID != "" {
					if string(p.Host) != "1\n" || string(p.Base) != "1 mine\n" || string(p.Agent) != "1 mine, and agent\n" {
						t.Errorf("got conflict %q: %q or %q", p.Base, p.Host, p.Agent)
					}
					k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: p.ID, Path: "a", Take: c.take, Edit: []byte(c.edit)}}))
				}
			}
			a, err = k.branchOf("b")
			k.must(err)
			if !strings.Contains(why(a.Notes, "a"), "but for what you chose") {
				t.Errorf("got notes %v, want what was chosen named", a.Notes)
			}
			k.wantAt("b", "a", c.want)
			k.wantHost("a", "1 mine\n2\n3 mine\n4\n5\n")
			if s := git(t, k.repo, "status", "--short"); s != " M a\n" {
				t.Errorf("status: got %q, want the user's edit alone", s)
			}
		})
	}
}

// TestBranchWholeFiles: what can't be merged by lines is chosen as a whole, or
// left out.
func TestBranchWholeFiles(t *testing.T) {
	k := gitDesk(t, map[string]string{"bin": "\x00a", "gone": "old\n", "left": "\x00l", "kept": "\x00k", "f": "1\n"}, func(repo string) {
		(&desk{T: t}).write(repo, map[string]string{"bin": "\x00mine", "gone": "", "left": "\x00mine", "kept": "\x00mine"})
	})
	k.agent(map[string]string{"bin": "\x00agent", "gone": "agent\n", "left": "\x00agent", "kept": "\x00agent", "f": "2\n"})
	k.approve()
	a, err := k.branchOf("b")
	if !errors.Is(err, ErrNothing) || len(a.Conflicts) != 4 {
		t.Fatalf("got %v, %v, want four conflicts", a.Conflicts, err)
	}
	for path, want := range map[string]string{"bin": "can't be merged by lines (binary)", "gone": "another file there, which was not copied in"} {
		if got := why(a.Conflicts, path); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for _, m := range k.branchMerges("b") {
		c := ResolutionChoice{Conflict: m.ID, Path: m.Path, Take: diffreview.TakeAgent}
		switch m.Path {
		case "left":
			c.Take = diffreview.TakeLeave
		case "kept":
			c.Take = diffreview.TakeHost
		case "gone":
			c.Conflict = m.Parts[0].ID
		}
		k.must(k.h.Resolve(k.d, []ResolutionChoice{c}))
	}
	a, err = k.branchOf("b")
	k.must(err)
	k.wantAt("b", "bin", "\x00agent")
	k.wantAt("b", "gone", "agent\n")
	k.wantAt("b", "left", "\x00l")
	k.wantAt("b", "kept", "\x00k")
	k.wantAt("b", "f", "2\n")
	for path, want := range map[string]string{"left": "left out, as you chose", "kept": "the commit's stays"} {
		if got := why(a.Skipped, path); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestBranchOfAMovedFile: uncommitted edits of a file that the agent moved stay
// out of the branch, as of any other; and its line endings are the commit's.
func TestBranchOfAMovedFile(t *testing.T) {
	k := gitDesk(t, map[string]string{"a": lines(0, 20, nil), "c": lines(0, 20, nil)}, func(repo string) {
		(&desk{T: t}).write(repo, map[string]string{"a": lines(0, 20, map[int]string{3: "mine\n"}), "c": lines(0, 20, map[int]string{3: "mine\n"})})
	})
	k.agent(map[string]string{
		"a": "", "new/a": lines(0, 20, map[int]string{3: "mine\n", 15: "agent\n"}),
		"c": "", "new/c": lines(0, 20, map[int]string{3: "agent over mine\n"}),
	})
	k.approve()
	a, err := k.branchOf("b")
	if !errors.Is(err, ErrNothing) || len(a.Conflicts) != 1 || a.Conflicts[0].Path != "c" {
		t.Fatalf("got %v, %v, want a conflict of c", a.Conflicts, err)
	}
	a, err = k.apply(ApplyOptions{SkipConflicts: true, To: ApplyTo{Branch: "b"}})
	k.must(err)
	if n := len(a.Skipped); n != 1 {
		t.Errorf("got %v, want c alone skipped", a.Skipped)
	}
	k.wantAt("b", "a", "")
	k.wantAt("b", "new/a", lines(0, 20, map[int]string{15: "agent\n"}))
	k.wantAt("b", "c", lines(0, 20, nil))
	k.wantAt("b", "new/c", "")
	if got := why(a.Notes, "new/a"); got != "without your uncommitted edits" {
		t.Errorf("new/a: got note %q", got)
	}
	for _, m := range k.branchMerges("x") {
		if m.Path != "c" {
			continue
		}
		if m.To != "new/c" {
			t.Errorf("got to %q, want new/c", m.To)
		}
		for _, p := range m.Parts {
			if p.ID != "" {
				k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: p.ID, Path: "c", Take: diffreview.TakeAgent}}))
			}
		}
	}
	_, err = k.branchOf("settled")
	k.must(err)
	k.wantAt("settled", "c", "")
	k.wantAt("settled", "new/c", lines(0, 20, map[int]string{3: "agent over mine\n"}))
}

// TestBranchPlanThatChangedIsNotMade: what was shown is what is made.
func TestBranchPlanThatChangedIsNotMade(t *testing.T) {
	k := gitDesk(t, map[string]string{"a": "1\n", "b": "1\n"}, func(string) {})
	k.agent(map[string]string{"a": "2\n", "b": "2\n"})
	k.approve("a")
	a, err := k.apply(ApplyOptions{DryRun: true, To: ApplyTo{Branch: "x"}})
	k.must(err)
	k.approve("b")
	if _, err := k.apply(ApplyOptions{Plan: a.Plan, To: ApplyTo{Branch: "x"}}); !errors.Is(err, errStale) {
		t.Errorf("got %v, want that it is stale", err)
	}
	a, err = k.apply(ApplyOptions{DryRun: true, To: ApplyTo{Branch: "x"}})
	k.must(err)
	if _, err := k.apply(ApplyOptions{Plan: a.Plan, To: ApplyTo{Branch: "x"}}); err != nil {
		t.Errorf("got %v, want the branch", err)
	}
}
