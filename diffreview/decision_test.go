package diffreview

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var when = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func rec(v Verdict, path string) Decision {
	return Decision{Verdict: v, Path: path, By: "me", TTY: "/dev/pts/1", At: when}
}

func TestDecisionsLapseWithTheirBytes(t *testing.T) {
	base := tree{"f": text(numbered(30, nil)), "g": text("a\n")}
	cs := build(t, newSource(base, tree{"f": text(numbered(30, map[int]string{2: "x\n", 20: "y\n"})), "g": text("b\n")}))
	var d Decisions
	for i := range cs.Files {
		d.Set(rec(Approved, cs.Files[i].Path), cs.Files[i].UnitIDs()...)
	}
	if lapsed := d.Fill(cs); lapsed != 0 {
		t.Errorf("got %d lapsed, want 0", lapsed)
	}
	if open, all := cs.Undecided(); open != 0 || all != 3 {
		t.Errorf("got %d of %d open, want 0 of 3", open, all)
	}
	cs = build(t, newSource(base, tree{"f": text(numbered(30, map[int]string{2: "x\n", 20: "z\n"})), "g": text("a\n")}))
	if lapsed := d.Fill(cs); lapsed != 1 {
		t.Errorf("got %d files with lapsed decisions, want f: g has nothing to decide any more", lapsed)
	}
	f := only(t, cs)
	if f.Hunks[0].Decision != Approved || f.Hunks[1].Decision != Undecided {
		t.Errorf("got %q %q, want approved and undecided", f.Hunks[0].Decision, f.Hunks[1].Decision)
	}
	if f.Lapsed != Approved {
		t.Errorf("got %q lapsed, want approved", f.Lapsed)
	}
	d.Set(rec(Rejected, "f"), f.Hunks[1].ID)
	if lapsed := d.Fill(cs); lapsed != 0 || f.Lapsed != Undecided {
		t.Errorf("got %d lapsed and %q, want none once all is decided again", lapsed, f.Lapsed)
	}
}

func TestDecisionOfAnotherPathCountsForNothing(t *testing.T) {
	cs := build(t, newSource(tree{"f": text("a\n")}, tree{"f": text("b\n")}))
	var d Decisions
	d.Set(rec(Approved, "other"), cs.Files[0].Hunks[0].ID)
	if lapsed := d.Fill(cs); lapsed != 0 || cs.Files[0].Hunks[0].Decision != Undecided {
		t.Errorf("got %d lapsed and %q, want 0 and undecided", lapsed, cs.Files[0].Hunks[0].Decision)
	}
}

func TestSetTakesBack(t *testing.T) {
	id := strings.Repeat("a", idLen)
	for _, back := range []Decision{rec(Undecided, "f"), {Path: "f", Lines: ".."}} {
		var d Decisions
		d.Set(rec(Approved, "f"), id)
		d.Set(back, id)
		if got, ok := d.Units[id]; ok {
			t.Errorf("got %v, want no record", got)
		}
	}
}

func TestApproveAllLeavesWhatIsUnderAFinding(t *testing.T) {
	twoHunks := map[int]string{2: "x\n", 20: "y\n"}
	for _, c := range []struct {
		name     string
		mode     bool // the file also becomes executable
		findings []Finding
		accept   []string
		want     string // unit by unit: a approved, - skipped
	}{
		{name: "none", want: "aa"},
		{name: "note", findings: []Finding{{Rule: "r", Severity: Note}}, want: "aa"},
		{name: "whole file", findings: []Finding{{Rule: "r", Severity: Warn}}, want: "--"},
		{name: "line", findings: []Finding{{Rule: "r", Severity: Danger, Line: 20}}, want: "a-"},
		{name: "line of context", findings: []Finding{{Rule: "r", Severity: Warn, Line: 5}}, want: "-a"},
		{name: "line outside all hunks", findings: []Finding{{Rule: "r", Severity: Warn, Line: 12}}, want: "--"},
		{name: "line beyond the file", findings: []Finding{{Rule: "r", Severity: Warn, Line: 9999}}, want: "--"},
		{name: "line and mode", mode: true, findings: []Finding{{Rule: "r", Severity: Warn, Line: 20}}, want: "-a-"},
		{name: "accepted", findings: []Finding{{Rule: "r", Severity: Danger}}, accept: []string{"r"}, want: "aa"},
		{name: "one of two accepted", findings: []Finding{{Rule: "r", Severity: Danger}, {Rule: "q", Severity: Warn, Line: 2}}, accept: []string{"r"}, want: "-a"},
		{name: "unknown severity", findings: []Finding{{Rule: "r", Severity: "odd"}}, want: "--"},
	} {
		cs := build(t, newSource(tree{"f": text(numbered(30, nil))}, tree{"f": {data: numbered(30, twoHunks), exec: c.mode}}))
		f := only(t, cs)
		f.Findings = c.findings
		var d Decisions
		skipped := d.ApproveAll(cs, c.accept, nil, rec("", ""))
		got := ""
		for _, id := range f.UnitIDs() {
			_, recorded := d.Units[id]
			switch {
			case verdictOf(f, id) == Approved && recorded:
				got += "a"
			case verdictOf(f, id) == Undecided && !recorded:
				got += "-"
			default:
				t.Errorf("%s: got verdict %q and recorded %v", c.name, verdictOf(f, id), recorded)
			}
		}
		if got != c.want || len(skipped) != strings.Count(c.want, "-") {
			t.Errorf("%s: got %s and %d skipped, want %s", c.name, got, len(skipped), c.want)
		}
		for _, s := range skipped {
			if s.Why == "" || s.Path != "f" {
				t.Errorf("%s: got %v, want path and reason", c.name, s)
			}
		}
	}
}

