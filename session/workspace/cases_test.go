package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/session/baseline"
)

func TestRefusesWhatIsNoProject(t *testing.T) {
	b := newBench(t)
	b.ok(os.Mkdir(filepath.Join(b.home, "p"), 0o755))
	link := filepath.Join(filepath.Dir(b.home), "tohome")
	b.ok(os.Symlink(b.home, link))
	for _, row := range []struct{ dir, why string }{
		{"/", "system folder"},
		{"/etc", "system folder"},
		{"/usr/bin", "system folder"},
		{"/proc/self", "system folder"},
		{"/tmp", "system folder"},
		{b.home, "home folder"},
		{filepath.Dir(b.home), "holds the home folder"},
		{link, "home folder"},
	} {
		_, err := Inspect(context.Background(), row.dir, b.home)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, row.why) {
			t.Errorf("%q: got %v, want a refusal: %s", row.dir, err, row.why)
		}
	}
	if _, err := Inspect(context.Background(), filepath.Join(b.home, "p"), b.home); err != nil {
		t.Errorf("a project in the home: got %v, want it taken", err)
	}
	// A repository that is the home itself, met from a folder in it.
	b.gitIn(b.home, "init", "-q")
	_, err := Inspect(context.Background(), filepath.Join(b.home, "p"), b.home)
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Why, "repository around it") {
		t.Errorf("home as a repository: got %v, want a refusal", err)
	}
	b.gitIn(b.repo, "init", "-q", "--bare", "bare")
	for dir, why := range map[string]string{"bare": "bare repository", "bare/refs": "bare repository"} {
		_, err := Inspect(context.Background(), filepath.Join(b.repo, dir), b.home)
		if !errors.As(err, &refused) || !strings.Contains(refused.Why, why) {
			t.Errorf("%s: got %v, want a refusal: %s", dir, err, why)
		}
	}
	b.init()
	_, err = Inspect(context.Background(), filepath.Join(b.repo, ".git", "refs"), b.home)
	if !errors.As(err, &refused) || !strings.Contains(refused.Why, ".git") {
		t.Errorf("in .git: got %v, want a refusal", err)
	}
}

// C01: a linked work tree becomes a repository of its own.
func TestLinkedWorktree(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a", "1\n")
	b.commit()
	b.host("branch", "other")
	main := b.repo
	wt := filepath.Join(filepath.Dir(b.repo), "wt")
	b.host("worktree", "add", "-q", wt, "-b", "feat")
	b.repo = wt
	b.write("b", "2\n")
	b.commit()
	before := digest(t, main)
	r := b.copyIn()
	if !r.Linked || r.Branch != "refs/heads/feat" {
		t.Errorf("got linked %v, branch %q, want a linked work tree on feat", r.Linked, r.Branch)
	}
	b.wantCleanInside()
	b.writeIn(b.dirs.Workspace, "a", "changed\n")
	b.inside("add", ".")
	b.inside("commit", "-q", "-m", "x")
	b.inside("stash", "list")
	b.inside("blame", "a")
	if got := strings.TrimSpace(b.inside("branch", "--show-current")); got != "feat" {
		t.Errorf("branch inside: got %q, want feat", got)
	}
	if got := strings.Fields(b.inside("for-each-ref", "--format=%(refname)")); strings.Join(got, " ") != "refs/heads/feat refs/heads/main refs/heads/other" {
		t.Errorf("refs inside: got %q", got)
	}
	if digest(t, main) != before {
		t.Error("the main repository changed")
	}
	b.wantChanged(`"a" 100644>100644`)
}

