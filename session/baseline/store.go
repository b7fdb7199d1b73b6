package baseline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fumehood/internal/atomicfile"
)

// maxManifest bounds what Load reads: some 40 million paths.
const maxManifest = 4 << 30

// Record writes the baseline. It is called once, after the workspace is filled
// and before the first process inside runs: a stat taken later proves nothing.
func Record(d Dirs, m *Manifest) error {
	m.order()
	if err := atomicfile.Write(filepath.Join(d.Store, manifestName), m.encode(), 0o600); err != nil {
		return fmt.Errorf("record baseline: %w", err)
	}
	return nil
}

// Load reads the baseline that Record wrote.
func Load(d Dirs) (*Manifest, error) {
	path := filepath.Join(d.Store, manifestName)
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	if fi.Size() > maxManifest {
		return nil, fmt.Errorf("read baseline %q: %d bytes, more than the limit of %d", path, fi.Size(), int64(maxManifest))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	m, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("read baseline %q: %w", path, err)
	}
	return m, nil
}

// ErrNotKept is content of the baseline that is known by hash only.
var ErrNotKept = errors.New("content of a file that git ignores is not kept")

// Objects reads baseline content out of a store: blobs and git objects. Close
// releases the packs.
type Objects struct {
	Blobs *Blobs
	packs []*Pack
	dir   string
	open  bool
}

// NewObjects reads from the store of d; packs are opened when first needed.
func NewObjects(d Dirs) *Objects {
	return &Objects{Blobs: NewBlobs(d.BlobsDir()), dir: filepath.Join(d.GitDir(), "objects", "pack")}
}

// another reads the same store, for another goroutine.
func (o *Objects) another() *Objects { return &Objects{Blobs: o.Blobs, dir: o.dir} }

// Close releases what was opened.
func (o *Objects) Close() {
	for _, p := range o.packs {
		p.Close()
	}
	o.packs, o.open = nil, false
}

// Read gives the content of a baseline file, at most limit bytes, checked
// against its name. Not for several goroutines at once.
func (o *Objects) Read(ref Ref, limit int64) ([]byte, error) {
	switch ref.Kind {
	case RefBlob:
		return o.Blobs.Read(blobOf(ref.Sum), limit)
	case RefSHA1:
		return o.readGit(ref.Sum[:20], limit)
	case RefSHA256:
		return o.readGit(ref.Sum[:], limit)
	case RefSum:
		return nil, ErrNotKept
	case RefNone:
	}
	return nil, fmt.Errorf("baseline entry without content")
}

func (o *Objects) readGit(oid []byte, limit int64) ([]byte, error) {
	if !o.open {
		names, err := filepath.Glob(filepath.Join(o.dir, "*.idx"))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			p, err := OpenPack(n, len(oid))
			if err != nil {
				o.Close()
				return nil, err
			}
			o.packs = append(o.packs, p)
		}
		o.open = true
	}
	for _, p := range o.packs {
		b, err := p.Blob(oid, limit)
		if errors.Is(err, ErrNoObject) {
			continue
		}
		return b, err
	}
	return nil, fmt.Errorf("read baseline object %x: %w", oid, ErrNoObject)
}
