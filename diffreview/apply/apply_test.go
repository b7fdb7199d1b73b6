package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

var absent = diffreview.Entry{}

func TestApplyWritesExactlyTheApprovedBytesAndUndoBringsAllBack(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a.txt", "old", 0o640)
	s.write("keep.txt", "untouched", 0o604)
	s.write("gone/deep/x", "x", 0o600)
	s.write("run.sh", "#!/bin/sh\n", 0o640)
	s.write("tool.sh", "t", 0o755)
	s.write("odd \n\x1b[31m\xff", "bytes", 0o644)
	s.symlink("ln", "a.txt")
	s.symlink("was-link", "a.txt")
	s.write("was-file", "wf", 0o644)
	before := s.snap()
	ts := []Target{
		{Path: "a.txt", Base: f("old"), Want: f("new\x00\xff")},
		{Path: "gone/deep/x", Base: f("x")},
		{Path: "run.sh", Base: f("#!/bin/sh\n"), Want: s.store.prog("#!/bin/sh\n")},
		{Path: "tool.sh", Base: s.store.prog("t"), Want: s.store.prog("T")},
		{Path: "odd \n\x1b[31m\xff", Base: f("bytes"), Want: f("")},
		{Path: "ln", Base: link("a.txt"), Want: link("/nowhere/\xfe")},
		{Path: "was-link", Base: link("a.txt"), Want: f("now a file")},
		{Path: "was-file", Base: f("wf"), Want: link("a.txt")},
		{Path: "new/dir/n", Want: f("n")},
		{Path: "new/dir/p", Want: s.store.prog("p")},
		{Path: "new/l", Want: link("../../outside")},
	}
	old := unix.Umask(0o077)
	res := s.apply(ts...)
	unix.Umask(old)
	if len(res.Conflicts) > 0 || len(res.Applied) != len(ts) || len(res.Written) != len(ts) {
		t.Fatalf("got %+v, want all %d applied", res, len(ts))
	}
	s.wantFile("a.txt", "new\x00\xff", 0o640)
	s.wantFile("run.sh", "#!/bin/sh\n", 0o750)
	s.wantFile("tool.sh", "T", 0o755)
	s.wantFile("odd \n\x1b[31m\xff", "", 0o644)
	s.wantFile("was-link", "now a file", 0o644)
	s.wantFile("new/dir/n", "n", 0o644)
	s.wantFile("new/dir/p", "p", 0o755)
	after := s.snap()
	for rel, want := range map[string]string{"ln": "/nowhere/\xfe", "was-file": "a.txt", "new/l": "../../outside"} {
		if got, err := os.Readlink(filepath.Join(s.repo, rel)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want a link to %q", rel, got, err, want)
		}
	}
	for _, p := range []string{"gone", "gone/deep"} {
		if _, ok := after[p]; ok {
			t.Errorf("%s: an emptied folder stays, want it gone", p)
		}
	}
	for _, p := range []string{"new", "new/dir"} {
		if after[p] != "dir mode=0755" {
			t.Errorf("%s: got %q, want mode 0755", p, after[p])
		}
	}
	if after["keep.txt"] != before["keep.txt"] || strings.Contains(after["run.sh"], fmt.Sprint(s.old.UnixNano())) == false {
		t.Errorf("keep.txt: got %q, want %q; run.sh: got %q, want its time kept", after["keep.txt"], before["keep.txt"], after["run.sh"])
	}
	if got := s.undo(); len(got.Conflicts) > 0 || len(got.Written) != len(ts) {
		t.Fatalf("undo: got %+v, want all %d", got, len(ts))
	}
	s.wantSame(before)
	if _, err := Undo(context.Background(), s.options()); !errors.Is(err, ErrNothing) {
		t.Errorf("a second undo: got %v, want ErrNothing", err)
	}
}

