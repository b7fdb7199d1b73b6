package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// contains says whether some file of the repository, or of what is kept for
// undo, holds the bytes.
func (s *site) contains(mark string) bool {
	s.t.Helper()
	found := false
	for _, dir := range []string{s.repo, filepath.Join(s.journal, "blobs")} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(p)
			found = found || bytes.Contains(data, []byte(mark))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Fatal(err)
		}
	}
	return found
}

const mark = "what the user wrote"

// hostEdits are the ways in which somebody edits a path while apply is at work.
var hostEdits = []struct {
	name string
	do   func(p string) error
}{
	{"in place", func(p string) error {
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(mark)
		return errors.Join(err, f.Close())
	}},
	{"by rename", func(p string) error {
		if err := os.WriteFile(p+"~", []byte(mark), 0o644); err != nil {
			return err
		}
		return os.Rename(p+"~", p)
	}},
	{"new file", func(p string) error {
		_ = os.Remove(p)
		return os.WriteFile(p, []byte(mark), 0o644)
	}},
}

func TestHostEditAtAnyStepIsNeverLost(t *testing.T) {
	for _, path := range []string{"mod", "exec", "del/only", "add", "type", "untype", "f", "new/l"} {
		for e, edit := range hostEdits {
			t.Run(fmt.Sprintf("%s %s", path, edit.name), func(t *testing.T) {
				t.Parallel()
				for at := 0; ; at++ {
					s := crashSite(t)
					o := s.options()
					o.lacks.nameless = (at+e)%2 == 0
					before := s.snap()
					i, hit, did := 0, "", false
					o.Fault = func(step string) {
						if i == at {
							hit = step
							did = edit.do(filepath.Join(s.repo, path)) == nil
						}
						i++
					}
					res, err := Apply(context.Background(), o, crashTargets(s.store))
					if hit == "" {
						return
					}
					s.checkAfterEdit(fmt.Sprintf("edit at %q", hit), path, before, did, res, err)
				}
			})
		}
	}
}

// checkAfterEdit: the edit is on disk, all other paths are as before or all
// are as wanted, and a leftover is one that the result names.
func (s *site) checkAfterEdit(name, path string, before snap, did bool, res Result, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
		return
	}
	if did && !s.contains(mark) {
		s.t.Errorf("%s: the user's bytes are lost; %+v", name, res)
	}
	said := fmt.Sprintf("%+v", res)
	for _, temp := range s.temps() {
		if !strings.Contains(said, temp) {
			s.t.Errorf("%s: %q is left over and not named: %s", name, temp, said)
		}
	}
	got := s.snap()
	changed := ""
	for p, v := range before {
		if p != path && !isAbove(p, path) && got[p] != v {
			changed = fmt.Sprintf("%s: %s -> %s", p, v, got[p])
		}
	}
	if len(res.Conflicts) > 0 && changed != "" {
		s.t.Errorf("%s: a conflict, yet %s", name, changed)
	}
	if len(res.Conflicts) == 0 && got["add"] == "" {
		s.t.Errorf("%s: no conflict, yet nothing was written", name)
	}
}

func isAbove(dir, p string) bool { return strings.HasPrefix(p, dir+"/") }

func TestWriterThatOpenedBeforeIsNeverLost(t *testing.T) {
	// A program opens the file at one step and writes at a later one.
	for at := 0; ; at++ {
		end := true
		for k, later := range []int{0, 1, 2, 5, 1000} {
			if (at+k)%stride(5) != 0 {
				end = false
				continue
			}
			s := crashSite(t)
			o := s.options()
			before := s.snap()
			var f *os.File
			i, hit := 0, ""
			finish := func() {
				if f != nil {
					_, err := f.WriteString(mark)
					must(t, errors.Join(err, f.Close()))
					f = nil
				}
			}
			o.Fault = func(step string) {
				if i == at {
					hit = step
					f, _ = os.OpenFile(s.repo+"/mod", os.O_WRONLY|os.O_APPEND, 0)
				}
				if i == at+later && f != nil {
					finish()
				}
				i++
			}
			res, err := Apply(context.Background(), o, crashTargets(s.store))
			finish()
			if hit == "" {
				end = true
				break
			}
			end = false
			s.checkAfterEdit(fmt.Sprintf("opened at %q, written %d steps later", hit, later), "mod", before, true, res, err)
		}
		if end {
			break
		}
	}
}

