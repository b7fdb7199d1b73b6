package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// everything is every path of the repository, .git included, with all that a
// stat tells of it, and its content.
func (k *desk) everything() map[string]string {
	k.Helper()
	out := picture(k.T, k.repo, true)
	for p := range out {
		var st unix.Stat_t
		k.must(unix.Lstat(filepath.Join(k.repo, strings.Trim(p, `"`)), &st))
		out[p] += fmt.Sprintf(" %d %d %o", st.Ino, st.Ctim.Nano(), st.Mode)
	}
	return out
}

// decide puts a verdict on every unit of the paths; none is all.
func (k *desk) decide(v diffreview.Verdict, paths ...string) {
	k.Helper()
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	var list []Choice
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		if len(paths) > 0 && !slices.Contains(paths, f.Path) {
			continue
		}
		for _, id := range f.UnitIDs() {
			list = append(list, Choice{Unit: id, Path: f.Path, Verdict: v})
		}
	}
	k.must(k.h.Decide(k.d, list))
}

// TestWhatIsRejectedLeavesTheHostAlone is case R09.
func TestWhatIsRejectedLeavesTheHostAlone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, wanted one for an index")
	}
	k := newDeskIn(t, map[string]string{"a": "a\n", "gone": "g\n", "dir/gone": "g\n", "run": "#!/bin/sh\n"}, func(repo string) {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=Ada", "-c", "user.email=ada@fumehood.test", "commit", "-qm", "all"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = repo
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
	})
	k.agent(map[string]string{"a": "agent\n", "gone": "", "dir/gone": "", "new": "n\n", "more/new": "n\n"})
	k.must(os.Chmod(filepath.Join(k.d.Workspace(), "run"), 0o755))
	before := k.everything()
	same := func(when string) {
		t.Helper()
		if diff := cmp.Diff(before, k.everything()); diff != "" {
			t.Errorf("%s: the host changed:\n%s", when, diff)
		}
	}
	k.decide(diffreview.Rejected)
	if a, err := k.apply(ApplyOptions{}); !errors.Is(err, ErrNothing) || len(a.Skipped) != 6 {
		t.Errorf("all rejected: got %+v, %v", a, err)
	}
	same("all rejected")
	// --all approves what is undecided and nothing else.
	if a, err := k.apply(ApplyOptions{All: true, Merge: true}); !errors.Is(err, ErrNothing) {
		t.Errorf("all rejected, --all: got %+v, %v", a, err)
	}
	same("all rejected, --all")
	k.decide(diffreview.Approved, "a")
	if a, err := k.apply(ApplyOptions{}); err != nil || !slices.Equal(a.Applied, []string{"a"}) {
		t.Errorf("one approved: got %+v, %v", a, err)
	}
	k.undo()
	k.wantHost("a", "a\n")
	for p, was := range k.everything() {
		if name := strings.Trim(p, `"`); name != "a" && before[p] != was {
			t.Errorf("%s changed: %s, was %s", p, was, before[p])
		}
	}
}

