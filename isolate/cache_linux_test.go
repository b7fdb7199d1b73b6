package isolate_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// cacheOf is a host folder as a language's cache may be, with a layer for a
// session's own changes. The account is its owner, root too.
func cacheOf(t *testing.T) isolate.Cache {
	t.Helper()
	host := t.TempDir()
	for name, mode := range map[string]os.FileMode{"index/one": 0o600, "mod/a@v1/a.go": 0o444, "vcs/config": 0o644, "tool": 0o755} {
		path := filepath.Join(host, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho host\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(host, "mod/a@v1"), 0o555); err != nil { // as a module cache has them
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(host, "mod/a@v1"), 0o755) }) // so that it can be removed
	return isolate.Cache{Mount: isolate.Mount{Host: host, Inside: "/home/someone/.cache/lang"}, Layer: ownLayer(t)}
}

func ownLayer(t *testing.T) string {
	t.Helper()
	uid, gid := testkit.IDs()
	dir := filepath.Join(testkit.Folder(t, "layers"), "lang")
	if err := isolate.PrepareLayer(dir, uid, gid, []string{"vcs", "index/absent"}); err != nil {
		t.Fatal(err)
	}
	if err := isolate.RenewLayer(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeWork(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// removeWork removes the kernel's own folders, which are closed to all.
func removeWork(dir string) error {
	for _, at := range []string{"work/work", "work/work/incompat", "work/work/incompat/volatile"} {
		if err := os.Chmod(filepath.Join(dir, at), 0o700); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(dir, "work"))
}

// again readies a layer for another start.
func again(t *testing.T, dir string) {
	t.Helper()
	uid, gid := testkit.IDs()
	if err := removeWork(dir); err != nil {
		t.Fatal(err)
	}
	if err := isolate.RenewLayer(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
}

func withCache(t *testing.T, c isolate.Cache) isolate.Spec {
	sp := spec(t)
	sp.HostHome = "/home/someone"
	sp.Caches = []isolate.Cache{c}
	return sp
}

const cacheInside = "/home/someone/.cache/lang"

func TestACacheIsChangedInTheSessionsOwnLayerAlone(t *testing.T) {
	testkit.LeakCheck(t)
	c := cacheOf(t)
	before := treeOf(t, c.Host)
	s := start(t, withCache(t, c))
	sh(t, s, "cd "+cacheInside+" && ./tool && cat index/one | tail -1 && echo more >> index/one && echo new > index/two && rm tool && mkdir -p mod/b@v1 && "+
		"chmod u+w mod/a@v1 && echo x > mod/a@v1/new && mv mod/b@v1 mod/c@v1 && touch -d 2001-01-01 index/one && chmod 777 index && ln index/two index/three").must(t, "host\necho host")
	sh(t, s, "tail -1 ~/.cache/lang/index/one; ls ~/.cache/lang ~/.cache/lang/index").must(t, "more\n/fumehood/home/.cache/lang:\nindex\nmod\n\n/fumehood/home/.cache/lang/index:\none\nthree\ntwo")
	if after := treeOf(t, c.Host); after != before {
		t.Errorf("the host's folder changed: got\n%s\nwant\n%s", after, before)
	}
	// The next session of the same host folder sees the host's alone.
	next := c
	next.Layer = ownLayer(t)
	sh(t, start(t, withCache(t, next)), "cd "+cacheInside+" && ls . index && ./tool").must(t, ".:\nindex\nmod\ntool\n\nindex:\none\nhost")
	// The same layer again is the session's own again.
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	again(t, c.Layer)
	sh(t, start(t, withCache(t, c)), "cd "+cacheInside+" && ls index && tail -1 index/one").must(t, "one\nthree\ntwo\nmore")
}

func TestWhatIsHiddenOfACacheIsNotThere(t *testing.T) {
	s := start(t, withCache(t, cacheOf(t)))
	sh(t, s, "cat "+cacheInside+"/vcs/config").mustFail(t, "No such file")
	sh(t, s, "cd "+cacheInside+" && mkdir vcs && ls vcs && echo own > vcs/config && cat vcs/config && rm -r vcs && ls").must(t, "own\nindex\nmod\ntool")
}

// A lock or a lease on what the account's own programs use would hold them up.
func TestACacheGivesNoHoldOnTheHostsFiles(t *testing.T) {
	c := cacheOf(t)
	s := start(t, withCache(t, c))
	sh(t, s, "exec 9<"+cacheInside+"/index/one && flock -x -n 9 && { sleep 600 >/dev/null 2>&1 & } && echo held").must(t, "held")
	sh(t, s, "exec 9<"+cacheInside+"/index/one && flock -x -n 9 || echo still").must(t, "still")
	f, err := os.OpenFile(filepath.Join(c.Host, "index/one"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("got %v for the host's own lock, want it", err)
	}
}

// treeOf is names, modes, sizes, times and contents below a folder.
func treeOf(t *testing.T, root string) string {
	t.Helper()
	out := ""
	err := filepath.Walk(root, func(path string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		out += path + " " + fi.Mode().String() + " " + fi.ModTime().String()
		if fi.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out += " " + string(b)
		}
		out += "\n"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is open and has no name is on the disk all the same.
func TestDeletedFilesOfACacheCount(t *testing.T) {
	const size = 8 << 20
	sp := withCache(t, cacheOf(t))
	sp.Metered = true
	s := start(t, sp)
	sh(t, s, "exec 9>"+cacheInside+"/big && rm "+cacheInside+"/big && head -c 8388608 /dev/zero >&9 && { sleep 600 >/dev/null 2>&1 & } && echo held").must(t, "held")
	u, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.Deleted < size {
		t.Errorf("got %d bytes of files without a name, want at least %d", u.Deleted, size)
	}
}
