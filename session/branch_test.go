package session

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
