package baseline

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
)

// stand is a workspace with a recorded baseline, made without git.
type stand struct {
	t *testing.T
	d Dirs
	m *Manifest
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newStand records files in a folder of top. Names that end in "@" are links
// to the text, others files; "!x" makes one executable.
func newStand(t *testing.T, top string, rules Rules, files map[string]string) *stand {
	t.Helper()
	s := &stand{t: t, d: Dirs{Workspace: filepath.Join(top, "workspace"), Store: filepath.Join(top, "store")}}
	ok(t, os.Mkdir(s.d.Workspace, 0o755))
	ok(t, os.Mkdir(s.d.Store, 0o700))
	blobs := NewBlobs(s.d.BlobsDir())
	s.m = &Manifest{Rules: rules}
	for name, data := range files {
		e := Entry{Path: name, Kind: diffreview.KindFile}
		if link, isLink := strings.CutSuffix(name, "@"); isLink {
			e.Path, e.Kind, e.Target = link, diffreview.KindSymlink, data
			ok(t, os.MkdirAll(filepath.Dir(s.path(link)), 0o755))
			ok(t, os.Symlink(data, s.path(link)))
		} else {
			s.write(name, data)
			e.Ref = Ref{Kind: RefBlob, Sum: sha256.Sum256([]byte(data))}
			_, err := blobs.Put([]byte(data))
			ok(t, err)
		}
		s.m.Entries = append(s.m.Entries, e)
	}
	dir, err := beneath.OpenRoot(s.d.Workspace)
	ok(t, err)
	defer dir.Close()
	for i := range s.m.Entries {
		e := &s.m.Entries[i]
		info, err := dir.Lstat(e.Path)
		ok(t, err)
		e.Mode, e.Size, e.Ino, e.Mtime, e.Ctime = info.Mode&0o7777, info.Size, info.Ino, info.Mtime, info.Ctime
	}
	// As if the record had been made some time after the copy.
	s.m.RecordedAt = time.Now().Add(time.Second).UnixNano()
	ok(t, Record(s.d, s.m))
	return s
}

func (s *stand) path(rel string) string { return filepath.Join(s.d.Workspace, rel) }

func (s *stand) write(rel, data string) {
	s.t.Helper()
	ok(s.t, os.MkdirAll(filepath.Dir(s.path(rel)), 0o755))
	ok(s.t, os.WriteFile(s.path(rel), []byte(data), 0o644))
}

func (s *stand) take(o Options) *Snapshot {
	s.t.Helper()
	m, err := Load(s.d)
	ok(s.t, err)
	snap, err := Take(context.Background(), s.d, m, o)
	ok(s.t, err)
	return snap
}

func lines(s *Snapshot) string {
	var out []string
	for _, c := range s.Changes() {
		show := func(e diffreview.Entry) string {
			if e.Kind == "" {
				return "-"
			}
			return e.Mode() + e.Target
		}
		out = append(out, fmt.Sprintf("%q %s>%s", c.Path, show(c.Old), show(c.New)))
	}
	return strings.Join(out, "; ")
}

func (s *stand) want(o Options, want string) *Snapshot {
	s.t.Helper()
	snap := s.take(o)
	if got := lines(snap); got != want {
		s.t.Errorf("changes:\ngot  %s\nwant %s\nleft out %v", got, want, snap.LeftOut)
	}
	return snap
}

func wantLeft(t *testing.T, s *Snapshot, path, reason string) {
	t.Helper()
	for _, l := range s.LeftOut {
		if l.Path == path && strings.Contains(l.Reason, reason) {
			return
		}
	}
	t.Errorf("left out %q: got %v, want %q", path, s.LeftOut, reason)
}

// eachPlace runs a test where stat is trusted, if that is so here, and where it
// is not.
func eachPlace(t *testing.T, fn func(t *testing.T, top string)) {
	t.Run("temp", func(t *testing.T) { fn(t, t.TempDir()) })
	t.Run("tmpfs", func(t *testing.T) {
		top, err := os.MkdirTemp("/dev/shm", "fumehood-test-")
		if err != nil {
			t.Skipf("got %v, want a tmpfs at /dev/shm", err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(top) })
		fn(t, top)
	})
}

func TestTakeEachKindOfChange(t *testing.T) {
	eachPlace(t, func(t *testing.T, top string) {
		s := newStand(t, top, Rules{}, map[string]string{
			"same": "same", "mod": "one", "gone": "x", "dir/in": "in", "dir/deep/er": "y", "tolink": "file", "link@": "a", "link2@": "b",
			"todir": "file", "run": "#!", "empty": "", "tofile/in": "x",
		})
		s.want(Options{}, "")
		s.write("mod", "two")
		ok(t, os.Remove(s.path("gone")))
		ok(t, os.RemoveAll(s.path("dir")))
		ok(t, os.Symlink("/etc", s.path("dir"))) // what was in it is gone, not what /etc has
		ok(t, os.Remove(s.path("tolink")))
		ok(t, os.Symlink("target\x1b\n", s.path("tolink")))
		ok(t, os.Remove(s.path("link")))
		ok(t, os.Symlink("c", s.path("link")))
		ok(t, os.Remove(s.path("link2")))
		s.write("link2", "a file now")
		ok(t, os.Remove(s.path("todir")))
		s.write("todir/f", "in a folder")
		ok(t, os.RemoveAll(s.path("tofile")))
		s.write("tofile", "was a folder")
		ok(t, os.Chmod(s.path("run"), 0o755))
		ok(t, os.Chmod(s.path("empty"), 0o600)) // no bit that git knows
		now := time.Now()
		ok(t, os.Chtimes(s.path("same"), now, now))
		s.write("new\xff", "added")
		snap := s.want(Options{}, `"dir" ->120000/etc; "dir/deep/er" 100644>-; "dir/in" 100644>-; "gone" 100644>-; "link" 120000a>120000c; "link2" 120000b>100644; `+
			`"mod" 100644>100644; "new\xff" ->100644; "run" 100644>100755; "todir" 100644>-; "todir/f" ->100644; "tofile" ->100644; "tofile/in" 100644>-; "tolink" 100644>120000target`+"\x1b\n")
		for _, c := range snap.Changes() {
			for _, e := range []diffreview.Entry{c.Old, c.New} {
				if e.Kind != diffreview.KindFile {
					continue
				}
				b, err := snap.Content(e.Blob, 100)
				if err != nil || int64(len(b)) != e.Size {
					t.Errorf("%q: got %q, %v, want %d bytes", c.Path, b, err, e.Size)
				}
			}
		}
		// What is reviewed stays what it is.
		s.write("mod", "three")
		again, err := Open(s.d)
		ok(t, err)
		if lines(again) != lines(snap) {
			t.Errorf("reopened: got %s, want %s", lines(again), lines(snap))
		}
		for _, c := range again.Changes() {
			if c.Path == "mod" {
				if b, err := again.Content(c.New.Blob, 100); err != nil || string(b) != "two" {
					t.Errorf("mod: got %q, %v, want what was there at the snapshot", b, err)
				}
			}
		}
	})
}

// The same size, inode and mtime do not hide an edit.
func TestTakeSeesForgedTimes(t *testing.T) {
	eachPlace(t, func(t *testing.T, top string) {
		s := newStand(t, top, Rules{}, map[string]string{"f": "aaaa", "g": "bbbb"})
		fi, err := os.Stat(s.path("f"))
		ok(t, err)
		f, err := os.OpenFile(s.path("f"), os.O_WRONLY, 0)
		ok(t, err)
		_, err = f.WriteString("AAAA")
		ok(t, err)
		ok(t, f.Close())
		ok(t, os.Chtimes(s.path("f"), fi.ModTime(), fi.ModTime()))
		s.want(Options{}, `"f" 100644>100644`)
	})
}

// A store through a page that is already mapped and dirty changes bytes and no
// time at all: there only content counts.
func TestTakeSeesSharedMapping(t *testing.T) {
	top, err := os.MkdirTemp("/dev/shm", "fumehood-test-")
	if err != nil {
		t.Skipf("got %v, want a tmpfs at /dev/shm", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	s := newStand(t, top, Rules{}, map[string]string{"f": strings.Repeat("a", 4096)})
	f, err := os.OpenFile(s.path("f"), os.O_RDWR, 0)
	ok(t, err)
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	ok(t, err)
	defer func() { ok(t, unix.Munmap(mem)) }()
	mem[100] = 'a' // dirty from here on
	var before, after unix.Stat_t
	ok(t, unix.Stat(s.path("f"), &before))
	m, err := Load(s.d)
	ok(t, err)
	m.Entries[0].Ctime, m.Entries[0].Mtime = before.Ctim.Nano(), before.Mtim.Nano()
	m.RecordedAt = time.Now().Add(time.Second).UnixNano()
	ok(t, Record(s.d, m))
	mem[100] = 'X'
	ok(t, unix.Stat(s.path("f"), &after))
	if before.Ctim != after.Ctim || before.Mtim != after.Mtim {
		t.Logf("got new times, want none: the store would be seen by stat here")
	}
	s.want(Options{}, `"f" 100644>100644`)
}

// A change in the same tick of the clock as the record is found by content.
func TestTakeTrustsNoFreshEntry(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"f": "aaaa"})
	m, err := Load(s.d)
	ok(t, err)
	s.write("f", "bbbb")
	var st unix.Stat_t
	ok(t, unix.Stat(s.path("f"), &st))
	// As if the kernel had stamped both writes alike.
	m.Entries[0].Ctime, m.Entries[0].Mtime = st.Ctim.Nano(), st.Mtim.Nano()
	m.RecordedAt = m.Entries[0].Ctime + 1
	snap, err := Take(context.Background(), s.d, m, Options{})
	ok(t, err)
	if got := lines(snap); got != `"f" 100644>100644` {
		t.Errorf("got %q, want the change", got)
	}
}

func TestTakeNamesWhatNeverReturns(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"f": "x", "leased": "x", "closed": "x", "d/in": "x", "tofifo": "x"})
	ok(t, unix.Mkfifo(s.path("pipe"), 0o600))
	ok(t, os.Remove(s.path("tofifo")))
	ok(t, unix.Mkfifo(s.path("tofifo"), 0o600))
	s.write("sub/.git/config", "[core]\n\tfsmonitor = touch /PWNED\n")
	s.write("sub/.GIT/x", "x")
	s.write("sub/plain", "x")
	s.write(".git/config", "x")
	ok(t, os.Chmod(s.path("f"), 0o755|os.ModeSetuid))
	want := `"f" 100644>100755; "sub/plain" ->100644`
	s.write("leased", "y")
	f, err := os.OpenFile(s.path("leased"), os.O_RDWR, 0)
	ok(t, err)
	defer f.Close()
	leased := true
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		t.Logf("got %v, want a lease: that part is not tested here", err)
		leased = false
		want = strings.Replace(want, `; "sub`, `; "leased" 100644>100644; "sub`, 1)
	}
	user := os.Geteuid() != 0
	if user {
		ok(t, os.Chmod(s.path("closed"), 0))
		ok(t, os.Chmod(s.path("d"), 0))
		defer os.Chmod(s.path("d"), 0o755)
	}
	snap := s.want(Options{}, want)
	wantLeft(t, snap, "pipe", "fifo")
	wantLeft(t, snap, "tofifo", "fifo in place of a file")
	wantLeft(t, snap, "sub/.git", "git's own")
	wantLeft(t, snap, "sub/.GIT", "git's own")
	wantLeft(t, snap, "f", "set-uid")
	if leased {
		wantLeft(t, snap, "leased", "lease")
	}
	if user {
		wantLeft(t, snap, "closed", "permission")
		wantLeft(t, snap, "d/in", "permission")
	}
}

