package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"fumehood/diffreview"
)

// Blobs is a folder of content named by the SHA-256 of its raw bytes. A blob
// is written once, under its name only when whole, and checked when read. It
// is not synced to disk one by one: after a power loss a blob may be short,
// and then reading it says so. Safe for several goroutines.
type Blobs struct {
	dir  string
	mu   sync.Mutex
	made [256]bool // sub-folders that exist
}

// NewBlobs uses the folder dir; it is made when first written to.
func NewBlobs(dir string) *Blobs { return &Blobs{dir: dir} }

func blobOf(sum [32]byte) diffreview.Blob { return diffreview.Blob(hex.EncodeToString(sum[:])) }

// SumOf is the inverse of a blob's name; false when it is none.
func SumOf(b diffreview.Blob) (sum [32]byte, ok bool) {
	if len(b) != 2*len(sum) {
		return sum, false
	}
	if strings.ContainsAny(string(b), "ABCDEF") {
		return sum, false // a second name
	}
	_, err := hex.Decode(sum[:], []byte(b))
	return sum, err == nil
}

// Path is where blob b is or would be.
func (s *Blobs) Path(b diffreview.Blob) string {
	return filepath.Join(s.dir, string(b[:2]), string(b[2:]))
}

// place makes the folder of a blob and says whether the blob is there already.
func (s *Blobs) place(sum [32]byte) (path string, there bool, err error) {
	b := blobOf(sum)
	path = s.Path(b)
	s.mu.Lock()
	made := s.made[sum[0]]
	s.mu.Unlock()
	if !made {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", false, fmt.Errorf("write blob: %w", err)
		}
		s.mu.Lock()
		s.made[sum[0]] = true
		s.mu.Unlock()
	}
	_, err = os.Lstat(path)
	return path, err == nil, nil
}

// has says whether a blob of that size is there. Whether its bytes are right is
// seen when it is read.
func (s *Blobs) has(b diffreview.Blob, size int64) bool {
	if _, ok := SumOf(b); !ok {
		return false
	}
	fi, err := os.Lstat(s.Path(b))
	return err == nil && fi.Mode().IsRegular() && fi.Size() == size
}

// Put stores data and gives its name.
func (s *Blobs) Put(data []byte) (diffreview.Blob, error) {
	sum := sha256.Sum256(data)
	return blobOf(sum), s.PutSum(sum, data)
}

// PutSum stores data whose SHA-256 the caller already computed.
func (s *Blobs) PutSum(sum [32]byte, data []byte) error {
	// A snapshot after another meets mostly what it has.
	if s.has(blobOf(sum), int64(len(data))) {
		return nil
	}
	w, err := s.Create()
	if err != nil {
		return err
	}
	if _, err := w.f.Write(data); err != nil {
		w.Drop()
		return fmt.Errorf("write blob: %w", err)
	}
	return w.keep(sum)
}

// BlobWriter takes the bytes of one blob. End it with Keep or Drop.
type BlobWriter struct {
	s    *Blobs
	f    *os.File
	hash hash.Hash
}

// Create begins a blob.
func (s *Blobs) Create() (*BlobWriter, error) {
	f, err := os.CreateTemp(s.dir, "new-*")
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("write blob: %w", err)
		}
		f, err = os.CreateTemp(s.dir, "new-*")
	}
	if err != nil {
		return nil, fmt.Errorf("write blob: %w", err)
	}
	return &BlobWriter{s: s, f: f, hash: sha256.New()}, nil
}

func (w *BlobWriter) Write(p []byte) (int, error) {
	w.hash.Write(p)
	return w.f.Write(p)
}

// File is the blob's file, for a caller that fills it by other means and
// writes the same bytes to Hash.
func (w *BlobWriter) File() *os.File { return w.f }

// Hash takes the bytes of a caller that fills File by itself.
func (w *BlobWriter) Hash() io.Writer { return w.hash }

// Sum is the SHA-256 of what was written so far.
func (w *BlobWriter) Sum() (sum [32]byte) {
	w.hash.Sum(sum[:0])
	return sum
}

// Keep gives the blob its name.
func (w *BlobWriter) Keep() (diffreview.Blob, error) {
	sum := w.Sum()
	return blobOf(sum), w.keep(sum)
}

func (w *BlobWriter) keep(sum [32]byte) error {
	path, there, err := w.s.place(sum)
	if err != nil || there {
		w.Drop()
		return err
	}
	// Renamed before it is closed: the error of a failed close is the same
	// either way, and the name is ours alone.
	if err := os.Rename(w.f.Name(), path); err != nil {
		w.Drop()
		return fmt.Errorf("write blob: %w", err)
	}
	if err := w.f.Close(); err != nil {
		return fmt.Errorf("write blob: %w", err)
	}
	return nil
}

// Drop forgets what was written.
func (w *BlobWriter) Drop() {
	_ = w.f.Close()           // unwanted
	_ = os.Remove(w.f.Name()) // it may already have its final name
}

// Open gives a blob's bytes as they are on disk; the caller checks their hash.
func (s *Blobs) Open(b diffreview.Blob) (*os.File, error) {
	if _, ok := SumOf(b); !ok {
		return nil, fmt.Errorf("not the name of a blob: %q", b)
	}
	f, err := os.Open(s.Path(b))
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	return f, nil
}