// TestHunksThatDependOnEachOther is case R04: lines that stand side by side, and
// hunks that touch.
func TestHunksThatDependOnEachOther(t *testing.T) {
	base := lines(0, 12, nil)
	k := newDesk(t, map[string]string{"a": base, "end": "1\n2"})
	work := lines(0, 12, map[int]string{5: "first\n", 6: "second\n", 9: "third\n"})
	k.agent(map[string]string{"a": work, "end": "1\n2\n3"})
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	find := func(path string) *diffreview.File {
		i := slices.IndexFunc(r.Set.Files, func(f diffreview.File) bool { return f.Path == path })
		return &r.Set.Files[i]
	}
	h := &find("a").Hunks[0]
	letters := func(take func(text string) bool) string {
		out := ""
		for _, l := range h.Lines {
			if l.Op == ' ' {
				continue
			}
			if take(string(l.Text)) {
				out += "a"
			} else {
				out += "r"
			}
		}
		return out
	}
	// The second alone, of two that touch; "line g" is what it replaces.
	second := letters(func(s string) bool { return s == "second" || s == "line g" })
	want := strings.Replace(base, "line g\n", "second\n", 1)
	choose := func(lines string) {
		k.must(k.h.Decide(k.d, []Choice{{Unit: h.ID, Path: "a", Lines: lines}}))
	}
	choose(second)
	a, err := k.apply(ApplyOptions{DryRun: true, Only: func(p string) bool { return p == "a" }})
	if err != nil || !slices.Equal(a.Applied, []string{"a"}) {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", base)
	for range 2 { // approve, undo, approve
		if _, err := k.apply(ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		// The lines' order follows the diff: what was removed, then what came.
		got, err := os.ReadFile(filepath.Join(k.repo, "a"))
		k.must(err)
		if !sameLines(string(got), want) || strings.Contains(string(got), "first") || strings.Contains(string(got), "third") {
			t.Errorf("got %q, want the lines of %q", got, want)
		}
		k.undo()
		k.wantHost("a", base)
	}
	// Then all of it, over the part that is there.
	if _, err := k.apply(ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	k.decide(diffreview.Approved, "a")
	if _, err := k.apply(ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	k.wantHost("a", work)

	// A choice that no file can be: "3" behind a "2" without a newline.
	f := find("end")
	h = &f.Hunks[0]
	k.must(k.h.Decide(k.d, []Choice{{Unit: h.ID, Path: "end", Lines: letters(func(s string) bool { return s == "3" })}}))
	before := k.everything()
	_, err = k.h.Apply(context.Background(), k.d, ApplyOptions{})
	var join *diffreview.JoinError
	if !errors.As(err, &join) {
		t.Errorf("got %v, want that the lines would join", err)
	}
	if diff := cmp.Diff(before, k.everything()); diff != "" {
		t.Errorf("refused, yet the host changed:\n%s", diff)
	}
}

func sameLines(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestSecondApplyWritesOnlyTheRest(t *testing.T) {
	base := lines(0, 20, nil)
	k := newDesk(t, map[string]string{"a": base})
	k.agent(map[string]string{"a": lines(0, 20, map[int]string{1: "one\n", 18: "two\n"})})
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	ids := r.Set.Files[0].UnitIDs()
	marks := func() (out []diffreview.Mark) {
		r, err := k.h.Review(context.Background(), k.d, false)
		k.must(err)
		for _, h := range r.Set.Files[0].Hunks {
			out = append(out, diffreview.Mark{Decision: h.Decision, Applied: h.Applied})
		}
		return out
	}
	want := func(when string, first, second diffreview.Mark) {
		t.Helper()
		if diff := cmp.Diff([]diffreview.Mark{first, second}, marks()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	ok, done, open := diffreview.Mark{Decision: diffreview.Approved}, diffreview.Mark{Decision: diffreview.Approved, Applied: true}, diffreview.Mark{}
	k.must(k.h.Decide(k.d, []Choice{{Unit: ids[0], Path: "a", Verdict: diffreview.Approved}}))
	want("approved", ok, open)
	_, err = k.apply(ApplyOptions{})
	k.must(err)
	want("applied", done, open)
	k.must(k.h.Decide(k.d, []Choice{{Unit: ids[1], Path: "a", Verdict: diffreview.Approved}}))
	want("the second approved", done, ok)
	_, err = k.apply(ApplyOptions{})
	k.must(err)
	want("both applied", done, done)
	k.wantHost("a", lines(0, 20, map[int]string{1: "one\n", 18: "two\n"}))
	k.undo()
	want("the second undone", done, ok)
	k.wantHost("a", lines(0, 20, map[int]string{1: "one\n"}))
	k.undo()
	want("both undone", ok, ok)
	k.wantHost("a", base)
}