// C04: a submodule's files go in and come back as plain files.
func TestSubmodule(t *testing.T) {
	b := newBench(t)
	b.init()
	lib := filepath.Join(filepath.Dir(b.repo), "lib")
	b.ok(os.Mkdir(lib, 0o755))
	b.gitIn(lib, "init", "-q", "-b", "main")
	b.writeIn(lib, "a.c", "int a;\n")
	b.writeIn(lib, ".gitignore", "*.o\n")
	b.gitIn(lib, "add", ".")
	b.gitIn(lib, "-c", "user.name=a", "-c", "user.email=a@host.test", "commit", "-q", "-m", "x")
	b.host("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	b.write("main.c", "x\n")
	b.commit()
	b.writeIn(b.repo, "lib/a.o", "object")
	before := digest(t, b.repo)
	b.copyIn()
	if digest(t, b.repo) != before {
		t.Error("the host's repository changed")
	}
	if len(b.sel.Repos) != 1 || b.sel.Repos[0] != "lib" || !strings.Contains(strings.Join(b.sel.Notes, "\n"), "lib") {
		t.Errorf("got repositories %q, notes %q, want lib named", b.sel.Repos, b.sel.Notes)
	}
	if got := b.inside("status", "--porcelain", "-uall"); got != "" {
		t.Errorf("status inside: got %q, want nothing", got)
	}
	b.writeIn(b.dirs.Workspace, "lib/a.c", "int b;\n")
	b.writeIn(b.dirs.Workspace, "lib/b.o", "ignored by the submodule's own rules")
	s := b.wantChanged(`"lib/a.c" 100644>100644`)
	if s.Ignored.Count != 1 {
		t.Errorf("ignored: got %+v, want lib/b.o", s.Ignored)
	}
}

// C06, D04: no filter runs, and bytes count, not what git calls clean.
func TestFiltersNeverRun(t *testing.T) {
	b := newBench(t)
	b.init()
	marker := filepath.Join(b.home, "PWNED")
	b.write(".gitattributes", "*.bin filter=evil -text\n*.txt text eol=crlf\n")
	b.write("big.bin", "pointer\n")
	b.write("a.txt", "one\r\ntwo\r\n")
	b.commit()
	if got := b.host("cat-file", "blob", ":a.txt"); got != "one\ntwo\n" {
		t.Fatalf("blob: got %q, want line ends converted", got)
	}
	b.host("config", "filter.evil.clean", "touch "+marker)
	b.host("config", "filter.evil.smudge", "touch "+marker)
	b.host("config", "filter.evil.required", "true")
	b.host("config", "core.fsmonitor", "touch "+marker)
	b.host("config", "core.hooksPath", "hk")
	b.write("hk/post-index-change", "#!/bin/sh\ntouch "+marker+"\n")
	b.ok(os.Chmod(filepath.Join(b.repo, "hk/post-index-change"), 0o755))
	// Stat no longer matches: a careless git would now run the filter.
	b.ok(os.Chtimes(filepath.Join(b.repo, "big.bin"), time.Unix(1, 0), time.Unix(2, 0)))
	b.copyIn()
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a program of the repository ran")
	}
	for _, p := range []string{"big.bin", "a.txt"} {
		got, err := os.ReadFile(filepath.Join(b.dirs.Workspace, p))
		b.ok(err)
		want, err := os.ReadFile(filepath.Join(b.repo, p))
		b.ok(err)
		if string(got) != string(want) {
			t.Errorf("%s: got %q, want %q", p, got, want)
		}
	}
	conf, err := os.ReadFile(filepath.Join(b.dirs.Workspace, ".git/config"))
	b.ok(err)
	for _, bad := range []string{"filter", "fsmonitor", "hookspath", "hooksPath", marker} {
		if strings.Contains(strings.ToLower(string(conf)), strings.ToLower(bad)) {
			t.Errorf("config inside names %q:\n%s", bad, conf)
		}
	}
	b.wantChanged()
	b.writeIn(b.dirs.Workspace, "a.txt", "one\ntwo\n")
	s := b.wantChanged(`"a.txt" 100644>100644`)
	b.wantOld(s, "a.txt", "one\r\ntwo\r\n")
}

// D04: core.autocrlf, no attributes.
func TestAutocrlfShowsNoChange(t *testing.T) {
	b := newBench(t)
	b.init()
	b.host("config", "core.autocrlf", "true")
	b.write("a.txt", "one\r\ntwo\r\n")
	b.commit()
	b.copyIn()
	b.wantCleanInside()
	b.wantChanged()
	b.writeIn(b.dirs.Workspace, "a.txt", "one\r\ntwo\r\nthree\r\n")
	s := b.wantChanged(`"a.txt" 100644>100644`)
	b.wantOld(s, "a.txt", "one\r\ntwo\r\n")
}

