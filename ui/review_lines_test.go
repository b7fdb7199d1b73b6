package ui_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// inView opens a review of uitest.ViewSet with the cursor in the diff of a file.
func inView(t *testing.T, w, h int, path string) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, w, h, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.Sets["a1"], b.Texts = uitest.ViewSet()
	})
	if w < 100 {
		d.Press("enter")
	}
	for range 20 {
		if s := d.Screen(); strings.Contains(s, "│ "+path) || w < 100 && strings.Contains(s, "\n "+path) {
			b.Called()
			return d, b
		}
		d.Press("}")
	}
	t.Fatalf("got no file %s in the review:\n%s", path, d.Screen())
	return nil, nil
}

func lettersOf(t *testing.T, b *uitest.Backend) []string {
	t.Helper()
	var out []string
	for _, c := range calls(b, "Decide") {
		f := strings.Fields(c)
		out = append(out, strings.Join(f[4:], " "))
	}
	return out
}

// The first hunk of src/store.go changes "-20 +twenty +one more  -22": four lines.
func TestLinesAreDecidedOneByOne(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v")
	d.See("[line by line]", "▸20    ·− line 20")
	d.Press("space")
	d.See("1 of 4 lines approved, 3 open", "▸20    ✓− line 20", "0/")
	d.Press("j", "x", "j", "j", "x") // over the unchanged line 21
	d.See("✗+ line twenty", "·+ and one more", "✗− line 22")
	d.Press("k", "space")
	d.See("2 of 4 lines approved ±", "✓+ and one more")
	same(t, lettersOf(t, b), `"" lines=a...`, `"" lines=ar..`, `"" lines=ar.r`, `"" lines=arar`)
	d.Press("u")
	d.See("1 of 4 lines approved, 1 open ·")
	same(t, lettersOf(t, b), `"" lines=ar.r`)
	d.Press("esc")
	d.NotSee("[line by line]")
	d.Press("space") // and the hunk as a whole
	d.See("approved ✓")
	same(t, lettersOf(t, b), `"approved"`)
}

func TestARangeIsDecidedAtOnce(t *testing.T) {
	for _, keys := range [][]string{
		{"v", "v", "j", "j"}, {"v", "V", "j", "j"}, {"V", "j", "j"}, {"shift+down", "shift+down"}, {"v", "j", "j", "V", "k", "k"},
	} {
		d, b := inView(t, 120, 40, "src/store.go")
		d.Press(keys...)
		d.See("[3 lines]")
		d.Press("space")
		same(t, lettersOf(t, b), `"" lines=aaa.`)
		d.Press("esc", "x") // one line again
		if got := lettersOf(t, b); len(got) != 1 || strings.Count(got[0], "r") != 1 {
			t.Fatalf("%v: got %q, want one line rejected", keys, got)
		}
	}
}

func TestARangeDoesNotLeaveItsHunk(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("V", "j", "j", "j", "j", "j", "j", "pgdown", "G")
	d.See("[4 lines]")
	d.Press("x")
	same(t, lettersOf(t, b), `"rejected"`) // all four are the hunk
}

func TestLineModeGoesOnIntoTheNextHunk(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "j", "j", "j", "j", "space")
	d.See("hunk 2 of 2", "1 of 2 lines approved")
	same(t, lettersOf(t, b), `"" lines=a.`)
}

func TestInLineModeJumpsLandOnLines(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "J", "space", "K", "x", ".", "space", ".", ".", ".", "x")
	same(t, lettersOf(t, b), `"" lines=a.`, `"" lines=r...`, `"" lines=ra..`, `"" lines=ar`)
	d.Press("K", ".", "space", ".", "space")
	d.See("3 of 4 lines approved ±")
	d.Press(".") // no line of the file is open: the next hunk that is
	d.See("│ tool.sh")
	d.NotSee("[line by line]")
}

