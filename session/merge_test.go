package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// desk is a session that nothing ran in: its workspace is written by hand.
type desk struct {
	*testing.T
	h    *Host
	d    store.Dir
	repo string
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	return newDeskIn(t, files, func(string) {})
}

// newDeskIn lets the repository be changed before it is copied.
func newDeskIn(t *testing.T, files map[string]string, do func(repo string)) *desk {
	t.Helper()
	top := t.TempDir()
	k := &desk{T: t, repo: filepath.Join(top, "repo"), h: &Host{Root: store.Root(filepath.Join(top, "state")), User: "ada", TTY: "/dev/pts/7", UID: os.Getuid(), GID: os.Getgid()}}
	k.write(k.repo, files)
	do(k.repo)
	ctx := context.Background()
	repo, err := workspace.Inspect(ctx, k.repo, "")
	k.must(err)
	sel, err := workspace.Choose(ctx, repo, workspace.Options{})
	k.must(err)
	k.d, err = k.h.Root.Create()
	k.must(err)
	_, err = workspace.CopyIn(ctx, repo, sel, workspace.Target{Dirs: baselineDirs(k.d)})
	k.must(err)
	k.must(writePrivate(k.d.Tenant(), []byte("ada")))
	k.must(k.d.SaveRecord(&store.Record{
		ID: k.d.ID(), Name: "run-1", Repo: repo.Root, RepoDev: repo.RootDev, RepoIno: repo.RootIno,
		GitDir: repo.GitDir, GitDev: repo.GitDev, GitIno: repo.GitIno, Branch: branchName(repo.Branch), Head: repo.Head,
		State: StateExited, Created: time.Now(),
	}))
	return k
}

func (k *desk) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// write puts files below a folder; an empty text removes one.
func (k *desk) write(dir string, files map[string]string) {
	k.Helper()
	for p, text := range files {
		full := filepath.Join(dir, p)
		k.must(os.MkdirAll(filepath.Dir(full), 0o755))
		if text == "" {
			k.must(os.Remove(full))
			continue
		}
		k.must(os.WriteFile(full, []byte(text), 0o644))
	}
}

func (k *desk) host(files map[string]string)  { k.Helper(); k.write(k.repo, files) }
func (k *desk) agent(files map[string]string) { k.Helper(); k.write(k.d.Workspace(), files) }

func (k *desk) wantHost(path, want string) {
	k.Helper()
	b, err := os.ReadFile(filepath.Join(k.repo, path))
	if want == "" && errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil || string(b) != want {
		k.Errorf("%s on the host: got %q, %v, want %q", path, b, err, want)
	}
}

// approve approves every unit of the paths; none is all.
func (k *desk) approve(paths ...string) {
	k.Helper()
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	var list []Choice
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		if len(paths) == 0 || slices.Contains(paths, f.Path) {
			for _, id := range f.UnitIDs() {
				list = append(list, Choice{Unit: id, Path: f.Path, Verdict: diffreview.Approved})
			}
		}
	}
	k.must(k.h.Decide(k.d, list))
}

func (k *desk) apply(o ApplyOptions) (Applied, error) {
	k.Helper()
	a, err := k.h.Apply(context.Background(), k.d, o)
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNothing) && !errors.Is(err, errStale) {
		k.Fatal(err)
	}
	return a, err
}

func (k *desk) merges() []Merge {
	k.Helper()
	list, err := k.h.Merges(context.Background(), k.d, ApplyOptions{})
	k.must(err)
	return list
}

func (k *desk) undo() {
	k.Helper()
	if _, err := k.h.Undo(context.Background(), k.d, ""); err != nil {
		k.Fatal(err)
	}
}

func lines(from, to int, changed map[int]string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if s, ok := changed[i]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteString("line " + string(rune('a'+i)) + "\n")
	}
	return b.String()
}

func why(list []PathWhy, path string) string {
	for _, p := range list {
		if p.Path == path {
			return p.Why
		}
	}
	return ""
}

