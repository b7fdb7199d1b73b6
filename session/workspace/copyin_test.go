package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/session/baseline"
)

func TestCopyInBringsCleanRepository(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a.txt", "one\n")
	b.write("d/run.sh", "#!/bin/sh\n")
	b.ok(os.Chmod(filepath.Join(b.repo, "d/run.sh"), 0o755))
	b.ok(os.Symlink("../a.txt", filepath.Join(b.repo, "d/link")))
	b.write(".gitignore", "*.log\nbuild/\n")
	b.commit()
	b.write("x.log", "ignored")
	b.write("build/out", "ignored")
	b.write("new.txt", "untracked\n")
	b.write("a.txt", "one, dirty\n")
	before := digest(t, b.repo)
	b.copyIn()
	if after := digest(t, b.repo); after != before {
		t.Errorf("the host's repository changed:\nbefore:\n%s\nafter:\n%s", before, after)
	}
	if got, want := b.inside("status", "--porcelain", "-uall"), b.host("status", "--porcelain", "-uall"); got != want {
		t.Errorf("status inside: got %q, want the host's %q", got, want)
	}
	b.inside("fsck", "--no-dangling")
	b.wantLeftOut(b.sel.LeftOut, "x.log", "ignored")
	b.wantLeftOut(b.sel.LeftOut, "build/", "ignored")
	for _, p := range []string{"x.log", "build"} {
		if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, p)); err == nil {
			t.Errorf("%s is inside, want it left out", p)
		}
	}
	b.wantChanged()

	// The agent works, and commits.
	b.writeIn(b.dirs.Workspace, "a.txt", "two\n")
	b.writeIn(b.dirs.Workspace, "added/deep/f", "new\n")
	b.writeIn(b.dirs.Workspace, "y.log", "ignored")
	b.ok(os.Remove(filepath.Join(b.dirs.Workspace, "new.txt")))
	b.ok(os.Chmod(filepath.Join(b.dirs.Workspace, "d/run.sh"), 0o644))
	b.inside("add", "-A")
	b.inside("commit", "-q", "-m", "agent")
	b.inside("log", "-p")
	b.inside("blame", "a.txt")
	b.inside("stash", "list")
	s := b.wantChanged(
		`"a.txt" 100644>100644`,
		`"added/deep/f" ->100644`,
		`"d/run.sh" 100755>100644`,
		`"new.txt" 100644>-`,
	)
	b.wantOld(s, "a.txt", "one, dirty\n")
	b.wantOld(s, "new.txt", "untracked\n")
	if s.Ignored.Count != 1 || s.Ignored.Paths[0] != "y.log" {
		t.Errorf("ignored: got %+v, want y.log", s.Ignored)
	}
	s = b.snapshot(baseline.Options{Ignored: func(p string) bool { return p == "y.log" }})
	if !strings.Contains(changed(s), `"y.log" ->100644`) {
		t.Errorf("asked for y.log: got %s", changed(s))
	}
}

// The baseline of an untouched file is the host's git object; it must be
// readable when the host's repository is gone.
func TestBaselineOutlivesTheRepository(t *testing.T) {
	b := newBench(t)
	b.init()
	for _, p := range []string{"a", "b/c", "b/d"} {
		b.write(p, strings.Repeat(p+"\n", 500))
	}
	b.commit()
	b.write("a", strings.Repeat("a\n", 400)+"second\n") // so that git makes a delta
	b.commit()
	b.host("gc", "-q")
	b.copyIn()
	m, err := baseline.Load(b.dirs)
	b.ok(err)
	for _, e := range m.Entries {
		if e.Ref.Kind != baseline.RefSHA1 {
			t.Errorf("%q: got reference %d, want a git object", e.Path, e.Ref.Kind)
		}
	}
	want, err := os.ReadFile(filepath.Join(b.repo, "a"))
	b.ok(err)
	b.ok(os.RemoveAll(b.repo))
	b.ok(os.Remove(filepath.Join(b.dirs.Workspace, "a")))
	b.writeIn(b.dirs.Workspace, "b/c", "x")
	s := b.wantChanged(`"a" 100644>-`, `"b/c" 100644>100644`)
	b.wantOld(s, "a", string(want))
	b.wantOld(s, "b/c", strings.Repeat("b/c\n", 500))
}
