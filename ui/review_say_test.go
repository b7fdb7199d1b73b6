package ui_test

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// write types a text, key by key.
func write(d *uitest.Driver, text string) {
	for _, r := range text {
		if r == ' ' {
			d.Press("space")
			continue
		}
		d.Press(string(r))
	}
}

func TestACommentIsOnTheLineUnderTheCursor(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("j", "j", "j", "c")
	d.See("comment on src/store/open.go:42", "f, err := os.OpenFile")
	write(d, "why 0600? q1R")
	d.See("enter keep it")
	d.Press("enter")
	same(t, calls(b, "Comment"), `Comment a1 src/store/open.go:42 "why 0600? q1R"`)
	d.See("# ada, not sent: why 0600? q1R")
	lines := strings.Split(d.Screen(), "\n")
	for i, l := range lines {
		if strings.Contains(l, "# ada, not sent") && !strings.Contains(lines[i-1], "OpenFile") {
			t.Errorf("got the comment below %q, want it below its line", lines[i-1])
		}
	}
}

func TestACommentOnARemovedLineIsOnTheOldFile(t *testing.T) {
	d, _ := inReview(t, "src/store/open.go")
	d.Press("j", "j", "c")
	d.See("comment on src/store/open.go:42 as it was")
	write(d, "keep this")
	d.Press("enter")
	d.See("# ada, not sent: keep this")
}

func TestACommentIsEditedAndTakenBack(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("j", "j", "j", "c")
	write(d, "one")
	d.Press("enter", "j", "c", "!", "enter")
	d.See("# ada, not sent: one!")
	d.Press("c", "ctrl+u")
	d.See("enter take it back")
	d.Press("enter")
	d.NotSee("# ada")
	if got := calls(b, "Comment"); len(got) != 3 {
		t.Fatalf("got %q, want three", got)
	}
}

func TestAnEmptyCommentIsNoComment(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("c", "enter", "space", "enter", "esc")
	d.NotSee("comment on")
	if got := calls(b, "Comment"); len(got) != 0 {
		t.Fatalf("got %q, want none", got)
	}
}

func TestWhatWasWrittenIsDroppedByTheSecondEscapeOnly(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("c", "a", "b", "esc")
	d.See("What you wrote is not kept: esc again drops it.", "> ab")
	d.Press("c", "esc")
	d.See("> abc")
	d.Press("esc")
	d.NotSee("> abc")
	if got := calls(b, "Comment"); len(got) != 0 {
		t.Fatalf("got %q, want none", got)
	}
}

func TestACommentThatIsNotKeptIsOfferedAgain(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"Comment": errors.New("decisions.json: no space left")}
	})
	d.Press("c")
	write(d, "hello")
	d.Press("enter")
	d.See("the comment was not kept: decisions.json: no space left", "> hello")
	b.With(func(b *uitest.Backend) { b.Fail = nil })
	d.Press("enter")
	d.See("# ada, not sent: hello")
}

func TestAPasteIsTextOfSeveralLinesAndNothingElse(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("C")
	d.Send(tea.PasteMsg{Content: "first\r\nsecond\x1b[2J\tx"})
	d.See("> first", "> second")
	d.Press("enter")
	got := calls(b, "Comment")
	if len(got) != 1 || !strings.Contains(got[0], `first\nsecond`) || strings.Contains(got[0], `\x1b`) {
		t.Fatalf("got %q, want two lines without control characters", got)
	}
	d.See("# ada, not sent: first", "  second")
}

func TestACommentInTheListIsOnTheFileOrOnAllOfIt(t *testing.T) {
	d, b := open(t, 80, 24, func(_ *uitest.Backend, o *ui.Options) { o.Place = "review" })
	d.Press("c")
	d.See("comment on .vscode/tasks.json")
	write(d, "no")
	d.Press("enter", "C")
	d.See("comment on all of it")
	write(d, "x")
	d.Press("enter")
	same(t, calls(b, "Comment"), `Comment a1 .vscode/tasks.json:0 "no"`, `Comment a1 :0 "x"`)
}