func TestATakenBackKeyBringsLinesBack(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "space", "j", "x", "esc", "x") // the last is for the hunk: its lines are gone
	d.See("rejected ✗")
	b.Called()
	d.Press("backspace")
	d.See("1 of 4 lines approved, 2 open", "taken back: 1 decision")
	same(t, lettersOf(t, b), `"" lines=ar..`)
	d.Press("backspace", "backspace")
	d.See("undecided ·")
	same(t, lettersOf(t, b), `"" lines=a...`, `""`)
	d.Press("backspace")
	if got := lettersOf(t, b); len(got) != 0 {
		t.Fatalf("got %q, want nothing left to take back", got)
	}
}

func TestLinesThatFailToBeRecordedAreTakenBack(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "space")
	b.With(func(b *uitest.Backend) { b.Fail = map[string]error{"Decide": errors.New("no space left")} })
	b.Hold("ChangeSet") // what was recorded is read again only later
	d.PressRapidly("j", "x", "j", "space", "esc", "space")
	d.See("no space left", "1 of 4 lines approved, 3 open")
	b.Release("ChangeSet")
	d.Settle()
	d.See("1 of 4 lines approved, 3 open")
	d.NotSee("✗+ line twenty")
}

func TestLinesAreForTheHunkThatWasOnTheScreen(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "j")
	b.With(func(b *uitest.Backend) {
		set, _ := uitest.ViewSet()
		for i := range set.Files {
			if f := &set.Files[i]; f.Path == "src/store.go" {
				f.Hunks[0].ID = "other-bytes"
			}
		}
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": set}
	})
	b.Hold("ChangeSet")
	d.PressRapidly("R", "space")
	b.Release("ChangeSet")
	d.Settle()
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want no line of other bytes decided", got)
	}
	d.Press("space")
	d.See("the diff has just changed")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided right after the change", got)
	}
}

func TestTheCursorStaysOnItsLineOverASnapshot(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "j", "j")
	b.With(func(b *uitest.Backend) {
		set, _ := uitest.ViewSet()
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": set}
	})
	d.Press("R", "space")
	d.See("▸   21 ✓+ and one more")
	same(t, lettersOf(t, b), `"" lines=..a.`)
	d.Press("u", "V", "k") // and a range stays a range, also where its hunk is another one by number
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": withHunkBefore()}
		b.Calls = nil
	})
	d.Press("R", "x")
	d.See("[2 lines]", "hunk 2 of 3")
	same(t, lettersOf(t, b), `"" lines=.rr.`)
}

// withHunkBefore is the set with one more hunk at the head of src/store.go.
func withHunkBefore() *diffreview.ChangeSet {
	set, _ := uitest.ViewSet()
	for i := range set.Files {
		if f := &set.Files[i]; f.Path == "src/store.go" {
			first := diffreview.Hunk{
				ID: "one-before", OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 2,
				Lines: []diffreview.Line{{Op: '+', Text: []byte("new"), New: 1}, {Op: ' ', Text: []byte("line 1"), Old: 1, New: 2}},
			}
			f.Hunks = append([]diffreview.Hunk{first}, f.Hunks...)
		}
	}
	return set
}

func TestAKeyForAFileKeepsLinesThatWereRejected(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v", "x", "esc", "a")
	d.See("3 of 4 lines approved ±")
	got := calls(b, "Decide")
	if len(got) != 2 || !strings.Contains(got[1], "lines=raaa") {
		t.Fatalf("got %q, want the rejected line kept", got)
	}
}

func TestOnesOwnTextIsNotApprovedAway(t *testing.T) {
	d, b := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		set, texts := uitest.ViewSet()
		for i := range set.Files {
			if f := &set.Files[i]; f.Path == "src/store.go" {
				f.Hunks[0].Decision, f.Hunks[0].Edit = diffreview.Approved, diffreview.Blob(strings.Repeat("e", 64))
			}
		}
		texts[diffreview.Blob(strings.Repeat("e", 64))] = []byte("mine\n")
		b.Sets["a1"], b.Texts = set, texts
	})
	for !strings.Contains(d.Screen(), "│ src/store.go") {
		d.Press("}")
	}
	b.Called()
	for _, keys := range [][]string{{"a"}, {"v", "space"}, {"space"}} {
		d.Press(keys...)
		if got := calls(b, "Decide"); len(got) != 0 && keys[0] != "a" {
			t.Fatalf("%v: got %q, want one's own text kept", keys, got)
		}
	}
	d.See("your own text is approved here")
	d.Press("u") // taken back, and that taken back as well
	if got := calls(b, "Decide"); len(got) != 1 {
		t.Fatalf("got %q, want the text taken back", got)
	}
	d.Press("backspace")
	if got := calls(b, "Decide"); len(got) != 1 || !strings.Contains(got[0], `edit="mine\n"`) {
		t.Fatalf("got %q, want the text again", got)
	}
}

