package diffreview

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// decided gives the decisions on every unit as one text.
func decided(cs *ChangeSet) map[string]string {
	out := map[string]string{}
	for i := range cs.Files {
		cs.Files[i].Each(func(id string, m *Mark, h *Hunk) {
			said := string(m.Decision)
			if h != nil {
				said += " " + h.Letters() + " " + string(h.Edit)
				if h.Decision != m.Decision {
					said += " but " + string(h.Decision)
				}
			}
			out[id] = said
		})
	}
	return out
}

// TestDecisionsComeBackAsTheyWereMade: recorded, stored, read and filled in again
// they are the same; on the next snapshot those on what did not change are.
func TestDecisionsComeBackAsTheyWereMade(t *testing.T) {
	s := seq(41)
	kept, gone, lapses := 0, 0, 0
	for range 150 {
		old, new := randomTrees(&s)
		cs := build(t, newSource(old, new))
		var d Decisions
		for i := range cs.Files {
			f := &cs.Files[i]
			decideAtRandom(t, &s, f, map[Blob]string{})
			f.Each(func(id string, m *Mark, h *Hunk) {
				r := rec(m.Decision, f.Path)
				if h != nil && h.Edit != "" {
					r.Edit = h.Edit
				} else if h != nil && h.Part != nil {
					r.Verdict, r.Lines = "", h.Letters()
				}
				d.Set(r, id)
			})
		}
		want := decided(cs)
		for i, id := range []string{strings.Repeat("1", idLen), strings.Repeat("2", idLen)} {
			d.Comments = append(d.Comments, Comment{ID: id[:16], Path: pick(&s, oddNames...), Line: i, Body: "why?\n", Quote: "q", At: when})
			if d.Resolutions == nil {
				d.Resolutions = map[string]Resolution{}
			}
			d.Resolutions[id] = Resolution{Take: TakeBoth, Path: pick(&s, oddNames...), At: when}
		}
		b, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeDecisions(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back.Units, d.Units) || !reflect.DeepEqual(back.Comments, d.Comments) || !reflect.DeepEqual(back.Resolutions, d.Resolutions) {
			t.Fatalf("got %+v, want %+v", back, d)
		}
		again := build(t, newSource(old, new))
		if lapsed := back.Fill(again); lapsed != 0 {
			t.Fatalf("got %d lapsed of the same bytes, want none", lapsed)
		}
		if got := decided(again); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		later := tree{}
		for p, n := range new {
			if later[p] = n; !n.link && s.next(2) == 0 {
				n.data = editText(&s, n.data)
				later[p] = n
			}
		}
		next := build(t, newSource(old, later))
		lapses += back.Fill(next)
		for id, got := range decided(next) {
			was, same := want[id]
			switch {
			case same && got != was:
				t.Fatalf("got %q on an unchanged unit, want %q", got, was)
			case same && strings.Contains(was, "ed "):
				kept++
			case !same && strings.Trim(got, " .") != "":
				t.Fatalf("got %q on a unit that was never decided", got)
			case !same:
				gone++
			}
		}
	}
	if kept < 100 || gone < 100 || lapses < 100 {
		t.Errorf("got %d kept, %d new, %d lapsed, want hundreds: the test does not test", kept, gone, lapses)
	}
}

func TestLapsedSaysWhatWasDecided(t *testing.T) {
	for _, c := range []struct {
		name string
		recs []Decision
		want Verdict
	}{
		{"approved", []Decision{rec(Approved, "f"), rec(Approved, "f")}, Approved},
		{"rejected", []Decision{rec(Rejected, "f")}, Rejected},
		{"both", []Decision{rec(Approved, "f"), rec(Rejected, "f"), rec(Approved, "f")}, Mixed},
		{"line by line", []Decision{{Path: "f", Lines: "a."}}, Mixed},
		{"of another file", []Decision{rec(Approved, "g")}, Undecided},
	} {
		cs := build(t, newSource(tree{"f": text("a\n")}, tree{"f": text("b\n")}))
		var d Decisions
		for i, r := range c.recs {
			d.Set(r, fmt.Sprintf("%040x", i))
		}
		d.Fill(cs)
		if got := cs.Files[0].Lapsed; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDecisionOnAFileThatMovedOnLapses: what was said of a deletion is not
// forgotten in silence when the file turns up elsewhere.
func TestDecisionOnAFileThatMovedOnLapses(t *testing.T) {
	old := tree{"a": text(numbered(20, nil))}
	cs := build(t, newSource(old, tree{}))
	var d Decisions
	d.Set(rec(Approved, "a"), cs.Files[0].Whole)
	cs = build(t, newSource(old, tree{"b": text(numbered(20, nil))}))
	if lapsed := d.Fill(cs); lapsed != 1 || only(t, cs).Lapsed != Approved {
		t.Errorf("got %d lapsed and %q, want that of the deletion", lapsed, cs.Files[0].Lapsed)
	}
}
