package limits

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
)

func walk(t *testing.T, names int, roots ...string) DiskUse {
	t.Helper()
	var dirs []*beneath.Dir
	for _, r := range roots {
		d, err := beneath.OpenRoot(r, beneath.OneMount)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		dirs = append(dirs, d)
	}
	u, err := WalkDisk(context.Background(), dirs, names)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func put(t *testing.T, path string, bytes int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, bytes), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWalkCountsBlocksOfEachInodeOnce(t *testing.T) {
	root, home := t.TempDir(), t.TempDir()
	const mib = 1 << 20
	put(t, filepath.Join(root, "a/b/file"), 4*mib)
	put(t, filepath.Join(home, "other"), 2*mib)
	for i := range 5 {
		if err := os.Link(filepath.Join(root, "a/b/file"), filepath.Join(root, fmt.Sprint("link", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(root, "out")); err != nil { // leads out: not followed
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "hole"), 0)
	if err := os.Truncate(filepath.Join(root, "hole"), 1<<40); err != nil {
		t.Fatal(err)
	}
	u := walk(t, 100_000, root, home)
	if u.Bytes < 6*mib || u.Bytes > 6*mib+256<<10 || u.Entries != 11 || u.Hidden != 0 || u.More {
		t.Errorf("got %+v, want 6 MiB and a little in 11 names", u)
	}
}

func TestWalkEndsAtTooManyNames(t *testing.T) {
	root := t.TempDir()
	for i := range 300 {
		put(t, filepath.Join(root, fmt.Sprint(i)), 0)
	}
	if u := walk(t, 300, root); u.More || u.Entries != 300 {
		t.Errorf("got %+v, want all 300 names and no more", u)
	}
	if u := walk(t, 299, root); !u.More {
		t.Errorf("got %+v, want more than 299 names", u)
	}
	if u := walk(t, 400, root, root); !u.More {
		t.Errorf("got %+v, want more than 400 names in two folders", u)
	}
}

// As deep as a hostile program makes it, and closed to its own owner.
func TestWalkOfHostileFoldersEnds(t *testing.T) {
	root := t.TempDir()
	fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 4000 {
		if err := unix.Mkdirat(fd, "deep", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "deep", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		fd = next
	}
	_ = unix.Close(fd)
	if err := os.Mkdir(filepath.Join(root, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	u := walk(t, 100_000, root)
	want := 2 // too deep, and closed
	if os.Getuid() == 0 {
		want = 1 // root reads what is closed
	}
	if u.Hidden != want || u.More {
		t.Errorf("got %+v, want %d places that can't be looked into", u, want)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("got it done in %v, want seconds", took)
	}
}

// BenchmarkWalk is what a walk costs in a large workspace.
func BenchmarkWalk(b *testing.B) {
	root := b.TempDir()
	for d := range 800 {
		dir := filepath.Join(root, fmt.Sprint(d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), []byte("x"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	dir, err := beneath.OpenRoot(root)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	for b.Loop() {
		if _, err := WalkDisk(context.Background(), []*beneath.Dir{dir}, 1_000_000); err != nil {
			b.Fatal(err)
		}
	}
}

// A name that is moved all the time is met by no walk; what it holds must not be
// taken for gone.
func TestWhatIsMovedDuringTheWalkIsHidden(t *testing.T) {
	for _, what := range []string{"folder", "file"} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			for i := range 3000 {
				put(t, filepath.Join(root, fmt.Sprint("f", i)), 0)
			}
			at := filepath.Join(root, "moved0")
			if what == "folder" {
				put(t, filepath.Join(at, "big"), 1<<20)
			} else {
				put(t, at, 1<<20)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error)
			go func() {
				for i := 1; ctx.Err() == nil; i++ {
					next := filepath.Join(root, fmt.Sprint("moved", i))
					if err := os.Rename(at, next); err != nil {
						ended <- err
						return
					}
					at = next
				}
				ended <- nil
			}()
			deadline := time.Now().Add(30 * time.Second)
			u := walk(t, 10_000, root)
			for ; u.Hidden == 0 && time.Now().Before(deadline); u = walk(t, 10_000, root) {
			}
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if u.Hidden == 0 {
				t.Errorf("got %+v of every walk, want one in which the %s was missed to say so", u, what)
			}
			if u := walk(t, 10_000, root); u.Hidden != 0 || u.Bytes < 1<<20 {
				t.Errorf("got %+v when nothing moves, want all of it", u)
			}
		})
	}
}
