package ui_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/merge"
	"fumehood/session"
	"fumehood/session/wire"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// commented is a review with one comment that was not sent.
func commented(t *testing.T) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := inReview(t, "src/store/open.go")
	b.With(func(b *uitest.Backend) {
		b.Comments = []diffreview.Comment{{ID: "0000000000000001", By: "ada", Path: "src/store/open.go", Line: 42, Body: "why 0600?"}}
	})
	d.Press("R")
	d.Advance(kit.Grace)
	b.Called()
	return d, b
}

func TestSendingShowsTheMessageAndItsDefaultIsNo(t *testing.T) {
	for _, k := range []string{"enter", "esc", "n", "m", "space"} {
		d, b := commented(t)
		d.Press("m")
		d.See("Send 1 comment to the agent?", "src/store/open.go:42: why 0600?", "The agent waits: the message is typed into its terminal now")
		d.Advance(kit.Grace)
		d.Press(k)
		if got := calls(b, "SendComments"); len(got) != 0 {
			t.Errorf("%s: got %q, want nothing sent", k, got)
		}
	}
	d, b := commented(t)
	d.Press("m")
	d.Advance(kit.Grace)
	d.Press("y")
	same(t, calls(b, "SendComments"), "SendComments a1")
	d.See("1 comment: typed into its terminal", "# ada, sent")
}

func TestKeysTypedAheadSendNothing(t *testing.T) {
	d, b := commented(t)
	d.PressRapidly("m", "y", "enter", "y")
	if got := calls(b, "SendComments"); len(got) != 0 {
		t.Fatalf("got %q, want nothing sent", got)
	}
	d.See("Send 1 comment to the agent?")
}

func TestOnlyTheMessageThatWasShownIsSent(t *testing.T) {
	d, b := commented(t)
	d.Press("m")
	b.With(func(b *uitest.Backend) { b.Comments[0].Body = "rm -rf" })
	d.Advance(kit.Grace)
	d.Press("y")
	if got := calls(b, "SendComments"); len(got) != 0 {
		t.Fatalf("got %q, want nothing sent", got)
	}
	d.See("they have changed since they were shown")
}

func TestSendingSaysWhatWillHappen(t *testing.T) {
	for _, c := range []struct {
		agent string
		state session.State
		want  string
	}{
		{"claude", session.StateRunning, "kept, and typed into its terminal as soon as it waits"},
		{"claude", session.StateExited, "kept, and typed into the agent's terminal after the next resume"},
		{"shell", session.StateRunning, "Nothing tells when this command waits"},
		{"command", session.StateRunning, "Nothing tells when this command waits"},
		{"command", session.StateWaiting, "typed into its terminal now"},
	} {
		d, b := commented(t)
		b.With(func(b *uitest.Backend) {
			b.Rows[0].Agent, b.Rows[0].State, b.Rows[0].Live = c.agent, c.state, c.state != session.StateExited
		})
		d.Press("m")
		d.See(c.want)
	}
}

func TestARecordOffersNothingThatNeedsTheSession(t *testing.T) {
	d, b := open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) { o.Place, b.Away = "review", true })
	d.Press("}", "}", "a")
	d.NotSee("A apply")
	b.Called()
	for _, c := range []struct{ key, why string }{
		{"A", "a bundle is applied where its session is"},
		{"U", "nothing is applied from a bundle"},
		{"M", "a bundle is merged where its repository is"},
		{"m", "comments on a bundle go home with the decisions"},
		{"R", "a bundle stays as it is"},
		{"t", "a command is tried where the session is"},
	} {
		d.Press(c.key)
		d.See(c.key + ": " + c.why)
	}
	d.Golden(filepath.Join("..", "testdata", "screens", "review", "key_off_80x24.golden"))
	d.NotSee("try a command", "take the newest apply back", "Send ")
	for _, m := range []string{"PreviewApply", "Undo", "Merges", "PreviewSend", "Try", "ChangeSet"} {
		if got := calls(b, m); len(got) != 0 {
			t.Errorf("got %q, want nothing asked that only a session can answer", got)
		}
	}
	d.Press("C")
	d.Press("p", "i", "n")
	d.Press("enter")
	d.See("comment kept")
	d.NotSee("m sends it")
}

func TestThereIsNothingToSendWithoutAComment(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("m")
	d.See("no comment yet")
	d.NotSee("Send ")
	if got := calls(b, "SendComments"); len(got) != 0 {
		t.Fatalf("got %q, want nothing sent", got)
	}
}