func TestConflictWritesNothing(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	prog := s.store.prog
	tests := []struct {
		name string
		set  func()
		t    Target
		want string
	}{
		{"edited", func() { s.write("c", "theirs", 0o644) }, Target{Path: "c", Base: f("base"), Want: f("ours")}, "the host's file changed after the copy"},
		{"edited, deletion wanted", func() { s.write("c", "theirs", 0o644) }, Target{Path: "c", Base: f("base")}, "the host's file changed after the copy"},
		{"mode", func() { s.write("c", "base", 0o755) }, Target{Path: "c", Base: f("base"), Want: f("ours")}, "the mode of the host's file changed after the copy"},
		{"appeared", func() { s.write("c", "theirs", 0o644) }, Target{Path: "c", Want: f("ours")}, "a file appeared on the host after the copy"},
		{"gone", func() {}, Target{Path: "c", Base: f("base"), Want: f("ours")}, "the host's file is gone"},
		{"folder", func() { s.write("c/x", "", 0o644) }, Target{Path: "c", Base: f("base"), Want: f("ours")}, "is a folder on the host"},
		{"folder appeared", func() { s.write("c/x", "", 0o644) }, Target{Path: "c", Want: f("ours")}, "is a folder on the host"},
		{"empty folder appeared", func() { must(t, os.Mkdir(s.repo+"/c", 0o755)) }, Target{Path: "c", Want: f("ours")}, "is a folder on the host"},
		{"became a link", func() { s.symlink("c", "b") }, Target{Path: "c", Base: f("base"), Want: f("ours")}, "the host's file became a symlink after the copy"},
		{"became a file", func() { s.write("c", "b", 0o644) }, Target{Path: "c", Base: link("b"), Want: link("x")}, "the host's symlink became a file after the copy"},
		{"link changed", func() { s.symlink("c", "z") }, Target{Path: "c", Base: link("b"), Want: link("x")}, "the host's symlink changed after the copy"},
		{"fifo", func() { must(t, unix.Mkfifo(s.repo+"/c", 0o644)) }, Target{Path: "c", Base: f("base"), Want: f("ours")}, "is a socket, fifo or device on the host"},
		{"parent is a link", func() { s.symlink("c", t.TempDir()) }, Target{Path: "c/x", Want: f("ours")}, `the parent "c" is a symlink on the host`},
		{"parent links inside", func() { s.write("d/x", "base", 0o644); s.symlink("c", "d") }, Target{Path: "c/x", Base: f("base"), Want: f("ours")}, `the parent "c" is a symlink on the host`},
		{"parent links, deletion", func() { s.write("d/x", "base", 0o644); s.symlink("c", "d") }, Target{Path: "c/x", Base: f("base")}, `the parent "c" is a symlink on the host`},
		{"parent is a file", func() { s.write("c", "", 0o644) }, Target{Path: "c/x", Want: f("ours")}, `the parent "c" is a file on the host`},
		{"executable wanted, host edited", func() { s.write("c", "theirs", 0o644) }, Target{Path: "c", Base: f("base"), Want: prog("base")}, "the host's file changed after the copy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s = newSite(t)
			s.write("b", "base", 0o644)
			tt.set()
			other := Target{Path: "b", Base: f("base"), Want: f("ours")}
			for _, e := range []string{"base", "ours"} {
				s.store.put(e)
			}
			before := s.snapNoFifo()
			want := []PathWhy{{tt.t.Path, tt.want}}
			res := s.apply(other, tt.t)
			if diff := cmp.Diff(Result{Conflicts: want}, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, s.snapNoFifo()); diff != "" {
				t.Errorf("the tree changed (-want +got):\n%s", diff)
			}
			o := s.options()
			o.SkipConflicts = true
			res, err := Apply(context.Background(), o, []Target{other, tt.t})
			must(t, err)
			if diff := cmp.Diff(Result{ID: "000001", Applied: []string{"b"}, Written: []string{"b"}, Skipped: want}, res); diff != "" {
				t.Errorf("result with conflicts skipped (-want +got):\n%s", diff)
			}
			s.wantFile("b", "ours", 0o644)
		})
	}
}