// A comment on bytes that are no longer there moves with its line, or stands at
// the head of the file.
func TestACommentSaysWhatChangedSince(t *testing.T) {
	was := "a\nb\nc\nd\n"
	at := func(line int, quote string) diffreview.Comment {
		return diffreview.Comment{ID: "00000000000000" + quote + quote, Path: "docs/x.md", Line: line, Was: "old", Body: "about " + quote, By: "ada", Sent: uitest.NewClock().Now(), Quote: quote}
	}
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		set := uitest.SampleSet()
		f := uitest.AddedFile("docs/x.md", "new\na\nb\nC\nd\n")
		f.New.Blob = "now"
		set.Files = []diffreview.File{f}
		b.Sets["a1"] = set
		b.Comments = []diffreview.Comment{at(1, "a"), at(3, "c")}
		b.Texts = map[diffreview.Blob][]byte{"old": []byte(was), "now": []byte("new\na\nb\nC\nd\n")}
	})
	d.See("# ada, sent", "about a", "on a line that was: c: about c", "the line was changed or is gone since")
	s := d.Screen()
	if strings.Index(s, "about a") < strings.Index(s, "+ a") || strings.Index(s, "about c") > strings.Index(s, "+ new") {
		t.Errorf("got the comments elsewhere, want a's below its line and c's at the head:\n%s", s)
	}
}

func TestHostileTextInACommentActsOnNothing(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.Comments = []diffreview.Comment{{ID: "0000000000000001", Path: ".vscode/tasks.json", Body: "x\x1b]52;c;AA==\x07\x1b[2Jy", By: "eve\x1b[2J", Quote: "\x1b[2J"}}
	})
	d.See("# eve")
	if c := d.Model.View().Content; strings.Contains(c, "\x1b[2J") || strings.Contains(c, "\x1b]52") || strings.Contains(c, "\x07") {
		t.Errorf("got control sequences of a comment on the screen: %q", c)
	}
}

// edits opens the editor on the hunk under the cursor and says what it wrote.
func edits(t *testing.T, d *uitest.Driver, b *uitest.Backend, text string, failed error) {
	t.Helper()
	ask, ok := d.Catch("kit.EditorMsg").(kit.EditorMsg)
	if !ok {
		t.Fatalf("got no editor:\n%s", d.Screen())
	}
	b.With(func(b *uitest.Backend) { b.Edited = []byte(text) })
	d.Send(ask.Back(failed))
}

const openGo = "func Open(path string) (*Store, error) {\n\tf, err := os.OpenFile(path, flags, 0o600)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"open %q: %w\", path, err)\n\t}\n"

// baseOf is a text that the hunks of a file fit.
func baseOf(set *diffreview.ChangeSet, path string) []byte {
	at := map[int]string{}
	last := 0
	for i := range set.Files {
		if set.Files[i].Path != path {
			continue
		}
		for _, h := range set.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Old > 0 {
					at[l.Old], last = string(l.Text), max(last, l.Old)
				}
			}
		}
	}
	var b strings.Builder
	for n := 1; n <= last; n++ {
		b.WriteString(at[n] + "\n")
	}
	return []byte(b.String())
}

func TestAnEditIsApprovedInPlaceOfTheHunk(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("e")
	if got := calls(b, "OpenEdit"); len(got) != 1 || !strings.Contains(got[0], "os.OpenFile(path, flags") || strings.Contains(got[0], "os.Open(path)") {
		t.Fatalf("got %q, want the new side of the hunk", got)
	}
	mine := strings.Replace(openGo, "0o600", "0o640", 1)
	b.With(func(b *uitest.Backend) {
		b.Texts = map[diffreview.Blob][]byte{"": baseOf(b.Sets["a1"], "src/store/open.go")}
	})
	edits(t, d, b, mine, nil)
	got := calls(b, "Decide")
	if len(got) != 1 || !strings.Contains(got[0], `"approved"`) || !strings.Contains(got[0], "0o640") {
		t.Fatalf("got %q, want the text approved", got)
	}
	d.See("0o640", "os.Open(path)")
	d.NotSee("0o600")
	d.Press("u")
	d.See("0o600")
	d.NotSee("0o640")
	if got := calls(b, "Decide"); len(got) != 1 || !strings.HasSuffix(got[0], `""`) {
		t.Fatalf("got %q, want it undecided", got)
	}
}

func TestAnEditorThatFailsOrChangesNothingRecordsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		failed error
		see    string
	}{
		"it failed":  {strings.Replace(openGo, "0o600", "0o640", 1), errors.New("the editor ended with exit status 1"), "nothing is recorded: the editor ended with exit status 1"},
		"unchanged":  {openGo, nil, "unchanged: nothing is recorded"},
		"left empty": {"", nil, "You left nothing: take these lines out?"},
	} {
		t.Run(name, func(t *testing.T) {
			d, b := inReview(t, "src/store/open.go")
			d.Press("e")
			edits(t, d, b, c.text, c.failed)
			d.See(c.see)
			d.Press("y") // too early for the question, no key without
			if got := calls(b, "Decide"); len(got) != 0 {
				t.Fatalf("got %q, want nothing recorded", got)
			}
		})
	}
}