func TestTriesEndAsTheirCommandDoes(t *testing.T) {
	for name, c := range map[string]struct {
		ends session.Tried
		see  string
	}{
		"passed": {session.Tried{}, "go test ./...: passed"},
		"failed": {session.Tried{Code: 2}, "go test ./...: FAILED, exit 2"},
		"signal": {session.Tried{Signal: 9}, "go test ./...: FAILED, ended by signal 9"},
		"limit":  {session.Tried{Code: 137, Limit: &wire.Limit{Name: "memory"}}, "go test ./...: FAILED, stopped at the limit memory"},
	} {
		t.Run(name, func(t *testing.T) {
			d, b := approvedReview(t)
			c.ends.Output = "line one\n\x1b[2Jline two\n"
			b.With(func(b *uitest.Backend) { b.TryEnds = c.ends })
			d.Press("t")
			d.See("> go test ./...") // a suggestion, by the names of what changed
			if got := calls(b, "Try"); len(got) != 0 {
				t.Fatalf("got %q before enter, want nothing run", got)
			}
			d.Press("enter")
			same(t, calls(b, "Try"), `Try a1 ["go" "test" "./..."]`)
			d.See(c.see, "line one", "line two", "on exactly what is approved now")
			if v := d.Model.View().Content; strings.Contains(v, "\x1b[2J") {
				t.Error("got a control sequence of the output on the screen")
			}
		})
	}
}

func TestATryRunsBesideTheReviewAndCanBeEnded(t *testing.T) {
	d, b := approvedReview(t)
	b.Hold("Try")
	d.Press("t", "enter")
	d.See("trying go test ./...")
	d.Press("x") // the review goes on
	d.See("rejected ✗")
	d.Press("t")
	d.See("Running on what is approved: go test ./...")
	d.Press("enter")
	d.See("trying go test ./...")
	d.Press("t", "y")
	d.See("the try was ended: go test ./...")
	d.NotSee("trying go test")
}

func TestATryIsNotShownOverWhatIsBeingTyped(t *testing.T) {
	d, b := approvedReview(t)
	b.Hold("Try")
	d.Press("t", "enter", "c", "h", "i")
	b.Release("Try")
	d.Settle()
	d.See("> hi", "go test ./...: passed")
	d.Press("!", "enter", "ctrl+t")
	d.See("it wrote nothing")
	same(t, calls(b, "Comment"), `Comment a1 src/store/open.go:0 "hi!"`)
}

func TestATryWaitsForTheDecisionsBeforeIt(t *testing.T) {
	d, b := approvedReview(t)
	b.Hold("Decide")
	d.PressRapidly("u", "t", "enter")
	d.Settle()
	if got := calls(b, "Try"); len(got) != 0 {
		t.Fatalf("got %q, want the decision recorded first", got)
	}
	b.Release("Decide")
	d.Settle()
	if got := calls(b, "Try"); len(got) != 1 {
		t.Fatalf("got %q, want one try", got)
	}
}

func TestAShellReadsWhatOnlyAShellReads(t *testing.T) {
	d, b := approvedReview(t)
	d.Press("t", "ctrl+u")
	write(d, "make test | tail")
	d.Press("enter")
	same(t, calls(b, "Try"), `Try a1 ["sh" "-c" "make test | tail"]`)
}

func TestTheApplyQuestionSaysWhatWasTried(t *testing.T) {
	d, b := approvedReview(t)
	d.Press("t", "enter")
	d.Advance(kit.Grace)
	d.Press("esc", "A")
	d.See("Tried: go test ./... passed on exactly this.")
	d.Advance(kit.Grace)
	d.Press("n", "J", "x", "A")
	d.See("Not tried as it is now: go test ./... passed, but what is approved has changed since.")
	_ = b
}

// bothChanged is a merge of three changes: one of each side, and a conflict.
func bothChanged(path string) session.Merge {
	base := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	host := "one of mine\n2\n3\n4\nmine\n6\n7\n8\n9\n"
	agent := "1\n2\n3\n4\nthe agent's\n6\n7\n8\nnine\n"
	parts := merge.Lines(path, []byte(base), []byte(host), []byte(agent))
	m := session.Merge{Path: path, ID: strings.Repeat("ab", 20), Parts: parts}
	for _, p := range parts {
		if p.Kind == merge.Conflict {
			m.Open++
		}
	}
	return m
}

func conflicted(t *testing.T, w, h int) (*uitest.Driver, *uitest.Backend, string) {
	t.Helper()
	m := bothChanged("src/store/open.go")
	d, b := open(t, w, h, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.Both = []session.Merge{m}
		b.Check = session.Applied{Conflicts: []session.PathWhy{{Path: m.Path, Why: "1 conflict with your changes"}}}
	})
	d.Press("}", "}", "a")
	d.Advance(kit.Grace)
	for _, p := range m.Parts {
		if p.Kind == merge.Conflict {
			d.Press("M")
			d.Advance(kit.Grace)
			b.Called()
			return d, b, p.ID
		}
	}
	t.Fatal("got no conflict")
	return nil, nil, ""
}

