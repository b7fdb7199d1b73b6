package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// cellEnv names a test that runs again in a child with mounts or limits of its
// own.
const cellEnv = "FUMEHOOD_APPLY_CELL"

// cell is what such a child does, by name. It gives an error text or "".
var cells = map[string]func(dir string) error{
	"full tree":    cellFullTree,
	"full journal": cellFullJournal,
	"file size":    cellFileSize,
	"mounts":       cellMounts,
	"casefold":     cellCasefold,
}

func cellChild(arg string) int {
	name, dir, _ := strings.Cut(arg, ":")
	if err := cells[name](dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		var skip *skipError
		if errors.As(err, &skip) {
			return 3
		}
		return 1
	}
	return 0
}

type skipError struct{ why error }

func (e *skipError) Error() string { return e.why.Error() }

// runCell starts a cell in a child, in a mount namespace when asked for.
func runCell(t *testing.T, name string, mounts bool) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), cellEnv+"="+name+":"+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if mounts {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
		if os.Geteuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.Is(err, syscall.EPERM), errors.As(err, &exit) && exit.ExitCode() == 3:
		t.Skipf("got %v %s, want a mount namespace of one's own", err, out)
	default:
		t.Errorf("%v: %s", err, out)
	}
}

func mountTmpfs(at, opts string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &skipError{err}
	}
	if err := unix.Mount("none", at, "tmpfs", 0, opts); err != nil {
		return &skipError{err}
	}
	return nil
}

func TestFullDiskLeavesEverythingAsItWas(t *testing.T) {
	for _, name := range []string{"full tree", "full journal"} {
		t.Run(name, func(t *testing.T) { runCell(t, name, true) })
	}
}

func TestFileSizeLimitLeavesEverythingAsItWas(t *testing.T) { runCell(t, "file size", false) }

func TestMountInTheRepositoryIsNotCrossed(t *testing.T) { runCell(t, "mounts", true) }

// cellSite is a site whose parts a cell mounts itself, before it fills them.
func cellSite(dir string) *site {
	return &site{dir: dir, repo: filepath.Join(dir, "repo"), journal: filepath.Join(dir, "state", "journal"), store: memStore{}}
}

// tb lets a site be used in a child: what fails ends the child.
type tb struct{ testing.TB }

func (tb) Helper() {}
func (tb) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	os.Exit(1)
}
func (t tb) Fatalf(f string, args ...any) { t.Fatal(fmt.Sprintf(f, args...)) }
func (t tb) Errorf(f string, args ...any) { t.Fatal(fmt.Sprintf(f, args...)) }

// big changes need more room than there is, after small ones that fit.
func bigTargets(s *site) []Target {
	ts := crashTargets(s.store)
	return append(ts, Target{Path: "zbig", Base: s.store.file(strings.Repeat("B", 300<<10)), Want: s.store.file(strings.Repeat("b", 900<<10))})
}

// failsWhole applies and wants an error of a kind, and the tree as it was.
func failsWhole(s *site, ts []Target, want error) error {
	before := s.snap()
	for range 2 { // the second meets what the first left in the journal
		_, err := Apply(context.Background(), s.options(), ts)
		if !errors.Is(err, want) {
			return fmt.Errorf("got %v, want %v", err, want)
		}
		s.wantSame(before)
		if n := s.temps(); len(n) > 0 {
			return fmt.Errorf("left over: %v", n)
		}
	}
	small := s.apply(crashTargets(s.store)...)
	if len(small.Conflicts) > 0 {
		return fmt.Errorf("the small ones alone: %+v", small)
	}
	s.undo()
	s.wantSame(before)
	return nil
}

func cellFullTree(dir string) error {
	s := cellSite(dir)
	s.t = tb{}
	if err := mountTmpfs(s.repo, "size=1m,mode=755"); err != nil {
		return err
	}
	fillCrash(s)
	s.write("zbig", strings.Repeat("B", 300<<10), 0o644)
	return failsWhole(s, bigTargets(s), unix.ENOSPC)
}

func cellFullJournal(dir string) error {
	s := cellSite(dir)
	s.t = tb{}
	if err := os.Mkdir(s.repo, 0o755); err != nil {
		return err
	}
	if err := mountTmpfs(filepath.Join(dir, "state"), "size=128k,mode=755"); err != nil {
		return err
	}
	fillCrash(s)
	s.write("zbig", strings.Repeat("B", 300<<10), 0o644)
	return failsWhole(s, bigTargets(s), unix.ENOSPC)
}

