package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// keepMax is the size above which a baseline file's bytes are not kept beside
// the workspace: no change of such a file could be reviewed anyway.
const keepMax = 256 << 20

// Copied is what Copy brought into a workspace.
type Copied struct {
	Entries []baseline.Entry
	LeftOut []diffreview.LeftOut // beside those of the selection
	Changed []string             // files that changed on the host while they were copied
	// InHistory are paths that the policy excludes, or that look like secrets,
	// in the git history that is readable inside; at most 1000.
	InHistory []diffreview.LeftOut
	Bytes     int64
	Cloned    bool // at least one file shares its blocks with the host's

	rules []baseline.IgnoreFile // the .gitignore files
	stats map[string]copiedStat // by path of tracked files whose index entry is clean
}

// copiedStat is what git's index is to say of a file.
type copiedStat struct {
	ctime, mtime int64
	dev, ino     uint64
	uid, gid     uint32
	size         int64
}

// copier copies one selection. Raw descriptors only, each closed by the
// function that opened it.
type copier struct {
	ctx      context.Context
	repo     *Repo
	sel      *Selection
	src, dst *beneath.Dir
	blobs    *baseline.Blobs
	own      *Owner
	progress Progress
	noClone  atomic.Bool
	cloned   atomic.Bool
	trusted  bool // the file system's stat proves unchanged bytes

	mu     sync.Mutex
	out    *Copied
	done   int
	bytes  int64
	told   time.Time
	folder map[string]beneath.Info // of every folder, from the host
}

