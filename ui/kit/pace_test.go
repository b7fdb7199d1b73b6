package kit

import (
	"testing"
	"time"
)

func TestPaceLetsABurstThroughAndThenHolds(t *testing.T) {
	var p Pace
	now := time.Unix(1000, 0)
	for i := range picturesBurst {
		if w := p.Wait(now); w != 0 {
			t.Fatalf("got a wait of %v for number %d, want none", w, i)
		}
	}
	at, n := now, 0
	for at.Before(now.Add(10 * time.Second)) {
		at = at.Add(p.Wait(at))
		n++
	}
	if n < 295 || n > 305 {
		t.Fatalf("got %d in 10 s of flood, want some 300", n)
	}
	if w := p.Wait(at.Add(time.Second)); w != 0 {
		t.Fatalf("got a wait of %v after a rest, want none", w)
	}
}