// What was written shows also where the session is opened anew, with comments on
// lines that it replaced and unchanged lines behind it.
func TestAnEditShowsInALaterReview(t *testing.T) {
	for _, w := range []int{80, 120, 200} {
		d, b := open(t, w, 40, func(b *uitest.Backend, o *ui.Options) {
			o.Place = "review"
			set := b.Sets["a1"]
			for i := range set.Files {
				if f := &set.Files[i]; f.Path == "src/store/open.go" {
					f.Old.Blob = "base"
					h := &f.Hunks[1]
					h.Lines = append(h.Lines, diffreview.Line{Op: ' ', Text: []byte("tail"), Old: 92, New: 93}) // more may follow
					h.OldLines, h.NewLines = h.OldLines+1, h.NewLines+1
					f.Decide(f.Hunks[1].ID, diffreview.Decision{Verdict: diffreview.Approved, Edit: "mine"})
				}
			}
			base := baseOf(set, "src/store/open.go")
			b.Texts = map[diffreview.Blob][]byte{"mine": []byte("func mine() {\n"), "base": append(base, "more\nand more\nand more\n"...)}
			b.Comments = []diffreview.Comment{{ID: "0000000000000001", Path: "src/store/open.go", Line: 90, Body: "on a line", By: "ada"}}
		})
		d.Press("}", "}")
		if w < 100 {
			d.Press("tab")
		}
		for range 40 {
			d.Press("j")
		}
		d.See("func mine() {", "approved with your text", "# ada, not sent: on a line")
		d.NotSee("defer s.mu.Unlock")
		d.Press("s", "J", "K", "v", "u")
		d.Fits()
		_ = b
	}
}

// A last line without newline would run into the line behind it.
func TestAnEditThatWouldJoinTwoLinesIsRefusedAndKept(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Texts = map[diffreview.Blob][]byte{"": baseOf(b.Sets["a1"], "src/store/open.go")}
	})
	d.Press("e")
	edits(t, d, b, "func Open() {", nil)
	d.See("nothing is recorded: what you wrote ends without a newline")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing recorded", got)
	}
	d.Press("e")
	same(t, calls(b, "OpenEdit"), `OpenEdit a1 "func Open() {"`)
}

func TestAnEditOfAHunkThatChangedMeanwhileIsKeptAndNotRecorded(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("e")
	ask, ok := d.Catch("kit.EditorMsg").(kit.EditorMsg)
	if !ok {
		t.Fatal("got no editor")
	}
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": changed("src/store/open.go")}
	})
	d.Press("R")
	b.With(func(b *uitest.Backend) { b.Edited = []byte("mine\n") })
	b.Called()
	d.Send(ask.Back(nil))
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing recorded", got)
	}
	d.See("nothing is recorded: the hunk of src/store/open.go that you wrote has changed since")
}

// A line that is cut has a row of its own below it: the comment stands under
// that, once, in either layout.
func TestACommentOnALongLineStandsOnce(t *testing.T) {
	for _, keys := range [][]string{nil, {"s"}} {
		d, b := open(t, 200, 60, func(b *uitest.Backend, o *ui.Options) {
			o.Place = "review"
			f := uitest.AddedFile("docs/x.md", strings.Repeat("long ", 2000)+"\nshort\n")
			b.Sets["a1"].Files = []diffreview.File{f}
		})
		d.Press(keys...)
		d.Press("j", "j", "c") // on the row that says what is cut
		write(d, "too long")
		d.Press("enter")
		if got := calls(b, "Comment"); len(got) != 1 || !strings.Contains(got[0], "docs/x.md:1 ") {
			t.Fatalf("got %q, want it on the line", got)
		}
		if n := strings.Count(d.Screen(), "# ada, not sent: too long"); n != 1 {
			t.Fatalf("got the comment %d times, want once:\n%s", n, d.Screen())
		}
	}
}

