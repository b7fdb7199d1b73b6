package ui_test

import (
	"errors"
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// R01: the host, or an approval, changed after the list was on the screen.
func TestAnApplyThatIsNoLongerWhatWasShownSaysSo(t *testing.T) {
	d, b := approvedReview(t)
	b.With(func(b *uitest.Backend) {
		b.Check = session.Applied{Plan: "p1"}
		b.Fail = map[string]error{"Apply": errors.New("the repository, a decision or a risk changed after this was shown; nothing was written: look at it again")}
	})
	d.Press("A")
	d.Advance(kit.Grace)
	d.Press("y")
	same(t, calls(b, "Apply"), "Apply a1 p1")
	d.See("apply: the repository, a decision or a risk changed after this was shown; nothing was written")
	d.NotSee("Written to your repository")
}

// What another process approved, or a bundle brought home, was not looked at here:
// its risks would be missing in the question.
func TestAnApplyIsNotAskedForWhatWasApprovedElsewhere(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.Press("a")
	d.Advance(kit.Grace)
	b.With(func(b *uitest.Backend) {
		for id, set := range b.Sets {
			for i := range set.Files {
				f := &set.Files[i]
				f.Each(func(unit string, _ *diffreview.Mark, _ *diffreview.Hunk) {
					f.Decide(unit, diffreview.Decision{Verdict: diffreview.Approved})
				})
			}
			b.Sets[id] = set
		}
	})
	d.Press("A")
	d.Advance(kit.Grace)
	d.See("approvals changed elsewhere", "10/10 decided")
	d.NotSee("Write this to your repository?")
	d.Press("A")
	d.See("Write this to your repository?")
}

// R06: every dialog fits a small window without colour, and says its keys.
func TestDialogsOfTheReviewFitSmallWindows(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}} {
		for name, c := range map[string]struct {
			keys []string
			see  []string
		}{
			"comment":   {[]string{"esc", "c", "h", "i"}, []string{"comment on", "> hi", "enter keep it"}},
			"send":      {[]string{"esc", "c", "h", "i", "enter", "m"}, []string{"Send 1 comment to the agent?"}},
			"try":       {[]string{"esc", "t"}, []string{"> go test ./...", "enter run it"}},
			"conflicts": {nil, []string{"conflict 1 of 1", "open: choose one", "h yours", "g the agent's"}},
			"apply":     {[]string{"A"}, []string{"Nothing can be written"}},
		} {
			t.Run(name, func(t *testing.T) {
				d, _, _ := conflicted(t, size[0], size[1])
				d.Press(c.keys...)
				d.Advance(kit.Grace)
				d.Fits()
				d.See(c.see...)
				if v := d.Model.View().Content; strings.Contains(v, "\x1b[3") || strings.Contains(v, "\x1b[4m\x1b[3") {
					t.Error("got colour, want none")
				}
			})
		}
	}
}

// All three texts of a conflict can be read in the smallest window.
func TestAConflictScrollsInASmallWindow(t *testing.T) {
	d, _, _ := conflicted(t, 60, 15)
	d.Press("pgdown")
	d.See("5 g the agent's")
	d.Press("pgup", "pgup")
	d.See("as it was")
}

// R09: rejecting everything leaves nothing to write, and nothing is asked of
// the host.
func TestRejectingEverythingAsksNothingOfTheHost(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	for range 30 {
		d.Press(".")
		d.Advance(kit.Grace)
		d.Press("x")
	}
	d.See("10/10 decided")
	for _, c := range b.Called() {
		if !strings.HasPrefix(c, "Decide ") || !strings.Contains(c, `"rejected"`) {
			t.Fatalf("got %q, want rejections alone", c)
		}
	}
	d.Press("A", "y", "enter", "t", "M")
	if got := b.Called(); len(got) != 0 {
		t.Fatalf("got %q, want no call", got)
	}
}

// A key that decides never reaches the review through a dialog in which text is
// typed, however fast it comes.
func TestLettersOfACommentDecideNothing(t *testing.T) {
	d, b := inReview(t, "src/store/open.go")
	d.PressRapidly("c", "a", "x", "u", "A", "y", "U", "t", "M", "e", "R", "space", "q", "1")
	d.See("> axuAyUtMeR q1")
	if got := b.Called(); len(got) != 0 {
		t.Fatalf("got %q, want no call", got)
	}
	if d.Quit {
		t.Fatal("got the workbench to leave")
	}
}