// C08
func TestSparseCheckout(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("src/a", "1\n")
	b.write("docs/b", "2\n")
	b.commit()
	b.host("sparse-checkout", "set", "--cone", "src")
	r := b.copyIn()
	if !r.Sparse {
		t.Error("got not sparse, want sparse")
	}
	b.wantCleanInside()
	if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, "docs")); err == nil {
		t.Error("docs came to be, want it left out as on the host")
	}
	b.writeIn(b.dirs.Workspace, "src/a", "x\n")
	b.wantChanged(`"src/a" 100644>100644`)
}

// C10
func TestUnbornHead(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a", "a\n")
	b.write("staged", "s\n")
	b.host("add", "staged")
	r := b.copyIn()
	if !r.Unborn || r.Head != "" {
		t.Errorf("got %+v, want an unborn HEAD", r)
	}
	if got, want := b.inside("status", "--porcelain"), b.host("status", "--porcelain"); got != want {
		t.Errorf("status inside: got %q, want %q", got, want)
	}
	b.writeIn(b.dirs.Workspace, "a", "b\n")
	b.writeIn(b.dirs.Workspace, "b", "b\n")
	b.inside("add", "-A")
	b.inside("commit", "-q", "-m", "first")
	s := b.wantChanged(`"a" 100644>100644`, `"b" ->100644`)
	b.wantOld(s, "a", "a\n")
}

func TestDetachedAndShallow(t *testing.T) {
	b := newBench(t)
	b.init()
	for i := range 4 {
		b.write("a", fmt.Sprint(i))
		b.commit()
	}
	b.host("checkout", "-q", "HEAD~1")
	origin := b.repo
	b.repo = filepath.Join(filepath.Dir(origin), "clone")
	b.gitIn(filepath.Dir(origin), "clone", "-q", "--depth", "2", "--branch", "main", "file://"+origin, "clone")
	b.host("checkout", "-q", "--detach")
	r := b.copyIn()
	if !r.Detached || !r.Shallow {
		t.Errorf("got detached %v, shallow %v, want both", r.Detached, r.Shallow)
	}
	b.wantCleanInside()
	if got := strings.Count(b.inside("log", "--oneline"), "\n"); got != 2 {
		t.Errorf("log inside: got %d commits, want 2", got)
	}
}

func TestSHA256Repository(t *testing.T) {
	b := newBench(t)
	b.init("--object-format=sha256")
	b.write("a", strings.Repeat("a\n", 100))
	b.write("d/b", "b\n")
	b.commit()
	r := b.copyIn()
	if r.Format != "sha256" {
		t.Errorf("got %q, want sha256", r.Format)
	}
	b.wantCleanInside()
	b.writeIn(b.dirs.Workspace, "a", "x")
	s := b.wantChanged(`"a" 100644>100644`)
	b.wantOld(s, "a", strings.Repeat("a\n", 100))
}

// C19, C21, C22, C23
func TestOddFiles(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("tracked-secret", "x")
	b.write("ro/ro/ro/f", "deep\n")
	for _, l := range [][2]string{{"/etc/passwd", "pw"}, {b.home, "home"}, {"nope", "dangling"}, {"loopb", "loopa"}, {"loopa", "loopb"}, {"..", "up"}} {
		b.ok(os.Symlink(l[0], filepath.Join(b.repo, l[1])))
	}
	b.commit()
	b.ok(os.Mkdir(filepath.Join(b.repo, "run"), 0o755))
	b.write("run/plain", "x")
	b.ok(unix.Mkfifo(filepath.Join(b.repo, "run/pipe"), 0o600))
	b.write("private/f", "x")
	b.write("secret", "x")
	b.ok(os.Chmod(filepath.Join(b.repo, "ro/ro/ro/f"), 0o444))
	for _, d := range []string{"ro/ro/ro", "ro/ro", "ro"} {
		b.ok(os.Chmod(filepath.Join(b.repo, d), 0o555))
	}
	user := os.Geteuid() != 0
	if user {
		b.ok(os.Chmod(filepath.Join(b.repo, "secret"), 0))
		b.ok(os.Chmod(filepath.Join(b.repo, "tracked-secret"), 0))
		b.ok(os.Chmod(filepath.Join(b.repo, "private"), 0))
	}
	b.copyIn()
	b.wantLeftOut(b.sel.LeftOut, "run/pipe", "fifo")
	if user {
		b.wantLeftOut(b.sel.LeftOut, "secret", "permission")
		b.wantLeftOut(b.sel.LeftOut, "tracked-secret", "permission")
		if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, "private/f")); err == nil {
			t.Error("private/f went in, want it left out")
		}
		if got := b.inside("status", "--porcelain", "-uno"); got != "" {
			t.Errorf("status inside: got %q, want the unreadable tracked file hidden", got)
		}
	}
	for _, d := range []string{"ro", "ro/ro", "ro/ro/ro"} {
		if fi, err := os.Stat(filepath.Join(b.dirs.Workspace, d)); err != nil || fi.Mode().Perm() != 0o555 {
			t.Errorf("%s: got %v, %v, want 0555", d, fi, err)
		}
	}
	for name, want := range map[string]string{"pw": "/etc/passwd", "home": b.home, "dangling": "nope", "loopa": "loopb", "up": ".."} {
		if got, err := os.Readlink(filepath.Join(b.dirs.Workspace, name)); err != nil || got != want {
			t.Errorf("link %s: got %q, %v, want %q", name, got, err, want)
		}
	}
	b.wantChanged()
	b.ok(Remove(b.dirs.Workspace))
	if _, err := os.Lstat(b.dirs.Workspace); !os.IsNotExist(err) {
		t.Errorf("after Remove: got %v, want nothing there", err)
	}
}