func TestEditsInOtherLinesAreMergedOnlyWhenAsked(t *testing.T) {
	k := newDesk(t, map[string]string{"a": lines(0, 20, nil), "b": "b\n"})
	k.agent(map[string]string{"a": lines(0, 20, map[int]string{19: "agent\n"}), "b": "agent\n"})
	k.host(map[string]string{"a": lines(0, 20, map[int]string{1: "mine\n"})})
	k.approve()
	before := lines(0, 20, map[int]string{1: "mine\n"})

	a, err := k.apply(ApplyOptions{})
	if !errors.Is(err, ErrConflict) || !strings.Contains(why(a.Conflicts, "a"), "would merge without conflict") {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", before)
	k.wantHost("b", "b\n")

	a, err = k.apply(ApplyOptions{Merge: true, DryRun: true})
	if err != nil || why(a.Merged, "a") != "1 change of yours, 1 change of the agent's" || len(a.Applied) != 2 {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", before)

	a, err = k.apply(ApplyOptions{Merge: true, Plan: a.Plan})
	if err != nil || len(a.Merged) != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", lines(0, 20, map[int]string{1: "mine\n", 19: "agent\n"}))
	k.wantHost("b", "agent\n")

	for _, merge := range []bool{true, false} {
		a, err = k.apply(ApplyOptions{Merge: merge})
		if !errors.Is(err, ErrNothing) || why(a.Skipped, "a") != "the repository has it already" {
			t.Errorf("once more: got %+v, %v", a, err)
		}
	}
	if list := k.merges(); len(list) > 0 {
		t.Errorf("got %+v, want nothing to merge", list)
	}
	k.undo()
	k.wantHost("a", before)
	k.wantHost("b", "b\n")
}

func TestConflictIsWrittenAsChosenAndOnlyThen(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n", "b": "b\n"})
	k.agent(map[string]string{"a": "1\nagent\n3\n4\n5\nagent too\n7\n", "b": "agent\n"})
	host := "1\nmine\n3\n4\n5\nmine too\n7\n"
	k.host(map[string]string{"a": host})
	k.approve()
	a, err := k.apply(ApplyOptions{Merge: true})
	if !errors.Is(err, ErrConflict) || !strings.Contains(why(a.Conflicts, "a"), "2 conflicts") {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("b", "b\n")
	ids := func() (out []string) {
		for _, p := range k.merges()[0].Parts {
			if p.Kind == merge.Conflict {
				out = append(out, p.ID)
			}
		}
		return out
	}
	two := ids()
	k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: two[0], Path: "a", Take: diffreview.TakeBoth}}))
	if m := k.merges()[0]; m.Open != 1 || m.Parts[1].Take != diffreview.TakeBoth {
		t.Fatalf("got %d open, %+v", m.Open, m.Parts)
	}
	k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: two[1], Path: "a", Take: diffreview.TakeEdit, Edit: []byte("ours")}}))
	if _, err := k.apply(ApplyOptions{}); !errors.Is(err, ErrConflict) {
		t.Fatalf("without being asked to merge: got %v", err)
	}
	k.wantHost("a", host)
	if a, err = k.apply(ApplyOptions{Merge: true}); err != nil || !strings.Contains(why(a.Merged, "a"), "2 conflicts settled") {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", "1\nmine\nagent\n3\n4\n5\nours\n7\n")
	said, err := os.ReadFile(k.d.Events())
	k.must(err)
	for _, want := range []string{`"kind":"resolved"`, `"kind":"applied"`, `"tty":"/dev/pts/7"`, `"merged":[{"path":"a"`, `"resolutions":[{"conflict":"` + two[0]} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the record does not have %s:\n%s", want, said)
		}
	}
	k.undo()
	k.wantHost("a", host)
	// A choice counts for its texts: another edit is another conflict.
	k.host(map[string]string{"a": strings.Replace(host, "mine\n", "other\n", 1)})
	if m := k.merges()[0]; m.Open != 1 {
		t.Errorf("got %d open, want the one that changed", m.Open)
	}
	// And it can be taken back.
	k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: two[1], Path: "a"}}))
	if m := k.merges()[0]; m.Open != 2 {
		t.Errorf("got %d open, want 2", m.Open)
	}
}