// judged has a fake rule that knows one word.
func judged(set *diffreview.ChangeSet, unit string, edits map[diffreview.Blob][]byte) {
	for i := range set.Files {
		f := &set.Files[i]
		_, h := f.Unit(unit)
		if h == nil || h.Edit == "" {
			continue
		}
		for n, l := range strings.Split(string(edits[h.Edit]), "\n") {
			if strings.Contains(l, "0o777") {
				f.Findings = append(f.Findings, diffreview.Finding{Rule: "open-mode", Severity: diffreview.Danger, Why: "everybody can write it", Line: h.EditStart() + n, Unit: unit, Edit: h.Edit})
			}
		}
	}
}

func TestWhatOneWritesOneselfIsJudgedAtOnce(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	unit := ""
	b.With(func(b *uitest.Backend) {
		b.Texts = map[diffreview.Blob][]byte{"": baseOf(b.Sets["a1"], "src/store/open.go")}
		for _, f := range b.Sets["a1"].Files {
			if f.Path == "src/store/open.go" {
				unit = f.UnitIDs()[0]
			}
		}
		b.Judge = func(set *diffreview.ChangeSet) { judged(set, unit, b.Texts) }
	})
	d.Press("e")
	edits(t, d, b, strings.Replace(openGo, "0o600", "0o777", 1), nil)
	d.See("! danger: everybody can write it (open-mode)", "! danger ━", "approved with your text")
	s := d.Screen()
	if at := strings.Index(s, "0o777"); at < 0 || strings.Index(s, "everybody can write it") < at {
		t.Errorf("got it elsewhere, want it below its line:\n%s", s)
	}
	// The agent's lines are not under it, and the text is again.
	d.Press("u")
	d.See("0o600", "undecided")
	d.NotSee("everybody can write it", "! danger ━")
	d.Press("backspace")
	d.See("everybody can write it", "! danger ━")
}

func TestAProposedTextIsApprovedByHandAlone(t *testing.T) {
	d, b := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		set := b.Sets["a1"]
		for i := range set.Files {
			f := &set.Files[i]
			if f.Path != "src/store/open.go" {
				continue
			}
			h := &f.Hunks[0]
			text := []byte(strings.Replace(openGo, "0o600", "0o777", 1))
			b.Texts = map[diffreview.Blob][]byte{"mine": text}
			h.Edit = "mine"
			judged(set, h.ID, b.Texts)
			set.Files = []diffreview.File{*f}
			break
		}
	})
	d.See("! danger: everybody can write it (open-mode)", "undecided, with a text")
	d.Press("a") // before it was on the screen for long enough
	for _, c := range calls(b, "Decide") {
		if strings.Contains(c, "0o777") {
			t.Fatalf("got %q by the key for the whole file, want it left open", c)
		}
	}
	d.Advance(kit.Grace)
	d.Press("space")
	got := calls(b, "Decide")
	if len(got) != 1 || !strings.Contains(got[0], `"approved" edit=`) || !strings.Contains(got[0], "0o777") {
		t.Fatalf("got %q, want the proposed text approved and not the agent's lines", got)
	}
	d.See("approved with your text", "! danger: everybody can write it (open-mode)")
}

func TestTheQuestionNamesTheRisksOfReviewersTextsAndMerges(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Would = []string{"src/store/open.go"}
		b.Check.Risks = []session.Risk{
			{Path: "src/store/open.go", In: "edit", Finding: diffreview.Finding{Line: 42, Why: "everybody can write it"}},
			{Path: "src/store/lock.go", In: "merge", Finding: diffreview.Finding{Why: "the lock leads out"}},
		}
	})
	d.Press("space", "A")
	d.See("2 risks in it that you approved", "! src/store/open.go line 42, a reviewer's text  everybody can write it", "! src/store/lock.go, merged  the lock leads out")
}

// A snapshot that came meanwhile can have the same approved, with a risk in it that
// another file took away before.
func TestTheQuestionNamesTheRisksOfTheNewestSnapshot(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("space")
	b.With(func(b *uitest.Backend) {
		b.Would = []string{"src/store/open.go"}
		for _, set := range b.Sets {
			for i := range set.Files {
				if f := &set.Files[i]; f.Path == "src/store/open.go" {
					f.Findings = []diffreview.Finding{{Rule: "test-removed", Severity: diffreview.Warn, Why: "the test is nowhere any more"}}
				}
			}
		}
	})
	d.NotSee("the test is nowhere any more")
	d.Press("A")
	d.See("1 risk in it that you approved", "! src/store/open.go  the test is nowhere any more")
}
