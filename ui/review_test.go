package ui_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// inReview opens the review with the cursor in the diff of a file.
func inReview(t *testing.T, path string) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, 120, 40, func(_ *uitest.Backend, o *ui.Options) { o.Place = "review" })
	for range 20 {
		if strings.Contains(d.Screen(), "│ "+path) {
			b.Called()
			return d, b
		}
		d.Press("}")
	}
	t.Fatalf("got no file %s in the review:\n%s", path, d.Screen())
	return nil, nil
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestAHunkIsDecidedByItsID(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("space", "J", "x")
	same(t, calls(b, "Decide"),
		`Decide a1 h-src/store/open.go src/store/open.go "approved"`,
		`Decide a1 h2-src/store/open.go src/store/open.go "rejected"`)
	d.See("approved ✓", "rejected ✗", "2/10 decided")
	d.Press("u")
	same(t, calls(b, "Decide"), `Decide a1 h2-src/store/open.go src/store/open.go ""`)
	d.See("1/10 decided")
}

// A key that is pressed twice decides once: the cursor stays on the hunk that
// was on the screen when the key was pressed.
func TestRapidApproveMeetsOneHunk(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.Hold("Decide")
	d.PressRapidly("space", "space", "space")
	d.See("1/10 decided")
	b.Release("Decide")
	d.Settle()
	same(t, calls(b, "Decide"), `Decide a1 h-src/store/open.go src/store/open.go "approved"`)
}

func TestDecisionsGoOutInTheOrderOfTheKeys(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.Hold("Decide")
	d.PressRapidly("space", "x", "u", "x")
	b.Release("Decide")
	d.Settle()
	id := `Decide a1 h-src/store/open.go src/store/open.go `
	same(t, calls(b, "Decide"), id+`"approved"`, id+`"rejected"`, id+`""`, id+`"rejected"`)
	d.See("rejected ✗")
}

// changed is the sample with the first hunk of a file made of other bytes.
func changed(path string) *diffreview.ChangeSet {
	set := uitest.SampleSet()
	for i := range set.Files {
		if f := &set.Files[i]; f.Path == path {
			f.Hunks[0].ID = "other-bytes"
			f.Hunks[0].Lines[1].Text = []byte("rm -rf everything")
		}
	}
	return set
}

// The agent goes on while the person reads: what was approved is not what is
// there now, and the key must not approve what took its place.
func TestAKeyDuringARefreshIsForWhatWasOnTheScreen(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": changed("src/store/open.go")}
	})
	b.Hold("ChangeSet")
	d.PressRapidly("R", "space")
	d.See("… snapshot")
	b.Release("ChangeSet")
	d.Settle()
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want no decision on a hunk that was replaced", got)
	}
	d.See("1 decision not recorded", "0/10 decided")
}

func TestAKeyDuringARefreshHoldsWhereTheBytesStay(t *testing.T) {
	d, b := inReview(t, "src/store/lock.go")
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": changed("src/store/open.go")}
	})
	b.Hold("ChangeSet")
	d.PressRapidly("R", "space")
	b.Release("ChangeSet")
	d.Settle()
	same(t, calls(b, "Decide"), `Decide a1 w-src/store/lock.go src/store/lock.go "approved"`)
	d.See("│ src/store/lock.go", "approved ✓", "1/10 decided")
}

// The refreshed diff appears under the fingers: a key right behind it was meant
// for what was there before.
func TestNothingIsDecidedRightAfterTheDiffHasChanged(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": changed("src/store/open.go")}
	})
	d.Press("R")
	b.Called()
	d.Press("space", "x", "a")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided yet", got)
	}
	d.See("the diff has just changed")
	d.Advance(kit.Grace)
	d.Press("space")
	same(t, calls(b, "Decide"), `Decide a1 other-bytes src/store/open.go "approved"`)
}

func TestALapsedDecisionIsSaidAndMarked(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("space")
	b.With(func(b *uitest.Backend) {
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": changed("src/store/open.go")}
	})
	d.Press("R")
	d.See("1 decision lapsed", "undecided ~", "0/10 decided")
}

func TestAnAnswerToAnotherSessionIsDropped(t *testing.T) {
	d, b := open(t, 120, 40, nil)
	b.Hold("ChangeSet")
	d.Press("r", "1", "G", "r")
	b.Release("ChangeSet")
	d.Settle()
	d.See("› nightly", "Nothing has changed.")
	d.NotSee("tasks.json")
}