func TestAConflictShowsAllThreeTexts(t *testing.T) {
	for _, size := range sizes {
		d, _, _ := conflicted(t, size[0], size[1])
		d.Fits()
		d.See("1 file that you changed too, 1 conflict open", "conflict 1 of 1", "as it was", "h  yours", "g  the agent's", "5 - 5", "5 h mine", "5 g the agent's", "open: choose one")
	}
}

// A key that leads nowhere is not offered: at the last conflict that is the way back.
func TestTheLastConflictLeadsBack(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	d.NotSee("n next", "N before")
	d.Press("esc")
	b.With(func(b *uitest.Backend) { b.Both = append(b.Both, bothChanged("src/store/other.go")) })
	d.Press("M")
	d.Advance(kit.Grace)
	d.See("file 1 of 2", "n next")
	d.Press("n")
	d.See("file 2 of 2", "N before")
	d.NotSee("n next")
	d.Press("N")
	d.See("file 1 of 2")
}

func TestAConflictIsSettledByItsID(t *testing.T) {
	for key, take := range map[string]string{"h": "host", "g": "agent", "b": "both"} {
		d, b, id := conflicted(t, 120, 40)
		d.Press(key)
		same(t, calls(b, "Resolve"), `Resolve a1 `+id+` src/store/open.go "`+take+`"`)
		d.See("0 conflicts open", "chosen: ")
		d.Press("u")
		same(t, calls(b, "Resolve"), `Resolve a1 `+id+` src/store/open.go ""`)
		d.See("1 conflict open")
	}
}

func TestAMergeCanBeLeftOut(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	d.Press("l")
	same(t, calls(b, "Resolve"), `Resolve a1 `+strings.Repeat("ab", 20)+` src/store/open.go "leave"`)
	d.See("left out of the apply", "0 conflicts open")
	d.Press("h") // not while it is left out
	if got := calls(b, "Resolve"); len(got) != 0 {
		t.Fatalf("got %q, want none", got)
	}
	d.Press("u")
	d.See("1 conflict open")
}

func TestKeysTypedAheadSettleNothing(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	d.Press("esc")
	d.PressRapidly("M", "h", "g", "l")
	d.Press("h", "g", "l") // it is there by now, and came up by itself
	if got := calls(b, "Resolve"); len(got) != 0 {
		t.Fatalf("got %q, want nothing chosen by keys of before", got)
	}
	d.See("1 conflict open")
}

func TestRapidKeysSettleOneConflict(t *testing.T) {
	d, b, id := conflicted(t, 80, 24)
	b.Hold("Resolve")
	d.PressRapidly("h", "h")
	b.Release("Resolve")
	d.Settle()
	for _, c := range calls(b, "Resolve") {
		if !strings.Contains(c, id) {
			t.Errorf("got %q, want no other conflict chosen for", c)
		}
	}
}

func TestAChoiceThatIsNotRecordedIsSaid(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	b.With(func(b *uitest.Backend) { b.Fail = map[string]error{"Resolve": errors.New("no space left")} })
	d.Press("h")
	d.See("the choice was not recorded: no space left", "1 conflict open")
}

func TestAConflictIsWrittenInTheEditor(t *testing.T) {
	d, b, id := conflicted(t, 120, 40)
	d.Press("e")
	same(t, calls(b, "OpenEdit"), `OpenEdit a1 "mine\nthe agent's\n"`)
	edits(t, d, b, "ours\n", nil)
	same(t, calls(b, "Resolve"), `Resolve a1 `+id+` src/store/open.go "edit" edit="ours\n"`)
	d.See("chosen: what you wrote", "e ours")
}

func TestTheMergedFileIsShown(t *testing.T) {
	d, _, _ := conflicted(t, 120, 40)
	d.Press("g", "o")
	d.See("merged: src/store/open.go", "one of mine", "+ the agent's", "+ nine")
	d.NotSee("+ one of mine")
}

func TestTheApplyQuestionLeadsToTheConflicts(t *testing.T) {
	d, b, _ := conflicted(t, 120, 40)
	d.Press("A")
	d.See("Nothing can be written", "M settles them", "✗ src/store/open.go")
	d.Advance(kit.Grace)
	d.Press("M")
	d.See("1 conflict open")
	_ = b
}

func TestCleanMergesAreListedBeforeTheyAreWritten(t *testing.T) {
	d, b := approvedReview(t)
	b.With(func(b *uitest.Backend) {
		b.Check = session.Applied{Plan: "p1", Merged: []session.PathWhy{{Path: "docs/locking.md", Why: "1 change of yours, 1 change of the agent's"}}}
	})
	d.Press("A")
	d.See("1 file merged with your changes:", "~ docs/locking.md  1 change of yours, 1 change of the agent's")
	d.Advance(kit.Grace)
	d.Press("y")
	same(t, calls(b, "Apply"), "Apply a1 p1")
}

