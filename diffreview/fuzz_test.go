package diffreview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// FuzzBuild makes the change set of a source that someone else wrote, decides on
// it, and writes it in every form. What can't be must be an error, and what is
// taken must keep the promises.
func FuzzBuild(f *testing.F) {
	f.Add("a", "b", []byte("one\ntwo\n"), []byte("one\r\ntwo\r\n"), uint16(0), "ar")
	f.Add("a", "a", []byte("x"), []byte(strings.Repeat("-\n", 20)), uint16(1), "a.r")
	f.Add("\xff\x1b", "x/../y", []byte("\x00"), []byte{}, uint16(0xffff), "")
	f.Add("l", "m", []byte("same\nlines\n"), []byte("same\nlines\nmore"), uint16(2), "aaa")
	f.Fuzz(func(t *testing.T, from, to string, old, new []byte, flags uint16, letters string) {
		src := newSource(tree{}, tree{})
		entry := func(b []byte, kind uint16) Entry {
			switch kind % 4 {
			case 1:
				return Entry{}
			case 2:
				return Entry{Kind: KindSymlink, Target: string(b)}
			}
			e := src.entry(tree{"f": {data: string(b), exec: kind%4 == 3}}, "f")
			if flags&0x100 != 0 { // a size that is not that of the content
				e.Size = int64(flags) - 300
			}
			return e
		}
		a, b := entry(old, flags), entry(new, flags>>2)
		list := []Change{{Path: from, Old: a, New: b}}
		if from != to { // one goes, another comes
			list = []Change{{Path: from, Old: a}, {Path: to, New: b}}
		}
		slices.SortFunc(list, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
		if flags&0x200 != 0 {
			list[0].Ignored = true
		}
		cs, err := Build(context.Background(), fixed{src, list}, Options{})
		if err != nil {
			return
		}
		var d Decisions
		ids := map[string]bool{}
		for i := range cs.Files {
			file := &cs.Files[i]
			if file.Decision() != Undecided || len(file.UnitIDs()) == 0 {
				t.Fatalf("%q: got %q with %d units, want it undecided", file.Path, file.Decision(), len(file.UnitIDs()))
			}
			for _, id := range file.UnitIDs() {
				if ids[id] || !isID(id) {
					t.Fatalf("got the ID %q twice, or it is none", id)
				}
				ids[id] = true
				d.Set(rec(Approved, file.Path), id)
			}
		}
		if lapsed := d.Fill(cs); lapsed != 0 {
			t.Fatalf("got %d lapsed, want 0", lapsed)
		}
		for i := range cs.Files {
			file := &cs.Files[i]
			out, err := Outcomes(file, src.all)
			if err != nil {
				t.Fatalf("%q all approved: %v", file.Path, err)
			}
			at := slices.IndexFunc(out, func(o Outcome) bool { return o.Path == file.Path })
			if at < 0 || out[at].Want != file.New {
				t.Fatalf("%q all approved: got %+v, want %+v", file.Path, out, file.New)
			}
		}
		var j bytes.Buffer
		if err := WriteJSON(&j, cs, &d); err != nil || !json.Valid(j.Bytes()) {
			t.Fatalf("got %v or no JSON", err)
		}
		var stat bytes.Buffer
		if err := WriteStat(&stat, cs, int(flags)); err != nil {
			t.Fatal(err)
		}
		if !printable(strings.ReplaceAll(stat.String(), "\n", "")) {
			t.Fatalf("got %q, want what a terminal only draws", stat.String())
		}
		if err := Patch(io.Discard, cs, src.all, Which{}); err != nil {
			t.Fatal(err)
		}
		for i := range cs.Files {
			file := &cs.Files[i]
			for _, id := range file.UnitIDs() {
				file.Decide(id, Decision{Lines: letters})
			}
			var join *JoinError
			if err := Patch(io.Discard, cs, src.all, Which{ApprovedOnly: true}); err != nil && !errors.As(err, &join) {
				t.Fatal(err)
			}
		}
	})
}
