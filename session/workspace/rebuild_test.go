package workspace

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/session/baseline"
)

// lay lays the bench's baseline out again, changed, and gives a bench that looks
// at that workspace.
func (b *bench) lay(changed ...diffreview.Outcome) (*bench, *Laid) {
	b.t.Helper()
	other, laid, err := b.tryLay(changed...)
	b.ok(err)
	return other, laid
}

func (b *bench) tryLay(changed ...diffreview.Outcome) (*bench, *Laid, error) {
	b.t.Helper()
	m, err := baseline.Load(b.dirs)
	b.ok(err)
	other := *b
	other.dirs = baseline.Dirs{Workspace: b.dirs.Workspace + "-again", Store: b.dirs.Store + "-again"}
	laid, err := Lay(context.Background(), Source{Of: b.dirs, Base: m, Repo: b.repo, Git: true, Changed: changed}, Target{Dirs: other.dirs, Own: b.own})
	return &other, laid, err
}

// What a try runs on is the baseline to the byte and none of what was done in
// the session, its .git included.
func TestLayMakesTheBaselineAgain(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a.txt", "one\n")
	b.write("d/run.sh", "#!/bin/sh\n")
	b.ok(os.Chmod(filepath.Join(b.repo, "d/run.sh"), 0o755))
	b.ok(os.Symlink("../a.txt", filepath.Join(b.repo, "d/link")))
	b.write(".gitignore", "node_modules/\n")
	b.write("package.json", "{}\n")
	b.commit()
	b.write("a.txt", "one, dirty\n")
	b.write("new.txt", "untracked\n")
	b.write("node_modules/x/index.js", "x\n")
	b.write("node_modules/y/index.js", "y\n")
	b.opts.Include = []string{"auto"}
	b.copyIn()
	want := strings.ReplaceAll(digest(t, b.dirs.Workspace), b.dirs.Workspace, "")
	status, log := b.inside("status", "--porcelain", "-uall"), b.inside("log", "--oneline")

	ws := b.dirs.Workspace
	b.writeIn(ws, "a.txt", "agent\n")
	b.writeIn(ws, ".git/config", "[core]\n\tfsmonitor = /bin/false\n")
	b.writeIn(ws, ".git/hooks/pre-commit", "#!/bin/sh\n")
	b.writeIn(ws, "node_modules/x/index.js", "agent\n")
	b.ok(os.RemoveAll(filepath.Join(ws, "d")))
	b.write("node_modules/y/index.js", "host\n") // and the workspace's is as it was

	got, laid := b.lay()
	if len(laid.LeftOut) != 0 {
		t.Errorf("got %v left out, want nothing", laid.LeftOut)
	}
	if status2, log2 := got.inside("status", "--porcelain", "-uall"), got.inside("log", "--oneline"); status2 != status || log2 != log {
		t.Errorf("got status %q and log %q, want %q and %q", status2, log2, status, log)
	}
	got.inside("fsck", "--no-dangling")
	// git refreshed the index; a folder's time is no part of a baseline.
	drop := func(s string) string {
		var out []string
		for _, l := range strings.Split(s, "\n") {
			if !strings.Contains(l, ".git/") && !strings.Contains(l, `" d`) {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	if d := strings.ReplaceAll(digest(t, got.dirs.Workspace), got.dirs.Workspace, ""); drop(d) != drop(want) {
		t.Errorf("got\n%s\nwant\n%s", drop(d), drop(want))
	}
	if _, err := os.Lstat(filepath.Join(got.dirs.Workspace, ".git/hooks")); err == nil {
		t.Error("got the session's hooks, want none")
	}
	if cfg := got.gitIn(got.dirs.Workspace, "config", "--local", "--list"); strings.Contains(cfg, "fsmonitor") {
		t.Errorf("got the session's config %q, want the one at copy-in", cfg)
	}

	// What is nowhere any more is said.
	b.write("node_modules/x/index.js", "host\n")
	b.ok(exec.Command("rm", "-rf", got.dirs.Workspace).Run())
	_, laid = b.lay()
	b.wantLeftOut(laid.LeftOut, "node_modules/x/index.js", "its content is not kept")
}

func TestLayPutsChangesOverTheBaseline(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("edit", "1\n")
	b.write("gone", "2\n")
	b.write("from", "3\n")
	b.write("turned/x", "4\n")
	b.commit()
	b.copyIn()
	blobs := baseline.NewBlobs(b.dirs.BlobsDir())
	kept, err := blobs.Put([]byte("three\n"))
	b.ok(err)
	file := func(exec bool, blob diffreview.Blob) diffreview.Entry {
		return diffreview.Entry{Kind: diffreview.KindFile, Exec: exec, Blob: blob}
	}
	got, _ := b.lay(
		diffreview.Outcome{Path: "edit", Want: file(true, ""), Content: []byte("one\n")},
		diffreview.Outcome{Path: "empty", Want: file(false, ""), Content: []byte{}},
		diffreview.Outcome{Path: "gone"},
		diffreview.Outcome{Path: "from"},
		diffreview.Outcome{Path: "to/here", Want: file(false, kept)},
		diffreview.Outcome{Path: "turned/x"},
		diffreview.Outcome{Path: "turned", Want: diffreview.Entry{Kind: diffreview.KindSymlink, Target: "/etc"}},
	)
	if s, want := got.inside("status", "--porcelain", "-uall"), " M edit\n D from\n D gone\n D turned/x\n?? empty\n?? to/here\n?? turned\n"; s != want {
		t.Errorf("got %q, want %q", s, want)
	}
	if fi, err := os.Stat(filepath.Join(got.dirs.Workspace, "edit")); err != nil || fi.Mode().Perm()&0o111 == 0 {
		t.Errorf("got %v (%v), want it executable", fi.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(got.dirs.Workspace, "turned")); err != nil || to != "/etc" {
		t.Errorf("got a link to %q (%v), want /etc", to, err)
	}
	for path, want := range map[string]string{"edit": "one\n", "to/here": "three\n", "empty": ""} {
		if b, err := os.ReadFile(filepath.Join(got.dirs.Workspace, path)); err != nil || string(b) != want {
			t.Errorf("%s: got %q (%v), want %q", path, b, err, want)
		}
	}
}

func TestLayRefusesAFileBelowAFile(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a", "1\n")
	b.commit()
	b.copyIn()
	_, _, err := b.tryLay(diffreview.Outcome{Path: "a/b", Want: diffreview.Entry{Kind: diffreview.KindFile}, Content: []byte("x")})
	var le *LayoutError
	if !errors.As(err, &le) || le.Path != "a/b" || le.Above != "a" {
		t.Errorf("got %v, want a/b refused below a", err)
	}
	if _, err := os.Lstat(b.dirs.Workspace + "-again"); err == nil {
		t.Error("got a workspace, want none")
	}
}