func TestADecisionThatFailsIsTakenBack(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Fail = map[string]error{"Decide": errors.New("decisions.json: no space left")}
	})
	d.Press("space")
	d.See("the decision was not recorded: decisions.json: no space left", "0/10 decided")
	d.NotSee("approved ✓")
}

func TestABulkKeyLeavesRiskyHunksThatWereNotSeen(t *testing.T) {
	d, b := open(t, 80, 24, nil)
	d.Press("r", "a") // in the list: its diff was never on the screen
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing approved unseen", got)
	}
	d.See("1 risky hunk left open")
	d.Press("enter")
	d.Advance(kit.Grace)
	d.Press("a")
	same(t, calls(b, "Decide"), `Decide a1 w-.vscode/tasks.json .vscode/tasks.json "approved"`)
}

func TestARiskyHunkIsNotApprovedAsItAppears(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.PressRapidly("!", "space")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want no approval of what had just come up", got)
	}
	d.See("risky: read what it would do")
	d.Press("!")
	d.Advance(kit.Grace)
	d.Press("space")
	if got := calls(b, "Decide"); len(got) != 1 {
		t.Fatalf("got %q, want one approval once it was looked at", got)
	}
}

func TestABulkKeyKeepsWhatWasRejected(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("x", "a")
	same(t, calls(b, "Decide"),
		`Decide a1 h-src/store/open.go src/store/open.go "rejected"`,
		`Decide a1 h2-src/store/open.go src/store/open.go "approved"`)
}

func approvedReview(t *testing.T) (*uitest.Driver, *uitest.Backend) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("a")
	b.Called()
	return d, b
}

func TestApplyAsksAndItsDefaultIsNo(t *testing.T) {
	for _, k := range []string{"enter", "esc", "n", "A", "space", "q"} {
		d, b := approvedReview(t)
		d.Press("A")
		d.See("Write this to your repository?", "2 files would change", "docs/locking.md")
		d.Advance(kit.Grace)
		d.Press(k)
		if got := calls(b, "Apply"); len(got) != 0 {
			t.Errorf("%s: got %q, want nothing written", k, got)
		}
	}
	d, b := approvedReview(t)
	d.Press("A")
	d.Advance(kit.Grace)
	d.Press("y")
	same(t, calls(b, "Apply"), "Apply a1")
	d.See("Written to your repository: 2 files", "✓ src/store/open.go", "U takes it back")
}

// The question comes up by itself, when the comparison is done: keys that were
// typed before, or just then, do not answer it.
func TestKeysTypedAheadDoNotAnswerTheApplyQuestion(t *testing.T) {
	d, b := approvedReview(t)
	d.PressRapidly("A", "y", "enter", "y")
	d.See("Write this to your repository?")
	d.Press("y", "enter")
	d.See("Write this to your repository?")
	if got := calls(b, "Apply"); len(got) != 0 {
		t.Fatalf("got %q, want nothing written", got)
	}
	d.Advance(kit.Grace)
	d.PressRapidly("y", "y", "A", "y")
	same(t, calls(b, "Apply"), "Apply a1")
}

func TestApplyWaitsForDecisionsOnTheirWay(t *testing.T) {
	d, b := approvedReview(t)
	b.Hold("Decide")
	d.PressRapidly("x", "A")
	if got := b.Called(); len(got) != 1 {
		t.Fatalf("got %q, want the decision alone under way", got)
	}
	b.Release("Decide")
	d.Settle()
	same(t, calls(b, "PreviewApply"), "PreviewApply a1")
}

func TestALongApplyListIsReadToItsEndFirst(t *testing.T) {
	d, b := approvedReview(t)
	b.With(func(b *uitest.Backend) {
		b.Would = nil
		for range 200 {
			b.Would = append(b.Would, "some/file.go")
		}
		b.Would = append(b.Would, ".git-evil-at-the-end")
	})
	d.Press("A")
	d.Advance(kit.Grace)
	d.See("more lines below")
	d.Press("y")
	if got := calls(b, "Apply"); len(got) != 0 {
		t.Fatalf("got %q, want no write before the whole list was on the screen", got)
	}
	d.Press("G")
	d.See(".git-evil-at-the-end")
	d.Press("y")
	same(t, calls(b, "Apply"), "Apply a1")
}

