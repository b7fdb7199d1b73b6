package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/isolate/walls"
)

// Proofs is the folder with an account's wall-test records. It lies beside the
// sessions, so that no removal of a session takes a proof along and nothing in
// a session's folder can stand for one.
type Proofs string

// Proofs is the folder that goes with the sessions of r. It need not exist.
func (r Root) Proofs() Proofs { return Proofs(filepath.Join(filepath.Dir(string(r)), "walls")) }

// maxProofs bounds how many records of one policy are kept: every build and
// every kernel is a shape of its own, and only the newest few can still say
// anything.
const maxProofs = 8

// maxProof bounds what is read of one record, in bytes. A run has some three
// hundred attempts with a few lines each.
const maxProof = 16 << 20

// Mark tells one stored state of a policy's records from another, without
// reading one.
type Mark struct {
	Path string
	Size int64
	Time time.Time
	Ino  uint64
}

// Any says whether there is a record of a policy, in whatever shape.
func (p Proofs) Any(policyHash string) (bool, error) {
	if !isHash(policyHash) {
		return false, fmt.Errorf("wall-test record: %.20q is no hash", policyHash)
	}
	all, err := p.of(policyHash)
	return len(all) > 0, err
}

// Find names the file that says most of a policy in a shape: the record of this
// shape, else the one that was written last. It is empty when there is none.
func (p Proofs) Find(policyHash, shapeHash string) (Mark, error) {
	if !isHash(policyHash) || !isHash(shapeHash) {
		return Mark{}, fmt.Errorf("wall-test record: %.20q and %.20q are no hashes", policyHash, shapeHash)
	}
	all, err := p.of(policyHash)
	if err != nil || len(all) == 0 {
		return Mark{}, err
	}
	own := p.path(policyHash, shapeHash)
	for _, m := range all {
		if m.Path == own {
			return m, nil
		}
	}
	return all[0], nil
}

// Load reads the record that Find gave. One that is damaged, of another
// version, or not what its name says is an error: it proves nothing.
func (p Proofs) Load(m Mark) (*walls.Record, error) {
	b, err := readProof(m.Path)
	if err != nil {
		return nil, err
	}
	var r walls.Record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("wall-test record %s is damaged or half-written, and proves nothing: %w", m.Path, err)
	}
	switch {
	case r.Version != walls.RecordVersion:
		return nil, fmt.Errorf("wall-test record %s: version %d, this build reads %d; it proves nothing", m.Path, r.Version, walls.RecordVersion)
	case m.Path != p.path(r.PolicyHash, r.ShapeHash), r.Against != "":
		return nil, fmt.Errorf("wall-test record %s is of another policy, shape or sandbox than its name says, and proves nothing", m.Path)
	case r.Shape.Hash() != r.ShapeHash:
		return nil, fmt.Errorf("wall-test record %s: its shape does not have the hash that it states; it proves nothing", m.Path)
	}
	return &r, nil
}

// Save keeps a record, in place of an older one of its policy and shape. What
// was tested instead of fumehood's own sandbox says nothing of it and is
// refused.
func (p Proofs) Save(r *walls.Record) error {
	switch {
	case r.Against != "":
		return errors.New("a record of another sandbox is not kept as a proof of this one")
	case !isHash(r.PolicyHash) || r.ShapeHash != r.Shape.Hash():
		return errors.New("the record does not name its policy and shape")
	case r.Version != walls.RecordVersion:
		return fmt.Errorf("a record of version %d, this build writes %d", r.Version, walls.RecordVersion)
	}
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode the wall-test record: %w", err)
	}
	if len(b) >= maxProof {
		return fmt.Errorf("the wall-test record has %d bytes, the limit is %d", len(b), maxProof)
	}
	if err := os.MkdirAll(string(p), 0o700); err != nil {
		return fmt.Errorf("make folder for wall-test records: %w", err)
	}
	if err := atomicfile.Write(p.path(r.PolicyHash, r.ShapeHash), append(b, '\n'), 0o600); err != nil {
		return err
	}
	all, err := p.of(r.PolicyHash)
	if err != nil {
		return err
	}
	for _, old := range all[min(maxProofs, len(all)):] {
		if err := os.Remove(old.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old wall-test record: %w", err)
		}
	}
	return nil
}

func (p Proofs) path(policyHash, shapeHash string) string {
	return filepath.Join(string(p), policyHash+"."+shapeHash+".json")
}

// of lists the records of a policy, what was written last first.
func (p Proofs) of(policyHash string) ([]Mark, error) {
	entries, err := os.ReadDir(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list wall-test records: %w", err)
	}
	var out []Mark
	for _, e := range entries {
		shape, ok := strings.CutPrefix(e.Name(), policyHash+".")
		shape, isJSON := strings.CutSuffix(shape, ".json")
		if !ok || !isJSON || !isHash(shape) {
			continue
		}
		path := filepath.Join(string(p), e.Name())
		m, err := markOf(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // replaced by an old one's removal meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list wall-test records: %w", err)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Mark) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out, nil
}

// isHash says whether s is a SHA-256 in lower-case hex, and so no path.
func isHash(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
