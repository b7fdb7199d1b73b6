package baseline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
)

// Snapshot is what a workspace's changes were at one moment. All content that
// it names, of both sides, is in the store: nothing that happens in the
// workspace later changes it, and it needs neither git nor the repository. It
// is a diffreview.Source.
type Snapshot struct {
	At time.Time
	// Ignored are changes under paths that the baseline's rules ignore.
	Ignored diffreview.IgnoredChanges
	// LeftOut names what is in the workspace but can't be in a change set,
	// and what a limit kept from being read.
	LeftOut []diffreview.LeftOut
	// NewlyIgnored are added paths that ignore rules written inside would
	// hide, though the baseline's do not. They are in Changes all the same.
	NewlyIgnored []string
	// Asked are the pathspecs by which changes under ignored paths were brought
	// in: these are in Changes, and not in Ignored.
	Asked []string

	changes []diffreview.Change
	blobs   *Blobs
}

// Changes lists every differing path, sorted by bytes.
func (s *Snapshot) Changes() []diffreview.Change { return s.changes }

// Content reads a blob of either side, whole. It fails when the blob is larger
// than limit bytes or its bytes do not hash to b.
func (s *Snapshot) Content(b diffreview.Blob, limit int64) ([]byte, error) {
	return s.blobs.Read(b, limit)
}

// Open gives a blob's bytes as they are in the store, for a caller that
// checks their hash while it copies them.
func (s *Snapshot) Open(b diffreview.Blob) (io.ReadCloser, error) { return s.blobs.Open(b) }

// PutBlob stores the result of a partial approval beside the rest.
func (s *Snapshot) PutBlob(data []byte) (diffreview.Blob, error) { return s.blobs.Put(data) }

// The stored form. Paths and targets are bytes, which JSON holds as base64.
type savedSnapshot struct {
	Version      int            `json:"version"`
	At           time.Time      `json:"at"`
	Changes      []savedChange  `json:"changes"`
	Ignored      savedIgnored   `json:"ignored"`
	LeftOut      []savedLeftOut `json:"left_out"`
	NewlyIgnored [][]byte       `json:"newly_ignored"`
	Asked        [][]byte       `json:"asked,omitempty"`
}

type savedChange struct {
	Path    []byte     `json:"path"`
	Old     savedEntry `json:"old"`
	New     savedEntry `json:"new"`
	Ignored bool       `json:"ignored,omitempty"`
}

type savedEntry struct {
	Kind   diffreview.Kind `json:"kind,omitempty"`
	Exec   bool            `json:"exec,omitempty"`
	Blob   diffreview.Blob `json:"blob,omitempty"`
	Size   int64           `json:"size,omitempty"`
	Target []byte          `json:"target,omitempty"`
}

type savedIgnored struct {
	Count     int      `json:"count"`
	Paths     [][]byte `json:"paths"`
	Truncated bool     `json:"truncated"`
}

type savedLeftOut struct {
	Path   []byte `json:"path"`
	Reason string `json:"reason"`
	Size   int64  `json:"size"`
}

const (
	snapshotVersion = 1
	maxSnapshot     = 1 << 30 // bytes of snapshot.json that Open reads
)

func (s *Snapshot) save(d Dirs) error {
	out := savedSnapshot{
		Version: snapshotVersion, At: s.At,
		Ignored:      savedIgnored{Count: s.Ignored.Count, Paths: bytesOf(s.Ignored.Paths), Truncated: s.Ignored.Truncated},
		NewlyIgnored: bytesOf(s.NewlyIgnored), Asked: bytesOf(s.Asked),
	}
	for _, c := range s.changes {
		out.Changes = append(out.Changes, savedChange{[]byte(c.Path), saveEntry(c.Old), saveEntry(c.New), c.Ignored})
	}
	for _, l := range s.LeftOut {
		out.LeftOut = append(out.LeftOut, savedLeftOut{[]byte(l.Path), l.Reason, l.Size})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(d.Store, snapshotName), raw, 0o600); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// ListSize is how many bytes the list of a store's newest snapshot takes; none
// when there is no snapshot.
func ListSize(d Dirs) int64 {
	fi, err := os.Stat(filepath.Join(d.Store, snapshotName))
	if err != nil {
		return 0 // Open says why
	}
	return fi.Size()
}

// Open reads the newest snapshot of a store, exactly as it was taken. The
// error is fs.ErrNotExist when none was taken yet.
func Open(d Dirs) (*Snapshot, error) {
	path := filepath.Join(d.Store, snapshotName)
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	if fi.Size() > maxSnapshot {
		return nil, fmt.Errorf("read snapshot %q: %d bytes, more than the limit of %d", path, fi.Size(), maxSnapshot)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	var in savedSnapshot
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("read snapshot %q: %w: %v", path, ErrDamaged, err)
	}
	if in.Version != snapshotVersion {
		return nil, fmt.Errorf("read snapshot %q: version %d, want %d", path, in.Version, snapshotVersion)
	}
	s := &Snapshot{
		At: in.At, blobs: NewBlobs(d.BlobsDir()),
		Ignored:      diffreview.IgnoredChanges{Count: in.Ignored.Count, Paths: stringsOf(in.Ignored.Paths), Truncated: in.Ignored.Truncated},
		NewlyIgnored: stringsOf(in.NewlyIgnored), Asked: stringsOf(in.Asked),
	}
	s.changes = make([]diffreview.Change, 0, len(in.Changes))
	for _, c := range in.Changes {
		s.changes = append(s.changes, diffreview.Change{Path: string(c.Path), Old: loadEntry(c.Old), New: loadEntry(c.New), Ignored: c.Ignored})
	}
	for _, l := range in.LeftOut {
		s.LeftOut = append(s.LeftOut, diffreview.LeftOut{Path: string(l.Path), Reason: l.Reason, Size: l.Size})
	}
	if !slices.IsSortedFunc(s.changes, byPath) {
		return nil, fmt.Errorf("read snapshot %q: %w: paths out of order", path, ErrDamaged)
	}
	return s, nil
}

func byPath(a, b diffreview.Change) int { return strings.Compare(a.Path, b.Path) }

func saveEntry(e diffreview.Entry) savedEntry {
	return savedEntry{e.Kind, e.Exec, e.Blob, e.Size, []byte(e.Target)}
}

func loadEntry(e savedEntry) diffreview.Entry {
	return diffreview.Entry{Kind: e.Kind, Exec: e.Exec, Blob: e.Blob, Size: e.Size, Target: string(e.Target)}
}

func bytesOf(list []string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func stringsOf(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}

// Discard takes the store's newest snapshot away: what was read under a pause
// that turned out not to have held is no picture of any one moment.
func Discard(d Dirs) error {
	err := os.Remove(filepath.Join(d.Store, snapshotName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