func TestALineOfARiskyHunkIsNotApprovedAsItAppears(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.PressRapidly("!", "v", "space")
	d.See("risky: read what it would do")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing approved unseen", got)
	}
	d.Advance(kit.Grace)
	d.Press("space")
	if got := calls(b, "Decide"); len(got) != 1 {
		t.Fatalf("got %q, want a line approved once it was looked at", got)
	}
}

func TestWhatWasDecidedElsewhereSinceIsNotTakenBack(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("space")
	b.With(func(b *uitest.Backend) {
		set := uitest.Copy(b.Sets["a1"])
		for i := range set.Files {
			if f := &set.Files[i]; f.Path == "src/store.go" {
				f.Decide(f.Hunks[0].ID, diffreview.Decision{Verdict: diffreview.Rejected})
			}
		}
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": set}
	})
	d.Press("R")
	b.Called()
	d.Press("backspace")
	d.See("not taken back", "rejected ✗")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want the other decision kept", got)
	}
}

func TestHiddenFilesAreSkipped(t *testing.T) {
	d, _ := inView(t, 120, 40, "tool.sh")
	d.Press("space", "{", "H")
	d.See("│ src/store.go")
	d.NotSee("  tool.sh")
	d.Press("}")
	d.See("│ notes.txt")
	d.Press("{")
	d.See("│ src/store.go")
}

func TestAResultThatCameLateIsNotShown(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	b.Hold("Text")
	d.PressRapidly("space", "o")
	d.Press("R") // another change set by now
	b.Release("Text")
	d.Settle()
	d.NotSee("as decided now")
}

// notes.txt: "last" has no newline before, and one after: to take the line
// behind it alone would make one line of two.
func TestAChoiceThatNoFileCanHaveIsRefusedBeforeItIsRecorded(t *testing.T) {
	d, b := inView(t, 120, 40, "notes.txt")
	d.Press("v", "j", "j", "space")
	d.See("would join two lines")
	d.NotSee("lines approved")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing recorded", got)
	}
	d.Press("k", "k", "V", "j", "space") // the old line and the new one for it
	same(t, lettersOf(t, b), `"" lines=aa.`)
}

func TestLineModeOnAFileWithoutLinesSaysSo(t *testing.T) {
	d, b := inView(t, 120, 40, "tool.sh")
	d.Press("v")
	d.See("no line to decide here")
	d.Press("space")
	same(t, lettersOf(t, b), `"approved"`)
}

func TestAKeyInLineModeIsForNoLineWhereThereIsNone(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.Press("v")
	d.ClickOn("hunk 2 of 2")
	d.Press("space")
	d.See("no changed line is under the cursor")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided", got)
	}
}

func TestSideBySideDecidesWhatItsRowShows(t *testing.T) {
	d, b := inView(t, 200, 60, "src/store.go")
	d.Press("s")
	d.See("20  − line 20", "│ 20  + line twenty")
	d.Press("v", "space") // the row has the old line and the new one for it
	same(t, lettersOf(t, b), `"" lines=aa..`)
	d.Press("j", "x")
	same(t, lettersOf(t, b), `"" lines=aar.`)
	d.See("│ 21 ✗+ and one more")
	d.Press("v", "v", "x") // the range is one row; back to hunks, and all of it
	same(t, lettersOf(t, b), `"rejected"`)
}

func TestSideBySideNeedsRoom(t *testing.T) {
	d, _ := inView(t, 119, 40, "src/store.go")
	d.Press("s")
	d.See("side by side needs 120 columns")
	d.Resize(120, 40)
	d.Press("s")
	d.See("20  − line 20", "│ 20  + line twenty")
	d.Resize(119, 40)
	d.NotSee("│ 20  + line twenty")
	d.Resize(120, 40)
	d.Press("s")
	d.NotSee("│ 20  + line twenty")
}

