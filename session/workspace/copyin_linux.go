package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// Target is where a copy-in goes.
type Target struct {
	Dirs     baseline.Dirs // Workspace must not exist; Store is a folder of ours
	Own      *Owner        // whom the workspace is to belong to; nil is the caller
	Progress Progress      // nil is nobody
}

// CopyIn makes a workspace: the chosen files, a .git of its own, and the
// recorded baseline of it. When it returns nothing inside has run yet, and the
// session can start. On error the workspace is gone again.
func CopyIn(ctx context.Context, r *Repo, sel *Selection, to Target) (_ *Copied, err error) {
	ws := to.Dirs.Workspace
	if err := roomFor(r, sel, to.Dirs); err != nil {
		return nil, err
	}
	if err := os.Mkdir(ws, 0o700); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	defer func() {
		if err == nil {
			return
		}
		if rerr := Remove(ws); rerr != nil {
			err = errors.Join(err, rerr)
		}
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			err = &NoSpaceError{Path: ws}
		}
	}()
	if err := os.MkdirAll(to.Dirs.Store, 0o700); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	src, err := beneath.OpenRoot(r.Root)
	if err != nil {
		return nil, err
	}
	defer src.Close() // read-only
	if err := stillThere(r, src); err != nil {
		return nil, err
	}
	dst, err := beneath.OpenRoot(ws, beneath.OneMount)
	if err != nil {
		return nil, err
	}
	defer dst.Close() // a folder
	c := &copier{
		ctx: ctx, repo: r, sel: sel, src: src, dst: dst, own: to.Own, progress: to.Progress,
		blobs: baseline.NewBlobs(to.Dirs.BlobsDir()),
	}
	if c.trusted, err = baseline.StatTrusted(dst); err != nil {
		return nil, err
	}
	pk := &packer{repo: r, sel: sel, dir: to.Dirs.GitDir()}
	if err := both(ctx, r, c, pk); err != nil {
		return nil, err
	}
	if err := c.git(ctx, pk, to.Dirs); err != nil {
		return nil, fmt.Errorf("write the workspace's .git: %w", err)
	}
	return c.out, c.record(to.Dirs)
}

// both copies files and packs objects at the same time; the first to fail
// ends the other.
func both(ctx context.Context, r *Repo, c *copier, pk *packer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ctx = ctx
	// A copier of its own: that of the files ends its context when it is done.
	pk.copy = (&copyWorker{copier: &copier{ctx: ctx}, buf: make([]byte, 256<<10)}).copyPath
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	end := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
			cancel()
		}
	}
	wg.Go(func() { end(c.copyFiles()) })
	if r.Git {
		wg.Go(func() { end(pk.run(ctx)) })
	}
	wg.Wait()
	return first
}

// git writes the workspace's .git, if the repository has one.
func (c *copier) git(ctx context.Context, pk *packer, to baseline.Dirs) error {
	if !c.repo.Git {
		return nil
	}
	packs, idx, err := pk.packs()
	if err != nil {
		return err
	}
	defer closePacks(packs)
	c.ctx = ctx
	c.out.InHistory = pk.secrets
	for _, l := range c.out.LeftOut {
		c.sel.skipped[l.Path] = true
	}
	d := &dotGit{
		repo: c.repo, sel: c.sel, copied: c.out, refs: pk.refs, root: filepath.Join(to.Workspace, ".git"), kept: keptGit(to),
		w: &copyWorker{copier: c, buf: make([]byte, 256<<10)},
	}
	// The folder's own mode may not let us write into it, and its time must
	// stay the host's.
	top, err := c.dst.Stat()
	if err != nil {
		return err
	}
	if err := unix.Fchmod(c.dst.Fd(), 0o700); err != nil {
		return err
	}
	if err := d.run(packs, idx); err != nil {
		return err
	}
	if err := unix.Fchmod(c.dst.Fd(), top.Mode&0o777); err != nil {
		return err
	}
	return setMtime(c.dst.Fd(), "", top.Mtime)
}

// record writes the baseline.
func (c *copier) record(d baseline.Dirs) error {
	m := &baseline.Manifest{Entries: c.out.Entries, LeftOut: slices.Concat(c.sel.LeftOut, c.out.LeftOut)}
	slices.SortFunc(m.LeftOut, func(a, b diffreview.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	if c.repo.Git {
		exclude, err := gitText(c.repo.CommonDir, "info/exclude")
		if err != nil {
			return err
		}
		m.Rules = baseline.Rules{
			Global: c.repo.excludes, Fold: c.repo.config.is("core.ignorecase"),
			Roots: append([]baseline.IgnoreFile{{Text: exclude}}, c.sel.roots...),
			Files: c.out.rules,
		}
	}
	// The clock is read before the record is made durable: no process inside
	// can have run before it.
	m.RecordedAt = time.Now().UnixNano()
	return baseline.Record(d, m)
}

// stillThere says whether the repository is the one that Inspect saw.
func stillThere(r *Repo, src *beneath.Dir) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if info.Dev != r.RootDev || info.Ino != r.RootIno {
		return &RefusedError{Path: r.Root, Why: "was replaced by another folder since it was looked at", Hint: "start again"}
	}
	return nil
}

// roomFor checks for free space before anything is written, unless files can
// share their blocks. A sparse file counts as what it takes.
func roomFor(r *Repo, sel *Selection, d baseline.Dirs) error {
	var st unix.Statfs_t
	parent := filepath.Dir(d.Workspace)
	if err := unix.Statfs(parent, &st); err != nil {
		return fmt.Errorf("look at the free space of %q: %w", parent, err)
	}
	var host unix.Statfs_t
	if err := unix.Statfs(r.Root, &host); err != nil {
		return fmt.Errorf("look at the file system of %q: %w", r.Root, err)
	}
	clones := st.Type == unix.BTRFS_SUPER_MAGIC || st.Type == unix.XFS_SUPER_MAGIC
	if clones && st.Fsid == host.Fsid {
		return nil
	}
	var need int64
	for i := range sel.Files {
		f := &sel.Files[i]
		n := min(f.Info.Size, f.Info.Blocks*512)
		need += n
		// What git does not have is kept a second time, as the baseline.
		if f.Origin != Depends && (f.index < 0 || !sel.index[f.index].clean) && f.Info.Size <= keepMax {
			need += n
		}
	}
	if free := int64(st.Bavail) * st.Bsize; need > free {
		return &NoSpaceError{Path: d.Workspace, Need: need, Free: free}
	}
	return nil
}
