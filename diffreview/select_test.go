package diffreview

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// randomText makes lines of all sorts: CR, no final newline, repeats, bytes
// that are no text.
func randomText(s *seq) string {
	var b strings.Builder
	for range s.next(60) {
		b.WriteString(pick(s, "a", "b", "", "\t}", "end \r", "\xff\xfe", fmt.Sprint(s.next(1000))))
		b.WriteByte('\n')
	}
	out := b.String()
	if s.next(3) == 0 {
		out = strings.TrimSuffix(out, "\n")
	}
	return out
}

func editText(s *seq, in string) string {
	lines := strings.SplitAfter(in, "\n")
	for range 1 + s.next(6) {
		at := s.next(len(lines))
		fresh := pick(s, "new\n", "x\r\n", "\n", fmt.Sprintf("%d\n", s.next(1000)))
		switch s.next(4) {
		case 0:
			lines[at] += fresh
		case 1:
			lines[at] = ""
		case 2:
			lines[at] = fresh
		default:
			lines[at] = strings.TrimSuffix(lines[at], "\n")
		}
	}
	return strings.Join(lines, "")
}

// resultOf is the outcome of a file that stays where it is.
func resultOf(f *File, base []byte) (e Entry, content []byte, changed bool, err error) {
	out, err := Outcomes(f, func(Blob) ([]byte, error) { return base, nil })
	if err != nil {
		return Entry{}, nil, false, err
	}
	if len(out) == 0 {
		return f.Old, nil, false, nil
	}
	return out[0].Want, out[0].Content, true, nil
}

// model puts hunks into base from the last to the first: another way than
// splice, which goes forward.
func model(base string, hs []Hunk) string {
	var lines []string
	if base != "" {
		lines = strings.SplitAfter(base, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
	}
	for i := len(hs) - 1; i >= 0; i-- {
		h := hs[i]
		if h.Decision != Approved {
			continue
		}
		var put []string
		for _, l := range h.Lines {
			if l.Op != '-' {
				put = append(put, string(l.raw()))
			}
		}
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		lines = append(lines[:start:start], append(put, lines[start+h.OldLines:]...)...)
	}
	return strings.Join(lines, "")
}

func TestResultIsBaseWithTheApprovedHunks(t *testing.T) {
	s := seq(11)
	cut := 0
	for range 3000 {
		old := randomText(&s)
		new := editText(&s, old)
		cs := build(t, newSource(tree{"f": text(old)}, tree{"f": text(new)}))
		if len(cs.Files) == 0 {
			continue
		}
		f := &cs.Files[0]
		all := s.next(4)
		approved := 0
		for i := range f.Hunks {
			f.Hunks[i].Decision = pick(&s, Approved, Rejected, Undecided)
			if all < 2 {
				f.Hunks[i].Decision = []Verdict{Approved, Undecided}[all]
			}
			if f.Hunks[i].Decision == Approved {
				approved++
			}
		}
		e, content, changed, err := resultOf(f, []byte(old))
		if err != nil {
			t.Fatalf("%q -> %q: %v", old, new, err)
		}
		got := string(content)
		switch {
		case e.Blob == f.Old.Blob:
			got = old
		case e.Blob == f.New.Blob:
			got = new
		default:
			cut++
		}
		want := model(old, f.Hunks)
		if approved == len(f.Hunks) && want != new || approved == 0 && want != old {
			t.Fatalf("the model is wrong: got %q, want %q", want, new)
		}
		if got != want || changed != (approved > 0) || int64(len(got)) != e.Size {
			t.Fatalf("%q -> %q: got %q (changed %v), want %q", old, new, got, changed, want)
		}
	}
	if cut < 300 {
		t.Errorf("got %d partial results, want hundreds: the test does not test", cut)
	}
}

// TestResultKeepsAnUntouchedEnd: the end of a file without newline stays so
// when only an edit before it is approved, and the reverse.
func TestResultKeepsAnUntouchedEnd(t *testing.T) {
	old := "l1\n" + strings.Repeat("-\n", 9) + "l3"
	new := "l1\nl2\n" + strings.Repeat("-\n", 9) + "L3\n"
	for _, c := range []struct {
		first, second Verdict
		want          string
	}{
		{Approved, Rejected, "l1\nl2\n" + strings.Repeat("-\n", 9) + "l3"},
		{Undecided, Approved, "l1\n" + strings.Repeat("-\n", 9) + "L3\n"},
	} {
		f := only(t, build(t, newSource(tree{"f": text(old)}, tree{"f": text(new)})))
		if len(f.Hunks) != 2 {
			t.Fatalf("got %d hunks, want 2", len(f.Hunks))
		}
		f.Hunks[0].Decision, f.Hunks[1].Decision = c.first, c.second
		if _, got, _, err := resultOf(f, []byte(old)); err != nil || string(got) != c.want {
			t.Errorf("got %q, %v, want %q", got, err, c.want)
		}
	}
}

func TestResultOfWholeUnits(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new node
	}{
		{"mode", text("a\n"), node{data: "a\n", exec: true}},
		{"type", text("a\n"), node{data: "t", link: true}},
		{"link", node{data: "s", link: true}, node{data: "t", link: true}},
		{"binary", text("\x00a"), text("\x00b")},
	} {
		f := only(t, build(t, newSource(tree{"f": c.old}, tree{"f": c.new})))
		if e, content, changed, err := resultOf(f, nil); e != f.Old || content != nil || changed || err != nil {
			t.Errorf("%s undecided: got %v %v %v, want the old entry", c.name, e, changed, err)
		}
		f.WholeMark.Decision = Approved
		if e, content, changed, err := resultOf(f, nil); e != f.New || content != nil || !changed || err != nil {
			t.Errorf("%s approved: got %v %v %v, want the new entry", c.name, e, changed, err)
		}
	}
}

