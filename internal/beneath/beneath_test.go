package beneath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openRoot(t *testing.T, path string, flags ...Flag) *Dir {
	t.Helper()
	d, err := OpenRoot(path, flags...)
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func write(t *testing.T, root, rel, data string) {
	t.Helper()
	p := filepath.Join(root, rel)
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(data), 0o644))
}

func walkAll(t *testing.T, d *Dir, lim Limits) ([]string, *Walked) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	w, err := d.Walk(context.Background(), lim, func(_ *Dir, rel string, entries []Entry) error {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entries {
			got = append(got, Join(rel, e.Name)+":"+e.Kind.String())
		}
		return nil
	})
	must(t, err)
	sort.Strings(got)
	return got, w
}

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		rel string
		ok  bool
	}{
		{"a", true},
		{"a/b", true},
		{"-n", true},
		{"a b/\x1b\xff\n", true},
		{"..a/...", true},
		{"", false},
		{"/", false},
		{"/a", false},
		{"a/", false},
		{"a//b", false},
		{".", false},
		{"./a", false},
		{"a/./b", false},
		{"..", false},
		{"a/../b", false},
		{"a/..", false},
		{"a\x00b", false},
	} {
		if got := Check(row.rel) == nil; got != row.ok {
			t.Errorf("Check(%q): got %v, want %v", row.rel, got, row.ok)
		}
	}
}

func TestNothingLeadsOutside(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	write(t, top, "secret/f", "secret")
	write(t, root, "d/f", "inside")
	must(t, os.Symlink("../secret", filepath.Join(root, "out")))
	must(t, os.Symlink("d", filepath.Join(root, "in")))
	must(t, os.Symlink("../secret/f", filepath.Join(root, "outf")))
	must(t, os.Symlink("/proc/self/root", filepath.Join(root, "magic")))
	d := openRoot(t, root)
	for _, rel := range []string{"out/f", "in/f", "outf", "magic/etc/passwd", "../secret/f", "/etc/passwd"} {
		if f, _, err := d.OpenFile(rel); err == nil {
			_ = f.Close()
			t.Errorf("OpenFile(%q): got a file, want a refusal", rel)
		}
	}
	for _, rel := range []string{"out", "in", "..", "magic"} {
		if s, err := d.OpenDir(rel); err == nil {
			_ = s.Close()
			t.Errorf("OpenDir(%q): got a folder, want a refusal", rel)
		}
	}
	for _, rel := range []string{"out/f", "in/f"} {
		if _, err := d.Lstat(rel); err == nil {
			t.Errorf("Lstat(%q): got an answer, want a refusal", rel)
		}
		if _, err := d.Readlink(rel); err == nil {
			t.Errorf("Readlink(%q): got an answer, want a refusal", rel)
		}
	}
	// The positive control: the same calls work on what is beneath.
	f, info, err := d.OpenFile("d/f")
	must(t, err)
	defer f.Close()
	if b, _ := io.ReadAll(f); string(b) != "inside" || info.Size != 6 {
		t.Errorf("got %q, size %d, want inside, 6", b, info.Size)
	}
	if info, err := d.Lstat("out"); err != nil || info.Kind != Symlink {
		t.Errorf("Lstat(out): got %v, %v, want a link", info.Kind, err)
	}
	if got, err := d.Readlink("outf"); err != nil || got != "../secret/f" {
		t.Errorf("Readlink(outf): got %q, %v, want ../secret/f", got, err)
	}
	if _, err := d.Readlink("d/f"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("Readlink of a file: got %v, want EINVAL", err)
	}
}

func TestSpecialFilesAreNeverOpened(t *testing.T) {
	root := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	old, err := os.Getwd()
	must(t, err)
	must(t, os.Chdir(root)) // a socket's path is short
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: "sock"})
	must(t, os.Chdir(old))
	must(t, err)
	must(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
	d := openRoot(t, root)
	for name, want := range map[string]string{"pipe": "fifo", "sock": "socket"} {
		_, info, err := d.OpenFile(name)
		if !errors.Is(err, ErrNotRegular) || info.Special() != want {
			t.Errorf("%s: got %v, %q, want ErrNotRegular, %q", name, err, info.Special(), want)
		}
	}
	if _, _, err := d.OpenFile("dir"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("dir: got %v, want ErrNotRegular", err)
	}
}

func TestLeasedFileIsBusyAtOnce(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f", "x")
	f, err := os.OpenFile(filepath.Join(root, "f"), os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Skipf("got %v, want a write lease on this file system", err)
	}
	d := openRoot(t, root)
	start := time.Now()
	_, _, err = d.OpenFile("f")
	if !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("got an answer after %v, want at once", took)
	}
}