func TestGapsOpenAndFold(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	d.See("⋯ 16 unchanged lines", "⋯ 51 unchanged lines", "⋯ the rest of the file, unchanged")
	d.ClickOn("⋯ 51")
	d.See("⋯ 31 unchanged lines", "35 35    line 35", "67 67    line 67")
	d.NotSee("line 36")
	if got := b.Called(); len(got) != 1 || !strings.HasPrefix(got[0], "Text a1 ") {
		t.Fatalf("got %q, want one text read", got)
	}
	d.Press("+", "+")
	d.NotSee("⋯ 31", "⋯ 11")
	d.See("line 51")
	d.Press("-")
	d.See("⋯ 51 unchanged lines")
	d.Press("k", "K", "k", "enter") // the first gap, up
	d.NotSee("⋯ 16")
	d.Press("space")
	d.See("no hunk is under the cursor")
	if got := b.Called(); len(got) != 0 {
		t.Fatalf("got %q, want the text read once and nothing decided", got)
	}
	d.Press("G", "enter")
	d.See("⋯ 17 unchanged lines", "103 103    line 103")
}

func TestAGapOfAnotherFileIsNotOpenedLate(t *testing.T) {
	d, b := inView(t, 120, 40, "src/store.go")
	b.Hold("Text")
	d.Press("k")
	d.PressRapidly("enter", "}")
	s := d.Screen()
	b.Release("Text")
	d.Settle()
	if got := d.Screen(); got != s {
		t.Fatalf("got\n%s\nwant it as before the answer:\n%s", got, s)
	}
}

func TestALongLineShowsWhereItChanged(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d, b := inView(t, size[0], size[1], "app.js")
		d.See("var X=1;", "NOT SHOWN WHOLE: from byte 399,9", "of 800,000 (< > move)")
		d.Press("a")
		d.See("1 hunk not shown whole, left open", "file not shown")
		if got := calls(b, "Decide"); len(got) != 0 {
			t.Fatalf("got %q, want it left open by the key for a file", got)
		}
		d.Press("<", "<", "<")
		d.NotSee("X=1")
		d.Press(">", ">", ">")
		d.See("var X=1;", "‹")
		d.Press("space")
		same(t, lettersOf(t, b), `"approved"`)
	}
}

func TestAFileThatIsNotShownIsLeftOpenByABulkKey(t *testing.T) {
	d, b := inReview(t, "assets/logo.png")
	d.Press("a")
	d.See("1 file not shown, left open", "risky open   1 file not shown")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing approved unseen", got)
	}
	d.Press("space")
	same(t, calls(b, "Decide"), `Decide a1 bin-logo assets/logo.png "approved"`)
	d.NotSee("open   1 file not shown")
}

func TestWhatIsNotInLinesHasAUnitWithItsName(t *testing.T) {
	d, _ := inView(t, 120, 40, "src/new_name.go")
	d.See("the new name, mode 100644 → 100755", "renamed from src/old_name.go", "hunk 1 of 1")
	d, _ = inView(t, 120, 40, "data/table.csv")
	d.See("line endings CRLF → LF on 200 lines", "− row 100", "+ row one hundred")
}

func TestDecidedIsHiddenWithoutMovingWhatIsUnderTheCursor(t *testing.T) {
	d, _ := inView(t, 120, 40, "src/store.go")
	d.Press("space", "H")
	d.See("hunk 1 of 2", "lines hidden", "+ line eighty")
	d.NotSee("line twenty")
	d.Press("J", "x")
	d.See("+ line eighty") // until the next jump
	d.Press(".")
	d.NotSee("src/store.go")
	d.Press("H")
	d.See("src/store.go")
	d.Press("H", "H", "H")
	d.NotSee("src/store.go")
}

func TestVendoredAndGeneratedFilesFoldApart(t *testing.T) {
	d, _ := inView(t, 120, 40, "src/store.go")
	d.See("1 lock or generated file", "1 vendored file")
	d.ClickOn("1 vendored file")
	d.See("vendor/dep/a.go", "1 lock or generated file")
	d.Press("z")
	d.See("1 vendored file")
	d.Press("z")
	d.See("go.sum", "vendor/dep/a.go")
}