// snapNoFifo pictures the tree without opening what is no regular file.
func (s *site) snapNoFifo() snap {
	fifo := filepath.Join(s.repo, "c")
	if info, err := os.Lstat(fifo); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		aside := filepath.Join(s.dir, "aside")
		must(s.t, os.Rename(fifo, aside))
		defer func() { must(s.t, os.Rename(aside, fifo)) }()
	}
	return s.snap()
}

func TestRefusedPaths(t *testing.T) {
	s := newSite(t)
	for _, p := range []string{
		"", "/etc/passwd", "..", "../x", "a/../b", "a//b", "./a", "a/", ".", "a\x00b",
		".git", ".git/config", ".GIT/hooks/x", "sub/.Git/config", ".git./x", ".git /x", ".git. . /x", "git~1/config", "GIT~1",
		".git::$INDEX_ALLOCATION/config", ".git:x", `a\.git\config`, `.git\config`,
		".g\u200cit/config", "\ufeff.git", ".gi\u202et", ".git\u206f",
		strings.Repeat("n", 256), strings.Repeat("n/", 2048) + "n",
		".fumehood-0123456789abcdef",
	} {
		before := s.snap()
		_, err := Apply(context.Background(), s.options(), []Target{{Path: p, Want: s.store.file("x")}})
		if err == nil {
			t.Errorf("%q: applied, want it refused", p)
		}
		s.wantSame(before)
	}
	for _, p := range []string{".gitignore", ".github/x", "git", "agit", ".gitx", "a.git/x", "git~2", "..a", "a..", "...", "-n", `back\slash`, ".fumehood/policy.toml"} {
		if err := checkPath(p); err != nil {
			t.Errorf("%q: got %v, want it accepted", p, err)
		}
	}
}

func TestRefusedEntries(t *testing.T) {
	s := newSite(t)
	ok := s.store.file("x")
	for _, tt := range []struct {
		name string
		ts   []Target
	}{
		{"twice", []Target{{Path: "a", Want: ok}, {Path: "a", Want: ok}}},
		{"hash is a path", []Target{{Path: "a", Want: diffreview.Entry{Kind: diffreview.KindFile, Blob: "../../../../etc/passwd"}}}},
		{"upper-case hash", []Target{{Path: "a", Want: diffreview.Entry{Kind: diffreview.KindFile, Blob: diffreview.Blob(strings.ToUpper(string(ok.Blob)))}}}},
		{"kind", []Target{{Path: "a", Want: diffreview.Entry{Kind: "device"}}}},
		{"folder", []Target{{Path: "a", Want: diffreview.Entry{Kind: kindFolder}}}},
		{"empty link", []Target{{Path: "a", Want: link("")}}},
		{"NUL in a link", []Target{{Path: "a", Want: link("a\x00b")}}},
		{"long link", []Target{{Path: "a", Want: link(strings.Repeat("x", 4096))}}},
		{"not in the store", []Target{{Path: "a", Want: diffreview.Entry{Kind: diffreview.KindFile, Blob: diffreview.Blob(strings.Repeat("0", 64))}}}},
	} {
		if res, err := Apply(context.Background(), s.options(), tt.ts); err == nil {
			t.Errorf("%s: got %+v, want an error", tt.name, res)
		}
		s.wantSame(snap{})
	}
}

func TestStoreThatLiesIsRefused(t *testing.T) {
	s := newSite(t)
	s.write("a", "a", 0o644)
	before := s.snap()
	want := s.store.file("good")
	s.store[want.Blob] = []byte("evil")
	_, err := Apply(context.Background(), s.options(), []Target{{Path: "a", Base: s.store.file("a"), Want: want}, {Path: "b", Want: want}})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want an error about damaged content", err)
	}
	s.wantSame(before)
}