func TestApproveAllRespectsRejectionsAndPaths(t *testing.T) {
	cs := build(t, newSource(tree{}, tree{"a": text("x\n"), "b": text("y\n"), "c": text("z\n")}))
	var d Decisions
	d.Set(rec(Rejected, "a"), cs.Files[0].Whole)
	d.Fill(cs)
	if skipped := d.ApproveAll(cs, nil, func(p string) bool { return p != "c" }, rec("", "")); len(skipped) != 0 {
		t.Errorf("got %v skipped, want none", skipped)
	}
	got := ""
	for i := range cs.Files {
		got += verdictWord(cs.Files[i].Decision()) + " "
	}
	if want := "rejected approved undecided "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if r := d.Units[cs.Files[1].Whole]; r.Path != "b" || r.By != "me" || !r.At.Equal(when) {
		t.Errorf("got %v, want who, where and when", r)
	}
}

func TestDecisionsSurviveStorage(t *testing.T) {
	var d Decisions
	d.Set(rec(Approved, "a/\xff\xfe"), strings.Repeat("a", idLen))
	d.Set(rec(Rejected, "ü \n"), strings.Repeat("b", idLen))
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeDecisions(b)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got.Units) != fmt.Sprint(d.Units) {
		t.Errorf("got %q, want %q", fmt.Sprint(got.Units), fmt.Sprint(d.Units))
	}
	if b, err = (&Decisions{}).Encode(); err != nil {
		t.Fatal(err)
	}
	if _, err = DecodeDecisions(b); err != nil {
		t.Errorf("got %v for no decisions, want them read", err)
	}
}

func TestDecodeDecisionsRefuses(t *testing.T) {
	unit := func(body string) string {
		return `{"version":1,"units":{"` + strings.Repeat("a", idLen) + `":` + body + `}}`
	}
	if _, err := DecodeDecisions([]byte(unit(`{"verdict":"approved","path":"f","by":"","tty":"","at":"2026-11-30T12:00:00Z"}`))); err != nil {
		t.Fatalf("got %v for a good one, want none", err)
	}
	for name, in := range map[string]string{
		"nothing":         "",
		"cut short":       unit(`{"verdict":"appr`),
		"another version": `{"version":3,"units":{}}`,
		"no version":      `{"units":{}}`,
		"unknown key":     `{"version":1,"units":{},"more":1}`,
		"unknown verdict": unit(`{"verdict":"maybe","path":"f"}`),
		"no path":         unit(`{"verdict":"approved"}`),
		"odd unit":        `{"version":1,"units":{"x":{"verdict":"approved","path":"f"}}}`,
		"something after": `{"version":1,"units":{}} {}`,
		"long account":    unit(`{"verdict":"approved","path":"f","by":"` + strings.Repeat("x", maxDecisionText+1) + `"}`),
	} {
		if _, err := DecodeDecisions([]byte(in)); err == nil {
			t.Errorf("%s: got no error, want one", name)
		}
	}
}

// TestManyEmptyRecordsAreRefusedUnread: two bytes each, they would be made into
// gigabytes of records before a limit was looked at.
func TestManyEmptyRecordsAreRefusedUnread(t *testing.T) {
	in := `{"version":2,"units":{},"comments":[{}` + strings.Repeat(",{}", maxDecisionUnits+maxComments+maxResolutions+maxHeads) + `]}`
	if _, err := DecodeDecisions([]byte(in)); err == nil || !strings.Contains(err.Error(), "any review") {
		t.Errorf("got %v, want a refusal by number", err)
	}
	if n := objects([]byte(`{"a{":"\"{","b":[{},{"c":"\\"},{}]}`)); n != 4 {
		t.Errorf("got %d objects, want 4: braces in texts open none", n)
	}
}

func FuzzDecodeDecisions(f *testing.F) {
	f.Add([]byte(`{"version":1,"units":{"` + strings.Repeat("a", idLen) + `":{"verdict":"approved","path":"f"}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		d, err := DecodeDecisions(in)
		if err != nil {
			return
		}
		b, err := d.Encode()
		if err != nil {
			t.Skip("got dates or sizes that can't be written again, want them refused at writing") // such as year 10000
		}
		if _, err := DecodeDecisions(b); err != nil {
			t.Errorf("got %v reading back %q", err, b)
		}
	})
}

func verdictOf(f *File, id string) Verdict {
	m, _ := f.Unit(id)
	return m.Decision
}