func TestConcurrentAppenderLosesNoLine(t *testing.T) {
	for _, how := range []string{"in place", "by rename"} {
		t.Run(how, func(t *testing.T) {
			s := newFastSite(t)
			s.write("log", "start\n", 0o644)
			p := filepath.Join(s.repo, "log")
			if how == "in place" {
				requireLease(t, p)
			}
			var stop atomic.Bool
			var steps atomic.Int64 // the user keeps pace with apply, no more
			wrote := make(chan int)
			go func() {
				n, buffer := 0, "start\n"
				defer func() { wrote <- n }()
				for !stop.Load() {
					if int64(n) >= 2*steps.Load() {
						runtime.Gosched()
						continue
					}
					line := fmt.Sprintf("user %d.\n", n)
					if how == "in place" {
						f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
						if err != nil {
							continue // taken off its name for a moment
						}
						if _, err = f.WriteString(line); errors.Join(err, f.Close()) != nil {
							return
						}
					} else {
						// From its own memory, as an editor's buffer: a program
						// that reads what it then replaces may read a file that
						// is about to be swapped back, and so undo its own line.
						buffer += line
						if os.WriteFile(p+"~", []byte(buffer), 0o644) != nil || os.Rename(p+"~", p) != nil {
							return
						}
					}
					n++
				}
			}()
			applied, conflicts := 0, 0
			for i := 0; i < 300 && (applied < 40 || conflicts < 40); i++ {
				data, err := os.ReadFile(p)
				must(t, err)
				o := s.options()
				o.Fault = func(string) { steps.Add(1) }
				res, err := Apply(context.Background(), o, []Target{{
					Path: "log", Base: s.store.file(string(data)), Want: s.store.file(string(data) + fmt.Sprintf("tool %d.\n", i)),
				}})
				if err != nil {
					t.Fatal(err)
				}
				if len(res.Conflicts) > 0 {
					conflicts++
				} else {
					applied++
				}
			}
			stop.Store(true)
			n := <-wrote
			missing := 0
			all := s.allBytes()
			for i := range n {
				if !strings.Contains(all, fmt.Sprintf("user %d.\n", i)) {
					missing++
				}
			}
			t.Logf("%d lines by the user, %d applies, %d conflicts, %d lines missing", n, applied, conflicts, missing)
			if missing > 0 {
				t.Errorf("%d of %d lines that the user wrote are lost", missing, n)
			}
			if conflicts == 0 {
				t.Error("there was no conflict: the race was not run")
			}
		})
	}
}

// requireLease skips where read leases are refused, as they are in a session:
// a writer that opened the file before it was swapped can't be noticed then.
func requireLease(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		t.Skipf("got %v for a read lease, want a system that grants them", err)
	}
}

func (s *site) allBytes() string {
	var b strings.Builder
	for _, dir := range []string{s.repo, filepath.Join(s.journal, "blobs")} {
		must(s.t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(p)
			b.Write(data)
			return err
		}))
	}
	return b.String()
}

func TestRecoverAfterHostEdits(t *testing.T) {
	// Killed half-way, then somebody edits, then recover: the edit stays, and
	// everything else is as before or as after.
	paths := []string{"mod", "add", "del/only", "type"}
	for at := 0; ; at++ {
		step := ""
		for i := 0; i < len(paths); i += stride(4) {
			path := paths[(at+i)%len(paths)]
			s := crashSite(t)
			before := s.snap()
			if step = s.crash("apply", at, at%2 == 0); step == "" {
				break
			}
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(s.repo, path)), 0o750))
			must(t, hostEdits[1].do(filepath.Join(s.repo, path)))
			rec, err := Recover(context.Background(), s.options())
			if err != nil {
				t.Fatalf("killed at %q, %q edited: recover: %v", step, path, err)
			}
			if got, err := os.ReadFile(filepath.Join(s.repo, path)); err != nil || string(got) != mark {
				t.Errorf("killed at %q: %q holds %q, %v, want the edit", step, path, got, err)
			}
			if n := s.temps(); len(n) > 0 {
				t.Errorf("killed at %q, %q edited: left over: %v, %+v", step, path, n, rec)
			}
			got := s.snap()
			delete(got, path)
			delete(before, path)
			if len(rec.RolledBack) > 0 {
				for p, v := range before {
					if got[p] != v {
						t.Errorf("killed at %q, %q edited: %s: got %q, want %q", step, path, p, got[p], v)
					}
				}
			}
			// The original of what was edited on top of ours is not lost.
			if old := map[string]string{"mod": "old", "del/only": "d", "type": "t"}[path]; len(rec.Left) > 0 && old != "" && !s.contains(old) {
				t.Errorf("killed at %q, %q edited: what stood there before is lost: %+v", step, path, rec)
			}
		}
		if step == "" {
			return
		}
	}
}

