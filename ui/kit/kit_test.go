package kit

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/ui/style"
)

func press(text string) tea.KeyPressMsg {
	return tea.KeyPressMsg{Code: []rune(text)[0], Text: text}
}

func TestInputEditsWithinItsBounds(t *testing.T) {
	var in Input
	for _, k := range []string{"a", "b", "c"} {
		in.Key(press(k))
	}
	in.Key(tea.KeyPressMsg{Code: tea.KeyLeft})
	in.Key(tea.KeyPressMsg{Code: tea.KeyBackspace})
	in.Paste("x\x1b[31m\ny\n")
	if got, want := in.String(), "ax\ufffd[31m yc"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	in.Key(tea.KeyPressMsg{Code: 'w', Mod: tea.ModCtrl})
	if got, want := in.String(), "ax\ufffd[31m c"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	if in.Key(tea.KeyPressMsg{Code: 'x', Mod: tea.ModAlt}) {
		t.Fatal("got alt+x taken as text, want it left alone")
	}
	in.Set("")
	in.Paste(strings.Repeat("z", 3*maxInput))
	if got := len(in.String()); got != maxInput {
		t.Fatalf("got %d characters, want at most %d", got, maxInput)
	}
	for w := range 20 {
		s, x := in.View(style.Style{}, w)
		if Width(s) > w || x > w {
			t.Fatalf("got a field of %d cells and a cursor at %d, want %d cells", Width(s), x, w)
		}
	}
}

func TestListKeepsItsCursorInTheWindow(t *testing.T) {
	var l List
	for _, c := range []struct{ move, n, h int }{{5, 10, 3}, {100, 10, 3}, {-3, 10, 3}, {0, 2, 3}, {0, 0, 3}, {1, 1, 0}, {-100, 50, 7}} {
		l.Move(c.move, c.n)
		from, to := l.Window(c.n, c.h)
		if from < 0 || to > c.n || to-from > c.h || c.n > 0 && c.h > 0 && (l.At < from || l.At >= to) {
			t.Errorf("%+v: got window %d to %d with the cursor at %d", c, from, to, l.At)
		}
	}
}