func TestWholeFilesAreChosenFrom(t *testing.T) {
	k := newDesk(t, map[string]string{"gone": "g\n", "del": "d\n", "bin": "b\x00", "ok": "o\n"})
	k.agent(map[string]string{"gone": "agent\n", "del": "", "bin": "agent\x00", "ok": "agent\n", "new": "1\nagent\n", "same": "same\n"})
	k.host(map[string]string{"gone": "", "del": "mine\n", "bin": "mine\x00", "new": "1\nmine\n", "same": "same\n"})
	k.approve()
	find := func(path string) Merge {
		list := k.merges()
		i := slices.IndexFunc(list, func(m Merge) bool { return m.Path == path })
		if i < 0 {
			t.Fatalf("%s is not among %+v", path, list)
		}
		return list[i]
	}
	if n := len(k.merges()); n != 4 {
		t.Errorf("got %d merges, want 4", n)
	}
	for path, want := range map[string]string{"gone": "you deleted it", "del": "the agent deleted it", "bin": "binary"} {
		if m := find(path); !strings.Contains(m.Why, want) || m.Open != 1 || m.Parts != nil {
			t.Errorf("%s: got %+v, want %q", path, m, want)
		}
	}
	if m := find("new"); m.Why != "" || len(m.Parts) != 2 || m.Open != 1 {
		t.Errorf("got %+v", m)
	}
	choose := func(path string, take diffreview.Take) {
		k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: find(path).ID, Path: path, Take: take}}))
	}
	choose("gone", diffreview.TakeAgent)
	choose("del", diffreview.TakeAgent)
	choose("bin", diffreview.TakeHost)
	choose("new", diffreview.TakeLeave)
	if m := find("new"); !m.Left {
		t.Errorf("got %+v, want it left out", m)
	}
	a, err := k.apply(ApplyOptions{Merge: true})
	if err != nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	if diff := cmp.Diff([]string{"del", "gone", "ok"}, a.Applied); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(why(a.Skipped, "bin"), "your own stays") || !strings.Contains(why(a.Skipped, "new"), "left out") {
		t.Errorf("got skipped %+v", a.Skipped)
	}
	k.wantHost("gone", "agent\n")
	k.wantHost("del", "")
	k.wantHost("bin", "mine\x00")
	k.wantHost("new", "1\nmine\n")
	k.undo()
	k.wantHost("gone", "")
	k.wantHost("del", "mine\n")
}

func TestLaterApplyMergesOnlyWhatIsNew(t *testing.T) {
	k := newDesk(t, map[string]string{"a": lines(0, 20, nil)})
	k.agent(map[string]string{"a": lines(0, 20, map[int]string{2: "agent 1\n", 18: "agent 2\n"})})
	// The host's edit touches the first of the agent's.
	k.host(map[string]string{"a": lines(0, 20, map[int]string{3: "mine\n"})})
	r, err := k.h.Review(context.Background(), k.d, true)
	k.must(err)
	f := &r.Set.Files[0]
	k.must(k.h.Decide(k.d, []Choice{{Unit: f.Hunks[0].ID, Path: "a", Verdict: diffreview.Approved}}))
	id := ""
	for _, p := range k.merges()[0].Parts {
		if p.Kind == merge.Conflict {
			id = p.ID
		}
	}
	k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: id, Path: "a", Take: diffreview.TakeEdit, Edit: []byte("agent 1\nmine\n")}}))
	if _, err := k.apply(ApplyOptions{Merge: true}); err != nil {
		t.Fatal(err)
	}
	first := lines(0, 20, map[int]string{2: "agent 1\n", 3: "mine\n"})
	k.wantHost("a", first)
	applied := func() (out []bool) {
		r, err := k.h.Review(context.Background(), k.d, false)
		k.must(err)
		for i := range r.Set.Files[0].Hunks {
			h := &r.Set.Files[0].Hunks[i]
			out = append(out, h.Applied)
			if i == 0 && h.Decision != diffreview.Approved {
				t.Errorf("the first hunk is %q", h.Decision)
			}
		}
		return out
	}
	if got := applied(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("after the first apply: got applied %v", got)
	}
	// Without a word, and without asking again what was settled.
	k.must(k.h.Decide(k.d, []Choice{{Unit: f.Hunks[1].ID, Path: "a", Verdict: diffreview.Approved}}))
	a, err := k.apply(ApplyOptions{Merge: true})
	if err != nil || len(a.Merged) != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", lines(0, 20, map[int]string{2: "agent 1\n", 3: "mine\n", 18: "agent 2\n"}))
	if got := applied(); !slices.Equal(got, []bool{true, true}) {
		t.Errorf("after the second apply: got applied %v", got)
	}
	k.undo()
	k.wantHost("a", first)
	if got := applied(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("after the undo: got applied %v", got)
	}
	k.undo()
	k.wantHost("a", lines(0, 20, map[int]string{3: "mine\n"}))
	if got := applied(); !slices.Equal(got, []bool{false, false}) {
		t.Errorf("after both undos: got applied %v", got)
	}
}

