package diffreview

import (
	"strings"
	"testing"
)

func crlfOf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// TestLineEndingsAreToldFromEdits: D03.
func TestLineEndingsAreToldFromEdits(t *testing.T) {
	base := numbered(200, nil)
	edited := numbered(200, map[int]string{100: "real\n"})
	for _, c := range []struct {
		name     string
		old, new string
		ends     int
		from, to string
		hunks    int
		whole    bool
	}{
		{"all and an edit", crlfOf(base), edited, 200, "CRLF", "LF", 1, true},
		{"the other way", base, crlfOf(edited), 200, "LF", "CRLF", 1, true},
		{"all and nothing else", base, crlfOf(base), 200, "LF", "CRLF", 0, true},
		{"no endings", base, edited, 0, "", "", 1, false},
		{"one line alone", base, strings.Replace(base, "line 7\n", "line 7\r\n", 1), 0, "", "", 1, false},
		{"a file of one line", "a\r\n", "a\n", 0, "", "", 1, false},
		{"half of the lines", base, crlfOf(base[:len(base)/2]) + base[len(base)/2:], 0, "", "", 1, false},
		{"a CR too many in one", base, strings.Replace(crlfOf(base), "line 7\r\n", "line 7\r\r\n", 1), 200, "LF", "CRLF", 1, true},
		{"one old line had it already", strings.Replace(base, "line 7\n", "line 7\r\n", 1), crlfOf(base), 199, "LF", "CRLF", 0, true},
	} {
		f := only(t, build(t, newSource(tree{"f": text(c.old)}, tree{"f": text(c.new)})))
		if f.Ends != c.ends || f.EndsFrom != c.from || f.EndsTo != c.to || len(f.Hunks) != c.hunks || (f.Whole != "") != c.whole {
			t.Errorf("%s: got %d lines %s to %s, %d hunks, whole %q, want %d %s to %s, %d, %v",
				c.name, f.Ends, f.EndsFrom, f.EndsTo, len(f.Hunks), f.Whole, c.ends, c.from, c.to, c.hunks, c.whole)
		}
	}
}

// TestTakeTheEditAndKeepTheEndings: the edit alone lands with the endings that the
// file has; the endings alone leave the old words.
func TestTakeTheEditAndKeepTheEndings(t *testing.T) {
	base := numbered(200, nil)
	edited := numbered(200, map[int]string{100: "real\n"})
	for _, c := range []struct {
		ends, edit Verdict
		want       string
	}{
		{Rejected, Approved, crlfOf(edited)},
		{Undecided, Approved, crlfOf(edited)},
		{Approved, Rejected, base},
	} {
		f := only(t, build(t, newSource(tree{"f": text(crlfOf(base))}, tree{"f": text(edited)})))
		f.Decide(f.Whole, Decision{Verdict: c.ends})
		f.Decide(f.Hunks[0].ID, Decision{Verdict: c.edit})
		if _, got, _, err := resultOf(f, []byte(crlfOf(base))); err != nil || string(got) != c.want {
			t.Errorf("endings %q, edit %q: got %.80q, %v, want %.80q", c.ends, c.edit, got, err, c.want)
		}
	}
}

// TestUnitIDsBelongToWhereTheEditLands: the same lines approved in another place,
// or to be written with other endings, are another decision.
func TestUnitIDsBelongToWhereTheEditLands(t *testing.T) {
	base, edited := numbered(30, nil), numbered(30, map[int]string{9: "x\n"})
	hunk := func(old, new tree) string {
		t.Helper()
		cs := build(t, newSource(old, new))
		f := only(t, cs)
		if len(f.Hunks) != 1 {
			t.Fatalf("got %d hunks, want 1", len(f.Hunks))
		}
		return f.Hunks[0].ID
	}
	ids := map[string]string{}
	for name, id := range map[string]string{
		"in place":    hunk(tree{"b": text(base)}, tree{"b": text(edited)}),
		"moved":       hunk(tree{"a": text(base)}, tree{"b": text(edited)}),
		"moved there": hunk(tree{"c": text(base)}, tree{"b": text(edited)}),
	} {
		if was := ids[id]; was != "" {
			t.Errorf("got one ID for %s and %s, want two", name, was)
		}
		ids[id] = name
	}
	// The old side has one ending in ten of the new kind, all of them around the
	// edit: it reads the same with and without a change of all other endings.
	mixed := strings.Replace(crlfOf(base), crlfOf(numbered(30, nil)[:len("line 1\nline 2\nline 3\n")]), "line 1\nline 2\nline 3\n", 1)
	kept := strings.Replace(mixed, "line 1\n", "other\n", 1)
	turned := strings.Replace(base, "line 1\n", "other\n", 1)
	cut := func(s string) string { return s[:strings.Index(s, "line 4")] }
	if cut(kept) != cut(turned) {
		t.Fatal("the two do not begin alike")
	}
	one := build(t, newSource(tree{"f": text(mixed)}, tree{"f": text(kept)})).Files[0]
	two := build(t, newSource(tree{"f": text(mixed)}, tree{"f": text(turned)})).Files[0]
	if one.Ends != 0 || two.Ends == 0 {
		t.Fatalf("got %d and %d lines of other endings, want none and many", one.Ends, two.Ends)
	}
	if one.Hunks[0].ID == two.Hunks[0].ID {
		t.Error("got one ID with and without a change of endings, want two")
	}
}

func TestLinesThatAgreeAreNoPart(t *testing.T) {
	for letters, want := range map[string]Verdict{"aa": Approved, "rr": Rejected, "..": Undecided} {
		f := only(t, build(t, newSource(tree{"f": text("a\n")}, tree{"f": text("b\n")})))
		if !f.Decide(f.Hunks[0].ID, Decision{Lines: letters}) || f.Hunks[0].Part != nil || f.Hunks[0].Decision != want {
			t.Errorf("%s: got %v %q, want no part and %q", letters, f.Hunks[0].Part, f.Hunks[0].Decision, want)
		}
	}
	f := only(t, build(t, newSource(tree{"f": text("a\n")}, tree{"f": text("b\n")})))
	for _, odd := range []Decision{{Lines: "a"}, {Lines: "aaa"}, {Lines: "ax"}} {
		if f.Decide(f.Hunks[0].ID, odd) {
			t.Errorf("%q: got it taken for a hunk of two lines", odd.Lines)
		}
	}
	if f.Decide("", rec(Approved, "f")) || f.Decide(strings.Repeat("0", idLen), rec(Approved, "f")) {
		t.Error("got a decision on no unit taken")
	}
}
