package review

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"fumehood/diffreview"
	"fumehood/themes"
	"fumehood/ui/kit"
	"fumehood/ui/style"
	"fumehood/ui/uitest"
)

// The budgets of a review of 5,000 files with 500,000 lines.
const (
	firstFrame = 300 * time.Millisecond
	scroll     = 16 * time.Millisecond
)

func large(tb testing.TB, set *diffreview.ChangeSet) *Model {
	tb.Helper()
	t, err := themes.Load("dark")
	if err != nil {
		tb.Fatal(err)
	}
	st := style.Of(t)
	m := New(&kit.Ctx{Styles: &st, Clock: uitest.NewClock(), Base: context.Background()}, nil)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 55})
	m.id = set.Session
	m.jobs.now, m.jobs.serial = &job{kind: jobLoad}, 1
	return m
}

func arrive(m *Model, set *diffreview.ChangeSet) {
	m.Update(changeSetMsg{Session: set.Session, Job: 1, Set: set})
	m.View(200, 55)
}

// best is the shortest of a few runs: what the code takes when the machine has
// nothing else to do. Where it has, a run's processor time is nearer to that than
// the clock; code that would wait for something is not measured by this.
func best(tb testing.TB, runs int, f func()) time.Duration {
	tb.Helper()
	d := time.Hour
	for range runs {
		t, c := time.Now(), processTime(tb)
		f()
		d = min(d, time.Since(t), processTime(tb)-c)
	}
	return d
}

func TestLargeReviewsMeetTheirBudgets(t *testing.T) {
	set := uitest.LargeSet(5000, 100)
	var m *Model
	if d := best(t, 5, func() { m = large(t, set); arrive(m, set) }); d > slower*firstFrame {
		t.Errorf("got %v to the first frame of 5,000 files, want at most %v", d, firstFrame)
	}
	for _, k := range []string{"j", "pgdown", "J", "}", ".", "space", "z", "G", "g", "tab", "j"} {
		if d := best(t, 15, func() { m.Update(uitest.Key(k)); m.View(200, 55) }); d > slower*scroll {
			t.Errorf("%s: got %v a frame, want at most %v", k, d, scroll)
		}
	}
	one := uitest.LargeSet(1, 500_000)
	if d := best(t, 3, func() { m = large(t, one); arrive(m, one) }); d > slower*firstFrame {
		t.Errorf("got %v to the first frame of one file of 500,000 lines, want at most %v", d, firstFrame)
	}
	for _, k := range []string{"j", "pgdown", "G", "k", "g"} {
		if d := best(t, 15, func() { m.Update(uitest.Key(k)); m.View(200, 55) }); d > slower*scroll {
			t.Errorf("%s: got %v a frame of 500,000 lines, want at most %v", k, d, scroll)
		}
	}
}

// Keys that lay a hunk of 500,000 lines out anew, or decide some of its lines,
// meet the budget as well. Processor time counts, which other work on the machine
// lengthens less.
func TestKeysInOneLargeHunkMeetTheirBudget(t *testing.T) {
	edited, added := uitest.LargeSet(1, 500_000), uitest.LargeSet(1, 500_000)
	for i := range added.Files[0].Hunks[0].Lines {
		l := &added.Files[0].Hunks[0].Lines[i]
		l.Op, l.Old, l.New = '+', 0, i+1
	}
	h := &added.Files[0].Hunks[0]
	h.OldStart, h.OldLines, h.NewLines = 0, 0, len(h.Lines)
	comment := diffreview.Comment{ID: "1", Path: edited.Files[0].Path, Line: edited.Files[0].Hunks[0].Lines[400_000].New, Was: edited.Files[0].New.Blob, Body: "why?"}
	for name, set := range map[string]*diffreview.ChangeSet{"edited": edited, "added": added} {
		m := large(t, set)
		arrive(m, set)
		if name == "edited" {
			m.comments = []diffreview.Comment{comment}
			m.place()
			if s := m.spots[0]; len(s) != 1 || s[0].line != 400_000 {
				t.Fatalf("got %+v, want the comment on line 400,000 of the hunk", s)
			}
		}
		least := map[string]time.Duration{}
		keys := []string{"v", "pgdown", "space", "x", "u", "g", "V", "G", "space", "x", "u", "V", "v", "v", "H", "H", "s", "s"}
		for range 7 {
			m.inList, m.lines = false, lineMode{}
			for i, k := range keys {
				from := processTime(t)
				m.Update(uitest.Key(k))
				m.View(200, 55)
				d := processTime(t) - from
				m.jobs = queue{} // as if it had been recorded
				if at := fmt.Sprint(i, k); least[at] == 0 || d < least[at] {
					least[at] = d
				}
			}
		}
		for k, d := range least {
			if d > slower*scroll*3/2 { // half as much again where the processor is shared
				t.Errorf("%s, %s: got %v a key, want at most %v", name, k, d, scroll)
			}
		}
		t.Log(name, least)
	}
}

func BenchmarkFirstFrame5000Files(b *testing.B) {
	set := uitest.LargeSet(5000, 100)
	for b.Loop() {
		arrive(large(b, set), set)
	}
}

func BenchmarkScrollPage(b *testing.B) {
	set := uitest.LargeSet(1, 500_000)
	m := large(b, set)
	arrive(m, set)
	for b.Loop() {
		m.Update(uitest.Key("pgdown"))
		if m.cur.At > 490_000 {
			m.Update(uitest.Key("g"))
		}
		m.View(200, 55)
	}
}