// C27
func TestHolesStayHoles(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write(".gitignore", "big\n")
	b.commit()
	path := filepath.Join(b.repo, "disk.img")
	f, err := os.Create(path)
	b.ok(err)
	b.ok(f.Truncate(300 << 20))
	_, err = f.WriteAt([]byte(strings.Repeat("x", 4096)), 100<<20)
	b.ok(err)
	b.ok(f.Close())
	b.copyIn()
	var st syscall.Stat_t
	b.ok(syscall.Stat(filepath.Join(b.dirs.Workspace, "disk.img"), &st))
	if st.Size != 300<<20 || st.Blocks*512 > 4<<20 {
		t.Errorf("got %d bytes in %d blocks, want %d bytes and few blocks", st.Size, st.Blocks, 300<<20)
	}
	b.wantChanged()
}

func TestNoSpaceIsSaidBefore(t *testing.T) {
	b := newBench(t)
	f, err := os.Create(filepath.Join(b.repo, "huge"))
	b.ok(err)
	b.ok(f.Close())
	r, err := Inspect(context.Background(), b.repo, b.home)
	b.ok(err)
	sel, err := Choose(context.Background(), r, Options{})
	b.ok(err)
	sel.Files[0].Info.Size, sel.Files[0].Info.Blocks = 1<<60, 1<<51
	_, err = CopyIn(context.Background(), r, sel, Target{Dirs: b.dirs})
	var full *NoSpaceError
	if !errors.As(err, &full) || full.Need < 1<<60 {
		t.Errorf("got %v, want no space", err)
	}
	if _, err := os.Lstat(b.dirs.Workspace); err == nil {
		t.Error("a workspace was left")
	}
}

var trickyNames = []string{
	"a b.txt", "-n", "ü.txt", "dir with space/foo.txt", "q\"uote", "back\\slash", "new\nline", "\x1b]0;x\x07", "\xff\xfe", "tab\t",
	" lead", "trail ", "*", "[x]", "#hash", "!bang", ":(glob)x", "e\u202e", "-d/-f", "'", "$HOME", "~", "\x01",
}

// C30, D19
func TestTrickyNames(t *testing.T) {
	b := newBench(t)
	b.init()
	b.host("config", "status.showUntrackedFiles", "no")
	for _, n := range trickyNames {
		b.write(n, "base of "+n)
	}
	b.commit()
	for _, n := range trickyNames {
		b.write("untracked/"+n, "untracked "+n)
	}
	b.copyIn()
	b.wantChanged()
	if got := b.inside("status", "--porcelain", "-uno"); got != "" {
		t.Errorf("status inside: got %q, want nothing", got)
	}
	for _, n := range trickyNames {
		b.writeIn(b.dirs.Workspace, n, "changed "+n)
		b.ok(os.Remove(filepath.Join(b.dirs.Workspace, "untracked", n)))
		b.writeIn(b.dirs.Workspace, "newdir/"+n, "added "+n)
	}
	s := b.snapshot(baseline.Options{})
	if got, want := len(s.Changes()), 3*len(trickyNames); got != want {
		t.Errorf("got %d changes, want %d: %s", got, want, changed(s))
	}
	for _, n := range trickyNames {
		b.wantOld(s, n, "base of "+n)
		b.wantOld(s, "untracked/"+n, "untracked "+n)
	}
}

