package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// bench is everything one call works with: the repository and the journal,
// both locked. It belongs to the goroutine that opened it.
type bench struct {
	Options
	tree    *tree
	journal *journal
	lock    *os.File
}

func openBench(o Options) (*bench, error) {
	if !filepath.IsAbs(o.Root.Path) || !filepath.IsAbs(o.Journal) {
		return nil, errors.New("apply needs absolute paths of repository and journal")
	}
	if inside(o.Journal, o.Root.Path) {
		return nil, fmt.Errorf("the journal %q is inside the repository %q", o.Journal, o.Root.Path)
	}
	b := &bench{Options: o}
	if err := b.open(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func inside(p, root string) bool {
	p, root = filepath.Clean(p), filepath.Clean(root)
	return p == root || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/")
}

func (b *bench) open() (err error) {
	if !b.DryRun {
		if err := os.MkdirAll(filepath.Join(b.Journal, "blobs"), 0o700); err != nil {
			return fmt.Errorf("make the journal: %w", err)
		}
	}
	if b.lock, err = lockFolder(b.Journal); err != nil {
		return err
	}
	if b.journal, err = readJournals(b.Journal); err != nil {
		return err
	}
	if b.tree, err = openTree(b.Root); err == nil {
		b.tree.folds = b.lacks.names
	}
	return err
}

// lockFolder takes the lock on a journal, which is on the folder itself. A
// folder that is not there needs none: only a dry run meets that.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	err = control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	if err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{What: "this session"}
		}
		return nil, fmt.Errorf("lock journal: %w", err)
	}
	return f, nil
}

func (b *bench) close() {
	if b.tree != nil {
		b.tree.close()
	}
	if b.lock != nil {
		_ = control(b.lock, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) }) // as tree.close does
		_ = b.lock.Close()                                                              // a folder, opened for reading: nothing to lose
	}
}

func (b *bench) now() time.Time {
	if b.Now != nil {
		return b.Now()
	}
	return time.Now()
}

func (b *bench) fault(step string) {
	if b.Fault != nil {
		b.Fault(step)
	}
}

// ready recovers what was interrupted, so that the tree is in a known state.
func (b *bench) ready(ctx context.Context) (Recovered, error) {
	if b.DryRun {
		if t := b.journal.interrupted(); t != nil {
			return Recovered{}, &InterruptedError{ID: t.ID}
		}
		return Recovered{}, ctx.Err()
	}
	return b.recover(ctx)
}

func (j *journal) interrupted() *txn {
	for _, t := range j.txns {
		if t.state != recDone && t.state != recRolledBack {
			return t
		}
	}
	return nil
}

// last gives what this journal's applies and undos left at each path, unless it
// holds changes of the host's own: overwriting those would lose them.
func (j *journal) last() map[string]diffreview.Entry {
	last := map[string]diffreview.Entry{}
	for _, t := range j.txns {
		if t.state == recDone {
			for _, m := range t.moves {
				last[m.Path] = m.To.entry()
				if m.merged {
					delete(last, m.Path)
				}
			}
		}
	}
	return last
}

func applied(already []string, moves []move) []string {
	out := slices.Clone(already)
	for _, m := range moves {
		out = append(out, m.Path)
	}
	slices.Sort(out)
	return out
}

func withRaw(list []dirMove) []dirMove {
	for i := range list {
		list[i].Raw = raw(list[i].Path)
	}
	return list
}
