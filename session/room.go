package session

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"fumehood/session/baseline"
)

// Building a change set allocates several times the text that it shows, nearly
// all of which it keeps: collecting on the way, or before the first frame, is a
// fifth of the whole work and frees next to nothing. So the heap may grow further
// meanwhile, where the text is known to be little enough for what a review may
// take, 300 MiB.
const (
	roomyText = 96 << 20  // bytes, both sides of all changed files
	roomyList = 24 << 20  // bytes of the list of them, as it is stored
	roomyHeap = 256 << 20 // bytes, at which a collection begins all the same
	leastHeap = 4 << 20   // bytes, at which the first one begins by itself

	// roomyFor is how long after a change set was built it still holds: a frame is
	// painted by then, or the command has ended.
	roomyFor = 500 * time.Millisecond
)

// room is the process's one setting; builders that overlap share it.
var room struct {
	mu     sync.Mutex
	users  int
	before int
}

// roomToOpen lets the heap grow while the list of a snapshot is read, of as many
// bytes. The caller calls done at the end.
func roomToOpen(list int64) (done func()) {
	if list > roomyList {
		return func() {}
	}
	enterRoom()
	return sync.OnceFunc(leaveRoom)
}

// roomFor lets the heap grow while a snapshot's change set is built. The caller
// calls done at the end; a little later all is as it was.
func roomFor(s *baseline.Snapshot) (done func()) {
	text := int64(0)
	for _, c := range s.Changes() {
		text += c.Old.Size + c.New.Size
	}
	if text > roomyText {
		return func() {}
	}
	enterRoom()
	return sync.OnceFunc(func() { time.AfterFunc(roomyFor, leaveRoom) })
}

func enterRoom() {
	room.mu.Lock()
	defer room.mu.Unlock()
	percent := roomyPercent(liveHeap())
	before := debug.SetGCPercent(percent)
	if room.users++; room.users == 1 {
		room.before = before
	}
	if room.before < 0 || room.before > percent {
		debug.SetGCPercent(room.before) // who started us allows more
	}
}

func leaveRoom() {
	room.mu.Lock()
	defer room.mu.Unlock()
	if room.users--; room.users == 0 {
		debug.SetGCPercent(room.before)
	}
}

// roomyPercent is the setting by which a heap with that many bytes alive is
// collected when it has grown to roomyHeap, or to twice what is alive.
func roomyPercent(live uint64) int {
	return int(min(max(100*roomyHeap/max(live, 1), 200)-100, 100*roomyHeap/leastHeap))
}

// liveHeap is what the last collection left.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