func TestTakeBounds(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "x", "z/keep": "x", "big": strings.Repeat("b", 5000)})
	s.write("big", strings.Repeat("B", 5000))
	s.write("grew", strings.Repeat("g", 5000))
	snap := s.want(Options{MaxFile: 1000}, "")
	wantLeft(t, snap, "big", "limit of 1000")
	wantLeft(t, snap, "grew", "limit of 1000")
	snap = s.take(Options{MaxTotal: 6000}) // whichever of the two is read first
	switch got := lines(snap); got {
	case `"big" 100644>100644`:
		wantLeft(t, snap, "grew", "limit of 6000")
	case `"grew" ->100644`:
		wantLeft(t, snap, "big", "limit of 6000")
	default:
		t.Errorf("limit in all: got %s, want one of the two", got)
	}
	snap = s.take(Options{MaxFiles: 1})
	if len(snap.Changes()) > 2 { // two files are read at once
		t.Errorf("got %d changes, want the limit to hold", len(snap.Changes()))
	}
	// A flood does not hide the edit of a file that was there, and what the
	// walk did not reach is not called deleted.
	for i := range 3000 {
		s.write(fmt.Sprintf("flood/%04d", i), "")
	}
	s.write("z/keep", "changed")
	snap = s.take(Options{Walk: beneath.Limits{Entries: 100}})
	got := lines(snap)
	if !strings.Contains(got, `"z/keep" 100644>100644`) || !strings.Contains(got, `"big" 100644>100644`) || strings.Contains(got, ">-") {
		t.Errorf("flooded: got %s", got)
	}
	wantLeft(t, snap, "", "more than 100 names")
}

