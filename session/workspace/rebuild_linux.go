package workspace

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// Lay makes a workspace out of a baseline and some changes: every file with its
// content, mode and, where it is the baseline's, time; links as their text; and
// the .git that the session had at first. Empty folders and folders' modes are
// not part of a baseline. It records no baseline of the new one. On error the
// workspace is gone again.
func Lay(ctx context.Context, s Source, to Target) (_ *Laid, err error) {
	ws := to.Dirs.Workspace
	all, err := pieces(s.Base, s.Changed)
	if err != nil {
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
	dst, err := beneath.OpenRoot(ws, beneath.OneMount)
	if err != nil {
		return nil, err
	}
	defer dst.Close() // a folder
	l := &layer{
		copier: &copier{ctx: ctx, dst: dst, own: to.Own}, src: s, progress: to.Progress, total: len(all),
		out: &Laid{Files: len(all)},
	}
	l.sources = openSources(s)
	defer func() {
		for _, d := range l.sources {
			_ = d.Close() // folders
		}
	}()
	folders, err := l.makeFolders(all)
	if err != nil {
		return nil, err
	}
	if err := l.layAll(ctx, all); err != nil {
		return nil, err
	}
	l.ctx = ctx // that of the files has ended with them
	if err := l.git(); err != nil {
		return nil, fmt.Errorf("write the workspace's .git: %w", err)
	}
	slices.SortFunc(l.out.LeftOut, func(a, b diffreview.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	return l.out, l.finish(folders)
}

// layer lays one workspace out.
type layer struct {
	*copier
	src      Source
	sources  []*beneath.Dir // where content that the store does not have may be
	progress Progress
	total    int

	mu    sync.Mutex
	done  int
	bytes int64
	out   *Laid
}

// openSources opens the host's folder and the session's workspace; what can't
// be opened has nothing to offer.
func openSources(s Source) []*beneath.Dir {
	var out []*beneath.Dir
	for _, path := range []string{s.Repo, s.Of.Workspace} {
		if path == "" {
			continue
		}
		if d, err := beneath.OpenRoot(path); err == nil {
			out = append(out, d)
		}
	}
	return out
}

func (l *layer) makeFolders(all []piece) ([]string, error) {
	need := map[string]bool{}
	for i := range all {
		for dir, _ := split(all[i].path); dir != "" && !need[dir]; dir, _ = split(dir) {
			need[dir] = true
		}
	}
	list := make([]string, 0, len(need))
	for d := range need {
		list = append(list, d)
	}
	slices.Sort(list)
	for _, d := range list {
		if err := unix.Mkdirat(l.dst.Fd(), d, 0o700); err != nil {
			return nil, fmt.Errorf("make folder %q: %w", d, err)
		}
	}
	return list, l.ctx.Err()
}

// finish gives the folders owner and mode, innermost first.
func (l *layer) finish(folders []string) error {
	for i := len(folders) - 1; i >= -1; i-- {
		rel := ""
		if i >= 0 {
			rel = folders[i]
		}
		dir, done, err := openDir(l.dst, rel)
		if err != nil {
			return err
		}
		err = l.settle(dir.Fd(), 0o755)
		done()
		if err != nil {
			return fmt.Errorf("folder %q: %w", rel, err)
		}
	}
	return nil
}

// layRun is how many files of one folder a worker takes at once.
const layRun = 64

// layAll lays the files out, several folders at once.
func (l *layer) layAll(ctx context.Context, all []piece) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx = ctx
	next := make(chan []piece)
	errs := make(chan error, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := &layWorker{
				layer: l, objects: baseline.NewObjects(l.src.Of),
				copyWorker: &copyWorker{copier: l.copier, buf: make([]byte, 256<<10)},
			}
			defer w.objects.Close()
			for run := range next {
				if err := w.run(run); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
feed:
	for i := 0; i < len(all); {
		dir, _ := split(all[i].path)
		j := i + 1
		for ; j < len(all) && j-i < layRun; j++ {
			if d, _ := split(all[j].path); d != dir {
				break
			}
		}
		select {
		case next <- all[i:j]:
		case <-ctx.Done():
			break feed
		}
		i = j
	}
	close(next)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return ctx.Err()
	}
}

type layWorker struct {
	*layer
	*copyWorker
	objects *baseline.Objects
}

// run lays out some files of one folder.
func (w *layWorker) run(part []piece) error {
	rel, _ := split(part[0].path)
	dir, done, err := openDir(w.layer.dst, rel)
	if err != nil {
		return err
	}
	defer done()
	var n int64
	for i := range part {
		if err := w.layer.ctx.Err(); err != nil {
			return err
		}
		p := &part[i]
		_, name := split(p.path)
		if p.kind == diffreview.KindSymlink {
			err = w.link(dir, p, name)
		} else {
			err = w.file(dir, p, name)
		}
		if err != nil {
			return fmt.Errorf("lay out %q: %w", p.path, err)
		}
		n += p.size
	}
	w.layer.mu.Lock()
	defer w.layer.mu.Unlock()
	w.layer.done, w.layer.bytes = w.layer.done+len(part), w.layer.bytes+n
	w.out.Bytes += n
	if w.layer.progress != nil {
		w.layer.progress(w.layer.done, w.total, w.layer.bytes)
	}
	return nil
}

func (w *layWorker) link(dir *beneath.Dir, p *piece, name string) error {
	if err := unix.Symlinkat(p.link, dir.Fd(), name); err != nil {
		return err
	}
	if w.layer.own != nil {
		if err := unix.Fchownat(dir.Fd(), name, w.layer.own.UID, w.layer.own.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("set owner: %w", err)
		}
	}
	if p.mtime == 0 {
		return nil
	}
	return setMtime(dir.Fd(), name, p.mtime)
}

func (w *layWorker) file(dir *beneath.Dir, p *piece, name string) error {
	out, err := openAt(dir.Fd(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	why, err := w.fill(out, p)
	if err == nil && why == "" {
		if err = w.layer.settle(out, p.mode); err == nil && p.mtime != 0 {
			err = setMtime(out, "", p.mtime)
		}
	}
	if cerr := unix.Close(out); err == nil {
		err = cerr
	}
	if err != nil || why == "" {
		return err
	}
	w.layer.mu.Lock()
	w.out.LeftOut = append(w.out.LeftOut, diffreview.LeftOut{Path: p.path, Reason: why, Size: p.size})
	w.layer.mu.Unlock()
	return unix.Unlinkat(dir.Fd(), name, 0)
}

// fill writes a file's content. why says that it is not to be had.
func (w *layWorker) fill(out int, p *piece) (why string, err error) {
	data := p.data
	switch {
	case p.fresh && p.blob == "":
	case p.fresh:
		if data, err = w.objects.Blobs.Read(p.blob, keepMax); err != nil {
			return "", err
		}
	case p.ref.Kind == baseline.RefNone:
		return fmt.Sprintf("larger than %d MiB, and its content is not kept", keepMax>>20), nil
	case p.ref.Kind == baseline.RefSum || p.size > keepMax:
		return w.proven(out, p)
	default:
		if data, err = w.objects.Read(p.ref, keepMax); err != nil {
			return "", err
		}
	}
	return "", writeFull(out, data)
}

// proven copies a file whose content the store knows by hash only from where
// bytes of that hash still are.
func (w *layWorker) proven(out int, p *piece) (why string, err error) {
	for _, src := range w.sources {
		in, info, err := src.OpenFile(p.path)
		if err != nil || info.Size != p.size {
			if err == nil {
				_ = in.Close() // read-only
			}
			continue
		}
		same, err := w.copyProven(out, in, p)
		_ = in.Close() // read-only
		if same || err != nil {
			return "", err
		}
		if err := unix.Ftruncate(out, 0); err != nil {
			return "", err
		}
		if _, err := unix.Seek(out, 0, io.SeekStart); err != nil {
			return "", err
		}
	}
	return "git ignores it, so its content is not kept, and it changed on the host and inside", nil
}

// copyProven copies in to out and tells whether that was p's content. What can't
// be read is not it.
func (w *layWorker) copyProven(out int, in *os.File, p *piece) (bool, error) {
	var h hash.Hash
	want := p.ref.Sum[:]
	switch p.ref.Kind {
	case baseline.RefSHA1:
		h, want = gitHash(sha1.Size, p.size), p.ref.Sum[:sha1.Size]
	case baseline.RefSHA256:
		h = gitHash(sha256.Size, p.size)
	case baseline.RefSum, baseline.RefBlob:
		h = sha256.New()
	case baseline.RefNone:
		return false, nil
	}
	var n int64
	for n <= p.size {
		if err := w.layer.ctx.Err(); err != nil {
			return false, err
		}
		m, rerr := in.Read(w.buf)
		n += int64(m)
		h.Write(w.buf[:m])
		if err := writeFull(out, w.buf[:m]); err != nil {
			return false, err
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return false, nil //nolint:nilerr // it is not to be had here
		}
	}
	return n == p.size && bytes.Equal(h.Sum(nil), want), nil
}

// git writes the .git that the session's workspace had at first: the files out of
// the store, and its packs as files of their own.
func (l *layer) git() error {
	if !l.src.Git {
		return nil
	}
	kept := keptGit(l.src.Of)
	if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
		l.out.LeftOut = append(l.out.LeftOut, diffreview.LeftOut{Path: ".git", Reason: "the session was started by a build that did not keep it"})
		return nil
	}
	w := &copyWorker{copier: l.copier, buf: make([]byte, 256<<10)}
	d := &dotGit{w: w, root: filepath.Join(l.dst.Path(), ".git")}
	var folders []string
	err := filepath.WalkDir(kept, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(strings.TrimPrefix(path, kept), "/")
		if e.IsDir() {
			folders = append(folders, rel)
			return os.Mkdir(filepath.Join(d.root, rel), 0o700)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d.create(rel, 0o644, func(fd int) error { return writeFull(fd, data) })
		return d.err
	})
	if err != nil {
		return err
	}
	// Without history there is no index either, and no pack went in.
	if _, err := os.Lstat(filepath.Join(kept, "index")); err == nil {
		packs, err := filepath.Glob(filepath.Join(l.src.Of.GitDir(), "objects", "pack", "*"))
		if err != nil {
			return err
		}
		for _, path := range packs {
			if strings.HasSuffix(path, ".pack") || strings.HasSuffix(path, ".idx") {
				d.copy(path, "objects/pack")
			}
		}
	}
	if d.err != nil {
		return d.err
	}
	for i := len(folders) - 1; i >= 0; i-- {
		fd, err := openAt(unix.AT_FDCWD, filepath.Join(d.root, folders[i]), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		err = l.settle(fd, 0o755)
		_ = unix.Close(fd) // a folder
		if err != nil {
			return err
		}
	}
	return nil
}
