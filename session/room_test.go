package session

import (
	"runtime/debug"
	"testing"

	"fumehood/session/baseline"
)

func TestTheHeapHasRoomOnlyWhileChangeSetsAreBuilt(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() int {
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	one, two := roomFor(&baseline.Snapshot{}), roomFor(&baseline.Snapshot{})
	if got := percent(); got != roomyPercent {
		t.Errorf("got %d while two are built, want %d", got, roomyPercent)
	}
	one()
	one()
	if got := percent(); got != roomyPercent {
		t.Errorf("got %d while one is built, want %d", got, roomyPercent)
	}
	two()
	if got := percent(); got != 100 {
		t.Errorf("got %d at the end, want 100", got)
	}
	debug.SetGCPercent(-1)
	done := roomFor(&baseline.Snapshot{})
	if got := percent(); got != -1 {
		t.Errorf("got %d, want that it stays off", got)
	}
	done()
}