func TestRecoverWhenTheDisplacedFileWasRemoved(t *testing.T) {
	// A user who meets the temporary names after a crash may remove them.
	for at := 0; ; at++ {
		s := crashSite(t)
		before := s.snap()
		step := s.crash("apply", at, at%2 == 1)
		if step == "" {
			return
		}
		for _, n := range s.temps() {
			must(t, os.Remove(filepath.Join(s.repo, n)))
		}
		rec, err := Recover(context.Background(), s.options())
		if err != nil || len(rec.Left) > 0 {
			t.Fatalf("killed at %q: recover: %+v, %v", step, rec, err)
		}
		if len(rec.RolledBack) > 0 {
			s.wantSame(before)
		}
	}
}

func TestLeaseOnAHostFileIsAConflictNotAHang(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	f, err := os.OpenFile(s.repo+"/a", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("got %v from F_SETLEASE, want a file system with leases", err)
	}
	res := s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")})
	if len(res.Conflicts) != 1 || !strings.Contains(res.Conflicts[0].Why, "lease") {
		t.Errorf("got %+v, want a conflict that names the lease", res)
	}
	must(t, f.Close()) // or reading it would wait for the lease
	s.wantFile("a", "0", 0o644)
}

func TestNoExchangeIsARefusal(t *testing.T) {
	s := crashSite(t)
	before := s.snap()
	o := s.options()
	o.lacks.exchange = true
	// Nothing of the user's is moved for it, not even for a moment.
	o.Fault = func(step string) {
		switch verb, _, _ := strings.Cut(step, " "); verb {
		case "take", "put", "swap", "rmdir", "mkdir", "stage", "commit":
			t.Errorf("got step %q, want a refusal before", step)
		}
		var have []string
		for p, is := range s.snap() {
			if !strings.Contains(p, tempStart) && before[p] != is {
				have = append(have, p)
			}
		}
		if len(have) > 0 {
			t.Errorf("at step %q %v are not as they were", step, have)
		}
	}
	_, err := Apply(context.Background(), o, crashTargets(s.store))
	if err == nil || !strings.Contains(err.Error(), "--to patch:FILE") {
		t.Errorf("got %v, want a refusal that says what to do instead", err)
	}
	s.wantSame(before)
	if left := s.temps(); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	// One file is refused as well, and what needs no exchange is written.
	o.Fault = nil
	f := s.store.file
	if _, err = Apply(context.Background(), o, []Target{{Path: "mod", Base: f("old"), Want: f("new")}}); err == nil {
		t.Error("one file was replaced without an exchange")
	}
	s.wantSame(before)
	res, err := Apply(context.Background(), o, []Target{{Path: "add", Want: f("a")}, {Path: "exec", Base: f("e")}})
	if err != nil || len(res.Written) != 2 {
		t.Errorf("new and deleted files: got %+v, %v", res, err)
	}
}

func TestFolderThatBecomesASymlinkIsNeverFollowed(t *testing.T) {
	for _, op := range []string{"apply", "undo"} {
		for at := 0; ; at++ {
			s := newFastSite(t)
			f := s.store.file
			s.write("sub/mod", "m", 0o644)
			s.write("sub/del", "d", 0o644)
			s.write("sub/deep/x", "x", 0o644)
			outside := filepath.Join(s.dir, "outside")
			must(t, os.MkdirAll(filepath.Join(outside, "deep"), 0o755))
			for p, data := range map[string]string{"mod": "m", "del": "d", "deep/x": "x"} {
				must(t, os.WriteFile(filepath.Join(outside, p), []byte(data), 0o644))
			}
			want := snapTree(t, outside)
			ts := []Target{
				{Path: "sub/mod", Base: f("m"), Want: f("M")},
				{Path: "sub/del", Base: f("d")},
				{Path: "sub/deep/x", Base: f("x")},
				{Path: "sub/add", Want: f("a")},
				{Path: "sub/new/n", Want: f("n")},
			}
			if op == "undo" {
				s.apply(ts...)
				must(t, os.MkdirAll(filepath.Join(outside, "new"), 0o755))
				for p, data := range map[string]string{"mod": "M", "add": "a", "new/n": "n"} {
					must(t, os.WriteFile(filepath.Join(outside, p), []byte(data), 0o644))
				}
				want = snapTree(t, outside)
			}
			o := s.options()
			i, hit := 0, ""
			o.Fault = func(step string) {
				if i == at {
					hit = step
					must(t, os.Rename(s.repo+"/sub", s.repo+"/moved"))
					must(t, os.Symlink(outside, s.repo+"/sub"))
				}
				i++
			}
			var err error
			if op == "undo" {
				_, err = Undo(context.Background(), o)
			} else {
				_, err = Apply(context.Background(), o, ts)
			}
			if hit == "" {
				break
			}
			if got := snapTree(t, outside); !cmp.Equal(want, got) {
				t.Errorf("%s, swapped at %q: written outside (-want +got):\n%s", op, hit, cmp.Diff(want, got))
			}
			for _, data := range []string{"m", "d", "x"} {
				if op == "apply" && !s.contains(data) {
					t.Errorf("swapped at %q: %q is lost", hit, data)
				}
			}
			// Whatever came of it, the next call is not stuck with it.
			if rec, err2 := Recover(context.Background(), s.options()); err2 != nil {
				t.Errorf("%s, swapped at %q: %v; then recover: %+v, %v", op, hit, err, rec, err2)
			}
		}
	}
}

