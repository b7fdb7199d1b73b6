package review

import (
	"context"
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
// nothing else to do.
func best(runs int, f func()) time.Duration {
	d := time.Hour
	for range runs {
		t := time.Now()
		f()
		d = min(d, time.Since(t))
	}
	return d
}

func TestLargeReviewsMeetTheirBudgets(t *testing.T) {
	set := uitest.LargeSet(5000, 100)
	var m *Model
	if d := best(5, func() { m = large(t, set); arrive(m, set) }); d > slower*firstFrame {
		t.Errorf("got %v to the first frame of 5,000 files, want at most %v", d, firstFrame)
	}
	for _, k := range []string{"j", "pgdown", "J", "}", ".", "space", "z", "G", "g", "tab", "j"} {
		if d := best(5, func() { m.Update(uitest.Key(k)); m.View(200, 55) }); d > slower*scroll {
			t.Errorf("%s: got %v a frame, want at most %v", k, d, scroll)
		}
	}
	one := uitest.LargeSet(1, 500_000)
	if d := best(3, func() { m = large(t, one); arrive(m, one) }); d > slower*firstFrame {
		t.Errorf("got %v to the first frame of one file of 500,000 lines, want at most %v", d, firstFrame)
	}
	for _, k := range []string{"j", "pgdown", "G", "k", "g"} {
		if d := best(5, func() { m.Update(uitest.Key(k)); m.View(200, 55) }); d > slower*scroll {
			t.Errorf("%s: got %v a frame of 500,000 lines, want at most %v", k, d, scroll)
		}
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
