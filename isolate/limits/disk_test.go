package limits

import (
	"strings"
	"testing"
	"time"
)

func TestDiskIsWalkedOnlyWhenItCanMatter(t *testing.T) {
	const mib = 1 << 20
	t0 := time.Unix(1000, 0)
	for _, row := range []struct {
		name  string
		used  int64         // at the last walk
		lost  int64         // of free space since
		after time.Duration // since that walk
		want  bool
	}{
		{"nothing moved", 10 * mib, 0, time.Hour, false},
		{"far from half of what is left", 10 * mib, 40 * mib, time.Second, false},
		{"half of what is left", 10 * mib, 45 * mib, time.Second, true},
		{"near the limit, half of little", 99 * mib, mib / 2, time.Second, false},
		{"near the limit, the least", 99 * mib, mib, time.Second, true},
		{"others freed some meanwhile", 10 * mib, -5 * mib, 6 * time.Second, true},
		{"a little moved, long ago", 10 * mib, 4096, 6 * time.Second, true},
		{"a little moved, just now", 10 * mib, 4096, 4 * time.Second, false},
		{"walks do not follow one another at once", 10 * mib, 90 * mib, 100 * time.Millisecond, false},
	} {
		d := Disk{Limit: 100 * mib}
		if !d.Due(500*mib, t0) {
			t.Fatalf("%s: got the first walk not due, want it", row.name)
		}
		if used, over := d.Found(DiskUse{Bytes: row.used, Took: 50 * time.Millisecond}, 0, 500*mib, t0); over {
			t.Fatalf("%s: got over at %s", row.name, used)
		}
		if got := d.Due(500*mib-row.lost, t0.Add(row.after)); got != row.want {
			t.Errorf("%s: got due %v, want %v", row.name, got, row.want)
		}
	}
}

func TestNamesAreCountedWhenManyWentAtOnce(t *testing.T) {
	t0 := time.Unix(100, 0)
	d := Disk{Limit: 100 << 20} // 25,600 names
	if !d.DueNames(1000, t0) {
		t.Error("got no first walk, want one")
	}
	d.FreeNames = 1_000_000
	d.Found(DiskUse{Entries: 5_600, Took: 50 * time.Millisecond}, 0, 1, t0)
	for _, row := range []struct {
		gone  int64
		after time.Duration
		want  bool
	}{
		{9_999, time.Second, false},
		{10_000, time.Second, true},
		{10_000, 100 * time.Millisecond, false}, // walks do not follow one another at once
		{-50, time.Second, false},
	} {
		if got := d.DueNames(1_000_000-row.gone, t0.Add(row.after)); got != row.want {
			t.Errorf("%d gone after %v: got %v, want %v", row.gone, row.after, got, row.want)
		}
	}
}

// Others free space while the session fills it: nothing but a walk tells.
func TestDiskIsWalkedAtTheEndWhenAnythingMoved(t *testing.T) {
	d := Disk{Limit: 100}
	if !d.Last(500) {
		t.Error("got no walk at the end where there was none before, want one")
	}
	d.Found(DiskUse{Bytes: 10}, 0, 500, time.Unix(1, 0))
	if d.Last(500) {
		t.Error("got a walk at the end though nothing moved, want none")
	}
	for _, free := range []int64{499, 501, 900} {
		if !d.Last(free) {
			t.Errorf("got no walk at the end with %d free after 500, want one", free)
		}
	}
	if (&Disk{}).Last(1) {
		t.Error("got a walk without a limit, want none")
	}
}

