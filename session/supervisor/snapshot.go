package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

// snapshotWithin bounds how long everything inside may stand still.
const snapshotWithin = 5 * time.Minute

// snapshotLive reads the workspace with everything inside stopped. When that
// cannot be proven there is no snapshot. The limits' clocks stand still too.
func (s *supervisor) snapshotLive(ignored []string) error {
	o, err := session.SnapshotOptions(ignored)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), snapshotWithin)
	defer cancel()
	s.snapMu.Lock()
	defer s.snapMu.Unlock()
	begin := time.Now()
	resume, err := s.sb.Pause(ctx)
	if err != nil {
		select {
		case <-s.endOnce: // nothing runs any more: the final snapshot is near
			return errors.New("the session is ending; ask again in a moment")
		default:
		}
		return fmt.Errorf("stop everything inside: %w", err)
	}
	if err = s.snapshot(ctx, o); err == nil {
		s.markSnapshot(begin)
	}
	if resErr := resume(); resErr != nil {
		err = errors.Join(err, fmt.Errorf("let everything inside go on: %w", resErr),
			baseline.Discard(baseline.Dirs{Workspace: s.dir.Workspace(), Store: s.dir.Store()}))
	}
	s.mu.Lock()
	s.paused += time.Since(begin)
	s.mu.Unlock()
	return err
}

// snapshot reads the workspace; nothing inside may run meanwhile.
func (s *supervisor) snapshot(ctx context.Context, o baseline.Options) error {
	unlock, err := s.dir.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	return takeSnapshot(ctx, s.dir, o)
}

func takeSnapshot(ctx context.Context, d store.Dir, o baseline.Options) error {
	dirs := baseline.Dirs{Workspace: d.Workspace(), Store: d.Store()}
	m, err := baseline.Load(dirs)
	if err != nil {
		return fmt.Errorf("read the baseline: %w", err)
	}
	if _, err := baseline.Take(ctx, dirs, m, o); err != nil {
		return fmt.Errorf("read the workspace: %w", err)
	}
	return nil
}
