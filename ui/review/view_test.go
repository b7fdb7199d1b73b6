package review

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/themes"
	"fumehood/ui/kit"
	"fumehood/ui/style"
	"fumehood/ui/uitest"
)

// edits is a text of n lines, and the same with changes here and there.
func edits(r *rand.Rand, n int) (old, now string) {
	var a, b strings.Builder
	for i := range n {
		line := fmt.Sprintf("line %d\n", i)
		a.WriteString(line)
		switch r.IntN(9) {
		case 0:
		case 1:
			fmt.Fprintf(&b, "other %d\n", i)
		case 2:
			b.WriteString(line + fmt.Sprintf("more %d\n", i))
		default:
			b.WriteString(line)
		}
	}
	return a.String(), b.String()
}

func builtFile(t *testing.T, old, now string) (*diffreview.File, map[diffreview.Blob][]byte) {
	t.Helper()
	set, texts, err := uitest.BuiltSet(map[string]uitest.Side{"f.txt": {Text: old}}, map[string]uitest.Side{"f.txt": {Text: now}})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Files) == 0 {
		t.Fatal("got two equal texts, want a change between them")
	}
	return &set.Files[0], texts
}

// With all gaps open the rows are the two texts, line by line, in either layout.
func TestOpenGapsShowTheWholeOfBothTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for n := range 60 {
		old, now := edits(r, 5+r.IntN(200))
		if old == now {
			continue
		}
		f, texts := builtFile(t, old, now)
		text := oldLines(f, texts[f.Old.Blob])
		for _, side := range []bool{false, true} {
			for _, open := range []span{{}, {top: 3, end: 2}, {top: 1000}} {
				how := layout{width: 100, side: side, old: text, opened: map[int]span{}}
				shut := 0
				for i, g := range gapsOf(f, text) {
					s := span{top: min(open.top, g.n), end: min(open.end, max(0, g.n-open.top))}
					how.opened[i] = s
					shut += g.n - s.top - s.end
				}
				fr := layOut(f, how)
				var a, b []string
				folded := 0
				for _, x := range fr.rows {
					switch x.kind {
					case rowGap:
						var k int
						if _, err := fmt.Sscanf(fr.gapText(int(x.hunk)), "⋯ %d unchanged line", &k); err != nil {
							t.Fatal(err)
						}
						folded += k
					case rowSame:
						a, b = append(a, string(text.lines[x.line])), append(b, string(text.lines[x.line]))
					case rowLine, rowPair:
						ls := f.Hunks[x.hunk].Lines
						right := x.pair
						if x.kind == rowLine {
							right = x.line
						}
						if x.line >= 0 && ls[x.line].Op != '+' {
							a = append(a, string(ls[x.line].Text))
						}
						if right >= 0 && ls[right].Op != '-' {
							b = append(b, string(ls[right].Text))
						}
					default:
					}
				}
				if folded != shut {
					t.Fatalf("case %d, side %v, open %v: got %d lines said to be folded, want %d", n, side, open, folded, shut)
				}
				if shut > 0 {
					continue
				}
				for i, got := range [][]string{a, b} {
					want := []string{old, now}[i]
					if g := strings.Join(got, "\n") + "\n"; g != want && !(len(got) == 0 && want == "") {
						t.Fatalf("case %d, side %v: got text %d\n%s\nwant\n%s", n, side, i, g, want)
					}
				}
			}
		}
	}
}

