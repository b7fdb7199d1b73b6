package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// fewMoves is how many files are synced one by one; above it one call syncs
// the file system, which was 1.6 to 2.5 times as fast for 20 files on ext4.
const fewMoves = 8

// conflictError ends a run: the host changed between look and swap.
type conflictError struct{ PathWhy }

func (e *conflictError) Error() string { return fmt.Sprintf("%q: %s", e.Path, e.Why) }

func conflict(path, format string, args ...any) error {
	return &conflictError{PathWhy{path, fmt.Sprintf(format, args...)}}
}

// run is the one way in which the tree is changed: write down what is to be
// done, keep what will be displaced, stage what is new, and only then move.
// Until the commit record the tree holds nothing but temporary files; until
// the moved record everything can be and is taken back; after it only
// displaced files remain to be removed.
func (b *bench) run(ctx context.Context, t *txn, from Store) (notes, conflicts []PathWhy, err error) {
	b.fault("begin")
	w, err := b.journal.begin(t)
	if err != nil {
		return nil, nil, err
	}
	defer w.close() // every record is synced when it is written
	b.journal.txns = append(b.journal.txns, t)

	st := make([]*staged, len(t.moves))
	defer func() {
		for _, s := range st {
			s.drop()
		}
	}()
	made := 0
	notes, err = b.prepare(ctx, t, st, from)
	if err == nil {
		b.fault("commit")
		err = w.mark(record{Record: recCommit})
	}
	if err == nil {
		made, err = b.moveAll(ctx, t, st)
	}
	if err == nil {
		// The names have to last before the record that says that they do: a
		// power cut between the two would leave a mix.
		b.fault("sync moved")
		if err = b.syncNames(t); err != nil {
			err = fmt.Errorf("sync the folders: %w", err)
		}
	}
	if err == nil {
		b.fault("moved")
		err = w.mark(record{Record: recMoved})
	}
	if err == nil {
		return notes, nil, b.finish(t, w)
	}

	for _, s := range st {
		s.drop()
	}
	left, rerr := b.rollBack(t, w, err.Error(), made)
	var c *conflictError
	if errors.As(err, &c) {
		left = slices.DeleteFunc(left, func(l PathWhy) bool { return l.Path == c.Path })
		conflicts, err = append([]PathWhy{c.PathWhy}, left...), nil
	} else if len(left) > 0 {
		err = fmt.Errorf("%w; on taking everything back, %q: %s", err, left[0].Path, left[0].Why)
	}
	if rerr != nil {
		err = errors.Join(err, fmt.Errorf("take everything back: %w; it is tried again by the next apply or undo", rerr))
	}
	return nil, conflicts, err
}

// canExchange tries with two empty files of ours what the file system may not
// have: an apply must not find that out between two of its moves. Their names are
// those of two moves, so that a kill leaves nothing that a recovery does not know.
func (b *bench) canExchange(moves []move) error {
	swap := slices.IndexFunc(moves, func(m move) bool { return !m.From.absent() && !m.To.absent() })
	if swap < 0 || len(moves) == 1 { // the one swap is itself the first of what is done
		return nil
	}
	here := parentOf(moves[swap].Temp)
	other := slices.IndexFunc(moves, func(m move) bool { return m.Temp != moves[swap].Temp && parentOf(m.Temp) == here })
	if other < 0 {
		other = slices.IndexFunc(moves, func(m move) bool { return m.Temp != moves[swap].Temp })
	}
	names := []string{moves[swap].Temp, moves[other].Temp}
	err := b.tryExchange(names)
	for i, n := range names {
		b.fault(fmt.Sprintf("untry %d", i))
		err = errors.Join(err, b.remove(n))
	}
	switch {
	case gone(err): // a folder was moved away: the move below it says so
		return nil
	case errors.Is(err, unix.EXDEV): // the two lie on different ones
		return nil
	case err != nil:
		return fmt.Errorf("write beside %q: %w", moves[swap].Path, err)
	}
	return nil
}

