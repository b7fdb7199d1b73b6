package apply

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// memStore is a Store in memory.
type memStore map[diffreview.Blob][]byte

func (s memStore) put(data string) diffreview.Blob {
	sum := sha256.Sum256([]byte(data))
	id := diffreview.Blob(hex.EncodeToString(sum[:]))
	s[id] = []byte(data)
	return id
}

func (s memStore) Open(id diffreview.Blob) (io.ReadCloser, error) {
	data, ok := s[id]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s memStore) file(data string) diffreview.Entry {
	return diffreview.Entry{Kind: diffreview.KindFile, Blob: s.put(data), Size: int64(len(data))}
}

func (s memStore) prog(data string) diffreview.Entry {
	e := s.file(data)
	e.Exec = true
	return e
}

func link(target string) diffreview.Entry {
	return diffreview.Entry{Kind: diffreview.KindSymlink, Target: target}
}

// site is a repository and a journal in a test's own folder.
type site struct {
	t       testing.TB
	dir     string
	repo    string
	journal string
	store   memStore
	old     time.Time
	folds   bool // pretends that the file system folds case
}

// newSite makes an empty site. Root's tests use the same folders as a user's.
func newSite(t testing.TB) *site {
	t.Helper()
	return siteIn(t, t.TempDir())
}

// newFastSite is in memory where that can be: a sync costs nothing there. With
// FUMEHOOD_FOLDS it is there: see TestNamesOfARealFoldingFolder.
func newFastSite(t testing.TB) *site {
	t.Helper()
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("FUMEHOOD_FOLDS"), "/dev/shm"), "apply")
	if err != nil {
		return newSite(t)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return siteIn(t, dir)
}

func siteIn(t testing.TB, dir string) *site {
	t.Helper()
	s := &site{t: t, dir: dir, repo: filepath.Join(dir, "repo"), journal: filepath.Join(dir, "state", "journal"), store: memStore{}}
	s.old = time.Date(2020, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	if err := os.Mkdir(s.repo, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) root() Root {
	var st unix.Stat_t
	if err := unix.Stat(s.repo, &st); err != nil {
		s.t.Fatal(err)
	}
	r := Root{Path: s.repo, Dev: st.Dev, Ino: st.Ino}
	git := filepath.Join(s.repo, ".git")
	if unix.Stat(git, &st) == nil {
		r.GitDir, r.GitDev, r.GitIno = git, st.Dev, st.Ino
	}
	return r
}

func (s *site) options() Options {
	o := Options{
		Root: s.root(), Store: s.store, Journal: s.journal, Who: "tester", TTY: "/dev/pts/9",
		Now: func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) },
	}
	if s.folds {
		o.lacks.names = foldCase
	}
	return o
}

// write puts a file with a mode and an old time on the host.
func (s *site) write(rel, data string, mode os.FileMode) {
	s.t.Helper()
	p := filepath.Join(s.repo, rel)
	must(s.t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(s.t, os.WriteFile(p, []byte(data), 0o600))
	must(s.t, os.Chmod(p, mode))
	must(s.t, os.Chtimes(p, s.old, s.old))
}

func (s *site) symlink(rel, target string) {
	s.t.Helper()
	p := filepath.Join(s.repo, rel)
	must(s.t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(s.t, os.Symlink(target, p))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// snap is a picture of a tree: a line for each path.
type snap map[string]string

func (s snap) without(parts ...string) snap {
	out := snap{}
	for p, v := range s {
		f := strings.Split(v, " ")
		keep := f[:0:0]
		for _, x := range f {
			skip := false
			for _, part := range parts {
				skip = skip || strings.HasPrefix(x, part+"=")
			}
			if !skip {
				keep = append(keep, x)
			}
		}
		out[p] = strings.Join(keep, " ")
	}
	return out
}

// snapTree pictures every path: kind, mode, content, link target and, for what
// is no folder, the time.
func snapTree(t testing.TB, root string) snap {
	t.Helper()
	out := snap{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if rel == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel] = fmt.Sprintf("dir mode=%04o", info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("link target=%q mtime=%d", target, info.ModTime().UnixNano())
		default:
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			out[rel] = fmt.Sprintf("file mode=%04o sha=%x mtime=%d", info.Mode().Perm(), sha256.Sum256(data), info.ModTime().UnixNano())
		}
		return nil
	})
	must(t, err)
	return out
}

func (s *site) snap() snap { return snapTree(s.t, s.repo) }

func (s *site) apply(ts ...Target) Result {
	s.t.Helper()
	res, err := Apply(context.Background(), s.options(), ts)
	if err != nil {
		s.t.Fatalf("apply: %v", err)
	}
	return res
}

func (s *site) undo() Result {
	s.t.Helper()
	res, err := Undo(context.Background(), s.options())
	if err != nil {
		s.t.Fatalf("undo: %v", err)
	}
	return res
}

func (s *site) wantSame(want snap, parts ...string) {
	s.t.Helper()
	if diff := gocmp.Diff(want.without(parts...), s.snap().without(parts...)); diff != "" {
		s.t.Errorf("the tree differs (-want +got):\n%s", diff)
	}
}

func (s *site) wantFile(rel, data string, mode os.FileMode) {
	s.t.Helper()
	got, err := os.ReadFile(filepath.Join(s.repo, rel))
	if err != nil {
		s.t.Errorf("%v", err)
		return
	}
	if string(got) != data {
		s.t.Errorf("%s: got %q, want %q", rel, got, data)
	}
	info, err := os.Lstat(filepath.Join(s.repo, rel))
	must(s.t, err)
	if info.Mode() != mode {
		s.t.Errorf("%s: got mode %v, want %v", rel, info.Mode(), mode)
	}
}
