package ui_test

import (
	"strings"
	"testing"

	"fumehood/diffreview"
	"fumehood/ui"
	"fumehood/ui/kit"
	"fumehood/ui/uitest"
)

// inList opens the review with the cursor in the list of files.
func inList(t *testing.T, w, h int) (*uitest.Driver, *uitest.Backend) {
	t.Helper()
	d, b := open(t, w, h, func(_ *uitest.Backend, o *ui.Options) { o.Place = "review" })
	if w >= 100 {
		d.Press("tab")
	}
	d.Press("j", "k")
	d.Advance(kit.Grace)
	b.Called()
	return d, b
}

// The row under the cursor is no file: the file that was current before it must
// not be decided on in its place.
func TestNoKeyDecidesOnARowThatIsNoFile(t *testing.T) {
	for _, w := range []int{80, 120} {
		for _, to := range [][]string{{"G"}, {"G", "k"}} { // what is left out, the fold
			for _, k := range []string{"a", "x", "u"} {
				d, b := inList(t, w, 40)
				d.Press(to...)
				d.PressRapidly(k)
				if got := calls(b, "Decide"); len(got) != 0 {
					t.Errorf("%d columns, %v %s: got %q, want nothing decided", w, to, k, got)
				}
				d.See("no file is under the cursor")
				d.NotSee("│ docs/locking.md")
			}
			d, b := inList(t, w, 40)
			d.Press(to...)
			d.PressRapidly("tab", "x") // the diff is not entered either
			d.PressRapidly("tab", "a")
			if got := calls(b, "Decide"); len(got) != 0 {
				t.Errorf("%d columns, %v tab: got %q, want nothing decided", w, to, got)
			}
		}
	}
}

func TestSpaceOnWhatIsLeftOutListsItAndDecidesNothing(t *testing.T) {
	d, b := inList(t, 120, 40)
	d.Press("G", "space")
	d.See("not in this review")
	d.Press("esc", "a")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided", got)
	}
	d.See("no file is under the cursor")
	d.Press("k", "k", "a") // up to a file again
	same(t, calls(b, "Decide"), `Decide a1 w-docs/locking.md docs/locking.md "approved"`)
}

// Unfolding puts other rows under the cursor's number.
func TestTheKeyIsForTheRowThatUnfoldingLeavesUnderTheCursor(t *testing.T) {
	d, b := inList(t, 120, 40)
	d.Press("G", "k", "enter")
	d.See("▸  go.sum", "│ go.sum")
	d.Press("a")
	same(t, calls(b, "Decide"), `Decide a1 h-go.sum go.sum "approved"`)
	d, b = inList(t, 120, 40)
	d.Press("G", "z")
	d.See("▸  2 left out")
	d.Press("a")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided", got)
	}
}

// A new snapshot leaves the cursor where it was, also on a row that is no file;
// where that row is gone, keys wait until the new one was seen.
func TestASnapshotDoesNotPutAFileUnderTheCursor(t *testing.T) {
	d, b := inList(t, 120, 40)
	d.Press("G", "R", "a")
	d.See("▸  2 left out", "no file is under the cursor")
	b.With(func(b *uitest.Backend) {
		set := uitest.SampleSet()
		set.LeftOut, set.Ignored = nil, diffreview.IgnoredChanges{}
		b.Fresh = map[string]*diffreview.ChangeSet{"a1": set}
	})
	d.Press("R", "a")
	d.See("the diff has just changed")
	if got := calls(b, "Decide"); len(got) != 0 {
		t.Fatalf("got %q, want nothing decided", got)
	}
}

func TestAnEmptyReviewTakesNoDecision(t *testing.T) {
	for _, ignored := range []int{0, 3} {
		d, b := open(t, 120, 40, func(b *uitest.Backend, o *ui.Options) {
			o.Place, o.Session = "review", "c3"
			b.Sets["c3"] = &diffreview.ChangeSet{Session: "c3", Ignored: diffreview.IgnoredChanges{Count: ignored}}
		})
		b.Called()
		d.Press("tab", "G", "a", "space", "x", "u", "A", "enter", ".", "!", "J", "}", "z", "a")
		if got := b.Called(); len(got) != 0 {
			t.Fatalf("got %q, want nothing asked of the session", got)
		}
		d.See("Nothing has changed.")
	}
}

func TestWhatIsLeftOutIsSaidInFullAndNamesNoCommandThatIsNone(t *testing.T) {
	long := "vendor/" + strings.Repeat("deep/", 20) + "end.txt"
	d, _ := open(t, 80, 40, func(b *uitest.Backend, o *ui.Options) {
		o.Place = "review"
		b.Sets["a1"].Ignored.Paths = []string{long}
		b.Sets["a1"].LeftOut = []diffreview.LeftOut{{Path: "a.sock", Reason: "a socket, which is an open end of a program and no file that a review could show to a person, the end"}}
	})
	d.Press("h")
	d.See("They stay in the workspace and can't", "be applied yet:", "end.txt", "the end")
	d.NotSee("--ignored", "…")
	d.Fits()
}