func (b *bench) tryExchange(names []string) error {
	for i, n := range names {
		b.fault(fmt.Sprintf("try %d", i))
		f, _, err := b.tree.create(n, false)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	b.fault("try exchange")
	return b.exchange(names[0], names[1])
}

// prepare does all that may run out of space or time, before the tree changes.
func (b *bench) prepare(ctx context.Context, t *txn, st []*staged, from Store) (notes []PathWhy, _ error) {
	if err := b.canExchange(t.moves); err != nil {
		return nil, err
	}
	few := len(t.moves) <= fewMoves
	for i, m := range t.moves {
		if m.From.Kind != diffreview.KindFile {
			continue
		}
		b.fault(fmt.Sprintf("keep %d", i))
		s, stable, err := b.journal.blobs.keep(ctx, b.tree, m.Path, few)
		switch {
		case gone(err), errors.Is(err, errNotRegular):
			return nil, conflict(m.Path, "the host's file was replaced meanwhile")
		case err != nil:
			return nil, err
		case !stable || !same(s, m.From):
			return nil, conflict(m.Path, "the host's file changed meanwhile")
		}
	}
	for i, m := range t.moves {
		if m.To.absent() {
			continue
		}
		b.fault(fmt.Sprintf("stage %d", i))
		s, n, err := b.tree.stage(ctx, m, from, len(t.moves) <= maxNameless && !b.lacks.nameless, few)
		var folder *folderError
		if errors.As(err, &folder) {
			return nil, conflict(m.Path, "the folder above it was moved or replaced meanwhile")
		}
		if err != nil {
			return nil, err
		}
		st[i] = s
		notes = append(notes, n...)
	}
	if few {
		return notes, nil
	}
	b.fault("sync")
	if err := b.journal.blobs.sync(); err != nil {
		return nil, fmt.Errorf("sync what undo needs: %w", err)
	}
	if err := b.tree.syncAll(); err != nil {
		return nil, fmt.Errorf("sync the new files: %w", err)
	}
	return notes, nil
}

// moveAll makes the moves. made counts those of t.moves that were begun.
func (b *bench) moveAll(ctx context.Context, t *txn, st []*staged) (made int, err error) {
	for ; made < len(t.moves) && t.moves[made].To.absent(); made++ {
		if err := ctx.Err(); err != nil {
			return made, err
		}
		if err := b.take(t.moves[made], made); err != nil {
			return made + 1, err
		}
	}
	for _, d := range t.Rmdirs {
		b.fault("rmdir " + d.Path)
		err := b.tree.rmdir(d.Path)
		if err != nil && d.Needed {
			return made, conflict(d.Path, "a file takes the folder's place, and it can't be removed: %v", err)
		}
	}
	for _, d := range t.Mkdirs {
		b.fault("mkdir " + d.Path)
		err := b.tree.mkdir(d)
		if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return made, conflict(d.Path, "something else than a folder appeared there")
		}
		var other *aliasError
		if errors.As(err, &other) {
			return made, conflict(d.Path, "the folder %s", oneName(other.other))
		}
		if err != nil {
			return made, fmt.Errorf("make folder %q: %w", d.Path, err)
		}
	}
	for ; made < len(t.moves); made++ {
		if err := ctx.Err(); err != nil {
			return made, err
		}
		if err := b.put(t.moves[made], st[made], made); err != nil {
			return made + 1, err
		}
	}
	return made, nil
}

// take moves a file that is to be deleted off its name, then looks at it. Only
// after that is it certain that these are the bytes expected.
func (b *bench) take(m move, i int) error {
	if err := b.untouched(m); err != nil {
		return err
	}
	b.fault(fmt.Sprintf("take %d", i))
	if err := b.tree.place(m.Path, m.Temp); err != nil {
		return moveError(m, err)
	}
	b.fault(fmt.Sprintf("check %d", i))
	return b.expected(m)
}