// copyFiles fills dst, an empty folder of ours, and records each entry. An
// error leaves dst half filled: the caller removes it.
func (c *copier) copyFiles() error {
	c.out = &Copied{stats: map[string]copiedStat{}}
	folders, err := c.makeFolders()
	if err != nil {
		return err
	}
	groups := groupFiles(c.sel.Files)
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.ctx = ctx
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	next := make(chan []File)
	for range workers {
		wg.Go(func() {
			w := &copyWorker{copier: c, buf: make([]byte, 256<<10)}
			for g := range next {
				if err := w.group(g); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
feed:
	for _, g := range groups {
		select {
		case next <- g:
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
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.tell(true)
	c.out.Bytes, c.out.Cloned = c.bytes, c.cloned.Load()
	return c.finishFolders(folders)
}

// makeFolders makes every folder that a file needs, writable for now, outermost
// first.
func (c *copier) makeFolders() ([]string, error) {
	need := map[string]bool{}
	add := func(dir string) {
		for dir != "" && !need[dir] {
			need[dir] = true
			dir, _ = split(dir)
		}
	}
	last := ""
	for i := range c.sel.Files {
		if dir, _ := split(c.sel.Files[i].Path); dir != last {
			add(dir)
			last = dir
		}
	}
	for _, d := range c.sel.dirs {
		add(d)
	}
	for i := range c.sel.index {
		if c.sel.index[i].mode == modeGitlink {
			add(c.sel.index[i].path) // git wants a submodule's folder there
		}
	}
	list := make([]string, 0, len(need))
	for d := range need {
		list = append(list, d)
	}
	slices.Sort(list)
	c.folder = make(map[string]beneath.Info, len(list))
	for _, d := range list {
		info, err := c.src.Lstat(d)
		if err != nil || info.Kind != beneath.Directory {
			info = beneath.Info{Mode: 0o755} // it went away: an empty one holds its place
		}
		c.folder[d] = info
		if err := unix.Mkdirat(c.dst.Fd(), d, 0o700); err != nil {
			return nil, fmt.Errorf("make folder %q: %w", d, err)
		}
	}
	return list, c.ctx.Err()
}

// finishFolders gives each folder its owner, mode and time, innermost first:
// only when nothing more is made in it.
func (c *copier) finishFolders(list []string) error {
	for i := len(list) - 1; i >= -1; i-- {
		rel, info := "", beneath.Info{}
		if i >= 0 {
			rel, info = list[i], c.folder[list[i]]
		} else {
			var err error
			if info, err = c.src.Stat(); err != nil {
				return err
			}
		}
		dir, done, err := openDir(c.dst, rel)
		if err != nil {
			return err
		}
		if err = c.settle(dir.Fd(), info.Mode); err == nil && info.Mtime != 0 {
			err = setMtime(dir.Fd(), "", info.Mtime)
		}
		done()
		if err != nil {
			return fmt.Errorf("folder %q: %w", rel, err)
		}
	}
	return nil
}

// settle sets owner and permission bits.
func (c *copier) settle(fd int, mode uint32) error {
	if c.own != nil {
		if err := unix.Fchown(fd, c.own.UID, c.own.GID); err != nil {
			return fmt.Errorf("set owner: %w", err)
		}
	}
	if err := unix.Fchmod(fd, mode&0o777); err != nil {
		return fmt.Errorf("set mode: %w", err)
	}
	return nil
}

// setMtime sets the time of last change of a name in a folder, or of the
// folder itself when name is empty.
func setMtime(fd int, name string, mtime int64) error {
	ts := [2]unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	if err := utimensat(fd, name, &ts); err != nil {
		return fmt.Errorf("set time: %w", err)
	}
	return nil
}

func (c *copier) leave(path, why string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.LeftOut = append(c.out.LeftOut, diffreview.LeftOut{Path: path, Reason: why, Size: size})
}

// tell reports progress, seldom.
func (c *copier) tell(last bool) {
	if c.progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); last || now.Sub(c.told) > 100*time.Millisecond {
		c.told = now
		c.progress(c.done, len(c.sel.Files), c.bytes)
	}
}

type copyWorker struct {
	*copier
	buf     []byte
	entries []baseline.Entry
	stats   []copiedStat
	paths   []string // of stats
}

// group copies some files of one folder.
func (w *copyWorker) group(files []File) error {
	rel, _ := split(files[0].Path)
	src, closeSrc, err := openDir(w.src, rel)
	if err != nil {
		for i := range files {
			w.leave(files[i].Path, "vanished while the copy was made", files[i].Info.Size)
		}
		return nil
	}
	defer closeSrc()
	dst, closeDst, err := openDir(w.dst, rel)
	if err != nil {
		return err
	}
	defer closeDst()
	w.entries, w.stats, w.paths = w.entries[:0], w.stats[:0], w.paths[:0]
	var bytes int64
	for i := range files {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		f := &files[i]
		_, name := split(f.Path)
		if f.Info.Kind == beneath.Symlink {
			err = w.link(src, dst, f, name)
		} else {
			err = w.file(src, dst, f, name)
		}
		if err != nil {
			return fmt.Errorf("copy %q: %w", f.Path, err)
		}
		bytes += f.Info.Size
	}
	w.mu.Lock()
	w.out.Entries = append(w.out.Entries, w.entries...)
	for i, p := range w.paths {
		w.out.stats[p] = w.stats[i]
	}
	w.done += len(files)
	w.bytes += bytes
	w.mu.Unlock()
	w.tell(false)
	return nil
}

// record notes a finished entry by what the kernel now says of it.
func (w *copyWorker) record(f *File, info beneath.Info, ref baseline.Ref, target string, clean bool) {
	e := baseline.Entry{
		Path: f.Path, Kind: diffreview.KindFile, Mode: info.Mode & 0o7777, Size: info.Size, Ino: info.Ino,
		Mtime: info.Mtime, Ctime: info.Ctime, Ref: ref,
		Ignored: f.Origin == Included || f.Origin == Depends,
	}
	if info.Kind == beneath.Symlink {
		e.Kind, e.Target = diffreview.KindSymlink, target
	}
	w.entries = append(w.entries, e)
	if clean {
		w.paths = append(w.paths, f.Path)
		w.stats = append(w.stats, copiedStat{info.Ctime, info.Mtime, info.Dev, info.Ino, info.UID, info.GID, info.Size})
	}
}

// link copies a symbolic link as its text.
func (w *copyWorker) link(src, dst *beneath.Dir, f *File, name string) error {
	target, err := src.Readlink(name)
	if err != nil {
		w.leave(f.Path, "changed while the copy was made", 0)
		return nil //nolint:nilerr // it is listed as left out
	}
	if err := unix.Symlinkat(target, dst.Fd(), name); err != nil {
		return err
	}
	if w.own != nil {
		if err := unix.Fchownat(dst.Fd(), name, w.own.UID, w.own.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("set owner: %w", err)
		}
	}
	if err := setMtime(dst.Fd(), name, f.Info.Mtime); err != nil {
		return err
	}
	info, err := dst.LstatName(name)
	if err != nil {
		return err
	}
	w.record(f, info, baseline.Ref{}, target, f.Origin == Tracked && w.sel.index[f.index].clean)
	return nil
}

// file copies a regular file. What goes wrong with the host's file is listed;
// what goes wrong with ours is an error.
func (w *copyWorker) file(src, dst *beneath.Dir, f *File, name string) error {
	in, err := openAt(src.Fd(), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		w.leave(f.Path, copyReason(err), f.Info.Size)
		return nil
	}
	defer unix.Close(in) // read-only
	before, err := beneath.Fstat(in)
	if err != nil || before.Kind != beneath.Regular {
		w.leave(f.Path, "changed while the copy was made", f.Info.Size)
		return nil
	}
	// The final mode, as far as the umask lets it: mostly that saves a change.
	out, err := openAt(dst.Fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, before.Mode&0o777)
	if err != nil {
		return err
	}
	defer unix.Close(out) // the file system reports a late error to nobody who could use it
	proof, err := w.content(in, out, f, before, name)
	var host *hostError
	if errors.As(err, &host) {
		w.leave(f.Path, copyReason(host.err), f.Info.Size)
		return unix.Unlinkat(dst.Fd(), name, 0)
	}
	if err != nil {
		return err
	}
	after, err := beneath.Fstat(in)
	if err != nil {
		return err
	}
	changed := !sameStat(before, after) || !sameStat(f.Info, after)
	if changed {
		w.mu.Lock()
		w.out.Changed = append(w.out.Changed, f.Path)
		w.mu.Unlock()
	}
	ref := proof.ref
	if ref.Kind == refByStat {
		if ref = w.gitRef(f); changed {
			// The stat that stood for the content is not its stat any more.
			if ref, err = w.refOf(out, f, name); err != nil {
				return err
			}
		}
	}
	if err := setMtime(dst.Fd(), name, before.Mtime); err != nil {
		return err
	}
	info, err := beneath.Fstat(out)
	if err == nil && (w.own != nil || info.Mode&0o7777 != before.Mode&0o777) {
		if err = w.settle(out, before.Mode); err == nil {
			info, err = beneath.Fstat(out)
		}
	}
	if err != nil {
		return err
	}
	w.record(f, info, ref, "", !changed && f.Origin == Tracked && w.sel.index[f.index].clean)
	return nil
}

func sameStat(a, b beneath.Info) bool {
	return a.Ino == b.Ino && a.Dev == b.Dev && a.Size == b.Size && a.Mtime == b.Mtime && a.Ctime == b.Ctime
}

// hostError is a fault in reading the host's file, which is listed and does
// not end the copy.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }

func copyReason(err error) string {
	if errors.Is(err, unix.EAGAIN) {
		return beneath.ErrBusy.Error()
	}
	if errors.Is(err, unix.ENXIO) {
		return "special file"
	}
	return beneath.Reason(err)
}
