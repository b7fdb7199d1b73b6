package uitest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
)

// Side is a file on one side of a change set: text, and whether it can be
// executed.
type Side struct {
	Text string
	Exec bool
}

// built is a source of two trees in memory.
type built struct {
	old, new map[string]Side
	texts    map[diffreview.Blob][]byte
}

// BuiltSet compares two trees as a session's review does. It gives the texts of
// both sides too, for Backend.Texts.
func BuiltSet(old, now map[string]Side) (*diffreview.ChangeSet, map[diffreview.Blob][]byte, error) {
	src := &built{old, now, map[diffreview.Blob][]byte{}}
	set, err := diffreview.Build(context.Background(), src, diffreview.Options{
		Session: "a1", Repo: "/home/ada/src/api-server", SnapshotAt: time.Date(2026, 11, 30, 12, 41, 7, 0, time.UTC),
	})
	return set, src.texts, err
}

func (s *built) entry(t map[string]Side, path string) diffreview.Entry {
	f, ok := t[path]
	if !ok {
		return diffreview.Entry{}
	}
	sum := sha256.Sum256([]byte(f.Text))
	b := diffreview.Blob(hex.EncodeToString(sum[:]))
	s.texts[b] = []byte(f.Text)
	return diffreview.Entry{Kind: diffreview.KindFile, Exec: f.Exec, Blob: b, Size: int64(len(f.Text))}
}

func (s *built) Changes() []diffreview.Change {
	paths := map[string]bool{}
	for _, t := range []map[string]Side{s.old, s.new} {
		for p := range t {
			paths[p] = true
		}
	}
	var out []diffreview.Change
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if c := (diffreview.Change{Path: p, Old: s.entry(s.old, p), New: s.entry(s.new, p)}); c.Old != c.New {
			out = append(out, c)
		}
	}
	return out
}

func (s *built) Content(b diffreview.Blob, limit int64) ([]byte, error) {
	text, ok := s.texts[b]
	if !ok || int64(len(text)) > limit {
		return nil, fmt.Errorf("content of %d bytes: the limit is %d", len(text), limit)
	}
	return text, nil
}

// ViewSet has what a diff view must be able to show: hunks far apart, a rename
// with edits, other line endings, a mode, a line too long to show, one that ends
// without newline, files that fold.
func ViewSet() (*diffreview.ChangeSet, map[diffreview.Blob][]byte) {
	old, now := map[string]Side{}, map[string]Side{}
	store := numbered("line", 120)
	old["src/store.go"] = Side{Text: store}
	now["src/store.go"] = Side{Text: strings.NewReplacer(
		"line 20\n", "line twenty\nand one more\n", "line 22\n", "", "line 80\n", "line eighty\n").Replace(store)}
	old["src/old_name.go"] = Side{Text: numbered("moved", 40)}
	now["src/new_name.go"] = Side{Text: strings.Replace(numbered("moved", 40), "moved 7\n", "moved seven\n", 1), Exec: true}
	crlf := strings.ReplaceAll(numbered("row", 200), "\n", "\r\n")
	old["data/table.csv"] = Side{Text: crlf}
	now["data/table.csv"] = Side{Text: strings.Replace(numbered("row", 200), "row 100\n", "row one hundred\n", 1)}
	old["tool.sh"] = Side{Text: "#!/bin/sh\ntrue\n"}
	now["tool.sh"] = Side{Text: "#!/bin/sh\ntrue\n", Exec: true}
	long := strings.Repeat("var a=1;", 100_000)
	old["app.js"] = Side{Text: long + "\n"}
	now["app.js"] = Side{Text: long[:400_004] + "X" + long[400_005:] + "\n"}
	old["notes.txt"] = Side{Text: "first\nlast"}
	now["notes.txt"] = Side{Text: "first\nlast\nafter it\n"}
	old["vendor/dep/a.go"], now["vendor/dep/a.go"] = Side{Text: "package dep\n"}, Side{Text: "package dep // v2\n"}
	old["go.sum"], now["go.sum"] = Side{Text: "a v1\n"}, Side{Text: "a v2\n"}
	set, texts, err := BuiltSet(old, now)
	if err != nil {
		panic(err) // of constants
	}
	return set, texts
}

func numbered(word string, n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%s %d\n", word, i)
	}
	return b.String()
}