func TestTwoEditsDuringOneSwapAreBothKept(t *testing.T) {
	// One before the swap, which displaces it, one on top of what was swapped
	// in; at the same path, in place.
	for _, second := range []string{"check", "back", "swap back", "check back"} {
		s := crashSite(t)
		o := s.options()
		write := func(data string) {
			must(t, os.WriteFile(s.repo+"/mod", []byte(data), 0o644))
		}
		swapped, wrote := "", false
		o.Fault = func(step string) {
			switch name, arg, _ := strings.Cut(step, " "); {
			case name == "swap" && arg != "back mod" && swapped == "":
				// Which move it is shows by what the swap makes of the edit.
				data, err := os.ReadFile(s.repo + "/mod")
				must(t, err)
				if _, err := os.Lstat(s.tempOf("mod")); err == nil && string(data) == "old" {
					swapped = arg
					write("edit one")
				}
			case !wrote && swapped != "" && (step == second+" "+swapped || step == second+" mod"):
				wrote = true
				write("edit two")
			}
		}
		res, err := Apply(context.Background(), o, crashTargets(s.store))
		must(t, err)
		if swapped == "" || !wrote {
			t.Fatalf("second at %q: the edits were not made", second)
		}
		for _, data := range []string{"edit one", "edit two"} {
			if second == "check back" && data == "edit one" {
				continue // back at its place, and then overwritten by its writer
			}
			if !s.contains(data) {
				t.Errorf("second at %q: %q is lost: %+v", second, data, res)
			}
		}
		if len(res.Conflicts) == 0 {
			t.Errorf("second at %q: got no conflict", second)
		}
	}
}

// tempOf gives the temporary name that the running apply has for a path, from
// its journal.
func (s *site) tempOf(path string) string {
	s.t.Helper()
	j, err := readJournals(s.journal)
	must(s.t, err)
	for _, m := range j.txns[len(j.txns)-1].moves {
		if m.Path == path {
			return filepath.Join(s.repo, m.Temp)
		}
	}
	s.t.Fatalf("no move of %q", path)
	return ""
}

func TestDisplacedFileThatIsEditedUnderItsTemporaryNameStays(t *testing.T) {
	s := newSite(t)
	s.write("mod", "old", 0o644)
	o := s.options()
	temp := ""
	o.Fault = func(step string) {
		if step == "moved" {
			temp = s.tempOf("mod")
			must(t, os.WriteFile(temp, []byte(mark), 0o644))
		}
	}
	res, err := Apply(context.Background(), o, []Target{{Path: "mod", Base: s.store.file("old"), Want: s.store.file("new")}})
	must(t, err)
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Why, filepath.Base(temp)) {
		t.Errorf("notes: got %+v, want the name of what is left", res.Notes)
	}
	s.wantFile("mod", "new", 0o644)
	if got, err := os.ReadFile(temp); err != nil || string(got) != mark {
		t.Errorf("got %q, %v, want the edit kept", got, err)
	}
	h, err := History(s.journal)
	must(t, err)
	if len(h) != 1 || len(h[0].Left) != 1 || !strings.Contains(h[0].Left[0].Why, filepath.Base(temp)) {
		t.Errorf("history: got %+v, want the name of what is left", h)
	}
}

func TestEditSeenBeforeTheSwapIsNeverCovered(t *testing.T) {
	for _, want := range []string{"new", ""} {
		s := newSite(t)
		s.write("mod", "old", 0o644)
		tg := Target{Path: "mod", Base: s.store.file("old")}
		if want != "" {
			tg.Want = s.store.file(want)
		}
		o := s.options()
		moved := ""
		o.Fault = func(step string) {
			switch {
			case step == "commit":
				must(t, os.WriteFile(s.repo+"/mod", []byte(mark), 0o644))
			case strings.HasPrefix(step, "swap"), strings.HasPrefix(step, "take"):
				moved = step
			}
		}
		res, err := Apply(context.Background(), o, []Target{tg})
		if err != nil || len(res.Conflicts) != 1 || moved != "" {
			t.Errorf("got %+v, %v, step %q, want a conflict before anything is moved", res, err, moved)
		}
		s.wantFile("mod", mark, 0o644)
	}
}
