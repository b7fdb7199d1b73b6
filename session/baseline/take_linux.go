package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
)

// Options bound a snapshot. A zero field takes the default beside it.
type Options struct {
	Walk     beneath.Limits // names, depth, time and workers of the walk
	MaxFile  int64          // bytes of one changed file; 256 MiB
	MaxTotal int64          // bytes of all changed files; 4 GiB
	MaxFiles int            // changed paths; 200,000
	// Ignored says which of the paths that the baseline's rules ignore are
	// brought into the change set after all; nil is none. Asked is what a person
	// wrote for it, kept with the snapshot.
	Ignored func(path string) bool
	Asked   []string
	Now     func() time.Time // time.Now
}

func (o Options) orDefault() Options {
	if o.MaxFile == 0 {
		o.MaxFile = 256 << 20
	}
	if o.MaxTotal == 0 {
		o.MaxTotal = 4 << 30
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 200_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

const (
	// maxListed bounds the lists of a snapshot that an engineer reads.
	maxListed = 1000
	// tick is longer than the kernel's coarse clock: an entry whose ctime is
	// this close to the recording could have changed without a new ctime.
	tick = int64(20 * time.Millisecond)
)

// Take compares the workspace with the baseline, reads each changed file once
// into the store, and saves the result as the store's snapshot. The caller has
// stopped every process that could write to the workspace, and holds the lock
// on the session folder. Nothing in the workspace is changed.
func Take(ctx context.Context, d Dirs, m *Manifest, opts Options) (*Snapshot, error) {
	opts = opts.orDefault()
	root, err := beneath.OpenRoot(d.Workspace, beneath.OneMount)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	defer root.Close() // read-only
	trusted, err := StatTrusted(root)
	if err != nil {
		return nil, err
	}
	t := &taker{
		ctx: ctx, m: m, opts: opts, root: root, trusted: trusted,
		ignore: m.Rules.Compile(), seen: make([]bool, len(m.Entries)),
		objects: NewObjects(d), kept: keptBefore(d),
	}
	defer t.objects.Close()
	walked, err := root.Walk(ctx, opts.Walk, t.visit)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	for _, f := range walked.Findings {
		t.leave(f.Path, f.Reason, 0)
	}
	if err := t.missing(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if err := t.read(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	s, err := t.finish()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if err := s.save(d); err != nil {
		return nil, err
	}
	return s, nil
}

// keptBefore gives the old sides of the snapshot before, by path: the baseline is
// recorded once, so they are still the same. Nil when there is none to read; then
// all are fetched again.
func keptBefore(d Dirs) map[string]diffreview.Blob {
	s, err := Open(d)
	if err != nil {
		return nil
	}
	out := make(map[string]diffreview.Blob, len(s.changes))
	for _, c := range s.changes {
		if c.Old.Blob != "" {
			out[c.Path] = c.Old.Blob
		}
	}
	return out
}

// StatTrusted says whether an unchanged stat means unchanged bytes there. On
// other file systems (tmpfs, overlays, FUSE) a shared mapping, or whoever
// serves it, changes bytes and leaves every time as it was.
func StatTrusted(root *beneath.Dir) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(root.Fd(), &st); err != nil {
		return false, fmt.Errorf("snapshot: look at the file system of %q: %w", root.Path(), err)
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC:
		return true, nil
	}
	return false, nil
}

// candidate is a path that may differ.
type candidate struct {
	path  string
	entry int // in the manifest, or -1: added
	// ignored by the baseline's rules, and asked for.
	ignored bool
	info    beneath.Info
}

type taker struct {
	ctx     context.Context
	m       *Manifest
	opts    Options
	root    *beneath.Dir
	trusted bool
	ignore  *Ignore
	seen    []bool // by manifest index; each written by one visitor only
	objects *Objects
	kept    map[string]diffreview.Blob // the old sides that the snapshot before this one kept

	mu         sync.Mutex
	candidates []candidate
	changes    []diffreview.Change
	ignored    []string
	nIgnored   int
	left       []diffreview.LeftOut
	nLeft      int
	total      int64 // bytes stored
	capped     bool  // MaxFiles was reached
}

// visit sorts the names of one folder into unchanged, candidates and the rest.
func (t *taker) visit(_ *beneath.Dir, rel string, entries []beneath.Entry) error {
	g := t.m.groups[rel]
	dirIgnored := t.ignore.Dir(rel)
	for i := range entries {
		e := &entries[i]
		if gitFolder(e.Name) {
			e.Skip = true
			if rel != "" || e.Name != ".git" {
				t.leave(beneath.Join(rel, e.Name), "git's own folder: never returns", 0)
			}
			continue
		}
		at := -1
		if g.hi > g.lo {
			at = t.m.in(g, e.Name)
		}
		switch {
		case e.Kind == beneath.Directory:
			continue // what was a file there is found missing later
		case at >= 0:
			t.seen[at] = true
			if !t.same(&t.m.Entries[at], &e.Info) {
				t.known(at, e)
			}
		default:
			t.added(beneath.Join(rel, e.Name), e, dirIgnored)
		}
	}
	return nil
}

// gitFolder is ".git" in any case: git on other systems would take it for its
// own, and apply refuses it as well.
func gitFolder(name string) bool { return len(name) == 4 && strings.EqualFold(name, ".git") }

// same says that neither content nor kind can have changed.
func (t *taker) same(b *Entry, i *beneath.Info) bool {
	return t.trusted && b.Ctime+tick < t.m.RecordedAt &&
		b.Ino == i.Ino && b.Ctime == i.Ctime && b.Mtime == i.Mtime && b.Mode == i.Mode&0o7777 &&
		(b.Kind == diffreview.KindFile && i.Kind == beneath.Regular && b.Size == i.Size ||
			b.Kind == diffreview.KindSymlink && i.Kind == beneath.Symlink)
}

func (t *taker) known(at int, e *beneath.Entry) {
	b := &t.m.Entries[at]
	if e.Kind == beneath.Other {
		t.leave(b.Path, e.Special()+" in place of a file: never returns", 0)
		return
	}
	t.mu.Lock()
	t.candidates = append(t.candidates, candidate{path: b.Path, entry: at, info: e.Info, ignored: b.Ignored})
	t.mu.Unlock()
}

func (t *taker) added(path string, e *beneath.Entry, dirIgnored bool) {
	ignored := dirIgnored || t.ignore.Path(path, false)
	if ignored {
		if t.opts.Ignored == nil || !t.opts.Ignored(path) {
			t.countIgnored(path)
			return
		}
	}
	if e.Kind == beneath.Other {
		t.leave(path, e.Special()+": never returns", 0)
		return
	}
	t.mu.Lock()
	t.candidates = append(t.candidates, candidate{path: path, entry: -1, info: e.Info, ignored: ignored})
	t.mu.Unlock()
}

func (t *taker) countIgnored(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nIgnored++
	if len(t.ignored) < maxListed {
		t.ignored = append(t.ignored, path)
	}
}

func (t *taker) leave(path, why string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nLeft++
	// A flood of fifos must not push out the name of a file that was there.
	if len(t.left) < maxListed || t.m.Lookup(path) != nil {
		t.left = append(t.left, diffreview.LeftOut{Path: path, Reason: why, Size: size})
	}
}

// missing looks again, one by one, at what the walk did not meet: a path is
// deleted only when the kernel says that nothing is there, not because a
// folder could not be read or a limit ended the walk.
func (t *taker) missing() error {
	for i, seen := range t.seen {
		if seen {
			continue
		}
		if i&0xff == 0 {
			if err := t.ctx.Err(); err != nil {
				return err
			}
		}
		b := &t.m.Entries[i]
		info, err := t.root.Lstat(b.Path)
		switch {
		case err == nil && info.Kind == beneath.Directory,
			errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
			if b.Ignored && (t.opts.Ignored == nil || !t.opts.Ignored(b.Path)) {
				t.countIgnored(b.Path)
				continue
			}
			t.candidates = append(t.candidates, candidate{path: b.Path, entry: i, ignored: b.Ignored})
		case err != nil:
			t.leave(b.Path, "not compared: "+beneath.Reason(err), b.Size)
		case !t.same(b, &info):
			t.known(i, &beneath.Entry{Info: info})
		}
	}
	return nil
}

// read looks at the bytes of every candidate, in order of paths, so that what
// a limit leaves out hardly depends on the order of the file system.
func (t *taker) read() error {
	slices.SortFunc(t.candidates, func(a, b candidate) int { return cmp.Compare(a.path, b.path) })
	var (
		wg   sync.WaitGroup
		next = make(chan int)
		errs = make(chan error, readers)
	)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	for range readers {
		wg.Go(func() {
			r := &fileReader{t: t, ctx: ctx, objects: t.objects.another(), buf: make([]byte, 128<<10)}
			defer r.objects.Close()
			for i := range next {
				if err := r.candidate(&t.candidates[i]); err != nil {
					cancel()
					errs <- err
					return
				}
			}
		})
	}
feed:
	for i := range t.candidates {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return t.ctx.Err()
	}
}

// readers is how many files are read at once.
const readers = 2

func (t *taker) finish() (*Snapshot, error) {
	s := &Snapshot{At: t.opts.Now().UTC(), Asked: t.opts.Asked, blobs: t.objects.Blobs, changes: t.changes, LeftOut: t.left}
	slices.SortFunc(s.changes, byPath)
	slices.SortFunc(s.LeftOut, func(a, b diffreview.LeftOut) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	if t.nLeft > len(s.LeftOut) {
		s.LeftOut = append(s.LeftOut, diffreview.LeftOut{Reason: fmt.Sprintf("%d more that are not named here", t.nLeft-len(s.LeftOut))})
	}
	slices.Sort(t.ignored)
	s.Ignored = diffreview.IgnoredChanges{Count: t.nIgnored, Paths: t.ignored, Truncated: t.nIgnored > len(t.ignored)}
	return s, t.newlyIgnored(s)
}
