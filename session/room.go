package session

import (
	"runtime/debug"
	"sync"

	"fumehood/session/baseline"
)

// Building a change set allocates several times the text that it shows, nearly
// all of which it keeps: collecting on the way is a fifth of the whole work and
// frees next to nothing. So the heap may grow further meanwhile, where the text
// is known to be little enough for what a review may take, 300 MiB.
const (
	roomyText    = 96 << 20 // bytes, both sides of all changed files
	roomyPercent = 1200     // of the heap at the last collection
)

// room is the process's one setting; builders that overlap share it.
var room struct {
	mu     sync.Mutex
	users  int
	before int
}

// roomFor lets the heap grow while a snapshot's change set is built. The caller
// calls done at the end.
func roomFor(s *baseline.Snapshot) (done func()) {
	text := int64(0)
	for _, c := range s.Changes() {
		text += c.Old.Size + c.New.Size
	}
	if text > roomyText {
		return func() {}
	}
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.users++; room.users == 1 {
		if room.before = debug.SetGCPercent(roomyPercent); room.before < 0 || room.before > roomyPercent {
			debug.SetGCPercent(room.before) // who started us allows more
		}
	}
	return sync.OnceFunc(func() {
		room.mu.Lock()
		defer room.mu.Unlock()
		if room.users--; room.users == 0 {
			debug.SetGCPercent(room.before)
		}
	})
}
