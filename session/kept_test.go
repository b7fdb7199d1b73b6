package session

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fumehood/session/store"
	"fumehood/session/wire"
)

// keeper is a supervisor's socket: it counts the connections that were opened,
// and answers each request with what it was asked.
type keeper struct {
	d      store.Dir
	l      net.Listener
	answer func(wire.Request) // told before the answer; may be nil
	gone   chan chan time.Time

	mu    sync.Mutex
	conns []net.Conn
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	d, err := store.Root(t.TempDir()).Create()
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{d: d, gone: make(chan chan time.Time, 1)}
	if k.l, err = net.Listen("unix", filepath.Join(string(d), "sock")); err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := k.l.Accept()
			if err != nil {
				return
			}
			k.mu.Lock()
			k.conns = append(k.conns, c)
			k.mu.Unlock()
			served.Go(func() { k.serve(wire.NewConn(c)) })
		}
	})
	t.Cleanup(func() {
		k.l.Close()
		k.hangUp()
		served.Wait()
	})
	return k
}

func (k *keeper) serve(c *wire.Conn) {
	for {
		_, b, err := c.Read()
		if err != nil {
			return
		}
		var q wire.Request
		if json.Unmarshal(b, &q) != nil {
			return
		}
		if k.answer != nil {
			k.answer(q)
		}
		rep := wire.Reply{Text: q.Text}
		switch {
		case q.Op == wire.OpFrame:
			continue // no picture comes
		case q.Text == "refuse":
			rep.Error = "refused"
		}
		if c.WriteJSON(wire.KindReply, rep) != nil {
			return
		}
	}
}

func (k *keeper) opened() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.conns)
}

func (k *keeper) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.conns {
		c.Close()
	}
}

func TestKeysGoOverOneConnection(t *testing.T) {
	k, other := newKeeper(t), newKeeper(t)
	h := &Host{}
	paste := func(to *keeper, text, wantErr string, wantOpened int) {
		t.Helper()
		err := h.Input(context.Background(), to.d, nil, text, nil, nil)
		if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Fatalf("%q: got %v, want %q", text, err, wantErr)
		}
		if n := to.opened(); n != wantOpened {
			t.Fatalf("%q: got %d connections opened, want %d", text, n, wantOpened)
		}
	}
	paste(k, "one", "", 1)
	paste(k, "two", "", 1)
	paste(k, "refuse", "refused", 1) // an answer too
	paste(k, "three", "", 1)
	k.hangUp() // its supervisor ends, another comes
	paste(k, "four", "", 2)
	paste(other, "five", "", 1) // the one to k is let go of
	paste(k, "six", "", 3)

	// A question that was given up may still be answered: what comes next must not
	// be taken for the answer to something else.
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 1)
	go func() { _, err := h.Frame(ctx, k.d, 0, 0); asked <- err }()
	for end := time.Now().Add(10 * time.Second); h.conns.spare() > 0; {
		if time.Now().After(end) {
			t.Fatal("the connection that is kept is not used")
		}
	}
	cancel()
	if err := <-asked; err == nil {
		t.Fatal("got a picture, want none")
	}
	paste(k, "seven", "", 4)
}

// spare counts the connections that nothing is under way on.
func (k *kept) spare() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.idle)
}