func TestWidthsAreExact(t *testing.T) {
	for _, s := range []string{"", "abc", "字字字", "é", "\x1b[31mred\x1b[m text", "👩\u200d🚀x"} {
		for w := range 12 {
			if got := Width(Fit(s, w)); got != w {
				t.Errorf("Fit(%q, %d): got %d cells", s, w, got)
			}
			if got := Width(Right(s, w)); got != w {
				t.Errorf("Right(%q, %d): got %d cells", s, w, got)
			}
			if got := Width(Ends(s, "ab", w)); got > w {
				t.Errorf("Ends(%q, %d): got %d cells", s, w, got)
			}
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(1204): "1,204", Count(-1234567): "-1,234,567", Count(7): "7", Plural(1, "file"): "1 file", Plural(1000, "file"): "1,000 files",
		Bytes(412): "412 B", Bytes(18 << 20): "18 MiB", Bytes(1536): "1.5 KiB", Bytes(1<<63 - 1): "8 EiB", Bytes(1024*1024 - 1): "1 MiB",
		Age(-time.Second): "0s", Age(59 * time.Second): "59s", Age(12 * time.Minute): "12m", Age(47 * time.Hour): "47h", Age(72 * time.Hour): "3d",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// say is for keys of which a test wants no word.
func say(string) {}

func TestAQuestionWithoutASafeAnswerHasNoDefault(t *testing.T) {
	a := &Ask{Choices: []Choice{{Key: "y", Grave: true}}}
	a.View(40, 5)
	if _, ok := Dispatch(a.Keys(), tea.KeyPressMsg{Code: tea.KeyEnter}, say); ok || a.Done() {
		t.Fatal("got enter to answer a grave question, want it to do nothing")
	}
}

func TestAGraveAnswerIsOffUntilTheQuestionWasDrawn(t *testing.T) {
	yes := 0
	a := &Ask{Lines: []string{"x"}, Choices: []Choice{{Key: "n"}, {Key: "y", Grave: true, Do: func() tea.Cmd { yes++; return nil }}}}
	Dispatch(a.Keys(), press("y"), say)
	if yes != 0 || a.Done() {
		t.Fatal("got an answer to a question that was never on the screen")
	}
	a.View(40, 5)
	Dispatch(a.Keys(), press("y"), say)
	if yes != 1 || !a.Done() {
		t.Fatalf("got %d answers, want 1", yes)
	}
}

// A key that does nothing yet is told of: who does not scroll would wait for it.
func TestALongQuestionSaysWhereItsGraveAnswerIs(t *testing.T) {
	a := &Ask{Lines: []string{"1", "2", "3", "4", "5", "6"}, Choices: []Choice{{Key: "n"}, {Key: "y", Grave: true}}}
	says := func() bool {
		a.View(40, 3)
		return slices.ContainsFunc(a.Keys(), func(b Binding) bool { return b.Help == "scroll: y is below" })
	}
	if !says() {
		t.Fatal("got no word on where the answer is")
	}
	Dispatch(a.Keys(), press("G"), say)
	if says() {
		t.Fatal("got the answer said to be below at the end")
	}
}

func TestTheLogIsBounded(t *testing.T) {
	var l Toasts
	for i := range 3 * maxLog {
		l.Add(time.Time{}, Count(i), false)
	}
	if len(l.Log) != maxLog {
		t.Fatalf("got %d messages, want %d", len(l.Log), maxLog)
	}
}

func TestASCIIKeepsWidthsAndSequences(t *testing.T) {
	in := "\x1b[31m✓ ─│▸\x1b[m 字é👩\u200d🚀"
	out := ASCII(in)
	if !isASCII(out) || !strings.HasPrefix(out, "\x1b[31mv -|>\x1b[m ") {
		t.Fatalf("got %q", out)
	}
}

// Lines that were read stay so when the width changes; those that only a resize
// brought together with the end were not read.
func TestEachLineOfAQuestionIsReadAcrossWidths(t *testing.T) {
	ask := func() *Ask {
		a := &Ask{Each: true, Choices: []Choice{{Key: "n"}, {Key: "y", Grave: true}}}
		for range 20 {
			a.Lines = append(a.Lines, "eight by eight by eight")
		}
		return a
	}
	on := func(a *Ask) bool {
		return slices.ContainsFunc(a.Keys(), func(b Binding) bool { return slices.Contains(b.Keys, "y") && b.Off == "" })
	}
	scroll := func(a *Ask, key string) {
		for _, b := range a.Keys() {
			if slices.Contains(b.Keys, key) {
				b.Do()
			}
		}
	}
	a := ask()
	a.View(40, 10)
	scroll(a, "G")
	if a.View(40, 5); on(a) {
		t.Error("got a yes after a jump over some lines")
	}
	a = ask()
	a.View(10, 15) // five of twenty
	scroll(a, "G")
	if a.View(40, 12); on(a) {
		t.Error("got a yes with lines 6 to 8 never drawn")
	}
	a.top = 4
	a.View(40, 12)
	scroll(a, "G")
	if a.View(40, 12); !on(a) {
		t.Error("got no yes after each line was drawn")
	}
}

func TestAnIndentedLineOfAQuestionGoesOnIndented(t *testing.T) {
	a := &Ask{Lines: []string{"a line that is prose and goes on", "  ! a.json  what it means is long"}, Choices: []Choice{{Key: "n"}}}
	want := []string{"a line that is prose", "and goes on", "  ! a.json  what", "    it means is long"}
	if got := a.View(20, 10); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAKeyThatIsOffIsNotActedOn(t *testing.T) {
	var said []string
	did := 0
	do := func() tea.Cmd { did++; return nil }
	table := []Binding{{Keys: []string{"A"}, Off: When(true, "nothing is approved yet"), Do: do}, {Keys: []string{"A", "b"}, Off: When(false, "x"), Do: do}}
	for _, key := range []string{"A", "b", "c"} {
		Dispatch(table, press(key), func(text string) { said = append(said, text) })
	}
	if did != 1 || len(said) != 1 || said[0] != "A: nothing is approved yet" {
		t.Errorf("got %d acts and %q, want one of each", did, said)
	}
}
