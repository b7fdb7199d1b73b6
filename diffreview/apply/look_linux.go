package apply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

const (
	maxNames   = 100_000 // of a folder that may be removed when it is empty
	lookTries  = 5       // of a file that changes while it is read
	writerWait = 100 * time.Millisecond
	writerPoll = 5 * time.Millisecond
)

// look reads what stands at a path: content by hash, mode, times, owner. What
// can't be compared comes with the reason; an error is only the context's.
func (t *tree) look(ctx context.Context, rel string) (hostPath, error) {
	for range lookTries {
		hp, stable, err := t.lookOnce(ctx, rel)
		if err != nil || stable {
			return hp, err
		}
	}
	return hostPath{why: "the host's file is being written"}, nil
}

func (t *tree) lookOnce(ctx context.Context, rel string) (_ hostPath, stable bool, _ error) {
	if err := ctx.Err(); err != nil {
		return hostPath{}, false, err
	}
	st, err := t.lstat(rel)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		// A parent that is no folder is judged where parents are.
		return hostPath{}, true, nil
	case err != nil:
		return hostPath{why: plain(err)}, true, nil
	}
	hp := hostPath{state: state{Kind: kindOf(st.Mode), UID: st.Uid, GID: st.Gid, Mtime: st.Mtim.Nano(), ino: st.Ino, ctime: st.Ctim.Nano()}}
	switch hp.Kind {
	case diffreview.KindSymlink:
		target, err := t.readlink(rel)
		if err != nil {
			return hp, false, nil
		}
		hp.Target = raw(target)
		return hp, true, nil
	case diffreview.KindFile:
	default:
		if t.isGit(st) {
			hp.why = errGitFolder.Error()
		}
		return hp, true, nil
	}
	f, st, err := t.file(rel)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, errNotRegular), errors.Is(err, unix.ELOOP):
		return hp, false, nil // replaced since the lstat
	case err != nil:
		return hostPath{why: plain(err)}, true, nil
	}
	defer f.Close()
	s, stable, err := read(ctx, f, st, io.Discard)
	if err != nil {
		if ctx.Err() != nil {
			return hp, false, ctx.Err()
		}
		return hostPath{why: plain(err)}, true, nil
	}
	return hostPath{state: s}, stable, nil
}

// read copies an open file to w and gives its state. It is stable when nothing
// changed meanwhile.
func read(ctx context.Context, f *os.File, st *unix.Stat_t, w io.Writer) (state, bool, error) {
	h := sha256.New()
	n, err := pump(ctx, io.MultiWriter(h, w), f)
	if err != nil {
		return state{}, false, err
	}
	var after unix.Stat_t
	if err := fstat(f, &after); err != nil {
		return state{}, false, err
	}
	s := state{
		Kind: diffreview.KindFile, Blob: diffreview.Blob(hex.EncodeToString(h.Sum(nil))), Size: n,
		Mode: after.Mode & 0o7777, Mtime: after.Mtim.Nano(), UID: after.Uid, GID: after.Gid,
		ino: after.Ino, ctime: after.Ctim.Nano(),
	}
	return s, n == after.Size && st.Size == after.Size && st.Mtim == after.Mtim && st.Mode == after.Mode, nil
}

// buffers are shared by all copies: one for each file would cost more than
// reading a small one.
var buffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

func pump(ctx context.Context, w io.Writer, r io.Reader) (int64, error) {
	buf, _ := buffers.Get().(*[]byte) // nothing else is ever put in
	defer buffers.Put(buf)
	return io.CopyBuffer(w, ctxReader{ctx, r}, *buf)
}

type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// settled is look for a file that was just taken off its name: nobody can open
// it by that name any more, so once no process holds it open for writing its
// bytes are final. It says why when they are not.
func (t *tree) settled(rel string) hostPath {
	ctx := context.Background() // the file has to be judged, cancelled or not
	if f, _, err := t.file(rel); err == nil {
		for wait := time.Duration(0); openForWriting(f); wait += writerPoll {
			if wait >= writerWait {
				_ = f.Close()
				hp, _ := t.look(ctx, rel)
				hp.why = "another program has the host's file open for writing"
				return hp
			}
			time.Sleep(writerPoll)
		}
		_ = f.Close()
	}
	hp, _ := t.look(ctx, rel)
	return hp
}

// observe looks at every goal's path and at the folders above.
func (t *tree) observe(ctx context.Context, goals []goal) (host, error) {
	h := host{paths: make(map[string]hostPath, len(goals)), dirs: map[string]hostDir{}}
	list := map[string]bool{} // folders below which something is to be deleted
	names := aliases{t: t, dirs: map[string]listing{}}
	for _, g := range goals {
		hp, err := t.look(ctx, g.path)
		if err != nil {
			return host{}, err
		}
		if hp.why == "" && !hp.absent() {
			if other := names.of(g.path); other != "" {
				hp = hostPath{why: oneName(other)}
				if other != unknownName {
					hp.as = join(parentOf(g.path), other)
				}
			}
		}
		h.paths[g.path] = hp
		for _, d := range ancestors(g.path) {
			h.dirs[d] = hostDir{}
			if g.want.Kind == diffreview.KindAbsent {
				list[d] = true
			}
		}
	}
	for d := range h.dirs {
		if err := ctx.Err(); err != nil {
			return host{}, err
		}
		hd := t.lookDir(d)
		if hd.why == "" && hd.kind != diffreview.KindAbsent {
			if other := names.of(d); other != "" {
				hd = hostDir{kind: hd.kind, why: fmt.Sprintf("the folder %q %s", d, oneName(other))}
			}
		}
		if hd.kind == kindFolder && list[d] {
			names, whole, err := t.names(d, maxNames)
			hd.names, hd.listed = names, whole && err == nil // an unlisted folder is never removed
		}
		h.dirs[d] = hd
	}
	return h, nil
}

func (t *tree) lookDir(d string) hostDir {
	st, err := t.lstat(d)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return hostDir{}
	case err != nil:
		return hostDir{why: fmt.Sprintf("the folder %q: %s", d, plain(err))}
	}
	hd := hostDir{kind: kindOf(st.Mode), mode: st.Mode & 0o7777, uid: st.Uid, gid: st.Gid}
	if hd.kind != kindFolder {
		return hd
	}
	// Opening it tells a mount and the git folder from an ordinary one.
	fd, err := t.dir(d)
	if err != nil {
		hd.why = fmt.Sprintf("the folder %q: %s", d, plain(err))
		return hd
	}
	_ = unix.Close(fd)
	return hd
}
