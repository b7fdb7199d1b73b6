package session

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"fumehood/session/store"
	"fumehood/session/wire"
)

// What happened: a workbench that asked for a picture in the moment when the
// session ended showed "connection reset by peer" as an error of the session.
// A supervisor at its end breaks connections off before it is gone; whoever
// asks then must be told that it is gone, and nothing else.
func TestAskOutlastsASupervisorThatIsEnding(t *testing.T) {
	d, err := store.Root(t.TempDir()).Create()
	if err != nil {
		t.Fatal(err)
	}
	release, err := d.HoldLive()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(string(d), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	broke := make(chan struct{}, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // broken off before an answer
			broke <- struct{}{}
		}
	}()
	go func() {
		for range 3 {
			<-broke
		}
		_ = l.Close()
		release()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := ask(ctx, d, wire.Request{Op: wire.OpStatus}); !errors.Is(err, ErrNotLive) {
		t.Errorf("got %v, want ErrNotLive", err)
	}
}
