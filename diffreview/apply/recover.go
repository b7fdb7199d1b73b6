package apply

import (
	"context"
	"fmt"
)

// Recovered is what was done about interrupted applies and undos.
type Recovered struct {
	RolledBack []string  // IDs; the repository is as before them
	Finished   []string  // IDs; all of it had been written
	Left       []PathWhy // changed by somebody since, hence left as they are
}

// Recover puts the repository into a known state after an apply or undo that
// was killed: as before it, or, when every file was in place already, as after
// it. Every file is compared again; one that was changed since is left alone
// and named. Apply and Undo call it first.
func Recover(ctx context.Context, o Options) (Recovered, error) {
	b, err := openBench(o)
	if err != nil {
		return Recovered{}, err
	}
	defer b.close()
	return b.ready(ctx)
}

func (b *bench) recover(ctx context.Context) (Recovered, error) {
	var rec Recovered
	for t := b.journal.interrupted(); t != nil; t = b.journal.interrupted() {
		if err := ctx.Err(); err != nil {
			return rec, err
		}
		if err := b.recoverOne(t, &rec); err != nil {
			return rec, fmt.Errorf("recover %s %s: %w", t.Kind, t.ID, err)
		}
	}
	return rec, nil
}

func (b *bench) recoverOne(t *txn, rec *Recovered) error {
	if t.Root.Dev != b.Root.Dev || t.Root.Ino != b.Root.Ino {
		return &MovedError{Path: b.Root.Path, Why: "it is another folder than the one that was written to"}
	}
	b.fault("recover")
	w, err := b.journal.reopen(t)
	if err != nil {
		return err
	}
	defer w.close() // every record is synced when it is written
	if t.state == recMoved {
		if err := b.finish(t, w); err != nil {
			return err
		}
		rec.Finished = append(rec.Finished, t.ID)
		rec.Left = append(rec.Left, t.left...)
		return nil
	}
	left, err := b.rollBack(t, w, "interrupted", len(t.moves))
	if err != nil {
		return err
	}
	rec.RolledBack = append(rec.RolledBack, t.ID)
	rec.Left = append(rec.Left, left...)
	return nil
}