// put writes one file or link to its place.
func (b *bench) put(m move, s *staged, i int) error {
	if m.From.absent() {
		b.fault(fmt.Sprintf("put %d", i))
		err := b.tree.name(s, m, m.Path)
		if errors.Is(err, unix.EEXIST) {
			if other := b.tree.alias(m.Path); other != "" {
				return conflict(m.Path, "%s", oneName(other))
			}
		}
		if err != nil {
			return moveError(m, err)
		}
		return nil
	}
	b.fault(fmt.Sprintf("name %d", i))
	if err := b.tree.name(s, m, m.Temp); err != nil {
		return moveError(m, err)
	}
	if err := b.untouched(m); err != nil {
		return err
	}
	b.fault(fmt.Sprintf("swap %d", i))
	if err := b.exchange(m.Temp, m.Path); err != nil {
		return moveError(m, err)
	}
	b.fault(fmt.Sprintf("check %d", i))
	return b.expected(m)
}

// untouched sees most edits before anything is moved, by inode and time alone.
// The comparison that counts comes after; but each one that fails there has
// shown the new file for a moment to whoever reads the path.
func (b *bench) untouched(m move) error {
	st, err := b.tree.lstat(m.Path)
	if err != nil {
		return moveError(m, err)
	}
	if st.Ino != m.From.ino || st.Ctim.Nano() != m.From.ctime {
		return conflict(m.Path, "the host's file changed meanwhile")
	}
	return nil
}

func (b *bench) exchange(from, to string) error {
	if b.lacks.exchange {
		return noExchange(unix.EINVAL)
	}
	return b.tree.exchange(from, to)
}

// expected compares the displaced file with what was to be displaced.
func (b *bench) expected(m move) error {
	hp := b.tree.settled(m.Temp)
	switch {
	case hp.why != "":
		return conflict(m.Path, "%s", hp.why)
	case !same(hp.state, m.From):
		return conflict(m.Path, "the host's file changed meanwhile")
	}
	return nil
}

func moveError(m move, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return conflict(m.Path, "the host's file is gone")
	case errors.Is(err, unix.EEXIST):
		return conflict(m.Path, "a file appeared on the host meanwhile")
	case errors.Is(err, unix.ELOOP):
		return conflict(m.Path, "a folder above it became a symlink meanwhile")
	case errors.Is(err, unix.ENOTDIR):
		return conflict(m.Path, "a folder above it became a file meanwhile")
	}
	return fmt.Errorf("write %q: %w", m.Path, err)
}

// finish removes the displaced files and makes the names last.
func (b *bench) finish(t *txn, w *writer) error {
	for i, m := range t.moves {
		if m.From.absent() {
			continue
		}
		b.fault(fmt.Sprintf("remove %d", i))
		hp := b.tree.settled(m.Temp)
		if hp.absent() && hp.why == "" {
			continue // removed before an interruption
		}
		if (hp.why != "" || !same(hp.state, m.From)) && !b.tree.linkedElsewhere(m.Temp) {
			// It was compared when it was displaced: somebody edits under the
			// temporary name. Those bytes are theirs.
			t.left = append(t.left, PathWhy{m.Path, fmt.Sprintf("%q was changed and is left where it is", m.Temp)})
			continue
		}
		if err := b.tree.unlink(m.Temp); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove the displaced %q: %w", m.Temp, err)
		}
	}
	b.fault("sync names")
	if err := b.syncNames(t); err != nil {
		return fmt.Errorf("sync the folders: %w", err)
	}
	b.fault("done")
	return w.mark(record{Record: recDone, Left: t.left})
}

// syncNames syncs every folder in which a name changed.
func (b *bench) syncNames(t *txn) error {
	if len(t.moves) > fewMoves {
		return b.tree.syncAll()
	}
	dirs := map[string]bool{}
	for _, m := range t.moves {
		dirs[parentOf(m.Path)], dirs[parentOf(m.Temp)] = true, true
	}
	for _, list := range [][]dirMove{t.Rmdirs, t.Mkdirs} {
		for _, d := range list {
			dirs[parentOf(d.Path)] = true
		}
	}
	for d := range dirs {
		err := b.tree.syncDir(d)
		switch {
		case gone(err): // removed or replaced: its parent is listed
		case errors.Is(err, unix.EACCES): // may be entered, not listed
			return b.tree.syncAll()
		case err != nil:
			return err
		}
	}
	return nil
}