func TestMarksOfWhatIsNewAppliedAndLapsed(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		set, _ := uitest.ViewSet()
		for i := range set.Files {
			switch f := &set.Files[i]; f.Path {
			case "src/store.go":
				f.Hunks[1].New = true
				f.Hunks[0].Decision, f.Hunks[0].Applied = diffreview.Approved, true
			case "tool.sh":
				f.WholeMark = diffreview.Mark{Decision: diffreview.Approved, Applied: true}
			case "notes.txt":
				f.Lapsed = diffreview.Approved
			}
		}
		b.Sets["a1"] = set
	})
	for !strings.Contains(d.Screen(), "│ src/store.go") {
		d.Press("}")
	}
	d.See("approved, applied ✓", "77 to 83  * new ─", " *src/store.go")
	for _, l := range strings.Split(d.Screen(), "\n") {
		switch {
		case strings.Contains(l, "  tool.sh") && !strings.Contains(l, "done"), strings.Contains(l, "  notes.txt") && !strings.Contains(l, "~"):
			t.Errorf("got %q", l)
		}
	}
}

func TestAnotherDecisionIsNotMarkedAsApplied(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		set, _ := uitest.ViewSet()
		for i := range set.Files {
			if f := &set.Files[i]; f.Path == "src/store.go" {
				f.Hunks[0].Decision, f.Hunks[0].Applied = diffreview.Approved, true
			}
		}
		b.Sets["a1"] = set
	})
	for !strings.Contains(d.Screen(), "│ src/store.go") {
		d.Press("}")
	}
	d.See("approved, applied ✓")
	d.Press("v", "x")
	d.See("3 of 4 lines approved ±")
	d.NotSee("applied")
}

func TestTheResultOfAChoiceCanBeRead(t *testing.T) {
	d, _ := inView(t, 120, 40, "src/store.go")
	d.Press("v", "space", "j", "space", "o")
	d.See("as decided now: src/store.go", "20 + line twenty", "21   line 21", "22   line 22")
	d.NotSee("and one more")
	d.Advance(kit.Grace) // it comes up by itself
	d.Press("pgdown", "pgdown")
	d.See("80   line 80")
}

func TestReviewScreens(t *testing.T) {
	mixed := []string{"v", "space", "j", "x", "j", "V", "j"}
	for _, c := range []struct {
		name, path string
		keys       []string
	}{
		{"mixed", "src/store.go", mixed},
		{"side", "src/store.go", append([]string{"s"}, mixed...)},
		{"long", "app.js", nil},
		{"gaps", "src/store.go", []string{"k", "+", "J", "J", "K", "k", "k", "k", "k", "k"}},
		{"rename", "src/new_name.go", nil},
		{"endings", "data/table.csv", nil},
	} {
		for _, s := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			t.Run(fmt.Sprintf("%s_%dx%d", c.name, s[0], s[1]), func(t *testing.T) {
				d, _ := inView(t, s[0], s[1], c.path)
				d.Press(c.keys...)
				d.Golden(filepath.Join("..", "testdata", "screens", "review", fmt.Sprintf("%s_%dx%d.golden", c.name, s[0], s[1])))
			})
		}
	}
}

// Moving to the side ends where the longest line does: text that fits stays.
func TestTextThatFitsIsNotMovedAway(t *testing.T) {
	d, _ := inView(t, 80, 24, "notes.txt")
	before := d.Screen()
	d.Press(">", "right")
	if got := d.Screen(); got != before {
		t.Errorf("got\n%s\nwant it as it was:\n%s", got, before)
	}
	set, texts, err := uitest.BuiltSet(map[string]uitest.Side{"a.txt": {Text: "x\n"}}, map[string]uitest.Side{"a.txt": {Text: "head" + strings.Repeat(" middle", 12) + " tail\n"}})
	if err != nil {
		t.Fatal(err)
	}
	d, _ = open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.Sets["a1"], b.Texts = set, texts
	})
	d.Press("enter")
	d.See("head middle")
	d.NotSee("tail")
	for range 20 {
		d.Press(">")
	}
	d.See("‹", "middle tail")
}