func TestAnApplySaysWhatWasNotShown(t *testing.T) {
	d, b := inReview(t, "assets/logo.png")
	d.Press("a", "space")
	b.With(func(b *uitest.Backend) { b.Would = []string{"assets/logo.png"} })
	d.Press("A")
	d.See("1 file in it NOT SHOWN, taken unseen:", "? assets/logo.png  binary")
}

func TestTheHeadSaysThatTheAgentHasGoneOn(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Advance(4 * time.Second)
	d.NotSee("gone on")
	b.With(func(b *uitest.Backend) { b.Gone = true })
	d.Advance(4 * time.Second)
	d.See("gone on since 12:41:07 (R)")
	d.Resize(200, 60)
	d.See("the agent has gone on since the snapshot 12:41:07 (R refresh)")
	d.Resize(80, 24)
	d.Fits()
	d.See("gone on (R)")
	b.With(func(b *uitest.Backend) { b.Gone = false })
	d.Press("R")
	d.NotSee("gone on")
}

// A review may begin with a snapshot that was taken before: it is asked at once
// whether that is all.
func TestAReviewThatBeginsWithAnOlderSnapshotSaysSo(t *testing.T) {
	d, _ := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.With(func(b *uitest.Backend) { b.Gone = true })
	})
	d.See("gone on since 12:41:07 (R)")
}

func TestNobodyIsAskedWhileTheReviewIsNotLookedAt(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("1")
	b.Hold("GoneOn")
	d.Advance(time.Minute)
	if n := b.Blocked(); n != 0 {
		t.Fatalf("got %d questions, want none", n)
	}
	b.Release("GoneOn")
}

// A merge without conflict is shown as the file that comes out of it.
func TestACleanMergeIsShownAsItComesOut(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	d.Press("esc")
	b.With(func(b *uitest.Backend) {
		b.Both[0].Parts = merge.Lines("x", []byte("1\n2\n3\n"), []byte("one\n2\n3\n"), []byte("1\n2\nthree\n"))
		b.Both[0].Open = 0
	})
	d.Press("M")
	d.Advance(kit.Grace)
	d.See("merged to this (+ is new to you)", "1   one", "3 + three")
	d.Press("h", "g", "b", "e", "o") // nothing to choose
	if got := calls(b, "Resolve"); len(got) != 0 {
		t.Fatalf("got %q, want nothing chosen", got)
	}
}

// What tells two texts of a conflict apart may be far to the right.
func TestLongLinesOfAConflictCanBeMoved(t *testing.T) {
	d, b, _ := conflicted(t, 80, 24)
	d.Press("esc")
	far := strings.Repeat("x", 100)
	b.With(func(b *uitest.Backend) {
		b.Both[0].Parts = merge.Lines("x", []byte(far+"base\n"), []byte(far+"mine\n"), []byte(far+"theirs\n"))
		b.Both[0].Open = 1
	})
	d.Press("M")
	d.Advance(kit.Grace)
	d.NotSee("mine", "theirs")
	d.See("›") // cut, and it says so
	d.Press(">", ">", ">", ">")
	d.See("base", "mine", "theirs")
	d.Press("<", "<", "<", "<")
	d.NotSee("theirs")
}

// A key that does nothing here says why, in every place and in a dialog.
func TestAKeyThatIsOffSaysWhy(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	for _, c := range []struct{ key, why string }{
		{"A", "nothing is approved yet"},
		{"backspace", "nothing was decided since this review was opened"},
		{"n", "nothing is searched for: / searches"},
		{"ctrl+t", "nothing was tried yet: t does"},
	} {
		d.Press(c.key)
		d.See(c.key + ": " + c.why)
	}
	d.Press("tab", ">")
	d.See(">: that is for the diff: tab")
	for _, m := range []string{"PreviewApply", "Decide"} {
		if got := calls(b, m); len(got) != 0 {
			t.Errorf("got %q, want nothing done", got)
		}
	}
	// A comment without text is not kept.
	d.Press("tab", "c", "enter")
	d.See("enter: there is no text yet")

	d, _ = open(t, 80, 24, func(b *uitest.Backend, o *ui.Options) { b.Rows = nil })
	d.Press("esc", "enter") // it opens on the page of a new session
	d.See("enter: there is no session")
	// Held down it is one message.
	d.Press("D", "D", "D", "L")
	if n := strings.Count(d.Screen(), "  D: there is no session"); n != 1 {
		t.Errorf("got it %d times in the log, want once:\n%s", n, d.Screen())
	}
}
