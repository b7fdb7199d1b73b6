package review

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/themes"
	"fumehood/ui/style"
	"fumehood/ui/syntax"
)

func dark(t *testing.T) *style.Styles {
	t.Helper()
	th, err := themes.Load("dark")
	if err != nil {
		t.Fatal(err)
	}
	st := style.Of(th)
	return &st
}

// everyCut has a part end wherever one can, which takes characters apart that
// are made of several code points.
func everyCut(text string) []syntax.Part {
	var ps []syntax.Part
	for i := range text {
		if i > 0 {
			ps = append(ps, syntax.Part{End: uint16(i), Kind: syntax.Kind(i % int(syntax.Kinds))})
		}
	}
	return append(ps, syntax.Part{End: uint16(len(text)), Kind: syntax.Keyword})
}

func TestColoursNeverMoveText(t *testing.T) {
	st := dark(t)
	for _, text := range []string{
		"x", "\tif x == \"y\" { // z", "字字f(字字)字字字字字字字字", "e\u0301e\u0301(e\u0301)", "👩\u200d🚀👩\u200d🚀x👩\u200d🚀", "🇩🇪🇫🇷🇩🇪", "👍🏽👍🏽a", "1\ufe0f\u20e3 2",
		"a\x1b[31m\u202e\u200b\r", "\xff\xfe end  ", strings.Repeat("a(b) ", 60),
	} {
		for _, op := range []byte("+- ") {
			f := &diffreview.File{Hunks: []diffreview.Hunk{{ID: "h", Lines: []diffreview.Line{{Op: op, Text: []byte(text), Old: 1, New: 1}, {Op: '+', Text: []byte("f(x)"), New: 2}}}}}
			for w := 12; w < 60; w += 3 {
				for _, left := range []int{0, 1, 7, 16} {
					fr := layOut(f, layout{width: w})
					p := painter{st: st, f: f, fr: fr, w: w, left: left, words: true, lead: noLead}
					r := fr.rows[fr.find(0, 0)]
					plain := p.row(r)
					p.now = [][]syntax.Part{everyCut(text)}
					p.old = p.now
					coloured := p.row(r)
					if ansi.Strip(plain) != ansi.Strip(coloured) {
						t.Fatalf("%q at %d, moved by %d: got\n%q, want\n%q", text, w, left, ansi.Strip(coloured), ansi.Strip(plain))
					}
					if left == 0 && w > 20 && len(text) > 1 && plain == coloured {
						t.Fatalf("%q: got no colour", text)
					}
					for _, part := range []string{"👩\u200d🚀", "🇩🇪", "👍🏽", "e\u0301"} {
						if strings.Contains(plain, part+part[:1]) && !strings.Contains(coloured, part) {
							t.Fatalf("%q at %d: got %q taken apart", text, w, part)
						}
					}
				}
			}
		}
	}
}

// The sign, the background and the marks of risk and of hidden characters are
// those that a line has without colours; so are the words that changed.
func TestColoursLeaveWhatMeansSomething(t *testing.T) {
	st := dark(t)
	f := &diffreview.File{
		Hunks:    []diffreview.Hunk{{ID: "h", OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []diffreview.Line{{Op: '-', Text: []byte("return old\u202e"), Old: 1}, {Op: '+', Text: []byte("return new\u202e"), New: 1}}}},
		Findings: []diffreview.Finding{{Severity: diffreview.Danger, Line: 1, Why: "it runs"}},
	}
	fr := layOut(f, layout{width: 60})
	p := painter{st: st, f: f, fr: fr, w: 60, words: true, lead: noLead}
	text := string(f.Hunks[0].Lines[1].Text)
	p.now = [][]syntax.Part{{{End: 6, Kind: syntax.Keyword}, {End: uint16(len(text)), Kind: syntax.String}}}
	p.old = p.now
	for i, want := range map[int][]string{
		0: {st.RemovedLine.On(st.Syntax[syntax.Keyword]).Render("return"), st.RemovedLine.On(st.RemovedWord).Render("old"), st.Removed.Render("−")},
		1: {st.AddedLine.On(st.Syntax[syntax.Keyword]).Render("return"), st.AddedLine.On(st.AddedWord).Render("new"), st.Danger.Render("!"), st.AddedLine.On(st.Control).Open()},
	} {
		got := p.row(fr.rows[fr.find(0, i)])
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("line %d: got %q without %q", i, got, w)
			}
		}
	}
}