func TestResultTakesModeAndLinesApart(t *testing.T) {
	f := only(t, build(t, newSource(tree{"f": text("a\n")}, tree{"f": {data: "b\n", exec: true}})))
	f.WholeMark.Decision = Approved
	if e, _, changed, err := resultOf(f, []byte("a\n")); !e.Exec || e.Blob != f.Old.Blob || !changed || err != nil {
		t.Errorf("mode alone: got %v %v %v, want old content, executable", e, changed, err)
	}
	f.WholeMark.Decision, f.Hunks[0].Decision = Rejected, Approved
	if e, _, changed, err := resultOf(f, []byte("a\n")); e.Exec || e.Blob != f.New.Blob || !changed || err != nil {
		t.Errorf("lines alone: got %v %v %v, want new content, not executable", e, changed, err)
	}
}

func TestResultRefusesTheImpossible(t *testing.T) {
	two := map[int]string{2: "x\n", 20: "y\n"}
	f := only(t, build(t, newSource(tree{"f": text(numbered(30, nil))}, tree{"f": text(numbered(30, two))})))
	f.Hunks[1].Decision = Approved
	for name, base := range map[string]string{
		"another base":  numbered(30, map[int]string{20: "other\n"}),
		"a shorter one": numbered(10, nil),
		"none":          "",
	} {
		if _, _, _, err := resultOf(f, []byte(base)); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
	f.Status = "odd"
	if _, _, _, err := resultOf(f, nil); err == nil {
		t.Error("got no error for a status that is not known here, want one")
	}
}

// TestResultNeverJoinsLines: with hunks that a hostile bundle could hold, a last
// line without newline in the middle is refused.
func TestResultNeverJoinsLines(t *testing.T) {
	base := numbered(30, nil)
	f := only(t, build(t, newSource(tree{"f": text(base)}, tree{"f": text(numbered(30, map[int]string{2: "x\n", 20: "y\n"}))})))
	f.Hunks[0].Decision = Approved
	for i, l := range f.Hunks[0].Lines {
		if l.Op == '+' {
			f.Hunks[0].Lines[i].NoEOL = true
		}
	}
	if _, got, _, err := resultOf(f, []byte(base)); err == nil {
		t.Errorf("got %q, want an error", bytes.TrimSpace(got))
	}
}
