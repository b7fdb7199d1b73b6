package diffreview

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
)

// node is a file or link of a test tree.
type node struct {
	data string
	exec bool
	link bool
}

type tree map[string]node

// memSource compares two test trees.
type memSource struct {
	old, new tree
	blobs    map[Blob][]byte
}

func newSource(old, new tree) *memSource {
	return &memSource{old: old, new: new, blobs: map[Blob][]byte{}}
}

func (s *memSource) entry(t tree, path string) Entry {
	n, ok := t[path]
	switch {
	case !ok:
		return Entry{}
	case n.link:
		return Entry{Kind: KindSymlink, Target: n.data}
	}
	sum := sha256.Sum256([]byte(n.data))
	b := Blob(hex.EncodeToString(sum[:]))
	s.blobs[b] = []byte(n.data)
	return Entry{Kind: KindFile, Exec: n.exec, Blob: b, Size: int64(len(n.data))}
}

func (s *memSource) Changes() []Change {
	paths := map[string]bool{}
	for p := range s.old {
		paths[p] = true
	}
	for p := range s.new {
		paths[p] = true
	}
	var out []Change
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if c := (Change{Path: p, Old: s.entry(s.old, p), New: s.entry(s.new, p)}); c.Old != c.New {
			out = append(out, c)
		}
	}
	return out
}

func (s *memSource) Content(b Blob, limit int64) ([]byte, error) {
	data, ok := s.blobs[b]
	if !ok {
		return nil, fmt.Errorf("no blob %s", b)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("blob %s: %d bytes: more than %d", b, len(data), limit)
	}
	return data, nil
}

func (s *memSource) all(b Blob) ([]byte, error) { return s.Content(b, 1<<40) }

func build(t *testing.T, s Source) *ChangeSet {
	t.Helper()
	cs, err := Build(context.Background(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func text(s string) node { return node{data: s} }

// seq is a small deterministic source of numbers.
type seq uint64

func (s *seq) next(n int) int {
	*s = *s*6364136223846793005 + 1442695040888963407
	hi, _ := bits.Mul64(uint64(*s), uint64(n))
	return int(hi)
}

func pick[T any](s *seq, from ...T) T { return from[s.next(len(from))] }
