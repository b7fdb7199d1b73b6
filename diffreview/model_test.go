package diffreview

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// This file holds Outcomes to a model that shares nothing with it: the file as a
// list of lines, each of the old text or of the new one, each with a verdict.

// item is one line of the model.
type item struct {
	op      byte
	text    string // as in its own file
	verdict Verdict
}

func cut(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func ended(line, ends string) string {
	if ends == "" || !strings.HasSuffix(line, "\n") {
		return line
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if ends == "CRLF" {
		return bare + "\r\n"
	}
	return bare + "\n"
}

// itemsOf lays a file out, and fails where a hunk shows other lines than there
// are.
func itemsOf(t *testing.T, f *File, old, new string, edits map[Blob]string) []item {
	t.Helper()
	a, b := cut(old), cut(new)
	var out []item
	at, nowAt := 0, 0
	same := func(until int) {
		for ; at < until; at, nowAt = at+1, nowAt+1 {
			if ended(a[at], f.EndsTo) != b[nowAt] {
				t.Fatalf("%q -> %q: line %d is outside the hunks and differs", old, new, at+1)
			}
			out = append(out, item{' ', a[at], Undecided})
		}
	}
	for i := range f.Hunks {
		h := &f.Hunks[i]
		for k, l := range h.Lines {
			if k == 0 && l.Op != '+' {
				same(l.Old - 1)
			} else if k == 0 && l.New-1 > nowAt {
				same(at + l.New - 1 - nowAt)
			}
			shown := string(l.Text)
			if !l.NoEOL {
				shown += "\n"
			}
			it := item{l.Op, "", h.LineVerdict(k)}
			switch l.Op {
			case '+':
				it.text = b[nowAt]
				if l.New != nowAt+1 || shown != it.text {
					t.Fatalf("got line %d %q, want %d %q", l.New, shown, nowAt+1, it.text)
				}
				nowAt++
			default:
				it.text = a[at]
				if l.Old != at+1 || shown != ended(it.text, f.EndsTo) {
					t.Fatalf("got old line %d %q, want %d %q", l.Old, shown, at+1, it.text)
				}
				at++
				if l.Op == ' ' {
					nowAt++
				}
			}
			if h.Edit == "" {
				out = append(out, it)
			} else if l.Op != '+' {
				out = append(out, item{'-', it.text, Approved})
			}
		}
		if h.Edit != "" {
			for _, l := range cut(edits[h.Edit]) {
				out = append(out, item{'+', l, Approved})
			}
		}
	}
	same(len(a))
	if nowAt != len(b) {
		t.Fatalf("%q -> %q: the new side has %d lines, the hunks and what is between them %d", old, new, len(b), nowAt)
	}
	return out
}

// make joins the lines that stand. joined: two would become one.
func makeText(items []item, from, to string, ends bool) (out string, joined bool) {
	for _, it := range items {
		text := it.text
		switch {
		case it.op == '+' && it.verdict != Approved, it.op == '-' && it.verdict == Approved:
			continue
		case it.op == '+' && !ends:
			text = ended(text, from)
		case it.op != '+' && ends:
			text = ended(text, to)
		}
		joined = joined || out != "" && !strings.HasSuffix(out, "\n")
		out += text
	}
	return out, joined
}

// wideText is randomText with whole other endings, long lines, and NULs where
// they don't make a file binary.
func wideText(s *seq) string {
	out := randomText(s)
	switch s.next(8) {
	case 0:
		return ""
	case 1:
		return strings.ReplaceAll(strings.ReplaceAll(out, "\r", ""), "\n", "\r\n")
	case 2:
		return strings.Repeat("x", 8001) + "\x00\x00\n" + out + "\x00\n"
	case 3:
		return out + strings.Repeat("long ", 1000) + "\n" + out
	}
	return out
}

func wideEdit(s *seq, in string) string {
	if s.next(4) == 0 {
		if strings.Contains(in, "\r\n") {
			in = strings.ReplaceAll(in, "\r\n", "\n")
		} else {
			in = strings.ReplaceAll(in, "\n", "\r\n")
		}
		if s.next(3) == 0 {
			return in
		}
	}
	return editText(s, in)
}

// decideAtRandom decides each unit of the file: not, whole, line by line, or with
// an edit.
func decideAtRandom(t *testing.T, s *seq, f *File, edits map[Blob]string) {
	t.Helper()
	all := s.next(8)
	for _, id := range f.UnitIDs() {
		_, h := f.Unit(id)
		rec := Decision{Verdict: pick(s, Approved, Approved, Rejected, Undecided)}
		switch {
		case all == 0:
			rec.Verdict = Approved
		case all == 1:
			rec.Verdict = pick(s, Rejected, Undecided)
		case h != nil && s.next(2) == 0:
			letters := ""
			for range h.Letters() {
				letters += pick(s, "a", "a", "r", ".")
			}
			rec = Decision{Lines: letters}
		case h != nil && s.next(4) == 0:
			text := pick(s, "", "mine\n", "mine\r\nand more\n", "no end", randomText(s))
			sum := sha256.Sum256([]byte(text))
			rec = Decision{Verdict: Approved, Edit: Blob(hex.EncodeToString(sum[:]))}
			edits[rec.Edit] = text
		}
		if !f.Decide(id, rec) {
			t.Fatalf("%+v does not fit", rec)
		}
	}
}

// modelOutcome is what a file's paths become; ok is false where two lines would
// be joined.
func modelOutcome(t *testing.T, f *File, old, new string, edits map[Blob]string) (want tree, ok bool) {
	t.Helper()
	whole := f.WholeMark.Decision == Approved
	items := itemsOf(t, f, old, new, edits)
	text, joined := makeText(items, f.EndsFrom, f.EndsTo, whole && f.Ends > 0)
	some := whole
	for i := range f.Hunks {
		h := &f.Hunks[i]
		some = some || h.Edit != "" || strings.Contains(h.Letters(), "a")
	}
	n := node{data: text, exec: f.Old.Exec}
	want = tree{}
	base := node{data: old, exec: f.Old.Exec}
	switch f.Status {
	case Added:
		n.exec = f.New.Exec
		if some {
			want[f.Path] = n
		}
	case Deleted:
		if !some || text != "" {
			want[f.Path] = n
		}
		if f.Old.Size == 0 && !whole {
			want[f.Path] = base
		}
	case Renamed:
		if whole {
			n.exec = f.New.Exec
			want[f.Path] = n
		} else {
			want[f.OldPath] = n
		}
	case Modified, ModeOnly:
		if whole && f.Status == ModeOnly || whole && f.Whole != "" {
			n.exec = f.New.Exec
		}
		want[f.Path] = n
	default:
		t.Fatalf("got status %s, want one of text", f.Status)
	}
	return want, !joined
}

func apply(t tree, out []Outcome, blobs func(Blob) string) tree {
	for _, o := range out {
		switch {
		case o.Want.Kind == KindAbsent:
			delete(t, o.Path)
		case o.Want.Blob != "":
			t[o.Path] = node{data: blobs(o.Want.Blob), exec: o.Want.Exec}
		default:
			t[o.Path] = node{data: string(o.Content), exec: o.Want.Exec}
		}
	}
	return t
}

func TestOutcomesEqualTheModel(t *testing.T) {
	s := seq(5)
	seen := map[string]int{}
	for range 3000 {
		old, new := tree{}, tree{}
		was := node{data: wideText(&s), exec: s.next(3) == 0}
		now := node{data: wideEdit(&s, was.data), exec: s.next(3) == 0}
		from, to := "a", "a"
		switch s.next(5) {
		case 0:
			to = "b"
		case 1:
			from, to = "b", "a"
		}
		kind := s.next(6)
		if kind != 0 {
			old[from] = was
		}
		if kind != 1 {
			new[to] = now
		}
		if kind == 2 {
			now.data = was.data
			new[to] = now
		}
		src := newSource(old, new)
		cs := build(t, src)
		if slices.ContainsFunc(cs.Files, func(f File) bool { return f.Binary }) {
			continue // an edit brought a NUL to the front
		}
		edits := map[Blob]string{}
		got, want := tree{}, tree{}
		for p, n := range old {
			got[p] = n
		}
		join := false
		blobs := func(b Blob) string {
			if e, ok := edits[b]; ok {
				return e
			}
			return string(src.blobs[b])
		}
		var failed error
		for i := range cs.Files {
			f := &cs.Files[i]
			decideAtRandom(t, &s, f, edits)
			var o, n string
			if f.Old.Kind != KindAbsent {
				o = was.data
			}
			if f.New.Kind != KindAbsent {
				n = now.data
			}
			w, ok := modelOutcome(t, f, o, n, edits)
			join = join || !ok
			for p, n := range w {
				want[p] = n
			}
			out, err := Outcomes(f, func(b Blob) ([]byte, error) { return []byte(blobs(b)), nil })
			if err != nil {
				failed = err
				continue
			}
			for k, x := range out {
				if x.Base == x.Want || x.Base.Kind == x.Want.Kind && x.Base.Exec == x.Want.Exec && x.Want.Blob == "" && string(x.Content) == blobs(x.Base.Blob) {
					t.Fatalf("got an outcome at %q that changes nothing", x.Path)
				}
				if k > 0 && x.Path <= out[k-1].Path {
					t.Fatalf("got %q after %q, want them in order", x.Path, out[k-1].Path)
				}
				if x.Want.Kind == KindFile && x.Want.Blob == "" && x.Want.Size != int64(len(x.Content)) {
					t.Fatalf("got size %d for %d bytes", x.Want.Size, len(x.Content))
				}
			}
			got = apply(got, out, blobs)
			seen[string(f.Status)]++
			if f.Ends > 0 {
				seen["ends"]++
			}
		}
		if len(cs.Files) == 0 {
			continue
		}
		var je *JoinError
		if join != (failed != nil) || failed != nil && !errors.As(failed, &je) {
			t.Fatalf("%q -> %q: got %v, want a join: %v", was.data, now.data, failed, join)
		}
		if join {
			seen["join"]++
			continue
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%.300q -> %.300q:\ngot  %.600q\nwant %.600q\n%+v", was.data, now.data, fmt.Sprint(got), fmt.Sprint(want), cs.Files)
		}
	}
	for _, k := range []string{"added", "deleted", "modified", "renamed", "ends", "join"} {
		if seen[k] < 25 {
			t.Errorf("got %d of %q, want more: the test does not test", seen[k], k)
		}
	}
}

// TestAllIsTheWorkspaceAndNoneTheHost takes whole trees: every unit approved gives
// the new tree, none the old one.
func TestAllIsTheWorkspaceAndNoneTheHost(t *testing.T) {
	s := seq(77)
	for range 200 {
		old, new := randomTrees(&s)
		src := newSource(old, new)
		for _, v := range []Verdict{Approved, Rejected, Undecided} {
			cs := build(t, src)
			got := tree{}
			for p, n := range old {
				got[p] = n
			}
			for i := range cs.Files {
				f := &cs.Files[i]
				f.Each(func(id string, _ *Mark, h *Hunk) {
					rec := Decision{Verdict: v}
					if h != nil && s.next(2) == 0 { // the same, line by line
						rec = Decision{Lines: strings.Repeat(string(letterOf(v)), len(h.Letters()))}
					}
					f.Decide(id, rec)
				})
				if f.Decision() != v {
					t.Fatalf("got %q, want %q", f.Decision(), v)
				}
				out, err := Outcomes(f, src.all)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range out {
					if o.Want.Kind == KindSymlink {
						got[o.Path] = node{data: o.Want.Target, link: true}
					} else {
						got = apply(got, []Outcome{o}, func(b Blob) string { return string(src.blobs[b]) })
					}
				}
			}
			want := old
			if v == Approved {
				want = new
			}
			compare(t, got, want)
		}
	}
}