func cellFileSize(dir string) error {
	s := cellSite(dir)
	s.t = tb{}
	if err := os.Mkdir(s.repo, 0o755); err != nil {
		return err
	}
	fillCrash(s)
	s.write("zbig", strings.Repeat("B", 300<<10), 0o644)
	lim := unix.Rlimit{Cur: 500 << 10, Max: 500 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &lim); err != nil {
		return err
	}
	return failsWhole(s, bigTargets(s), unix.EFBIG)
}

func cellMounts(dir string) error {
	s := cellSite(dir)
	s.t = tb{}
	if err := os.Mkdir(s.repo, 0o755); err != nil {
		return err
	}
	if err := mountTmpfs(filepath.Join(s.repo, "mnt"), "size=1m,mode=755"); err != nil {
		return err
	}
	s.write("mnt/a", "0", 0o644)
	s.write("b", "0", 0o644)
	before := s.snap()
	f := s.store.file
	for _, tg := range []Target{
		{Path: "mnt/a", Base: f("0"), Want: f("1")}, {Path: "mnt/a", Base: f("0")}, {Path: "mnt/new", Want: f("1")}, {Path: "mnt/x/new", Want: f("1")},
	} {
		res := s.apply(tg, Target{Path: "b", Base: f("0"), Want: f("1")})
		if len(res.Conflicts) != 1 || !strings.Contains(res.Conflicts[0].Why, "mounted") {
			return fmt.Errorf("%s: got %+v, want a conflict that names the mount", tg.Path, res)
		}
		s.wantSame(before)
	}
	return nil
}

func TestPermissionDeniedLeavesEverythingAsItWas(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("got root, want an ordinary user: nothing is denied to root")
	}
	s := crashSite(t)
	s.write("ro/a", "0", 0o644)
	s.write("unreadable", "0", 0o200)
	must(t, os.Chmod(s.repo+"/ro", 0o555))
	t.Cleanup(func() { _ = os.Chmod(s.repo+"/ro", 0o755) })
	f := s.store.file
	for _, tg := range []Target{{Path: "ro/a", Base: f("0"), Want: f("1")}, {Path: "ro/a", Base: f("0")}, {Path: "ro/b", Want: f("1")}, {Path: "ro/n/b", Want: f("1")}} {
		must(t, os.Chmod(s.repo+"/unreadable", 0o600))
		before := s.snap()
		_, err := Apply(context.Background(), s.options(), append(crashTargets(s.store), tg))
		if !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), tg.Path) && !strings.Contains(err.Error(), "ro") {
			t.Errorf("%s: got %v, want permission denied that names the place", tg.Path, err)
		}
		s.wantSame(before)
		must(t, os.Chmod(s.repo+"/unreadable", 0o200))
	}
	res := s.apply(Target{Path: "unreadable", Base: f("0"), Want: f("1")})
	if len(res.Conflicts) != 1 || !strings.Contains(res.Conflicts[0].Why, "permission denied") {
		t.Errorf("unreadable: got %+v, want a conflict", res)
	}
}

func TestRootKeepsOwnersAndGivesNewFilesTheirFoldersOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("got an ordinary user, want root: only root can give files away")
	}
	s := newSite(t)
	f := s.store.file
	s.write("mod", "0", 0o644)
	s.write("del", "0", 0o644)
	s.write("sub/keep", "k", 0o644)
	owners := map[string][2]int{"mod": {4001, 4002}, "del": {4003, 4004}, "sub": {4005, 4006}}
	for p, o := range owners {
		must(t, os.Chown(filepath.Join(s.repo, p), o[0], o[1]))
	}
	s.apply(Target{Path: "mod", Base: f("0"), Want: f("1")}, Target{Path: "del", Base: f("0")},
		Target{Path: "sub/new", Want: f("n")}, Target{Path: "sub/d/e/new", Want: f("n")}, Target{Path: "sub/l", Want: link("x")})
	for p, want := range map[string][2]int{
		"mod": {4001, 4002}, "sub/new": {4005, 4006}, "sub/d": {4005, 4006}, "sub/d/e": {4005, 4006}, "sub/d/e/new": {4005, 4006}, "sub/l": {4005, 4006},
	} {
		s.wantOwner(p, want)
	}
	s.undo()
	s.wantOwner("mod", [2]int{4001, 4002})
	s.wantOwner("del", [2]int{4003, 4004})
}

func (s *site) wantOwner(rel string, want [2]int) {
	s.t.Helper()
	var st unix.Stat_t
	must(s.t, unix.Lstat(filepath.Join(s.repo, rel), &st))
	if got := [2]int{int(st.Uid), int(st.Gid)}; got != want {
		s.t.Errorf("%s: got owner %v, want %v", rel, got, want)
	}
}