// What the preview shows is what an apply would write, for any choice of lines.
func TestThePreviewIsWhatWouldBeWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 100 {
		old, now := edits(r, 3+r.IntN(60))
		if r.IntN(3) == 0 {
			now = strings.TrimSuffix(now, "\n")
		}
		if old == now || now == "" {
			continue
		}
		f, texts := builtFile(t, old, now)
		content := func(b diffreview.Blob) ([]byte, error) { return texts[b], nil }
		var want bytes.Buffer
		lines := linediff.Split([]byte(old))
		at := 0
		refused := false
		for i := range f.Hunks {
			h := &f.Hunks[i]
			letters := []byte(h.Letters())
			for k := range letters {
				letters[k] = "ar."[r.IntN(3)]
			}
			rec := ofLetters(letters)
			if impossible(f, h, rec) != nil {
				refused = true
				break
			}
			if !f.Decide(h.ID, rec) {
				t.Fatalf("got %q refused for %q", letters, h.Letters())
			}
			for ; at < h.OldStart-1; at++ {
				want.Write(lines[at])
			}
			k := 0
			for _, l := range h.Lines {
				yes := false
				if l.Op != ' ' {
					yes = letters[k] == 'a'
					k++
				}
				if l.Op == '+' && yes || l.Op != '+' && !(l.Op == '-' && yes) {
					want.Write(l.Text)
					if !l.NoEOL {
						want.WriteByte('\n')
					}
				}
				if l.Op != '+' {
					at++
				}
			}
		}
		if refused {
			continue
		}
		for ; at < len(lines); at++ {
			want.Write(lines[at])
		}
		_, got, err := resultOf(context.Background(), f, content)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for i, l := range got {
			if l.no > 0 {
				b.Write(l.text)
				if i+1 == len(got) || got[i+1].said != "no newline at the end" {
					b.WriteByte('\n')
				}
			}
		}
		if b.String() != want.String() {
			t.Fatalf("got\n%q\nwant\n%q", b.String(), want.String())
		}
	}
}

// A choice is refused exactly where the whole file could not be put together.
func TestImpossibleIsWhatAnApplyWouldRefuse(t *testing.T) {
	some := false
	for _, c := range []struct{ old, now string }{
		{"a\nlast", "a\nlast\nmore\n"}, {"a\nlast\nmore\n", "a\nlast"}, {"x", "y"}, {"x", "y\nz"}, {"", "new"}, {"gone", ""}, {"a\nb\nc", "A\nb\nC\n"},
	} {
		f, texts := builtFile(t, c.old, c.now)
		for i := range f.Hunks {
			h := &f.Hunks[i]
			n := len(h.Letters())
			for mask := range 1 << n {
				letters := bytes.Repeat([]byte("r"), n)
				for k := range n {
					if mask>>k&1 == 1 {
						letters[k] = 'a'
					}
				}
				rec := ofLetters(letters)
				no := impossible(f, h, rec)
				some = some || no != nil
				if !f.Decide(h.ID, rec) {
					t.Fatalf("%q to %q: got %q refused", c.old, c.now, letters)
				}
				_, err := diffreview.Outcomes(f, func(b diffreview.Blob) ([]byte, error) { return texts[b], nil })
				if (no != nil) != (err != nil) {
					t.Errorf("%q to %q, %s: got %v, want as the apply has it: %v", c.old, c.now, letters, no, err)
				}
				f.Decide(h.ID, diffreview.Decision{})
			}
		}
	}
	if !some {
		t.Error("got no choice refused, want some")
	}
}

func TestARegionIsWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want region
	}{
		{"aaXbb", "aaYbb", region{2, 3}},
		{"same", "same", region{4, 4}},
		{"aabb", "aaXbb", region{2, 2}},
		{"", "x", region{0, 0}},
		{"aéb", "aèb", region{1, 3}}, // one byte of two differs
	} {
		if got := differs([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q, %q: got %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func painted(t *testing.T, f *diffreview.File, how layout, theme string, left int, words bool) []string {
	t.Helper()
	th, err := themes.Load(theme)
	if err != nil {
		t.Fatal(err)
	}
	st := style.Of(th)
	fr := layOut(f, how)
	p := painter{st: &st, f: f, fr: fr, w: how.width, left: left, words: words, lead: noLead}
	var out []string
	for _, r := range fr.rows {
		if r.kind != rowUnit {
			out = append(out, p.row(r))
		}
	}
	return out
}

// A line of 5 MiB is never laid out, and never more of it than a screenful.
func TestALineOfMegabytesCostsAScreenful(t *testing.T) {
	old := strings.Repeat("0123456789", 1<<19) + "\n"
	now := old[:2<<20] + "CHANGED" + old[2<<20+7:]
	f, _ := builtFile(t, old, now)
	for _, how := range []layout{{width: 100}, {width: 160, side: true}} {
		t0 := time.Now()
		rows := painted(t, f, how, "mono", 0, true)
		if d := time.Since(t0); d > slower*time.Second {
			t.Errorf("got %v to draw it, want under a second", d)
		}
		all := strings.Join(rows, "\n")
		if !strings.Contains(all, "CHANGED") || !strings.Contains(all, "from byte 2,0") || !strings.Contains(all, "of 5,242,880") {
			t.Errorf("got no region of change or no offset:\n%s", all)
		}
		if len(all) > 100*how.width {
			t.Errorf("got %d bytes drawn for %d rows", len(all), len(rows))
		}
		for _, l := range rows {
			if w := kit.Width(l); w != how.width {
				t.Errorf("got a row of %d cells, want %d: %q", w, how.width, l)
			}
		}
	}
}

// sgr is the one kind of sequence that the view writes.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

func TestHostileLongLinesKeepTheirWidth(t *testing.T) {
	for _, unit := range []string{"\x80", "\x1b[2J", "e\u0301\u0301\u0301\u0301\u0301", "\u202e", "字", "\t", "👩\u200d🚀", "\u0301", "\r", " "} {
		old := strings.Repeat(unit, 5000) + "\n"
		now := old[:2*len(unit)] + "X" + old[2*len(unit):]
		f, _ := builtFile(t, old, now)
		if f.Binary {
			continue
		}
		for _, how := range []layout{{width: 60}, {width: 121, side: true}} {
			for _, left := range []int{-100_000, -7, 0, 33, 3000, 1 << 40} {
				for _, l := range painted(t, f, how, "mono", left, true) {
					if w := kit.Width(l); w != how.width {
						t.Fatalf("%q moved by %d: got a row of %d cells, want %d", unit, left, w, how.width)
					}
					if strings.ContainsAny(sgr.ReplaceAllString(l, ""), "\x1b\r\n\a\t\u202e") {
						t.Fatalf("%q: got %q, want nothing that acts on a terminal", unit, l)
					}
				}
			}
		}
	}
}

// Without colour the changed words are underlined.
func TestChangedWordsAreMarkedWithoutColour(t *testing.T) {
	f, _ := builtFile(t, "return nil, err\n", "return nil, wrapped\n")
	for _, how := range []layout{{width: 80}, {width: 120, side: true}} {
		on := strings.Join(painted(t, f, how, "mono", 0, true), "\n")
		off := strings.Join(painted(t, f, how, "mono", 0, false), "\n")
		if strings.Count(on, "\x1b[4m") != 2 || strings.Contains(off, "\x1b[4m") {
			t.Errorf("got %q with and %q without marks, want two words underlined", on, off)
		}
	}
}

// Every key of the view answers within a frame on a change set at its limits.
func TestTheKeysOfTheViewMeetTheirBudget(t *testing.T) {
	var a, b strings.Builder
	for i := range linediff.MaxLines - 10 {
		fmt.Fprintf(&a, "line %d\n", i)
		if i%2000 == 0 {
			b.WriteString("changed ")
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	set, texts, err := uitest.BuiltSet(map[string]uitest.Side{"f.txt": {Text: a.String()}}, map[string]uitest.Side{"f.txt": {Text: b.String()}})
	if err != nil {
		t.Fatal(err)
	}
	m := large(t, set)
	arrive(m, set)
	m.old = oldLines(&set.Files[0], texts[set.Files[0].Old.Blob])
	press := func(k string) { m.Update(uitest.Key(k)); m.View(200, 55) }
	for _, k := range []string{"v", "V", "j", "space", "x", "esc", "esc", "J", "J", "k", "+", "+", "-", "s", "j", "pgdown", "v", "j", "space", "v", "v", "s", "H", "H", "G", "g", ".", ".", "backspace", "w", ">", "<"} {
		if d := best(t, 7, func() { press(k) }); d > slower*scroll {
			t.Errorf("%s: got %v a frame, want at most %v", k, d, scroll)
		}
	}
	m.Update(tea.MouseWheelMsg{X: 100, Y: 20, Button: tea.MouseWheelDown})
	// One hunk of as many lines is beyond what a review compares by lines (400,000
	// of a side). Deciding a line of it looks at each: that may take some frames.
	one := uitest.LargeSet(1, 500_000)
	m = large(t, one)
	arrive(m, one)
	for _, k := range []string{"v", "space", "j", "x", "V", "j", "j", "space", "u"} {
		if d := best(t, 7, func() { press(k) }); d > slower*3*scroll {
			t.Errorf("%s in a hunk of 500,000 lines: got %v a frame, want at most %v", k, d, 3*scroll)
		}
	}
}