func TestTakeListsAreBounded(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{Files: []IgnoreFile{{"", "ign/\n"}}}, map[string]string{"zz": "x"})
	for i := range 1300 {
		ok(t, os.MkdirAll(s.path("pipes"), 0o755))
		ok(t, unix.Mkfifo(s.path(fmt.Sprintf("pipes/%d", i)), 0o600))
		s.write(fmt.Sprintf("ign/%d", i), "")
	}
	ok(t, os.Remove(s.path("zz")))
	ok(t, unix.Mkfifo(s.path("zz"), 0o600))
	snap := s.want(Options{}, "")
	wantLeft(t, snap, "zz", "fifo in place of a file")
	wantLeft(t, snap, "", "more that are not named")
	if len(snap.LeftOut) > maxListed+10 {
		t.Errorf("left out: got %d, want about %d", len(snap.LeftOut), maxListed)
	}
	if snap.Ignored.Count != 1300 || len(snap.Ignored.Paths) != maxListed || !snap.Ignored.Truncated {
		t.Errorf("ignored: got %d, %d listed, truncated %v", snap.Ignored.Count, len(snap.Ignored.Paths), snap.Ignored.Truncated)
	}
}

// W16: an edited .gitignore hides nothing; what it would hide is in a group.
func TestTakeKeepsTheBaselinesRules(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{Files: []IgnoreFile{{"", "*.log\n"}}}, map[string]string{".gitignore": "*.log\n", "a": "x"})
	s.write(".gitignore", "*\n")
	s.write("hidden.sh", "x")
	s.write("sub/.gitignore", "other\n")
	s.write("sub/other", "x")
	s.write("x.log", "x")
	snap := s.want(Options{}, `".gitignore" 100644>100644; "hidden.sh" ->100644; "sub/.gitignore" ->100644; "sub/other" ->100644`)
	if got := strings.Join(snap.NewlyIgnored, " "); got != "hidden.sh sub/.gitignore sub/other" {
		t.Errorf("newly ignored: got %q", got)
	}
	if snap.Ignored.Count != 1 || snap.Ignored.Paths[0] != "x.log" {
		t.Errorf("ignored: got %+v, want x.log", snap.Ignored)
	}
}