func TestAncestorTargets(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("d/x", "x", 0o644)
	s.write("d/e/y", "y", 0o644)
	must(t, os.Chmod(s.repo+"/d/e", 0o711))
	s.write("f", "f", 0o644)
	s.symlink("l", "d")
	before := s.snap()
	ts := []Target{
		{Path: "d", Want: f("a file now")},
		{Path: "d/x", Base: f("x")},
		{Path: "d/e/y", Base: f("y")},
		{Path: "f", Base: f("f")},
		{Path: "f/in/side", Want: f("side")},
		{Path: "l", Base: link("d")},
		{Path: "l/k", Want: f("k")},
	}
	if res := s.apply(ts...); len(res.Conflicts) > 0 {
		t.Fatalf("got conflicts %v, want none", res.Conflicts)
	}
	s.wantFile("d", "a file now", 0o644)
	s.wantFile("f/in/side", "side", 0o644)
	s.wantFile("l/k", "k", 0o644)
	s.undo()
	s.wantSame(before)

	// With a file in the folder that is not deleted, the folder can't go.
	s.write("d/mine", "mine", 0o644)
	before = s.snap()
	want := []PathWhy{{"d", "is a folder on the host"}}
	if diff := cmp.Diff(Result{Conflicts: want}, s.apply(ts...)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	s.wantSame(before)

	// A file below what is to be a file or a link makes no sense.
	for _, w := range []diffreview.Entry{f("q"), link("/tmp")} {
		res := s.apply(Target{Path: "q", Want: w}, Target{Path: "q/r", Want: f("r")})
		if len(res.Conflicts) != 1 || res.Conflicts[0].Path != "q/r" {
			t.Errorf("got %+v, want q/r in conflict", res)
		}
	}
	s.wantSame(before)
}

func TestWhatIsThereAlreadyIsLeftAlone(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("same", "want", 0o600)
	s.symlink("l", "t")
	before := s.snap()
	ts := []Target{{Path: "same", Base: f("base"), Want: f("want")}, {Path: "l", Want: link("t")}, {Path: "no", Base: f("x")}}
	res := s.apply(ts...)
	if diff := cmp.Diff(Result{Applied: []string{"l", "no", "same"}}, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	s.wantSame(before)
	if _, err := Undo(context.Background(), s.options()); !errors.Is(err, ErrNothing) {
		t.Errorf("undo of nothing: got %v, want ErrNothing", err)
	}
}

func TestApplyInStepsAndUndoInSteps(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "0", 0o644)
	snaps := []snap{s.snap()}
	for _, v := range []string{"1", "2", "3"} { // each against the same baseline, as more hunks are approved
		if res := s.apply(Target{Path: "a", Base: f("0"), Want: f(v)}); len(res.Conflicts) > 0 {
			t.Fatalf("got conflicts %v, want none", res.Conflicts)
		}
		snaps = append(snaps, s.snap())
	}
	for i := 2; i >= 0; i-- {
		s.undo()
		s.wantSame(snaps[i])
	}
	// An undone apply can be made again: the host is as the baseline has it.
	s.apply(Target{Path: "a", Base: f("0"), Want: f("3")})
	s.wantFile("a", "3", 0o644)
	s.undo()
	s.wantSame(snaps[0])
	h, err := History(s.journal)
	must(t, err)
	var got []string
	for _, e := range h {
		got = append(got, fmt.Sprint(e.ID, e.Kind, e.State, e.Undoes, e.UndoneBy))
	}
	want := []string{
		"000001applydone000006", "000002applydone000005", "000003applydone000004",
		"000004undodone000003", "000005undodone000002", "000006undodone000001",
		"000007applydone000008", "000008undodone000007",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if h[0].Who != "tester" || h[0].TTY != "/dev/pts/9" || h[0].Files[0].To.Blob != f("1").Blob {
		t.Errorf("history's first entry: got %+v", h[0])
	}
}

func TestLastWrittenElsewhereCountsAsUnchanged(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "by another session", 0o644)
	o := s.options()
	o.Last = map[string]diffreview.Entry{"a": f("by another session")}
	res, err := Apply(context.Background(), o, []Target{{Path: "a", Base: f("0"), Want: f("1")}})
	if err != nil || len(res.Conflicts) > 0 {
		t.Fatalf("got %+v, %v, want it applied", res, err)
	}
	s.wantFile("a", "1", 0o644)
}

func TestUndoRefusesWhenAFileChanged(t *testing.T) {
	s := newSite(t)
	f := s.store.file
	s.write("a", "0", 0o644)
	s.write("b", "0", 0o644)
	s.apply(Target{Path: "a", Base: f("0"), Want: f("1")}, Target{Path: "b", Base: f("0"), Want: f("1")}, Target{Path: "c", Want: f("1")})
	s.write("b", "mine", 0o644)
	must(t, os.Remove(s.repo+"/c"))
	before := s.snap()
	want := []PathWhy{{"b", "the host's file changed after it was applied"}}
	// The deleted c is already as undo wants it.
	if diff := cmp.Diff(Result{Conflicts: want}, s.undo()); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	s.wantSame(before)
	o := s.options()
	o.SkipConflicts = true
	if _, err := Undo(context.Background(), o); err == nil {
		t.Error("undo with SkipConflicts: got no error")
	}
}

func TestUndoKeepsAChmodMadeSince(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.prog("1")})
	s.wantFile("a", "1", 0o755)
	must(t, os.Chmod(s.repo+"/a", 0o700))
	s.undo()
	s.wantFile("a", "0", 0o600)
}

