package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// crashTargets touch every kind of move at once.
func crashTargets(st memStore) []Target {
	f := st.file
	return []Target{
		{Path: "mod", Base: f("old"), Want: f("new")},
		{Path: "exec", Base: f("e"), Want: st.prog("e")},
		{Path: "ln", Base: link("mod"), Want: link("exec")},
		{Path: "type", Base: f("t"), Want: link("mod")},
		{Path: "untype", Base: link("mod"), Want: f("t")},
		{Path: "del/only", Base: f("d")},
		{Path: "del/deep/two", Base: f("d2")},
		{Path: "add", Want: f("a")},
		{Path: "new/dir/n", Want: st.prog("n")},
		{Path: "new/l", Want: link("dir/n")},
		{Path: "d", Want: f("folder before")},
		{Path: "d/x", Base: f("x")},
		{Path: "f", Base: f("f")},
		{Path: "f/y", Want: f("y")},
		{Path: "there", Base: f("0"), Want: f("there")},
		{Path: "merge", Base: f("mine"), Want: st.prog("mine and agent's"), Merged: true, Approved: st.prog("agent's")},
		{Path: "over/mine", Base: f("mine"), Merged: true},
		{Path: "back", Want: f("agent's"), Merged: true, Approved: f("agent's")},
		{Path: "Case", Base: f("case")},
		{Path: "case", Want: f("case")},
	}
}

func crashSite(t testing.TB) *site {
	s := newFastSite(t)
	fillCrash(s)
	return s
}

func fillCrash(s *site) {
	s.write("mod", "old", 0o664)
	s.write("exec", "e", 0o640)
	s.symlink("ln", "mod")
	s.write("type", "t", 0o600)
	s.symlink("untype", "mod")
	s.write("del/only", "d", 0o644)
	s.write("del/deep/two", "d2", 0o400)
	s.write("d/x", "x", 0o644)
	s.write("f", "f", 0o644)
	s.write("there", "there", 0o644)
	s.write("Case", "case", 0o644)
	s.write("merge", "mine", 0o600)
	s.write("over/mine", "mine", 0o644)
	s.write("sub/untouched", "u", 0o644)
	must(s.t, os.Chmod(s.repo+"/del", 0o750))
}

// crashJob is what the re-executed child does.
type crashJob struct {
	Root    Root
	Journal string
	Op      string // apply, undo, recover
	At      int    // the step at which it kills itself; -1 never
	Named   bool   // stage under names, as where files without names can't be
	Folds   bool   // on a file system that folds case
}

const crashEnv = "FUMEHOOD_APPLY_CRASH"

func TestMain(m *testing.M) {
	if job := os.Getenv(crashEnv); job != "" {
		os.Exit(crashChild(job))
	}
	if cell := os.Getenv(cellEnv); cell != "" {
		os.Exit(cellChild(cell))
	}
	os.Exit(m.Run())
}

func crashChild(job string) int {
	var j crashJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	st := memStore{}
	ts := crashTargets(st)
	n := 0
	o := Options{Root: j.Root, Store: st, Journal: j.Journal, Fault: func(step string) {
		if n == j.At {
			fmt.Println(step)
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
		n++
	}, lacks: lacks{nameless: j.Named}}
	if j.Folds {
		o.lacks.names = foldCase
	}
	var err error
	var conflicts []PathWhy
	switch j.Op {
	case "apply":
		var res Result
		res, err = Apply(context.Background(), o, ts)
		conflicts = res.Conflicts
	case "undo":
		var res Result
		res, err = Undo(context.Background(), o)
		conflicts = res.Conflicts
	case "recover":
		_, err = Recover(context.Background(), o)
	}
	if err != nil || len(conflicts) > 0 {
		fmt.Fprintln(os.Stderr, err, conflicts)
		return 1
	}
	return 0
}

// crash runs a job in a child and gives the step at which it died, or "" when
// it came to its end.
func (s *site) crash(op string, at int, named bool) string {
	s.t.Helper()
	job, err := json.Marshal(crashJob{Root: s.root(), Journal: s.journal, Op: op, At: at, Named: named, Folds: s.folds})
	must(s.t, err)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), crashEnv+"="+string(job))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if err == nil {
		return ""
	}
	if ws, ok := cmd.ProcessState.Sys().(interface{ Signaled() bool }); !ok || !ws.Signaled() {
		s.t.Fatalf("%s at %d: %v: %s", op, at, err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

// temps lists apply's temporary names in the tree.
func (s *site) temps() []string {
	var out []string
	for p := range s.snap() {
		if strings.HasPrefix(filepath.Base(p), tempStart) {
			out = append(out, p)
		}
	}
	return out
}

func TestKillAtEveryStepLeavesBeforeOrAfter(t *testing.T) {
	for _, op := range []string{"apply", "undo"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			steps := 0
			for at := 0; ; at++ {
				folds := at%3 == 0
				step := crashOnce(t, op, at, at%2 == 0, folds)
				if step == "" {
					break
				}
				if stride(2) == 1 {
					crashOnce(t, op, at, at%2 == 1, folds)
				}
				if stride(2) == 1 {
					crashOnce(t, op, at, at%2 == 0, !folds)
				}
				if step == "take 0" { // that is of Case
					crashOnce(t, op, at, false, true)
				}
				steps++
			}
			if steps < 60 {
				t.Errorf("only %d steps were tried, want at least 60", steps)
			}
			t.Logf("%d steps", steps)
		})
	}
}