func TestAccessListIsKept(t *testing.T) {
	// user::rw-, user:4242:r--, group::---, mask::r--, other::---: the mode
	// shows the mask as the group's bits. Dropping the list would let the
	// group read.
	acl := []byte{
		2, 0, 0, 0,
		1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
		2, 0, 4, 0, 0x92, 0x10, 0, 0,
		4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
		0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
	}
	s := newSite(t)
	s.write("a", "0", 0o600)
	const name = "system.posix_acl_access"
	if err := unix.Setxattr(s.repo+"/a", name, acl, 0); err != nil {
		t.Skipf("got %v from setxattr, want a file system with access lists", err)
	}
	s.apply(Target{Path: "a", Base: s.store.file("0"), Want: s.store.file("1")})
	buf := make([]byte, 256)
	n, err := unix.Getxattr(s.repo+"/a", name, buf)
	if err != nil || string(buf[:n]) != string(acl) {
		t.Errorf("got %x, %v, want the list %x", buf[:max(n, 0)], err, acl)
	}
	s.wantFile("a", "1", 0o640)
}

func TestGitFolderIsUntouched(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("got no git, want one")
	}
	s := newSite(t)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.test", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = s.repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	fillCrash(s)
	git("add", "-A")
	git("commit", "-qm", "a")
	s.write("stashed", "st", 0o644)
	git("add", "stashed")
	git("stash", "-q")
	s.write("staged", "s", 0o644)
	git("add", "staged")
	s.write("staged", "s and more", 0o644)
	before, status := s.snap(), git("status", "--porcelain")
	inGit := func() snap { return snapTree(t, s.repo+"/.git") }
	gitBefore := inGit()
	s.apply(crashTargets(s.store)...)
	for _, n := range []string{"after apply", "after undo"} {
		got := inGit()
		for p, v := range gitBefore {
			if got[p] != v {
				t.Errorf("%s: .git/%s: got %q, want %q", n, p, got[p], v)
			}
		}
		if len(got) != len(gitBefore) {
			t.Errorf("%s: .git has %d paths, want %d", n, len(got), len(gitBefore))
		}
		if n == "after apply" {
			if d := git("diff", "--stat"); !strings.Contains(d, "mod") {
				t.Errorf("git diff shows no change: %q", d)
			}
			s.undo()
		}
	}
	s.wantSame(before)
	if got := git("status", "--porcelain"); got != status {
		t.Errorf("status after undo: got %q, want %q", got, status)
	}
}

func TestManyFiles(t *testing.T) {
	s := newFastSite(t)
	var ts []Target
	for i := range 400 { // more than are held without a name
		p := fmt.Sprintf("d%d/f%d", i%20, i)
		s.write(p, fmt.Sprint(i), 0o644)
		ts = append(ts, Target{Path: p, Base: s.store.file(fmt.Sprint(i)), Want: s.store.file(fmt.Sprint("new", i))})
	}
	before := s.snap()
	if res := s.apply(ts...); len(res.Written) != 400 {
		t.Fatalf("got %d written, %v, want 400", len(res.Written), res.Conflicts)
	}
	if n := s.temps(); len(n) > 0 {
		t.Errorf("left over: %v", n)
	}
	s.undo()
	s.wantSame(before)
}

func TestHistoryIsStable(t *testing.T) {
	s := newSite(t)
	s.write("a\xff", "0", 0o644)
	s.apply(Target{Path: "a\xff", Base: s.store.file("0"), Want: link("t\xfe"), Units: []string{"u1"}})
	h, err := History(s.journal)
	must(t, err)
	w := h[0].Files[0]
	if w.Path != "a\xff" || w.To != link("t\xfe") || w.Base != s.store.file("0") || len(w.Units) != 1 || w.Units[0] != "u1" {
		t.Errorf("got %+v, want the exact names, entries and units", w)
	}
	if _, err := json.Marshal(h); err != nil {
		t.Error(err)
	}
	if h, err := History(filepath.Join(s.dir, "none")); err != nil || len(h) != 0 {
		t.Errorf("no journal: got %v, %v, want an empty history", h, err)
	}
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{20, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newSite(b)
			var there, back []Target
			for i := range n {
				p := fmt.Sprintf("d%d/f%d", i%20, i)
				data := fmt.Sprint(i, strings.Repeat("x", 8<<10))
				s.write(p, data, 0o644)
				old, new := s.store.file(data), s.store.file(data+"y")
				there = append(there, Target{Path: p, Base: old, Want: new})
				back = append(back, Target{Path: p, Base: new, Want: old})
			}
			b.ResetTimer()
			for i := range b.N {
				if i%2 == 0 {
					s.apply(there...)
				} else {
					s.apply(back...)
				}
			}
		})
	}
}