// C33
func TestNestedRepository(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a.txt", "a\n")
	b.commit()
	inner := filepath.Join(b.repo, "vendor/other")
	b.ok(os.MkdirAll(inner, 0o755))
	b.gitIn(inner, "init", "-q")
	b.writeIn(inner, "x", "x\n")
	b.writeIn(inner, "y", "y\n")
	b.gitIn(inner, "add", "x")
	b.gitIn(inner, "-c", "user.name=a", "-c", "user.email=a@host.test", "commit", "-q", "-m", "x")
	b.copyIn()
	if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, "vendor/other/.git")); err == nil {
		t.Error("the nested .git went in")
	}
	b.writeIn(b.dirs.Workspace, "vendor/other/x", "changed\n")
	b.writeIn(b.dirs.Workspace, "a.txt", "changed\n")
	s := b.wantChanged(`"a.txt" 100644>100644`, `"vendor/other/x" 100644>100644`)
	b.wantOld(s, "vendor/other/x", "x\n")
}

// C37: the copy ends, names what moved, and the baseline is what was copied.
func TestFilesThatChangeMeanwhile(t *testing.T) {
	b := newBench(t)
	b.init()
	for i := range 300 {
		b.write(fmt.Sprintf("f%03d", i), strings.Repeat("x", 2000))
	}
	b.write("app.log", "")
	b.commit()
	r, err := Inspect(context.Background(), b.repo, b.home)
	b.ok(err)
	b.sel, err = Choose(context.Background(), r, Options{})
	b.ok(err)
	b.write("app.log", "appended\n")
	b.ok(os.Remove(filepath.Join(b.repo, "f007")))
	b.ok(os.Remove(filepath.Join(b.repo, "f008")))
	b.ok(unix.Mkfifo(filepath.Join(b.repo, "f008"), 0o600))
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		f, err := os.OpenFile(filepath.Join(b.repo, "f100"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = f.WriteString("y")
			}
		}
	}()
	b.copied, err = CopyIn(context.Background(), r, b.sel, Target{Dirs: b.dirs})
	close(stop)
	<-stopped
	b.ok(err)
	b.wantLeftOut(b.copied.LeftOut, "f007", "vanished")
	if leftOut(b.copied.LeftOut, "f008") == "" {
		t.Errorf("f008 became a fifo: got %v, want it named", b.copied.LeftOut)
	}
	if got := strings.Join(b.copied.Changed, " "); !strings.Contains(got, "app.log") {
		t.Errorf("changed: got %q, want app.log named", got)
	}
	b.wantChanged()
	b.writeIn(b.dirs.Workspace, "app.log", "by the agent\n")
	s := b.wantChanged(`"app.log" 100644>100644`)
	b.wantOld(s, "app.log", "appended\n")
}

// C13: a cancelled copy leaves nothing.
func TestCancelLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.init()
	for i := range 400 {
		b.write(fmt.Sprintf("d%d/f%03d", i%20, i), "x")
	}
	r, err := Inspect(context.Background(), b.repo, b.home)
	b.ok(err)
	sel, err := Choose(context.Background(), r, Options{})
	b.ok(err)
	ctx, cancel := context.WithCancel(context.Background())
	_, err = CopyIn(ctx, r, sel, Target{Dirs: b.dirs, Progress: func(done, _ int, _ int64) {
		if done > 0 {
			cancel()
		}
	}})
	cancel()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancelled", err)
	}
	if _, err := os.Lstat(b.dirs.Workspace); err == nil {
		t.Error("half a workspace was left")
	}
}