// What is known of other bytes than those of the line is not used: not of a
// text that is shorter or longer, nor of a line that does not exist.
func TestColoursOfOtherBytesAreNotUsed(t *testing.T) {
	p := painter{now: [][]syntax.Part{{{End: 4, Kind: syntax.Keyword}}, nil}, old: [][]syntax.Part{{{End: 4, Kind: syntax.String}}}}
	for _, c := range []struct {
		l    diffreview.Line
		want bool
	}{
		{diffreview.Line{Op: '+', New: 1, Text: []byte("abcd")}, true},
		{diffreview.Line{Op: '+', New: 1, Text: []byte("abc")}, true}, // without its CR
		{diffreview.Line{Op: '+', New: 1, Text: []byte("ab")}, false},
		{diffreview.Line{Op: '+', New: 1, Text: []byte("abcde")}, false},
		{diffreview.Line{Op: '+', New: 2, Text: []byte("abcd")}, false},
		{diffreview.Line{Op: '+', New: 3, Text: []byte("abcd")}, false},
		{diffreview.Line{Op: '-', Old: 1, Text: []byte("abcd")}, true},
		{diffreview.Line{Op: '-', Old: 2, Text: []byte("abcd")}, false},
		{diffreview.Line{Op: ' ', Old: 1, Text: []byte("abcd")}, true}, // out of a gap
		{diffreview.Line{Op: '+', New: -1, Text: []byte("abcd")}, false},
	} {
		if got := p.parts(&c.l) != nil; got != c.want {
			t.Errorf("%+v: got colours %v, want %v", c.l, got, c.want)
		}
	}
}

func TestKeptColoursAreBounded(t *testing.T) {
	var c colours
	for i := range 200 {
		c.add(diffreview.Entry{Blob: diffreview.Blob(fmt.Sprint(i)), Size: 1000}, "go")
	}
	if n := len(c.texts); n != colourTexts {
		t.Errorf("got %d texts kept, want %d", n, colourTexts)
	}
	if c.find("199", "go") == nil || c.find("0", "go") != nil {
		t.Error("got not the newest texts")
	}
	first := c.texts[0]
	c.find(first.blob, "go") // looked at again: it stays
	for i := range 5 {
		c.add(diffreview.Entry{Blob: diffreview.Blob(fmt.Sprint("large", i)), Size: colourBytes / 5}, "go")
	}
	if c.find(first.blob, "go") != nil || len(c.texts) > 6 {
		t.Errorf("got %d texts, want no more than their size allows", len(c.texts))
	}
	c.add(diffreview.Entry{Blob: "huge", Size: 2 * colourBytes}, "go")
	if len(c.texts) != 1 {
		t.Errorf("got %d texts beside a huge one, want it alone", len(c.texts))
	}
}

// A screen of lines with a part in every other byte is drawn within a frame.
func TestAColouredFrameMeetsItsBudget(t *testing.T) {
	var text strings.Builder
	for range 200 {
		text.WriteString(strings.Repeat("f(", 450) + "\n")
	}
	src := syntax.New("go", []byte(text.String()))
	src.Upto(context.Background(), math.MaxInt)
	if len(src.Lines()) != 200 || len(src.Lines()[0]) < 800 {
		t.Fatalf("got %d lines, want 200 of many parts", len(src.Lines()))
	}
	f := &diffreview.File{Hunks: []diffreview.Hunk{{ID: "h"}}}
	for i, l := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		f.Hunks[0].Lines = append(f.Hunks[0].Lines, diffreview.Line{Op: '+', New: i + 1, Text: []byte(l)})
	}
	for _, left := range []int{0, 300} {
		fr := layOut(f, layout{width: 200})
		p := painter{st: dark(t), f: f, fr: fr, w: 200, left: left, lead: noLead, now: src.Lines()}
		if d := best(t, 40, func() {
			for _, r := range fr.rows[1:61] {
				p.row(r)
			}
		}); d > slower*scroll {
			t.Errorf("moved by %d: got %v a frame, want at most %v", left, d, scroll)
		}
	}
}