func TestWalkNamesEverythingOnce(t *testing.T) {
	root := t.TempDir()
	want := []string{}
	for i := range 40 {
		dir := fmt.Sprintf("d%02d/e\xff\n", i)
		write(t, root, dir+"/-n", "")
		want = append(want, fmt.Sprintf("d%02d:folder", i), dir+":folder", dir+"/-n:file")
	}
	// More than one batch in one folder.
	must(t, os.Mkdir(filepath.Join(root, "many"), 0o755))
	want = append(want, "many:folder")
	for i := range batch + 100 {
		name := fmt.Sprintf("many/%05d", i)
		must(t, os.Symlink("x", filepath.Join(root, name)))
		want = append(want, name+":link")
	}
	must(t, os.Symlink("..", filepath.Join(root, "up")))
	want = append(want, "up:link")
	must(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	want = append(want, "pipe:special file")
	sort.Strings(want)
	got, w := walkAll(t, openRoot(t, root, OneMount), Limits{Workers: 4})
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %d names, want %d", len(got), len(want))
	}
	if !w.Complete || len(w.Findings) != 0 || w.Entries != len(want) {
		t.Errorf("got %+v, want a complete walk of %d", w, len(want))
	}
}

// Kinds out of the directory records are those of a look at each file.
func TestWalkKindsOnly(t *testing.T) {
	root := t.TempDir()
	write(t, root, "d/f", "x")
	must(t, os.Symlink("f", filepath.Join(root, "d/l")))
	must(t, unix.Mkfifo(filepath.Join(root, "d/p"), 0o600))
	d := openRoot(t, root)
	want, _ := walkAll(t, d, Limits{})
	got, _ := walkAll(t, d, Limits{KindsOnly: true})
	if strings.Join(got, " ") != strings.Join(want, " ") || len(got) != 4 {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWalkBoundsAreFindings(t *testing.T) {
	root := t.TempDir()
	// Deeper than any single path can name: made from descriptor to descriptor.
	fd, err := unix.Open(root, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	name := strings.Repeat("n", 200)
	for range 40 {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
	d := openRoot(t, root)
	_, w := walkAll(t, d, Limits{})
	if len(w.Findings) != 1 || !strings.Contains(w.Findings[0].Reason, "too long") {
		t.Errorf("too long: got %+v, want one finding", w.Findings)
	}
	got, w := walkAll(t, d, Limits{Depth: 5})
	if len(w.Findings) != 1 || !strings.Contains(w.Findings[0].Reason, "5 folders deep") || len(got) != 6 {
		t.Errorf("depth: got %d names, %+v, want 6 names and one finding", len(got), w.Findings)
	}
	_, w = walkAll(t, d, Limits{Entries: 3, Workers: 1})
	if w.Complete || len(w.Findings) == 0 || !strings.Contains(w.Findings[0].Reason, "3 names") {
		t.Errorf("entries: got %+v, want an incomplete walk", w)
	}
	_, w = walkAll(t, d, Limits{Time: time.Nanosecond})
	if w.Complete || len(w.Findings) == 0 || !strings.Contains(w.Findings[0].Reason, "longer than") {
		t.Errorf("time: got %+v, want an incomplete walk", w)
	}
}

func TestWalkSkipsAndStops(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/x", "")
	write(t, root, ".git/config", "")
	d := openRoot(t, root)
	var mu sync.Mutex
	var got []string
	_, err := d.Walk(context.Background(), Limits{}, func(_ *Dir, rel string, entries []Entry) error {
		mu.Lock()
		defer mu.Unlock()
		for i := range entries {
			entries[i].Skip = entries[i].Name == ".git"
			got = append(got, Join(rel, entries[i].Name))
		}
		return nil
	})
	must(t, err)
	sort.Strings(got)
	if strings.Join(got, " ") != ".git a a/x" {
		t.Errorf("got %q, want .git not entered", got)
	}
	boom := errors.New("boom")
	if _, err := d.Walk(context.Background(), Limits{}, func(*Dir, string, []Entry) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("got %v, want the visitor's error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Walk(ctx, Limits{}, func(*Dir, string, []Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want cancelled", err)
	}
}

func TestWalkNamesUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("got root, want an ordinary user: root reads every folder")
	}
	root := t.TempDir()
	write(t, root, "closed/x", "")
	must(t, os.Chmod(filepath.Join(root, "closed"), 0))
	defer os.Chmod(filepath.Join(root, "closed"), 0o755)
	_, w := walkAll(t, openRoot(t, root), Limits{})
	if len(w.Findings) != 1 || w.Findings[0].Path != "closed" || !strings.Contains(w.Findings[0].Reason, "permission") {
		t.Errorf("got %+v, want closed named", w.Findings)
	}
}

func TestWalkStaysOnItsMount(t *testing.T) {
	d := openRoot(t, "/", OneMount)
	if _, err := d.OpenDir("proc"); !errors.Is(err, unix.EXDEV) {
		t.Errorf("OpenDir(proc): got %v, want EXDEV", err)
	}
	free := openRoot(t, "/")
	s, err := free.OpenDir("proc")
	if err != nil {
		t.Fatalf("without OneMount: got %v, want a folder", err)
	}
	_ = s.Close()
}

func FuzzNames(f *testing.F) {
	f.Add([]byte("0123456789abcdef\x18\x00\x08abcd\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = names(b, nil) // must neither panic nor loop
	})
}
