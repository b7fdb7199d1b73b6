package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fumehood/themes"
	"fumehood/ui"
	"fumehood/ui/style"
	"fumehood/ui/uitest"
)

// inSource opens a review of two Go files whose changes lie far down, with the
// first on the screen.
func inSource(t *testing.T, theme string, prepare func(b *uitest.Backend)) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	var body strings.Builder
	for i := range 60 {
		fmt.Fprintf(&body, "func f%d() { return }\n", i)
	}
	old, now := map[string]uitest.Side{}, map[string]uitest.Side{}
	for _, name := range []string{"a.go", "b.go"} {
		text := "package " + name[:1] + "\n\n/* not closed here\n" + body.String() + "*/\n" + body.String()
		old[name] = uitest.Side{Text: text}
		text = strings.Replace(text, "func f30() { return }\n*", "*", 1)
		now[name] = uitest.Side{Text: strings.ReplaceAll(text, "func f30() {", "func f30(x int) {")}
	}
	set, texts, err := uitest.BuiltSet(old, now)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place, o.Theme, o.NoColor = "review", theme, theme == "mono"
		b.Sets["a1"], b.Texts = set, texts
		if prepare != nil {
			prepare(b)
		}
	})
}

func styles(t *testing.T, theme string) style.Styles {
	t.Helper()
	th, err := themes.Load(theme)
	if err != nil {
		t.Fatal(err)
	}
	return style.Of(th)
}

// shown gives the line of the screen that has a text, with its attributes.
func shown(t *testing.T, d *uitest.Driver, text string, nth int) string {
	t.Helper()
	plain := strings.Split(d.Screen(), "\n")
	for i, l := range strings.Split(d.Model.View().Content, "\n") {
		if strings.Contains(plain[i], text) {
			if nth--; nth < 0 {
				return l
			}
		}
	}
	t.Fatalf("got no line with %q:\n%s", text, d.Screen())
	return ""
}

// A line's colours are those of its place in the whole text: the first changed
// line stands in a comment that begins thirty lines above what the diff shows.
func TestColoursKnowTheWholeText(t *testing.T) {
	d, _ := inSource(t, "dark", nil)
	st := styles(t, "dark")
	in, out := shown(t, d, "+ func f30(x int)", 0), shown(t, d, "+ func f30(x int)", 1)
	if want := st.AddedLine.On(st.Syntax[3]).Render("func f30("); !strings.Contains(in, want) {
		t.Errorf("got %q in a comment, want %q in it", in, want)
	}
	if want := st.AddedLine.On(st.Syntax[1]).Render("func"); !strings.Contains(out, want) {
		t.Errorf("got %q, want %q in it", out, want)
	}
	if gone := shown(t, d, "− func f30()", 1); !strings.Contains(gone, st.RemovedLine.On(st.Syntax[1]).Render("func")) {
		t.Errorf("got %q without colours on the removed line", gone)
	}
}

// Without colour no text is read, and none is drawn.
func TestMonoHasNoColoursInTheDiff(t *testing.T) {
	d, b := inSource(t, "mono", nil)
	d.Press("j", "}")
	if n := len(calls(b, "Text")); n != 0 {
		t.Errorf("got %d texts read, want none", n)
	}
	if got := shown(t, d, "+ func f30(x int)", 0); strings.Contains(got, "38;2") {
		t.Errorf("got %q with colour", got)
	}
}

// T goes through what can be read on this background first, and says what can't.
func TestThemesOfThisBackgroundComeFirst(t *testing.T) {
	d, _ := inSource(t, "dark", nil)
	for _, want := range []string{"theme colourblind", "theme contrast", "theme mono"} {
		d.Press("T")
		d.See(want)
		d.NotSee("other background")
	}
	d.Press("T")
	d.See("theme colourblind-light: made for the other background; T goes on")
	d.Press("T", "T", "T")
	d.See("theme dark")
}

// A text that can't be read is plain, and nobody is told: the diff says all that
// it would.
func TestTextsThatCantBeReadArePlain(t *testing.T) {
	d, b := inSource(t, "dark", func(b *uitest.Backend) { b.Fail = map[string]error{"Text": errors.New("the store is gone")} })
	st := styles(t, "dark")
	d.NotSee("store is gone")
	if got := shown(t, d, "+ func f30(x int)", 1); strings.Contains(got, st.Syntax[1].Open()) {
		t.Errorf("got %q, want it plain", got)
	}
	b.Called()
	d.Press("j", "k", "j")
	if n := len(calls(b, "Text")); n != 0 {
		t.Errorf("got %d more tries to read it, want none", n)
	}
}

// The diff is there, and takes keys, before its colours are; those of a file that
// was left meanwhile are not waited for.
func TestKeysDoNotWaitForColours(t *testing.T) {
	d, b := inSource(t, "dark", func(b *uitest.Backend) { b.Hold("Text") })
	st := styles(t, "dark")
	d.See("│ a.go", "+ func f30(x int)")
	if got := shown(t, d, "+ func f30(x int)", 1); strings.Contains(got, st.Syntax[1].Open()) {
		t.Errorf("got %q with colours that can't be known yet", got)
	}
	before := d.Screen()
	d.Press("}")
	d.See("│ b.go", "+ func f30(x int)")
	d.Press("{")
	b.Release("Text")
	d.Settle()
	if after := d.Screen(); after != before {
		t.Errorf("got a screen that moved:\n%s\nwant\n%s", after, before)
	}
	if got := shown(t, d, "+ func f30(x int)", 1); !strings.Contains(got, st.AddedLine.On(st.Syntax[1]).Render("func")) {
		t.Errorf("got %q without colours", got)
	}
	b.Called()
	d.Press("}")
	if got := shown(t, d, "+ func f30(x int)", 1); !strings.Contains(got, st.AddedLine.On(st.Syntax[1]).Render("func")) {
		t.Errorf("got %q without colours", got)
	}
	d.Press("{", "}")
	if n := len(calls(b, "Text")); n != 2 {
		t.Errorf("got %d texts read, want each of the second file's once", n)
	}
}