func TestModesMerge(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\x00"})
	k.agent(map[string]string{"a": "agent\n", "c": "agent\x00"})
	k.must(os.Chmod(filepath.Join(k.d.Workspace(), "b"), 0o755))
	k.host(map[string]string{"b": "mine\n"})
	k.must(os.Chmod(filepath.Join(k.repo, "a"), 0o755))
	k.must(os.Chmod(filepath.Join(k.repo, "c"), 0o750))
	k.approve()
	if a, err := k.apply(ApplyOptions{Merge: true}); err != nil || len(a.Merged) != 3 {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("a", "agent\n")
	k.wantHost("b", "mine\n")
	k.wantHost("c", "agent\x00")
	for path, want := range map[string]os.FileMode{"a": 0o755, "b": 0o755, "c": 0o750} {
		if fi, err := os.Stat(filepath.Join(k.repo, path)); err != nil || fi.Mode() != want {
			t.Errorf("%s: got %v, %v, want %v", path, fi.Mode(), err, want)
		}
	}
}

func TestPlanThatChangedIsNotWritten(t *testing.T) {
	k := newDesk(t, map[string]string{"a": lines(0, 20, nil), "b": "b\n"})
	k.agent(map[string]string{"a": lines(0, 20, map[int]string{19: "agent\n"}), "b": "agent\n"})
	k.host(map[string]string{"a": lines(0, 20, map[int]string{1: "mine\n"})})
	k.approve("a")
	plan := func() string {
		a, err := k.apply(ApplyOptions{Merge: true, DryRun: true})
		if err != nil || a.Plan == "" {
			t.Fatalf("got %+v, %v", a, err)
		}
		return a.Plan
	}
	for name, change := range map[string]func(){
		"the host's file": func() { k.host(map[string]string{"a": lines(0, 20, map[int]string{1: "mine again\n"})}) },
		"a decision":      func() { k.approve("b") },
	} {
		shown := plan()
		change()
		before, err := os.ReadFile(filepath.Join(k.repo, "a"))
		k.must(err)
		if a, err := k.apply(ApplyOptions{Merge: true, Plan: shown}); !errors.Is(err, errStale) || len(a.Applied) > 0 {
			t.Errorf("%s: got %+v, %v", name, a, err)
		}
		k.wantHost("a", string(before))
		k.wantHost("b", "b\n")
	}
	if _, err := k.apply(ApplyOptions{Merge: true, Plan: plan()}); err != nil {
		t.Error(err)
	}
}

// TestEditOfAFileThatTheAgentMovedGoesAlong: else a rename would be a deletion of
// what the user wrote.
func TestEditOfAFileThatTheAgentMovedGoesAlong(t *testing.T) {
	base := lines(0, 20, nil)
	k := newDesk(t, map[string]string{"old": base, "bin": strings.Repeat("b\x00", 50), "both": base + "both\n"})
	k.agent(map[string]string{
		"old": "", "dir/new": lines(0, 20, map[int]string{19: "agent\n"}),
		"bin": "", "moved": strings.Repeat("b\x00", 50),
		"both": "", "dir/both": lines(0, 20, map[int]string{5: "agent\n"}) + "both\n",
	})
	mine := lines(0, 20, map[int]string{1: "mine\n"})
	k.host(map[string]string{"old": mine, "bin": "mine\x00", "both": lines(0, 20, map[int]string{5: "mine\n"}) + "both\n"})
	k.approve()
	before := picture(t, k.repo, true)
	a, err := k.apply(ApplyOptions{Merge: true, SkipConflicts: true, DryRun: true})
	if err != nil || !slices.Equal(a.Applied, []string{"bin", "dir/new", "moved", "old"}) || why(a.Merged, "moved") != "your changes; it was bin" {
		t.Fatalf("got %+v, %v", a, err)
	}
	for path, want := range map[string]string{"both": "same lines", "dir/both": "both, which is in conflict"} {
		if got := why(a.Skipped, path); !strings.Contains(got, want) {
			t.Errorf("%s: got skipped %q, want %q", path, got, want)
		}
	}
	list := k.merges()
	if len(list) != 3 || list[2].Path != "old" || list[2].To != "dir/new" || list[2].Open != 0 {
		t.Fatalf("got %+v", list)
	}
	var choices []ResolutionChoice
	for _, m := range list {
		for _, p := range m.Parts {
			if p.Kind == merge.Conflict {
				choices = append(choices, ResolutionChoice{Conflict: p.ID, Path: m.Path, Take: diffreview.TakeBoth})
			}
		}
	}
	k.must(k.h.Resolve(k.d, choices))
	if a, err = k.apply(ApplyOptions{Merge: true}); err != nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	k.wantHost("old", "")
	k.wantHost("dir/new", lines(0, 20, map[int]string{1: "mine\n", 19: "agent\n"}))
	k.wantHost("bin", "")
	k.wantHost("moved", "mine\x00")
	k.wantHost("both", "")
	k.wantHost("dir/both", lines(0, 20, map[int]string{5: "mine\nagent\n"})+"both\n")
	if a, err := k.apply(ApplyOptions{Merge: true}); !errors.Is(err, ErrNothing) || len(a.Conflicts) > 0 {
		t.Errorf("once more: got %+v, %v", a, err)
	}
	// Another file at the old place is none of the rename's.
	k.host(map[string]string{"old": "anew\n"})
	if list := k.merges(); len(list) != 1 || list[0].To != "" || list[0].Why == "" {
		t.Errorf("got %+v, want a choice between wholes", list)
	}
	k.host(map[string]string{"old": ""})
	k.undo()
	if diff := cmp.Diff(before, picture(t, k.repo, true)); diff != "" {
		t.Errorf("undo is not the inverse (-before +after):\n%s", diff)
	}
	// Left out, neither place is touched.
	for _, m := range k.merges() {
		k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: m.ID, Path: m.Path, Take: diffreview.TakeLeave}}))
	}
	if a, err := k.apply(ApplyOptions{Merge: true}); !errors.Is(err, ErrNothing) {
		t.Errorf("left out: got %+v, %v", a, err)
	}
	if diff := cmp.Diff(before, picture(t, k.repo, true)); diff != "" {
		t.Errorf("left out, yet (-before +after):\n%s", diff)
	}
}

