package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fumehood/diffreview"
	"fumehood/session/baseline"
)

// bench is a repository on a host of its own: home, configuration, state.
type bench struct {
	t    *testing.T
	home string
	repo string
	dirs baseline.Dirs
	opts Options
	own  *Owner

	sel    *Selection
	copied *Copied
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, want it on PATH")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, home: filepath.Join(top, "home"), repo: filepath.Join(top, "repo")}
	for _, d := range []string{b.home, b.repo, filepath.Join(top, "state")} {
		b.ok(os.Mkdir(d, 0o755))
	}
	b.dirs = baseline.Dirs{Workspace: filepath.Join(top, "state", "workspace"), Store: filepath.Join(top, "state", "store")}
	b.ok(os.Mkdir(b.dirs.Store, 0o700))
	t.Setenv("HOME", b.home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(b.home, ".config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Cleanup(func() {
		// What a test leaves behind may have folders without permission.
		if err := Remove(top); err != nil {
			t.Errorf("remove: %v", err)
		}
		b.ok(os.MkdirAll(top, 0o755))
	})
	return b
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// host runs git on the host's repository as the user would.
func (b *bench) host(args ...string) string { b.t.Helper(); return b.gitIn(b.repo, args...) }

// inside runs git in the workspace as the agent would.
func (b *bench) inside(args ...string) string {
	b.t.Helper()
	return b.gitIn(b.dirs.Workspace, args...)
}

func (b *bench) gitIn(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2001-01-01T00:00:00Z", "GIT_TERMINAL_PROMPT=0")
	if b.own != nil && dir == b.dirs.Workspace {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.own.UID), Gid: uint32(b.own.GID)}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.t.Fatalf("git %q in %s: %v: %s%s", args, dir, err, out.String(), errs.String())
	}
	return out.String()
}

func (b *bench) init(args ...string) {
	b.t.Helper()
	b.host(append([]string{"init", "-q", "-b", "main"}, args...)...)
	b.host("config", "user.name", "A Name")
	b.host("config", "user.email", "name@host.test")
}

func (b *bench) write(rel, data string) { b.t.Helper(); b.writeIn(b.repo, rel, data) }

func (b *bench) writeIn(root, rel, data string) {
	b.t.Helper()
	p := filepath.Join(root, rel)
	b.ok(os.MkdirAll(filepath.Dir(p), 0o755))
	b.ok(os.WriteFile(p, []byte(data), 0o644))
}

func (b *bench) commit() {
	b.t.Helper()
	b.host("add", "-A")
	b.host("commit", "-q", "-m", "x")
	// The index must be younger than the files, as it is after any pause.
	old := []syscall.Timespec{{Sec: 1_000_000_000}, {Sec: 1_000_000_000}}
	for _, p := range strings.Split(b.host("ls-files", "-z"), "\x00") {
		if fi, err := os.Lstat(filepath.Join(b.repo, p)); p != "" && err == nil && fi.Mode().IsRegular() {
			b.ok(syscall.UtimesNano(filepath.Join(b.repo, p), old))
		}
	}
	b.host("update-index", "-q", "--refresh")
}

// copyIn runs the whole of copy-in.
func (b *bench) copyIn() *Repo {
	b.t.Helper()
	r, err := b.tryCopyIn()
	b.ok(err)
	return r
}

func (b *bench) tryCopyIn() (*Repo, error) {
	ctx := context.Background()
	r, err := Inspect(ctx, b.repo, b.home)
	if err != nil {
		return nil, err
	}
	if b.sel, err = Choose(ctx, r, b.opts); err != nil {
		return nil, err
	}
	b.copied, err = CopyIn(ctx, r, b.sel, Target{Dirs: b.dirs, Own: b.own})
	return r, err
}

func (b *bench) snapshot(o baseline.Options) *baseline.Snapshot {
	b.t.Helper()
	m, err := baseline.Load(b.dirs)
	b.ok(err)
	s, err := baseline.Take(context.Background(), b.dirs, m, o)
	b.ok(err)
	again, err := baseline.Open(b.dirs)
	b.ok(err)
	if got, want := fmt.Sprint(again.Changes(), again.LeftOut, again.Ignored, again.NewlyIgnored), fmt.Sprint(s.Changes(), s.LeftOut, s.Ignored, s.NewlyIgnored); got != want {
		b.t.Errorf("reopened snapshot: got %s, want %s", got, want)
	}
	return s
}

// changed describes a snapshot in one line per change.
func changed(s *baseline.Snapshot) string {
	var out []string
	for _, c := range s.Changes() {
		out = append(out, fmt.Sprintf("%q %s>%s", c.Path, side(c.Old), side(c.New)))
	}
	return strings.Join(out, "\n")
}

func side(e diffreview.Entry) string {
	if e.Kind == diffreview.KindAbsent {
		return "-"
	}
	return e.Mode()
}

func (b *bench) wantChanged(want ...string) *baseline.Snapshot {
	b.t.Helper()
	s := b.snapshot(baseline.Options{})
	if got := changed(s); got != strings.Join(want, "\n") {
		b.t.Errorf("changes:\ngot:\n%s\nwant:\n%s\nleft out: %v", got, strings.Join(want, "\n"), s.LeftOut)
	}
	for _, c := range s.Changes() {
		for _, e := range []diffreview.Entry{c.Old, c.New} {
			if e.Kind != diffreview.KindFile {
				continue
			}
			data, err := s.Content(e.Blob, 1<<30)
			if err != nil || int64(len(data)) != e.Size {
				b.t.Errorf("content of %q: %v, got %d bytes, want %d", c.Path, err, len(data), e.Size)
			}
		}
	}
	return s
}

func (b *bench) wantOld(s *baseline.Snapshot, path, want string) {
	b.t.Helper()
	for _, c := range s.Changes() {
		if c.Path == path {
			data, err := s.Content(c.Old.Blob, 1<<20)
			if err != nil || string(data) != want {
				b.t.Errorf("old content of %q: got %q, %v, want %q", path, data, err, want)
			}
			return
		}
	}
	b.t.Errorf("%q is not among the changes", path)
}

func leftOut(list []diffreview.LeftOut, path string) string {
	for _, l := range list {
		if l.Path == path {
			return l.Reason
		}
	}
	return ""
}

func (b *bench) wantLeftOut(list []diffreview.LeftOut, path, reason string) {
	b.t.Helper()
	if got := leftOut(list, path); !strings.Contains(got, reason) || got == "" {
		b.t.Errorf("left out %q: got %q, want %q; all: %v", path, got, reason, list)
	}
}

func (b *bench) wantCleanInside() {
	b.t.Helper()
	if got := b.inside("status", "--porcelain", "-uall"); got != "" {
		b.t.Errorf("git status inside: got %q, want nothing", got)
	}
	b.inside("fsck", "--no-dangling")
}

// digest is a checksum of everything below a folder: names, kinds, modes,
// times of change, content; .git included.
func digest(t *testing.T, root string) string {
	t.Helper()
	var rows []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		row := fmt.Sprintf("%q %v %d", path, fi.Mode(), fi.ModTime().UnixNano())
		switch {
		case fi.Mode().IsRegular():
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(raw)
			row += hex.EncodeToString(sum[:])
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			row += to
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return strings.Join(rows, "\n")
}

// exitOf runs the host's git and gives its error, for what is meant to fail.
func exitOf(dir string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	return cmd.Run()
}
