package egress

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// Requests beyond those that are carried wait, and not without end.
func TestNotAllRequestsMayWait(t *testing.T) {
	p := &Proxy{slots: make(chan struct{}, 1)}
	if ref := p.slot(context.Background()); ref != nil {
		t.Fatalf("got %v for the first, want its slot", ref)
	}
	p.waiting.Store(maxWaiting)
	if ref := p.slot(context.Background()); ref == nil || ref.status != http.StatusServiceUnavailable {
		t.Errorf("got %v for one too many, want it refused at once", ref)
	}
	p.waiting.Store(maxWaiting - 1)
	got := make(chan *refusal, 1)
	go func() { got <- p.slot(context.Background()) }()
	<-p.slots // the first ends
	select {
	case ref := <-got:
		if ref != nil {
			t.Errorf("got %v for the last that may wait, want the slot", ref)
		}
	case <-time.After(10 * time.Second):
		t.Error("got no slot in 10 s, want the one that was left")
	}
	if n := p.waiting.Load(); n != maxWaiting-1 {
		t.Errorf("got %d waiting at the end, want %d", n, maxWaiting-1)
	}
}
