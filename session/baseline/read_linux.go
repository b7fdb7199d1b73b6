package baseline

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
)

// fileReader compares candidates one by one. It belongs to one goroutine.
type fileReader struct {
	t       *taker
	ctx     context.Context
	objects *Objects
	buf     []byte
}

// candidate decides what became of one path and records it.
func (r *fileReader) candidate(c *candidate) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if !r.room() {
		return nil
	}
	var old diffreview.Entry
	var base *Entry
	if c.entry >= 0 {
		base = &r.t.m.Entries[c.entry]
		old = diffreview.Entry{Kind: base.Kind, Target: base.Target}
		if base.Kind == diffreview.KindFile {
			old.Exec, old.Size = base.Mode&0o100 != 0, base.Size
		}
	}
	now, same, why, err := r.now(c, base)
	if err != nil {
		return err
	}
	if why != "" {
		r.t.leave(c.path, why, c.info.Size)
		return nil
	}
	if same {
		if base.Kind == diffreview.KindSymlink || now.Exec == old.Exec {
			return nil
		}
	}
	if base != nil && base.Ignored && (r.t.opts.Ignored == nil || !r.t.opts.Ignored(c.path)) {
		r.t.countIgnored(c.path)
		return nil
	}
	if old.Kind == diffreview.KindFile {
		if same && now.Blob != "" {
			old.Blob = now.Blob
		} else if old.Blob, err = r.keepOld(base); err != nil {
			// Nothing can be reviewed or applied against bytes that are gone.
			r.t.leave(c.path, "changed, but can't be reviewed: "+err.Error(), c.info.Size)
			return nil //nolint:nilerr // it is listed with its reason
		}
	}
	if now.Kind == diffreview.KindFile && c.info.Mode&0o6000 != 0 {
		r.t.leave(c.path, "its set-uid or set-gid bit never returns; the rest of the change does", 0)
	}
	r.t.mu.Lock()
	r.t.changes = append(r.t.changes, diffreview.Change{Path: c.path, Old: old, New: now, Ignored: c.ignored})
	r.t.mu.Unlock()
	return nil
}

// room says whether another changed path is allowed.
func (r *fileReader) room() bool {
	t := r.t
	t.mu.Lock()
	full, first := len(t.changes) >= t.opts.MaxFiles, !t.capped
	if full {
		t.capped = true
	}
	t.mu.Unlock()
	if full && first {
		t.leave("", fmt.Sprintf("more than %d changed paths: the rest was not read", t.opts.MaxFiles), 0)
	}
	return !full
}

// now describes what is at a candidate's path. same says that it has the kind
// and content of base. why is set when it can't be read.
func (r *fileReader) now(c *candidate, base *Entry) (e diffreview.Entry, same bool, why string, err error) {
	switch c.info.Kind {
	case 0: // nothing there
		return e, false, "", nil
	case beneath.Symlink:
		target, err := r.t.root.Readlink(c.path)
		if err != nil {
			return e, false, "not compared: " + beneath.Reason(err), nil
		}
		e = diffreview.Entry{Kind: diffreview.KindSymlink, Target: target}
		return e, base != nil && base.Kind == diffreview.KindSymlink && base.Target == target, "", nil
	case beneath.Regular:
		return r.file(c, base)
	case beneath.Directory, beneath.Other:
	}
	return e, false, "not compared: became a " + c.info.Kind.String(), nil
}

// file reads one regular file once: its hash, the hash that the baseline knows
// it by, and, when it differs, its bytes into the store.
func (r *fileReader) file(c *candidate, base *Entry) (e diffreview.Entry, same bool, why string, err error) {
	f, info, err := r.t.root.OpenFile(c.path)
	if err != nil {
		return e, false, "not compared: " + beneath.Reason(err), nil
	}
	defer f.Close() // read-only
	c.info = info
	e = diffreview.Entry{Kind: diffreview.KindFile, Exec: info.Mode&0o100 != 0, Size: info.Size}
	// An unchanged file may be larger than a changed one: it is only hashed.
	mayDiffer := base == nil || base.Kind != diffreview.KindFile || base.Size != info.Size
	if info.Size > r.t.opts.MaxFile {
		if mayDiffer {
			return e, false, fmt.Sprintf("larger than the limit of %d bytes for one changed file", r.t.opts.MaxFile), nil
		}
		return r.large(f, info, base)
	}
	var data []byte
	if info.Size <= int64(len(r.buf)) {
		if data, err = readSmall(f, r.buf); err != nil {
			return e, false, "not compared: " + beneath.Reason(err), nil
		}
		if data != nil {
			return r.small(data, e, base)
		}
		// It grew over the buffer meanwhile: read from the start as a large one.
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return e, false, "not compared: " + beneath.Reason(err), nil
		}
	}
	return r.stream(f, e, base)
}