// C17, C40, and what the policy includes and excludes.
func TestIncludeExcludeSecrets(t *testing.T) {
	b := newBench(t)
	b.init()
	b.host("config", "commit.gpgsign", "true")
	b.host("config", "gpg.program", "false")
	b.host("-c", "commit.gpgsign=false", "remote", "add", "origin", "https://user:tok@host.test/o/r.git?x=y")
	b.host("remote", "add", "bad", "ext::sh -c touch% /PWNED")
	b.write(".gitignore", ".env\nnode_modules/\ndist/\n*.gen\n")
	b.write("keep.pem", "tracked")
	b.write("src", "x\n")
	b.host("add", "-A")
	b.host("-c", "commit.gpgsign=false", "commit", "-q", "-m", "x")
	b.write(".env", "A=1")
	b.write("node_modules/p/index.js", "x")
	b.write("node_modules/p/cert.pem", "x")
	b.write("node_modules/.npmrc", "//registry.test/:_authToken=abc")
	b.write("dist/out", "x")
	b.write("a.gen", "generated")
	b.write("notes.txt", "token "+"gh"+"p_"+strings.Repeat("A", 36)+"\n")
	b.write("deploy.key", "k")
	b.write("key.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\n")
	b.opts = Options{Include: []string{"auto", "*.gen"}, Exclude: []string{"*.pem"}}
	b.copyIn()
	for path, want := range map[string]bool{
		"src": true, "keep.pem": false, ".env": false, "node_modules/p/index.js": true, "node_modules/p/cert.pem": false, "node_modules/.npmrc": false,
		"dist/out": false, "a.gen": true, "notes.txt": false, "deploy.key": false, "key.txt": false,
	} {
		if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, path)); (err == nil) != want {
			t.Errorf("%s inside: got %v, want %v", path, err == nil, want)
		}
	}
	for path, why := range map[string]string{
		"keep.pem": "excluded", ".env": "ignored", "dist/": "ignored", "notes.txt": "secret", "deploy.key": "secret", "key.txt": "private key", "node_modules/.npmrc": "secret",
	} {
		b.wantLeftOut(b.sel.LeftOut, path, why)
	}
	b.wantLeftOut(b.copied.InHistory, "keep.pem", "private key")
	if got := b.inside("status", "--porcelain", "-uall"); got != "" {
		t.Errorf("status inside: got %q, want nothing: the excluded file is not deleted", got)
	}
	if got := b.inside("remote", "-v"); strings.Contains(got, "tok") || strings.Contains(got, "ext::") || !strings.Contains(got, "https://host.test/o/r.git") {
		t.Errorf("remotes inside: got %q", got)
	}
	b.inside("commit", "-q", "--allow-empty", "-m", "unsigned")
	b.writeIn(b.dirs.Workspace, "node_modules/p/index.js", "changed")
	b.writeIn(b.dirs.Workspace, "a.gen", "changed")
	b.writeIn(b.dirs.Workspace, ".env", "agent's")
	s := b.wantChanged()
	if s.Ignored.Count != 3 {
		t.Errorf("ignored: got %+v, want 3", s.Ignored)
	}
	s = b.snapshot(baseline.Options{Ignored: func(string) bool { return true }})
	if got := changed(s); got != "\".env\" ->100644\n\"a.gen\" 100644>100644" {
		t.Errorf("asked for the ignored: got %s", got)
	}
	b.wantLeftOut(s.LeftOut, "node_modules/p/index.js", "not kept")
}

// W4, W12: what was dropped or stashed is not inside unless it was asked for.
func TestHistory(t *testing.T) {
	for _, history := range []string{"head", "all", "none"} {
		t.Run(history, func(t *testing.T) {
			b := newBench(t)
			b.init()
			b.write("a", "1\n")
			b.commit()
			b.write("a", "2\n")
			b.commit()
			b.write("a", "stashed canary\n")
			b.host("stash", "-q")
			canary := strings.TrimSpace(b.host("rev-parse", "stash@{0}:a"))
			b.host("checkout", "-q", "-b", "other")
			b.write("o", "other branch\n")
			b.host("add", "o")
			b.host("commit", "-q", "-m", "o")
			other := strings.TrimSpace(b.host("rev-parse", "other:o"))
			b.host("checkout", "-q", "main")
			b.host("tag", "-a", "-m", "t", "v1")
			b.opts.History = history
			b.copyIn()
			objects := b.inside("cat-file", "--batch-all-objects", "--batch-check")
			for _, oid := range []string{canary, other} {
				if got, want := strings.Contains(objects, oid), history == "all"; got != want {
					t.Errorf("object %s inside: got %v, want %v", oid, got, want)
				}
			}
			switch history {
			case "head":
				b.wantCleanInside()
				if got := b.inside("describe"); got != "v1\n" {
					t.Errorf("describe: got %q, want v1", got)
				}
			case "all":
				b.wantCleanInside()
				if got := b.inside("stash", "list"); !strings.Contains(got, "stash@{0}") {
					t.Errorf("stash list: got %q", got)
				}
			case "none":
				if objects != "" {
					t.Errorf("objects inside: got %q, want none", objects)
				}
			}
			b.writeIn(b.dirs.Workspace, "a", "3\n")
			s := b.wantChanged(`"a" 100644>100644`)
			b.wantOld(s, "a", "2\n")
		})
	}
}