// Rules that are written inside to take hours end at a bound, and hide nothing.
func TestTakeBoundsHostileRules(t *testing.T) {
	star := strings.Repeat("a*", 500)
	long := strings.Repeat("a", 240)
	for _, row := range []struct {
		name, rules string
		files       int
	}{
		{"steps", strings.Repeat("*"+star+"b\n", 400) + "hidden\n", 40},
		{"bytes", strings.Repeat("# a comment\n", maxRules/12+1) + "hidden\n", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "x"})
			s.write(".gitignore", row.rules)
			s.write("hidden", "x")
			for i := range row.files {
				s.write(fmt.Sprint(long, i), "x")
			}
			began := time.Now()
			snap := s.take(Options{})
			if took := time.Since(began); took > time.Minute {
				t.Errorf("got it in %v, want an end", took)
			}
			if len(snap.NewlyIgnored) != 0 || len(snap.Changes()) != row.files+2 {
				t.Errorf("got %d newly ignored of %d, want none of %d", len(snap.NewlyIgnored), len(snap.Changes()), row.files+2)
			}
			wantLeft(t, snap, "", "take too long to match")
		})
	}
}

func TestTakeChangesNothing(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "x", "d/b@": "a"})
	s.write("a", "y")
	before := stamp(t, s.d.Workspace)
	s.take(Options{})
	if after := stamp(t, s.d.Workspace); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

func stamp(t *testing.T, root string) string {
	var out strings.Builder
	ok(t, filepath.Walk(root, func(p string, fi os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(p)
		fmt.Fprintf(&out, "%s %v %v\n", p, st.Mode(), st.ModTime().UnixNano())
		return err
	}))
	return out.String()
}

func TestTakeStopsWithItsContext(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Take(ctx, s.d, s.m, Options{}); err == nil {
		t.Error("got no error, want cancelled")
	}
	if _, err := Open(s.d); !os.IsNotExist(errUnwrap(err)) {
		t.Errorf("got %v, want no snapshot saved", err)
	}
}

func errUnwrap(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || os.IsNotExist(err) {
			return err
		}
		err = u.Unwrap()
	}
}

// A blob that was damaged on disk is an error, never other bytes.
func TestOpenRefusesDamage(t *testing.T) {
	s := newStand(t, t.TempDir(), Rules{}, map[string]string{"a": "x"})
	s.write("a", "changed")
	s.take(Options{})
	path := filepath.Join(s.d.Store, snapshotName)
	raw, err := os.ReadFile(path)
	ok(t, err)
	for _, bad := range []string{"", "{", string(raw[:len(raw)/2]), `{"version":2}`, `{}`} {
		ok(t, os.WriteFile(path, []byte(bad), 0o600))
		if _, err := Open(s.d); err == nil {
			t.Errorf("%.20q: got no error", bad)
		}
	}
}