func TestDiskFoundOverTheLimit(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct {
		name    string
		use     DiskUse
		deleted int64
		lost    int64
		over    bool
		used    string
	}{
		{"at the limit", DiskUse{Bytes: 100 * mib}, 0, 90 * mib, false, "100MiB"},
		{"over it", DiskUse{Bytes: 101 * mib}, 0, 0, true, "101MiB"},
		{"with files without a name", DiskUse{Bytes: 60 * mib}, 50 * mib, 0, true, "110MiB"},
		{"too many names", DiskUse{Entries: 25_601}, 0, 0, true, "more than 25600 names"},
		{"cut short", DiskUse{More: true}, 0, 0, true, "more than 25600 names"},
		{"others wrote", DiskUse{Bytes: 10 * mib}, 0, 900 * mib, false, "10MiB"},
		{"a closed folder, little lost", DiskUse{Bytes: 10 * mib, Hidden: 1}, 0, 20 * mib, false, "10MiB"},
		{"a closed folder, much lost", DiskUse{Bytes: 10 * mib, Hidden: 1}, 0, 200 * mib, true, "210MiB, in part where it can't be seen"},
	} {
		d := Disk{Limit: 100 * mib}
		d.Found(DiskUse{Bytes: 10 * mib}, 0, 1000*mib, time.Unix(1, 0))
		used, over := d.Found(row.use, row.deleted, 1000*mib-row.lost, time.Unix(2, 0))
		if over != row.over || used != row.used {
			t.Errorf("%s: got %q, %v, want %q, %v", row.name, used, over, row.used, row.over)
		}
	}
}

// What an earlier run closed, or this one before the first walk, is no excuse
// for what is written there later.
func TestDiskHiddenFromTheFirstWalkOnCounts(t *testing.T) {
	const mib = 1 << 20
	d := Disk{Limit: 100 * mib}
	d.Begin(1000 * mib)
	for i, row := range []struct {
		use  DiskUse
		lost int64
		over bool
	}{
		{DiskUse{Bytes: 10 * mib, Hidden: 1}, 20 * mib, false},
		{DiskUse{Bytes: 10 * mib, Hidden: 1}, 90 * mib, false},
		{DiskUse{Bytes: 10 * mib, Hidden: 1}, 110 * mib, true},
		{DiskUse{Bytes: 10 * mib}, 110 * mib, false},            // others wrote it
		{DiskUse{Bytes: 10 * mib, Hidden: 1}, 190 * mib, false}, // 80 since
		{DiskUse{Bytes: 10 * mib, Hidden: 1}, 210 * mib, true},
	} {
		if used, over := d.Found(row.use, 0, 1000*mib-row.lost, time.Unix(int64(i), 0)); over != row.over {
			t.Errorf("walk %d: got %q, %v, want %v", i, used, over, row.over)
		}
	}
}

func TestDiskEntriesGrowWithTheLimit(t *testing.T) {
	for limit, want := range map[int64]int{1 << 20: 10_000, 10 << 30: 10 << 30 / 4096} {
		if got := DiskEntries(limit); got != want {
			t.Errorf("%d: got %d, want %d", limit, got, want)
		}
	}
}

func TestDiskLineSaysHowItOvershoots(t *testing.T) {
	l := DiskLine(1 << 30)
	if l.How != Sampled || !strings.Contains(l.Note, "50ms") || !strings.Contains(l.Note, "overshoot") || !strings.Contains(l.Note, "262144 names") {
		t.Errorf("got %+v, want how often, what it can overshoot and how many names", l)
	}
	if l := DiskLine(0); l.How != None {
		t.Errorf("got %+v, want none", l)
	}
}

func TestPaceIsQuickNearTheLimitAndSlowAtRest(t *testing.T) {
	const mib = 1 << 20
	p := Pace{Limit: 1000 * mib}
	for i, row := range []struct {
		used, cpu int64
		want      time.Duration
	}{
		{100, 1, BusyEvery},
		{600, 2, NearEvery}, // over half and growing
		{600, 3, BusyEvery}, // over half, at work, not growing
		{700, 3, NearEvery}, // growing is work
		{700, 3, BusyEvery},
		{700, 3, RestEvery}, // nothing for two looks
		{700, 3, RestEvery},
		{700, 4, BusyEvery},
	} {
		if got := p.Next(row.used*mib, row.cpu); got != row.want {
			t.Errorf("look %d: got %v, want %v", i, got, row.want)
		}
	}
}