// readSmall reads f whole into buf, or gives nil when it does not fit.
func readSmall(f io.Reader, buf []byte) ([]byte, error) {
	n := 0
	for n < len(buf) {
		m, err := f.Read(buf[n:])
		n += m
		if err == io.EOF {
			return buf[:n:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (r *fileReader) small(data []byte, e diffreview.Entry, base *Entry) (diffreview.Entry, bool, string, error) {
	e.Size = int64(len(data))
	sum := sha256.Sum256(data)
	same := base != nil && base.Kind == diffreview.KindFile && base.Size == e.Size && equalRef(base.Ref, sum, func(n int) []byte {
		return BlobName(data, n)
	})
	if same && e.Exec == (base.Mode&0o100 != 0) {
		return e, true, "", nil
	}
	if why := r.spend(e.Size); why != "" {
		return e, false, why, nil
	}
	if err := r.objects.Blobs.PutSum(sum, data); err != nil {
		return e, false, "", err
	}
	e.Blob = blobOf(sum)
	return e, same, "", nil
}

// equalRef compares content with a reference; name computes git's name of it.
func equalRef(ref Ref, sum [32]byte, name func(size int) []byte) bool {
	switch ref.Kind {
	case RefBlob, RefSum:
		return ref.Sum == sum
	case RefSHA1:
		return bytes.Equal(name(sha1.Size), ref.Sum[:sha1.Size])
	case RefSHA256:
		return bytes.Equal(name(sha256.Size), ref.Sum[:])
	case RefNone:
	}
	return false
}

// spend counts bytes that are about to be stored.
func (r *fileReader) spend(n int64) (why string) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total+n > t.opts.MaxTotal {
		return fmt.Sprintf("over the limit of %d bytes for all changed files together", t.opts.MaxTotal)
	}
	t.total += n
	return ""
}

// stream is small for a file that is not held in memory.
func (r *fileReader) stream(f io.Reader, e diffreview.Entry, base *Entry) (diffreview.Entry, bool, string, error) {
	if why := r.spend(e.Size); why != "" {
		return e, false, why, nil
	}
	w, err := r.objects.Blobs.Create()
	if err != nil {
		return e, false, "", err
	}
	git := gitHash(base, e.Size)
	n, err := r.copy(w, git, f, e.Size)
	if err != nil {
		w.Drop()
		if errors.Is(err, errGrew) {
			return e, false, "not compared: it changed while it was read", nil
		}
		return e, false, "", err
	}
	e.Size = n
	sum := w.Sum()
	same := base != nil && base.Kind == diffreview.KindFile && base.Size == e.Size && equalRef(base.Ref, sum, func(int) []byte {
		return git.Sum(nil)
	})
	if same && e.Exec == (base.Mode&0o100 != 0) {
		w.Drop()
		r.t.mu.Lock()
		r.t.total -= e.Size
		r.t.mu.Unlock()
		return e, true, "", nil
	}
	if e.Blob, err = w.Keep(); err != nil {
		return e, false, "", err
	}
	return e, same, "", nil
}

// large hashes a file over the limit whose stat is no proof. Only when it is
// unchanged is that enough.
func (r *fileReader) large(f io.Reader, info beneath.Info, base *Entry) (e diffreview.Entry, same bool, why string, err error) {
	e = diffreview.Entry{Kind: diffreview.KindFile, Exec: info.Mode&0o100 != 0, Size: info.Size}
	sum := sha256.New()
	git := gitHash(base, info.Size)
	if _, err := r.copy(sum, git, f, info.Size); err != nil {
		if errors.Is(err, errGrew) {
			return e, false, "not compared: it changed while it was read", nil
		}
		return e, false, "", err
	}
	var got [32]byte
	sum.Sum(got[:0])
	if equalRef(base.Ref, got, func(int) []byte { return git.Sum(nil) }) && e.Exec == (base.Mode&0o100 != 0) {
		return e, true, "", nil
	}
	return e, false, fmt.Sprintf("changed, and larger than the limit of %d bytes for one changed file", r.t.opts.MaxFile), nil
}

// gitHash begins the hash that git would name a file of that size by, when
// base is known by such a name; else a hash that nobody asks.
func gitHash(base *Entry, size int64) hash.Hash {
	h := sha1.New()
	if base == nil || base.Ref.Kind != RefSHA1 {
		if base == nil || base.Ref.Kind != RefSHA256 {
			return nil
		}
		h = sha256.New()
	}
	h.Write(append(strconv.AppendInt([]byte("blob "), size, 10), 0))
	return h
}

var (
	errGrew     = errors.New("size changed")
	errTooLarge = errors.New("its former content is too large to compare")
)

// copy reads exactly size bytes of f into w and, if there is one, git.
func (r *fileReader) copy(w io.Writer, git hash.Hash, f io.Reader, size int64) (int64, error) {
	var done int64
	for {
		if err := r.ctx.Err(); err != nil {
			return done, err
		}
		n, err := f.Read(r.buf)
		done += int64(n)
		if done > size {
			return done, errGrew
		}
		if git != nil {
			git.Write(r.buf[:n])
		}
		if _, err := w.Write(r.buf[:n]); err != nil {
			return done, fmt.Errorf("write blob: %w", err)
		}
		if err == io.EOF && done != size {
			return done, errGrew
		}
		if err == io.EOF {
			return done, nil
		}
		if errors.Is(err, unix.EIO) {
			return done, errGrew
		}
		if err != nil {
			return done, err
		}
	}
}

// keepOld brings the baseline's side of a changed file into the blobs, so that
// review and apply need one kind of store only, and gives its name.
func (r *fileReader) keepOld(base *Entry) (diffreview.Blob, error) {
	switch base.Ref.Kind {
	case RefBlob:
		return blobOf(base.Ref.Sum), nil
	case RefSum:
		return "", ErrNotKept
	case RefNone:
		return "", errTooLarge
	case RefSHA1, RefSHA256:
	}
	if base.Size > r.t.opts.MaxFile {
		return "", errTooLarge
	}
	if b, ok := r.t.kept[base.Path]; ok && r.objects.Blobs.has(b, base.Size) {
		return b, nil
	}
	data, err := r.objects.Read(base.Ref, base.Size)
	if err != nil {
		return "", err
	}
	return r.objects.Blobs.Put(data)
}
