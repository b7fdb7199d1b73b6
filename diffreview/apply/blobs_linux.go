package apply

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// blobs is the content that applies displaced, by hash, in the journal folder:
// what undo writes back.
type blobs struct{ dir string }

func (b blobs) path(id diffreview.Blob) string {
	return filepath.Join(b.dir, string(id[:2]), string(id))
}

// Open makes blobs a Store.
func (b blobs) Open(id diffreview.Blob) (io.ReadCloser, error) {
	if !validBlob(id) {
		return nil, fmt.Errorf("%q is no content hash", id)
	}
	return os.Open(b.path(id))
}

// keep copies a host file into the store and gives what was read. It lasts
// when sync was asked for, else once sync was called.
func (b blobs) keep(ctx context.Context, t *tree, rel string, sync bool) (state, bool, error) {
	f, st, err := t.file(rel)
	if err != nil {
		return state{}, false, err
	}
	defer f.Close()
	tmp := filepath.Join(b.dir, "tmp-"+randomHex())
	w, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return state{}, false, fmt.Errorf("keep the host's %q for undo: %w", rel, err)
	}
	defer func() { _ = os.Remove(tmp) }() // gone already when all went well
	s, stable, err := read(ctx, f, st, w)
	if err == nil && sync {
		err = w.Sync()
	}
	if err2 := w.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return state{}, false, fmt.Errorf("keep the host's %q for undo: %w", rel, err)
	}
	if err := os.MkdirAll(filepath.Dir(b.path(s.Blob)), 0o700); err != nil {
		return state{}, false, fmt.Errorf("keep the host's %q for undo: %w", rel, err)
	}
	if err := os.Rename(tmp, b.path(s.Blob)); err != nil {
		return state{}, false, fmt.Errorf("keep the host's %q for undo: %w", rel, err)
	}
	if sync {
		for _, dir := range []string{filepath.Dir(b.path(s.Blob)), b.dir} {
			if err := syncFolder(dir); err != nil {
				return state{}, false, fmt.Errorf("keep the host's %q for undo: %w", rel, err)
			}
		}
	}
	return s, stable, nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// sync makes everything kept last, at once.
func (b blobs) sync() error {
	d, err := os.Open(b.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return control(d, unix.Syncfs)
}

// copyBlob copies a blob from a store and fails unless the bytes are the ones
// that the hash names.
func copyBlob(ctx context.Context, from Store, id diffreview.Blob, w io.Writer) (int64, error) {
	r, err := from.Open(id)
	if err != nil {
		return 0, fmt.Errorf("open stored content %s: %v", id, err) // not %w: "not found" here is no path of the tree
	}
	defer r.Close()
	h := sha256.New()
	n, err := pump(ctx, io.MultiWriter(w, h), r)
	if err != nil {
		return n, err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != string(id) {
		return n, fmt.Errorf("stored content %s is damaged: its bytes hash to %s", id, got)
	}
	return n, nil
}

var errNoStore = errors.New("no store to read approved content from")

func validBlob(id diffreview.Blob) bool {
	if len(id) != sha256.Size*2 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

const tempRandom = 8 // bytes: nobody meets such a name by accident

func randomHex() string {
	var b [tempRandom]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the process instead
	return hex.EncodeToString(b[:])
}
