package risk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"testing"

	"fumehood/diffreview"
)

type node struct {
	data string
	exec bool
	link bool
}

type tree map[string]node

type memSource struct {
	old, new tree
	blobs    map[diffreview.Blob][]byte
}

func (s *memSource) entry(t tree, path string) diffreview.Entry {
	n, ok := t[path]
	switch {
	case !ok:
		return diffreview.Entry{}
	case n.link:
		return diffreview.Entry{Kind: diffreview.KindSymlink, Target: n.data}
	}
	sum := sha256.Sum256([]byte(n.data))
	b := diffreview.Blob(hex.EncodeToString(sum[:]))
	s.blobs[b] = []byte(n.data)
	return diffreview.Entry{Kind: diffreview.KindFile, Exec: n.exec, Blob: b, Size: int64(len(n.data))}
}

func (s *memSource) Changes() []diffreview.Change {
	all := map[string]bool{}
	for p := range s.old {
		all[p] = true
	}
	for p := range s.new {
		all[p] = true
	}
	var out []diffreview.Change
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if c := (diffreview.Change{Path: p, Old: s.entry(s.old, p), New: s.entry(s.new, p)}); c.Old != c.New {
			out = append(out, c)
		}
	}
	return out
}

func (s *memSource) Content(b diffreview.Blob, limit int64) ([]byte, error) {
	data, ok := s.blobs[b]
	if !ok || int64(len(data)) > limit {
		return nil, fmt.Errorf("no blob %s within %d bytes", b, limit)
	}
	return data, nil
}

// look builds the change set from old to new, with findings.
func look(t testing.TB, old, new tree) *diffreview.ChangeSet {
	t.Helper()
	env := Env{Links: map[string]string{}}
	for p, n := range old {
		env.Paths = append(env.Paths, p)
		if n.link {
			env.Links[p] = n.data
		}
	}
	src := &memSource{old: old, new: new, blobs: map[diffreview.Blob][]byte{}}
	cs, err := diffreview.Build(context.Background(), src, diffreview.Options{Risk: Hook(env)})
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

func file(cs *diffreview.ChangeSet, path string) *diffreview.File {
	for i := range cs.Files {
		if cs.Files[i].Path == path {
			return &cs.Files[i]
		}
	}
	return nil
}
