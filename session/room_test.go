package session

import (
	"runtime/debug"
	"testing"
	"time"

	"fumehood/session/baseline"
)

func TestTheHeapHasRoomOnlyWhileChangeSetsAreBuilt(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		room.mu.Lock()
		defer room.mu.Unlock()
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	left := func(want int) {
		t.Helper()
		users := func() int {
			room.mu.Lock()
			defer room.mu.Unlock()
			return room.users
		}
		look, late := time.NewTicker(time.Millisecond), time.After(30*time.Second)
		defer look.Stop()
		for users() != want {
			select {
			case <-look.C:
			case <-late:
				t.Fatalf("got %d builders after half a minute, want %d", users(), want)
			}
		}
	}
	one, two := roomFor(&baseline.Snapshot{}), roomFor(&baseline.Snapshot{})
	if got := percent(); got <= 100 {
		t.Errorf("got %d while two are built, want more than 100", got)
	}
	one()
	one()
	left(1)
	if got := percent(); got <= 100 {
		t.Errorf("got %d while one is built, want more than 100", got)
	}
	two()
	open := roomToOpen(1 << 20)
	open()
	open()
	if got := percent(); got <= 100 {
		t.Errorf("got %d before a frame could be painted, want more than 100", got)
	}
	left(0)
	if got := percent(); got != 100 {
		t.Errorf("got %d at the end, want 100", got)
	}
	open = roomToOpen(1 << 20)
	if got := percent(); got <= 100 {
		t.Errorf("got %d while a snapshot is opened, want more than 100", got)
	}
	if open(); percent() != 100 {
		t.Errorf("got %d once it is opened, want 100", percent())
	}
	if open = roomToOpen(roomyList + 1); percent() != 100 {
		t.Errorf("got %d for a list that is too long, want 100", percent())
	}
	open()
	for _, more := range []int{-1, 50_000} {
		debug.SetGCPercent(more)
		done := roomFor(&baseline.Snapshot{})
		if got := percent(); got != more {
			t.Errorf("got %d, want that it stays %d", got, more)
		}
		done()
		left(0)
	}
}

// TestARoomyHeapEndsBelowWhatAReviewMayTake: as the runtime counts, the next
// collection begins at what is alive and that percentage of it, and never below
// that percentage of leastHeap.
func TestARoomyHeapEndsBelowWhatAReviewMayTake(t *testing.T) {
	for _, c := range []struct{ live, want uint64 }{
		{0, roomyHeap},
		{1 << 20, roomyHeap},
		{9 << 20, roomyHeap},
		{100 << 20, roomyHeap},
		{150 << 20, 300 << 20},
		{1 << 30, 2 << 30},
	} {
		p := uint64(roomyPercent(c.live))
		got := max(c.live+c.live*p/100, leastHeap*p/100)
		if got > c.want || got < c.want-c.want/20 {
			t.Errorf("%d bytes alive: got a collection at %d, want %d", c.live, got, c.want)
		}
	}
}