func TestStagedConflictedAndIntentToAdd(t *testing.T) {
	b := newBench(t)
	b.init()
	b.write("a", "1\n")
	b.write("c", "base\n")
	b.commit()
	b.host("checkout", "-q", "-b", "x")
	b.write("c", "x\n")
	b.commit()
	b.host("checkout", "-q", "main")
	b.write("c", "main\n")
	b.commit()
	b.write("staged", "staged only\n")
	b.host("add", "staged")
	b.write("staged", "and changed after\n")
	b.write("ita", "intended\n")
	b.host("add", "-N", "ita")
	b.copyIn()
	if got, want := b.inside("status", "--porcelain"), b.host("status", "--porcelain"); got != want {
		t.Errorf("status inside: got %q, want %q", got, want)
	}
	if got := b.inside("show", ":staged"); got != "staged only\n" {
		t.Errorf("staged blob: got %q", got)
	}
	b.wantChanged()
	b.ok(Remove(b.dirs.Workspace))
	b.ok(Remove(b.dirs.Store))
	b.host("rm", "-q", "--cached", "ita")
	b.host("commit", "-q", "-m", "s")
	if err := exitOf(b.repo, "merge", "x"); err == nil {
		t.Fatal("merge: got no conflict, want one")
	}
	b.copyIn()
	if got, want := b.inside("ls-files", "-u"), b.host("ls-files", "-u"); got != want || got == "" {
		t.Errorf("conflicts inside: got %q, want %q", got, want)
	}
	b.wantChanged()
}

func TestPlainFolder(t *testing.T) {
	b := newBench(t)
	b.write("a", "a\n")
	b.write(".gitignore", "a\n")
	b.write(".env", "secret")
	b.ok(os.Mkdir(filepath.Join(b.repo, "empty"), 0o755))
	r := b.copyIn()
	if r.Git {
		t.Error("got a repository, want a plain folder")
	}
	if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, ".git")); err == nil {
		t.Error("a .git came to be")
	}
	if _, err := os.Lstat(filepath.Join(b.dirs.Workspace, "empty")); err != nil {
		t.Errorf("empty folder: %v", err)
	}
	b.wantLeftOut(b.sel.LeftOut, ".env", "secret")
	b.writeIn(b.dirs.Workspace, "a", "b\n")
	b.inside("init", "-q")
	s := b.wantChanged(`"a" 100644>100644`)
	b.wantOld(s, "a", "a\n")
}

// C38: git is not in the way of a repository that belongs to somebody else,
// and root's sessions belong to an ordinary account.
func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("got an ordinary user, want root: only root gives files away")
	}
	b := newBench(t)
	b.init()
	b.write("a/b", "1\n")
	b.commit()
	for d := b.dirs.Workspace; d != "/tmp" && d != "/"; d = filepath.Dir(d) {
		_ = os.Chmod(d, 0o755)
	}
	b.ok(filepath.WalkDir(b.repo, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, 4242, 4242)
	}))
	b.own = &Owner{UID: 54321, GID: 54321}
	b.copyIn()
	b.ok(filepath.WalkDir(b.dirs.Workspace, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		if st := fi.Sys().(*syscall.Stat_t); st.Uid != 54321 || st.Gid != 54321 {
			t.Errorf("%s belongs to %d:%d, want 54321", p, st.Uid, st.Gid)
		}
		return nil
	}))
	b.wantCleanInside()
	b.inside("commit", "-q", "--allow-empty", "-m", "x")
	b.wantChanged()
}
