package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// GoneOn tells whether anything inside has gone on since the snapshot that was
// taken at since, so that a fresh one could show more.
//
// A live session's supervisor knows of output, of commands that were started and
// of cpu that was used: a process that writes a file within some 50 ms of cpu and
// says nothing is not noticed, and a program that redraws its screen while it
// waits is. Of an ended session it is whether it went on after the snapshot. It
// costs a message, or reading the newest snapshot; a mistake shows an older change
// set, never another than what is decided on and applied.
func (h *Host) GoneOn(ctx context.Context, d store.Dir, since time.Time) (bool, error) {
	r, err := ask(ctx, d, wire.Request{Op: wire.OpGoneOn, At: since})
	if err == nil {
		return r.GoneOn, nil
	}
	if !errors.Is(err, ErrNotLive) {
		return false, err
	}
	snap, err := baseline.Open(baselineDirs(d))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if snap.At.After(since) {
		return true, nil
	}
	live, err := liveSnapshot(d)
	return !live.Before(since), err
}

// isFinal says that a session has ended, and that its newest snapshot is of the
// time after that.
func (h *Host) isFinal(ctx context.Context, d store.Dir) bool {
	if _, err := ask(ctx, d, wire.Request{Op: wire.OpStatus}); !errors.Is(err, ErrNotLive) {
		return false
	}
	snap, err := baseline.Open(baselineDirs(d))
	if err != nil {
		return false // a fresh one is taken, and says what is wrong
	}
	live, err := liveSnapshot(d)
	rec, rerr := d.LoadRecord()
	return err == nil && rerr == nil && live.Before(snap.At) && !snap.At.Before(rec.Started)
}

func liveSnapshotPath(d store.Dir) string { return filepath.Join(d.Store(), "live_snapshot") }

// NoteLiveSnapshot records when the newest snapshot was taken of a live session:
// one that is not newer than this says nothing of the session's last moments.
func NoteLiveSnapshot(d store.Dir, at time.Time) error {
	return atomicfile.Write(liveSnapshotPath(d), []byte(at.UTC().Format(time.RFC3339Nano)+"\n"), 0o600)
}

// liveSnapshot is the zero time when no live session ever had one.
func liveSnapshot(d store.Dir) (time.Time, error) {
	b, err := os.ReadFile(liveSnapshotPath(d))
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, strings.TrimSpace(string(b)))
}
