package session

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// A live session's review does not wait for its snapshot where there is an older
// one to show; it does where there is none, and where the snapshot is there soon.
func TestAReviewThatIsOpenedShowsWhatThereIs(t *testing.T) {
	for _, c := range []struct {
		name      string
		older     bool // a snapshot is there already
		late      bool // the fresh one is not there soon
		wantFiles int  // of the change set that is shown
		same      bool // nothing changed after the older one
	}{
		{"soon", true, false, 2, false},
		{"late, with an older one", true, true, 1, false},
		{"late, and nothing changed", true, true, 1, true},
		{"late, and the first", false, true, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKeeper(t)
			write := func(name string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(k.d.Workspace(), name), []byte(name+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			dirs := baselineDirs(k.d)
			m := &baseline.Manifest{RecordedAt: time.Now().Add(-time.Hour).UnixNano()}
			if err := os.Mkdir(dirs.Workspace, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := baseline.Record(dirs, m); err != nil {
				t.Fatal(err)
			}
			if err := k.d.SaveRecord(&store.Record{ID: k.d.ID(), Repo: "/repo"}); err != nil {
				t.Fatal(err)
			}
			write("one")
			if c.older {
				if _, err := baseline.Take(context.Background(), dirs, m, baseline.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			files := 1
			if !c.same {
				files = 2
				write("two")
			}
			release, err := k.d.HoldLive()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			shown := make(chan struct{})
			asked := make(chan wire.Op, 10)
			k.answer = func(q wire.Request) {
				if q.Op == wire.OpGoneOn {
					(<-k.gone) <- q.At
					return
				}
				asked <- q.Op
				if q.Op != wire.OpSnapshot {
					return
				}
				switch {
				case c.late && c.older:
					<-shown
				case c.late:
					<-time.After(2 * soonEnough)
				}
				if _, err := baseline.Take(context.Background(), dirs, m, baseline.Options{}); err != nil {
					t.Error(err)
				}
			}
			client := &Client{Host: &Host{Root: store.Root(filepath.Dir(string(k.d)))}}
			set, _, err := client.ChangeSet(context.Background(), k.d.ID(), true)
			close(shown)
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Files) != c.wantFiles {
				t.Errorf("got %d files, want %d", len(set.Files), c.wantFiles)
			}
			if c.late && c.older {
				for end := time.Now().Add(10 * time.Second); c.same != client.compared(k, set.SnapshotAt); {
					if time.Now().After(end) {
						t.Fatalf("got %v, want the older snapshot to count as the newest: %v", !c.same, c.same)
					}
				}
			}
			// R takes a snapshot in any case, and waits for it.
			if set, _, err = client.ChangeSet(context.Background(), k.d.ID(), true); err != nil || len(set.Files) != files {
				t.Errorf("a refresh: got %d files (%v), want %d", len(set.Files), err, files)
			}
			n := 0
			for len(asked) > 0 {
				if <-asked == wire.OpSnapshot {
					n++
				}
			}
			if n != 2 {
				t.Errorf("got %d snapshots asked for, want one by opening and one by the refresh", n)
			}
		})
	}
}

// compared says of what time GoneOn asks: of that of a later snapshot.
func (c *Client) compared(k *keeper, since time.Time) bool {
	at := make(chan time.Time, 1)
	k.gone <- at
	_, err := c.GoneOn(context.Background(), k.d.ID(), since)
	return err == nil && (<-at).After(since)
}
