package workspace

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// refByStat marks content that git's index proves by its stat.
const refByStat baseline.RefKind = 255

type proof struct{ ref baseline.Ref }

// gitRef names the content of a tracked file by its object.
func (w *copyWorker) gitRef(f *File) baseline.Ref {
	ref := baseline.Ref{Kind: baseline.RefSHA1, Sum: w.sel.index[f.index].oid}
	if w.repo.hashSize() == sha256.Size {
		ref.Kind = baseline.RefSHA256
	}
	return ref
}

// content copies the bytes and says how the baseline names them.
func (w *copyWorker) content(in, out int, f *File, info beneath.Info, name string) (proof, error) {
	isRules := name == ".gitignore" && info.Size <= maxRules
	byStat := f.Origin == Tracked && w.sel.index[f.index].clean && !w.sel.converts && !isRules
	if !w.noClone.Load() && info.Size > 0 {
		if err := unix.IoctlFileClone(out, in); err == nil {
			w.cloned.Store(true)
			if byStat {
				return proof{baseline.Ref{Kind: refByStat}}, nil
			}
			ref, err := w.refOf(out, f, name)
			return proof{ref}, err
		}
		// Any refusal: not this file system, or not between these two.
		w.noClone.Store(true)
	}
	if info.Size < int64(len(w.buf)) {
		return w.small(in, out, f, info.Size, byStat)
	}
	if err := w.large(in, out, info); err != nil {
		return proof{}, err
	}
	if byStat {
		return proof{baseline.Ref{Kind: refByStat}}, nil
	}
	ref, err := w.refOf(out, f, name)
	return proof{ref}, err
}

// small copies through the buffer, which also serves to name the content.
// Of a file that grows meanwhile it takes the first size bytes; the look at the
// file afterwards tells.
func (w *copyWorker) small(in, out int, f *File, size int64, byStat bool) (proof, error) {
	n, err := readFull(in, w.buf[:size])
	if err != nil {
		return proof{}, &hostError{err}
	}
	_, name := split(f.Path)
	data := w.buf[:n]
	if err := writeFull(out, data); err != nil {
		return proof{}, err
	}
	if byStat {
		return proof{baseline.Ref{Kind: refByStat}}, nil
	}
	w.keepRules(f, name, data)
	if f.Origin == Tracked {
		e := &w.sel.index[f.index]
		if e.stage == 0 && e.mode != modeLink && e.flags&flagIntentToAdd == 0 &&
			string(baseline.BlobName(data, w.repo.hashSize())) == string(e.oid[:w.repo.hashSize()]) {
			return proof{w.gitRef(f)}, nil
		}
	}
	sum := sha256.Sum256(data)
	if f.Origin == Depends {
		return proof{baseline.Ref{Kind: baseline.RefSum, Sum: sum}}, nil
	}
	return proof{baseline.Ref{Kind: baseline.RefBlob, Sum: sum}}, w.blobs.PutSum(sum, data)
}

// keepRules notes the text of a .gitignore file for the frozen rules.
func (w *copyWorker) keepRules(f *File, name string, data []byte) {
	if name != ".gitignore" {
		return
	}
	dir, _ := split(f.Path)
	w.mu.Lock()
	w.out.rules = append(w.out.rules, baseline.IgnoreFile{Dir: dir, Text: string(data)})
	w.mu.Unlock()
}

// refOf names the content of a file of ours by reading it back, and keeps its
// bytes unless git has them.
func (w *copyWorker) refOf(out int, f *File, name string) (baseline.Ref, error) {
	info, err := beneath.Fstat(out)
	if err != nil {
		return baseline.Ref{}, err
	}
	if name == ".gitignore" && info.Size <= maxRules {
		data := make([]byte, info.Size)
		if _, err := io.ReadFull(&at{fd: out}, data); err != nil {
			return baseline.Ref{}, err
		}
		w.keepRules(f, name, data)
	}
	git := f.Origin == Tracked && w.sel.index[f.index].stage == 0 && w.sel.index[f.index].mode != modeLink
	if git {
		h := gitHash(w.repo.hashSize(), info.Size)
		if err := w.hashFile(out, h); err != nil {
			return baseline.Ref{}, err
		}
		if string(h.Sum(nil)) == string(w.sel.index[f.index].oid[:w.repo.hashSize()]) {
			return w.gitRef(f), nil
		}
	}
	if info.Size > keepMax && w.trusted {
		return baseline.Ref{Kind: baseline.RefNone}, nil
	}
	ref := baseline.Ref{Kind: baseline.RefSum}
	if info.Size > keepMax || f.Origin == Depends {
		h := sha256.New()
		if err := w.hashFile(out, h); err != nil {
			return baseline.Ref{}, err
		}
		h.Sum(ref.Sum[:0])
		return ref, nil
	}
	ref.Kind = baseline.RefBlob
	b, err := w.blobs.Create()
	if err != nil {
		return ref, err
	}
	if !w.noClone.Load() && unix.IoctlFileClone(int(b.File().Fd()), out) == nil {
		err = w.hashFile(out, b.Hash())
	} else {
		err = w.hashFile(out, b)
	}
	if err != nil {
		b.Drop()
		return ref, err
	}
	ref.Sum = b.Sum()
	_, err = b.Keep()
	return ref, err
}

func gitHash(size int, length int64) hash.Hash {
	h := sha1.New()
	if size == sha256.Size {
		h = sha256.New()
	}
	h.Write(append(strconv.AppendInt([]byte("blob "), length, 10), 0))
	return h
}

// hashFile feeds a whole file of ours to h.
func (w *copyWorker) hashFile(fd int, h io.Writer) error {
	r := &at{fd: fd}
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(w.buf)
		if _, werr := h.Write(w.buf[:n]); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