func TestAConflictLeavesNothingToSayYesTo(t *testing.T) {
	d, b := approvedReview(t)
	b.With(func(b *uitest.Backend) {
		b.Check = session.Applied{Conflicts: []session.PathWhy{{Path: "src/store/open.go", Why: "changed on the host since the copy"}}}
	})
	d.Press("A")
	d.See("Nothing can be written", "1 conflict", "✗ src/store/open.go  changed on the host since the copy")
	d.Advance(kit.Grace)
	d.Press("y")
	if got := calls(b, "Apply"); len(got) != 0 {
		t.Fatalf("got %q, want nothing written", got)
	}
}

func TestUndoAsksOnce(t *testing.T) {
	d, b := approvedReview(t)
	d.Press("U")
	d.Advance(kit.Grace)
	d.Press("enter")
	if got := calls(b, "Undo"); len(got) != 0 {
		t.Fatalf("got %q, want the default to leave the files", got)
	}
	d.PressRapidly("U", "y") // not yet: the question comes up by itself
	d.See("Take the newest apply back?")
	d.Advance(kit.Grace)
	d.PressRapidly("y", "y")
	same(t, calls(b, "Undo"), "Undo a1")
	d.See("Taken back: 2 files")
}

func TestUndoWithNothingAppliedSaysSoAndDoesNotAsk(t *testing.T) {
	few := []string{"12:00:00 created", "12:00:01 decided 2 units", "12:01:00 exited with 0"}
	applied := append(append([]string{}, few...), "12:02:00 applied 2 files")
	many := []string{}
	for range 20 {
		many = append(many, "12:00:00 decided 1 unit")
	}
	for name, c := range map[string]struct {
		events []string
		stands bool
		err    error
		asks   bool
	}{
		"killed before it was told":   {events: few, stands: true, asks: true},
		"nothing applied":             {events: few},
		"applied and taken back":      {events: append(append([]string{}, applied...), "12:03:00 undone 2 files")},
		"applied":                     {events: applied, asks: true},
		"older events may be missing": {events: many, asks: true},
		"a damaged log":               {events: append(append([]string{}, few...), "the event log is damaged at line 3"), asks: true},
		"no answer":                   {events: few, err: errors.New("no answer"), asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			d, b := inReview(t, "src/store/open.go")
			b.With(func(b *uitest.Backend) {
				x := b.Details["a1"]
				x.Events, x.Stands = c.events, c.stands
				b.Details["a1"] = x
				b.Fail = map[string]error{"Detail": c.err}
			})
			d.Press("U")
			if c.asks {
				d.See("Take the newest apply back?")
				return
			}
			d.See("no apply of this session stands: there is nothing to take back")
			d.NotSee("Take the newest apply back?")
			d.Press("x") // and the review goes on
			d.See("rejected ✗")
		})
	}
}

func TestWhatWasWrittenClosesOnTheUsualKeys(t *testing.T) {
	for _, k := range []string{"esc", "enter", "space", "q", "ctrl+c"} {
		d, _ := approvedReview(t)
		d.Press("A")
		d.Advance(kit.Grace)
		d.Press("y")
		d.See("Written to your repository: 2 files")
		d.Press(k)
		d.See("Written to your repository: 2 files") // it has only just come up
		d.Advance(kit.Grace)
		d.Press(k)
		d.NotSee("Written to your repository")
		if d.Quit {
			t.Fatalf("%s: got the workbench to leave, want the sheet to close", k)
		}
	}
}

func TestUInWhatWasWrittenAsksToTakeItBack(t *testing.T) {
	d, b := approvedReview(t)
	d.Press("A")
	d.Advance(kit.Grace)
	d.Press("y")
	d.Advance(kit.Grace)
	d.See("U take it back")
	d.Press("U")
	d.See("Take the newest apply back?")
	d.NotSee("Written to your repository")
	d.Advance(kit.Grace)
	if got := calls(b, "Undo"); len(got) != 0 {
		t.Fatalf("got %q, want a question first", got)
	}
	d.Press("y")
	same(t, calls(b, "Undo"), "Undo a1")
	d.Advance(kit.Grace)
	d.See("Taken back: 2 files")
	d.Press("space")
	d.NotSee("Taken back", "Take the newest apply back?")
}