func crashOnce(t *testing.T, op string, at int, named, folds bool) string {
	s := crashSite(t)
	s.folds = folds
	before := s.snap()
	if op == "undo" {
		if step := s.crash("apply", -1, named); step != "" {
			t.Fatalf("apply died at %q", step)
		}
	}
	start := s.snap()
	kept := inode(s.repo + "/Case")
	step := s.crash(op, at, named)
	if step == "" {
		return ""
	}
	if n := s.temps(); !named && len(n) > 0 && stageStep(step) {
		t.Errorf("killed at %q: temporary names are in the tree: %v", step, n)
	}
	rec, err := Recover(context.Background(), s.options())
	if err != nil {
		t.Fatalf("killed at %q: recover: %v", step, err)
	}
	if len(rec.Left) > 0 {
		t.Errorf("killed at %q: recover left %v", step, rec.Left)
	}
	got := s.snap()
	switch {
	case cmp.Equal(got, start):
	case op == "undo" && cmp.Equal(got, before):
	case op == "apply" && isAfter(t, s):
	default:
		t.Errorf("killed at %q: neither before nor after:\n%s", step, cmp.Diff(start, got))
	}
	// Where case is folded the new name leads to the old file: it is not ours to
	// take away.
	if op == "apply" && cmp.Equal(got, start) && inode(s.repo+"/Case") != kept {
		t.Errorf("killed at %q: Case is another file, made again from its bytes", step)
	}
	if n := s.temps(); len(n) > 0 {
		t.Errorf("killed at %q: left over: %v", step, n)
	}
	again, err := Recover(context.Background(), s.options())
	if err != nil || len(again.RolledBack)+len(again.Finished) > 0 {
		t.Errorf("killed at %q: a second recover: %+v, %v", step, again, err)
	}
	// And it can be done now, and taken back.
	if op == "apply" {
		if res, err := Apply(context.Background(), s.options(), crashTargets(s.store)); err != nil || len(res.Conflicts) > 0 {
			t.Fatalf("killed at %q: apply again: %+v, %v", step, res, err)
		}
		if !isAfter(t, s) {
			t.Errorf("killed at %q: apply again did not give the wanted tree", step)
		}
	}
	if _, err := Undo(context.Background(), s.options()); err != nil && err != ErrNothing {
		t.Fatalf("killed at %q: undo: %v", step, err)
	}
	s.wantSame(before)
	return step
}

// inode is 0 where nothing is.
func inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

func stageStep(step string) bool {
	name, _, _ := strings.Cut(step, " ")
	switch name {
	case "look", "begin", "keep", "stage", "commit":
		return true
	}
	return step == "sync"
}

// isAfter compares the tree with what the targets want, independently of how
// they are written.
func isAfter(t *testing.T, s *site) bool {
	for _, tg := range crashTargets(s.store) {
		p := filepath.Join(s.repo, tg.Path)
		info, err := os.Lstat(p)
		var got diffreview.Entry
		switch {
		case err != nil, !listed(t, p):
		case info.IsDir():
			got.Kind = kindFolder
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(p)
			must(t, err)
			got = link(target)
		default:
			data, err := os.ReadFile(p)
			must(t, err)
			got = s.store.file(string(data))
			got.Exec = info.Mode()&0o100 != 0
		}
		if tg.Path == "f" { // deleted, and a folder now
			tg.Want = diffreview.Entry{Kind: kindFolder}
		}
		if got != tg.Want {
			return false
		}
	}
	_, err := os.Lstat(s.repo + "/del")
	return os.IsNotExist(err)
}

// listed says whether a file is there by that very name: a file system that folds
// case gives it by others too.
func listed(t *testing.T, path string) bool {
	names, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	return slices.ContainsFunc(names, func(e os.DirEntry) bool { return e.Name() == filepath.Base(path) })
}

func TestKillDuringRecover(t *testing.T) {
	total := 0
	for at := 0; ; at++ {
		s := crashSite(t)
		step := s.crash("apply", at, at%2 == 0)
		if step == "" {
			break
		}
		if stageStep(step) && at%7 != 0 {
			continue // there is little to recover
		}
		for rat := at % stride(6); ; rat += stride(6) {
			s := crashSite(t)
			s.folds = rat%2 == 1
			before := s.snap()
			s.crash("apply", at, at%2 == 0)
			rstep := s.crash("recover", rat, false)
			rec, err := Recover(context.Background(), s.options())
			where := step + ", then " + rstep + " (" + strconv.Itoa(rat) + ")"
			if err != nil || len(rec.Left) > 0 {
				t.Fatalf("killed at %s: recover: %+v, %v", where, rec, err)
			}
			if got := s.snap(); !cmp.Equal(got, before) && !isAfter(t, s) {
				t.Errorf("killed at %s: neither before nor after:\n%s", where, cmp.Diff(before, got))
			}
			if n := s.temps(); len(n) > 0 {
				t.Errorf("killed at %s: left over: %v", where, n)
			}
			total++
			if rstep == "" {
				break
			}
		}
	}
	t.Logf("%d kills", total)
}

// stride is how many cases a product of cases skips at a time: all of them are
// tried when FUMEHOOD_LONG is set, a spread of them otherwise.
func stride(n int) int {
	if os.Getenv("FUMEHOOD_LONG") != "" {
		return 1
	}
	return n
}