func TestDryRunWritesNothing(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	before := snapTree(t, s.dir)
	o := s.options()
	o.DryRun = true
	res, err := Apply(context.Background(), o, []Target{{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")}, {Path: "n/b", Want: s.store.file("1")}})
	must(t, err)
	if diff := cmp.Diff(Result{Applied: []string{"a", "n/b"}, Written: []string{"a", "n/b"}}, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, snapTree(t, s.dir)); diff != "" {
		t.Errorf("a dry run changed something (-want +got):\n%s", diff)
	}
}

func TestReplacedRepositoryIsRefused(t *testing.T) {
	s := newSite(t)
	must(t, os.Mkdir(s.repo+"/.git", 0o755))
	s.write("a", "0", 0o644)
	o := s.options()
	ts := []Target{{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")}}
	var moved *MovedError
	must(t, os.Rename(s.repo+"/.git", s.repo+"/git-before"))
	must(t, os.Mkdir(s.repo+"/.git", 0o755))
	if _, err := Apply(context.Background(), o, ts); !errors.As(err, &moved) {
		t.Errorf("git folder replaced: got %v, want a MovedError", err)
	}
	must(t, os.Remove(s.repo+"/.git"))
	if _, err := Apply(context.Background(), o, ts); !errors.As(err, &moved) {
		t.Errorf("git folder gone: got %v, want a MovedError", err)
	}
	must(t, os.Rename(s.repo+"/git-before", s.repo+"/.git"))
	must(t, os.Rename(s.repo, s.repo+"-before"))
	if _, err := Apply(context.Background(), o, ts); !errors.As(err, &moved) {
		t.Errorf("root gone: got %v, want a MovedError", err)
	}
	must(t, os.Mkdir(s.repo, 0o755))
	s.write("a", "0", 0o644)
	if _, err := Apply(context.Background(), o, ts); !errors.As(err, &moved) {
		t.Errorf("root replaced: got %v, want a MovedError", err)
	}
	s.wantFile("a", "0", 0o644)
	must(t, os.RemoveAll(s.repo))
	must(t, os.Rename(s.repo+"-before", s.repo))
	if _, err := Apply(context.Background(), o, ts); err != nil {
		t.Errorf("the right one back: got %v, want it applied", err)
	}
}

func TestReplacedPlainFolderIsRefused(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	o := s.options()
	must(t, os.Rename(s.repo, s.repo+"-before"))
	must(t, os.Mkdir(s.repo, 0o755))
	s.write("a", "0", 0o644)
	var moved *MovedError
	if _, err := Apply(context.Background(), o, []Target{{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")}}); !errors.As(err, &moved) {
		t.Errorf("got %v, want a MovedError", err)
	}
	s.wantFile("a", "0", 0o644)
}

func TestGitFolderUnderAnotherNameIsRefused(t *testing.T) {
	s := newSite(t)
	must(t, os.Mkdir(s.repo+"/gd", 0o755))
	var st unix.Stat_t
	must(t, unix.Stat(s.repo+"/gd", &st))
	o := s.options()
	o.Root.GitDir, o.Root.GitDev, o.Root.GitIno = s.repo+"/gd", st.Dev, st.Ino
	for _, p := range []string{"gd/hooks/x", "gd/config", "gd"} {
		res, err := Apply(context.Background(), o, []Target{{Path: p, Want: s.store.file("x")}})
		if err == nil && len(res.Conflicts) == 0 {
			t.Errorf("%s: got %+v, want it refused", p, res)
		}
	}
	s.wantSame(snap{"gd": "dir mode=0755"})
}

func TestHardLinkIsBrokenNotFollowed(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	other := filepath.Join(s.dir, "other")
	must(t, os.Link(s.repo+"/a", other))
	s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")})
	s.wantFile("a", "1", 0o644)
	if got, err := os.ReadFile(other); err != nil || string(got) != "0" {
		t.Errorf("the other name: got %q, %v, want it untouched", got, err)
	}
}

func TestSetuidIsNeverWritten(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o755)
	must(t, os.Chmod(s.repo+"/a", 0o755|os.ModeSetuid|os.ModeSetgid))
	s.apply(Target{Path: "a", Base: s.store.prog("0"), Want: s.store.prog("1")})
	s.wantFile("a", "1", 0o755)
}

func TestAttributesOfTheUserAreKept(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	if err := unix.Setxattr(s.repo+"/a", "user.note", []byte("mine"), 0); err != nil {
		t.Skipf("got %v from setxattr, want a file system with user attributes", err)
	}
	s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")})
	buf := make([]byte, 64)
	n, err := unix.Getxattr(s.repo+"/a", "user.note", buf)
	if err != nil || string(buf[:n]) != "mine" {
		t.Errorf("got %q, %v, want the attribute kept", buf[:max(n, 0)], err)
	}
}

func TestJournalInsideTheRepositoryIsRefused(t *testing.T) {
	s := newSite(t)
	s.journal = filepath.Join(s.repo, "sub", "journal")
	if _, err := Apply(context.Background(), s.options(), nil); err == nil {
		t.Error("got no error, want a refusal")
	}
	s.wantSame(snap{})
}

func TestTwoAtOnceAreRefused(t *testing.T) {
	s := newSite(t)
	s.write("a", "0", 0o644)
	ts := []Target{{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")}}
	o := s.options()
	o2 := s.options()
	o2.Journal = s.journal + "2" // another session on the same repository
	var same, other error
	o.Fault = func(step string) {
		if step == "commit" {
			_, same = Apply(context.Background(), s.options(), ts)
			_, other = Apply(context.Background(), o2, ts)
		}
	}
	if _, err := Apply(context.Background(), o, ts); err != nil {
		t.Fatal(err)
	}
	var busy *BusyError
	if !errors.As(same, &busy) || !errors.As(other, &busy) {
		t.Errorf("got %v and %v, want two BusyErrors", same, other)
	}
}

func TestCancelPutsEverythingBack(t *testing.T) {
	for n := 0; ; n++ {
		s := crashSite(t)
		before := s.snap()
		ctx, cancel := context.WithCancel(context.Background())
		o := s.options()
		i, hit := 0, ""
		o.Fault = func(step string) {
			if i == n {
				hit = step
				cancel()
			}
			i++
		}
		_, err := Apply(ctx, o, crashTargets(s.store))
		cancel()
		if hit == "" {
			must(t, err)
			return
		}
		if err == nil { // too late to matter: all moves were made
			after := s.snap()
			if _, old := after["del/only"]; old {
				t.Errorf("cancelled at %q: no error and the old tree", hit)
			}
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %q: got %v", hit, err)
		}
		s.wantSame(before)
	}
}