// TestAFileThatCantArriveStays: left out at its new place, a moved file must not
// go from its old one; else it would be nowhere.
func TestAFileThatCantArriveStays(t *testing.T) {
	base := lines(0, 20, nil)
	for name, leave := range map[string]func(*desk) ApplyOptions{
		"by flag": func(*desk) ApplyOptions { return ApplyOptions{SkipConflicts: true} },
		"by choice": func(k *desk) ApplyOptions {
			for _, m := range k.merges() {
				k.must(k.h.Resolve(k.d, []ResolutionChoice{{Conflict: m.ID, Path: m.Path, Take: diffreview.TakeLeave}}))
			}
			return ApplyOptions{Merge: true}
		},
	} {
		k := newDesk(t, map[string]string{"old": base, "x": "x\n"})
		k.agent(map[string]string{"old": "", "new": base, "x": "y\n"})
		k.host(map[string]string{"new": "mine\n"})
		k.approve()
		a, err := k.apply(leave(k))
		if err != nil || !slices.Equal(a.Applied, []string{"x"}) {
			t.Errorf("%s: got %+v, %v, want x alone", name, a, err)
		}
		if got := why(a.Skipped, "old"); !strings.Contains(got, "stays where it is") {
			t.Errorf("%s: got skipped %q", name, got)
		}
		k.wantHost("old", base)
		k.wantHost("new", "mine\n")
	}
}