func TestTheSpaceBarTurnsPagesBeforeItCloses(t *testing.T) {
	d, _ := open(t, 80, 24, nil)
	d.Press("r", "?")
	for n := 0; strings.Contains(d.Screen(), "below"); n++ {
		if n > 10 {
			t.Fatalf("got no end of the sheet:\n%s", d.Screen())
		}
		d.Press("space")
		d.See("keys: review")
	}
	d.Press("space")
	d.NotSee("keys: review")
}

func TestListAndDiffStandSideBySideFromAHundredColumns(t *testing.T) {
	d, _ := open(t, 100, 30, nil)
	d.Press("r")
	d.See("src/store/open.go", "│ .vscode/tasks.json")
	d.Resize(99, 30)
	d.NotSee("│ .vscode/tasks.json")
}

func TestApplyingIsOffWithoutAnApproval(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("A")
	if got := b.Called(); len(got) != 0 {
		t.Fatalf("got %q, want no call", got)
	}
}

func TestNextGoesToWhatIsOpenAndToWhatIsRisky(t *testing.T) {
	d, _ := inReview(t, "src/store/open.go")
	d.Press(".")
	d.See("▸━━ hunk 2 of 2")
	d.Press("x", ".")
	d.See("│ src/store/lock.go")
	d.Press("!")
	d.See("│ .vscode/tasks.json", "runs its command by itself")
	d.Press("!")
	d.See("│ package.json")
	d.Press("!")
	d.See("│ .vscode/tasks.json")
}

func TestSearchGoesOverAllFiles(t *testing.T) {
	d, _ := inReview(t, ".vscode/tasks.json")
	d.Press("/", "F", "L", "O", "C", "K", "(", "enter")
	d.See("│ src/store/lock.go", "return flock(f.Fd())")
	d.Press("/", "n", "o", "s", "u", "c", "h", "enter")
	d.See("no line has nosuch")
}

func TestFoldedFilesOpenWhereTheCursorGoes(t *testing.T) {
	d, _ := inReview(t, "docs/locking.md")
	d.See("1 lock or generated file")
	d.Press("}")
	d.See("│ go.sum")
	d.NotSee("1 lock or generated file")
	d.Press("z")
	d.See("1 lock or generated file")
}

func TestAReviewOfASessionThatCannotBeReadSaysWhy(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, _ *ui.Options) {
		b.Fail = map[string]error{"ChangeSet": errors.New("snapshot: not all processes stopped")}
	})
	d.Press("r")
	d.See("The change set can't be shown.", "snapshot: not all processes stopped", "R tries again")
	b.With(func(b *uitest.Backend) { b.Fail = nil })
	d.Press("R")
	d.See("0/10 decided")
}

func TestTheMouseMovesInTheReview(t *testing.T) {
	d, _ := inReview(t, ".vscode/tasks.json")
	d.ClickOn("src/api/routes.go")
	d.See("│ src/api/routes.go")
	d.ClickOn("r.Get(\"/health\"")
	d.Advance(time.Second)
	d.See("│▸30 30")
}

// A hunk that was on the screen before it was risky was not read as what it is now.
func TestARiskThatComesWithANewSnapshotHasToBeRead(t *testing.T) {
	for _, key := range []string{"space", "a"} {
		d, b := inReview(t, "src/store/open.go")
		d.Advance(2 * kit.Grace)
		b.With(func(b *uitest.Backend) {
			for _, set := range b.Sets {
				for i := range set.Files {
					if f := &set.Files[i]; f.Path == "src/store/open.go" {
						f.Findings = []diffreview.Finding{{Rule: "test-removed", Severity: diffreview.Warn, Why: "the test is nowhere any more"}}
					}
				}
			}
		})
		d.Press("R")
		d.See("the test is nowhere any more")
		b.Called()
		d.Press(key)
		if got := calls(b, "Decide"); len(got) > 0 {
			t.Errorf("%s: got %q, want the risk read first", key, got)
		}
		d.Advance(kit.Grace)
		d.Press("space")
		if got := calls(b, "Decide"); len(got) != 1 {
			t.Errorf("%s: got %q, want it approved once it was read", key, got)
		}
	}
}
