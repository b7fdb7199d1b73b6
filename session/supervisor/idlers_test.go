package supervisor

import (
	"net"
	"testing"
	"time"

	"fumehood/session/wire"
)

// A client that keeps a connection for its next request must not hold up the end
// of the session.
func TestTheEndClosesConnectionsWithoutARequest(t *testing.T) {
	s := &supervisor{}
	converse := func() <-chan error {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		done := make(chan error, 1)
		go func() { done <- s.converse(wire.NewConn(a)) }()
		return done
	}
	first := converse()
	waiting := func() bool {
		s.idle.mu.Lock()
		defer s.idle.mu.Unlock()
		return len(s.idle.conns) == 1
	}
	for end := time.Now().Add(10 * time.Second); !waiting(); {
		if time.Now().After(end) {
			t.Fatal("the connection does not wait for a request")
		}
	}
	s.idle.end()
	for name, done := range map[string]<-chan error{"there before": first, "come since": converse()} {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: still waits", name)
		}
	}
}
