package apply

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// rollBack takes a run back that did not come to its moved record. Each path
// and its temporary name tell by their bytes how far the move came, so it works
// from the journal alone and can itself be interrupted and repeated. Made is
// how many moves were begun. What the host's user changed in the meantime is
// left alone and named.
func (b *bench) rollBack(t *txn, w *writer, why string, made int) ([]PathWhy, error) {
	if t.state == recBegin {
		made = 0
	}
	var left []PathWhy
	back := func(i int, undo func(move) (string, error)) error {
		b.fault(fmt.Sprintf("back %d", i))
		s, err := undo(t.moves[i])
		if s != "" {
			left = append(left, PathWhy{t.moves[i].Path, s})
		}
		return err
	}
	deletes := 0
	for deletes < len(t.moves) && t.moves[deletes].To.absent() {
		deletes++
	}
	for i := len(t.moves) - 1; i >= 0; i-- {
		m := t.moves[i]
		var err error
		switch {
		case i >= made: // not begun: there may be staged content, nothing else
			err = back(i, b.unstage)
		case i < deletes:
			continue
		case m.From.absent():
			err = back(i, b.unput)
		default:
			err = back(i, b.unswap)
		}
		if err != nil {
			return left, err
		}
	}
	if t.state != recBegin {
		if err := b.backFolders(t); err != nil {
			return left, err
		}
		for i := min(deletes, made) - 1; i >= 0; i-- {
			if err := back(i, b.untake); err != nil {
				return left, err
			}
		}
	}
	b.fault("back sync")
	if err := b.syncNames(t); err != nil {
		return left, fmt.Errorf("sync the folders: %w", err)
	}
	b.fault("rolled back")
	return left, w.mark(record{Record: recRolledBack, Left: left, Why: why})
}

func (b *bench) backFolders(t *txn) error {
	for i := len(t.Mkdirs) - 1; i >= 0; i-- {
		b.fault("back mkdir " + t.Mkdirs[i].Path)
		// One with a file in it stays, and that file was named.
		err := b.tree.rmdir(t.Mkdirs[i].Path)
		if err != nil && !gone(err) && !errors.Is(err, unix.ENOTEMPTY) {
			return fmt.Errorf("remove folder %q: %w", t.Mkdirs[i].Path, err)
		}
	}
	for i := len(t.Rmdirs) - 1; i >= 0; i-- {
		d := t.Rmdirs[i]
		b.fault("back rmdir " + d.Path)
		err := b.tree.mkdir(d)
		if err != nil && !errors.Is(err, unix.EEXIST) && !gone(err) {
			return fmt.Errorf("make folder %q again: %w", d.Path, err)
		}
	}
	return nil
}

// gone: the name is not there, or can't be reached through folders any more.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// unstage removes staged content that was never moved, and what canExchange
// left. The name is random and was written down before anything stood there, so it
// is ours.
func (b *bench) unstage(m move) (string, error) {
	return "", b.remove(m.Temp)
}

func (b *bench) remove(temp string) error {
	if err := b.tree.unlink(temp); err != nil && !gone(err) {
		return fmt.Errorf("remove %q: %w", temp, err)
	}
	return nil
}

// unswap brings back a file that was replaced. Under the temporary name stands
// our new content (not swapped yet), or what was displaced.
func (b *bench) unswap(m move) (string, error) {
	temp := b.tree.settled(m.Temp)
	host, err := b.tree.look(context.Background(), m.Path)
	if err != nil {
		return "", err
	}
	switch {
	case temp.why == "" && same(temp.state, m.To):
		return "", b.remove(m.Temp)
	case temp.why == "" && temp.absent():
		if host.why != "" || !same(host.state, m.To) {
			if host.why == "" && same(host.state, m.From) {
				return "", nil // never swapped
			}
			return "is not what was found there" + b.kept(m), nil
		}
		// Swapped, and somebody removed the displaced file: it is kept.
		if err := b.again(m, m.Temp); err != nil {
			return b.notAgain(m, err)
		}
		temp = b.tree.settled(m.Temp)
	case host.why == "" && !same(host.state, m.To):
		return b.salvage(m, temp)
	}
	b.fault("swap back " + m.Path)
	if err := b.tree.exchange(m.Temp, m.Path); err != nil {
		if gone(err) {
			return b.salvage(m, temp)
		}
		return "", fmt.Errorf("bring back %q: %w", m.Path, err)
	}
	b.fault("check back " + m.Path)
	if ours := b.tree.settled(m.Temp); ours.why != "" || !same(ours.state, m.To) {
		// Edited between look and swap: that edit is the newest, so it stays.
		if err := b.tree.exchange(m.Temp, m.Path); err != nil {
			return fmt.Sprintf("edited while it was brought back; the edit is in %q", m.Temp), nil //nolint:nilerr // both are on disk and named
		}
		return b.salvage(m, temp)
	}
	return "", b.remove(m.Temp)
}

// salvage ends a swap whose place the user has edited since: their file stays,
// and what was displaced is kept where undo's content is, or where it stands.
func (b *bench) salvage(m move, temp hostPath) (string, error) {
	if temp.why == "" && same(temp.state, m.From) {
		return "changed since" + b.kept(m), b.remove(m.Temp)
	}
	return fmt.Sprintf("changed since, so it is left as it is; what stood there before is %q", m.Temp), nil
}

// kept ends a sentence with where the bytes are that a move displaced.
func (b *bench) kept(m move) string {
	const as = ", so it is left as it is; what stood there before is "
	switch m.From.Kind {
	case diffreview.KindFile:
		return as + b.journal.blobs.path(m.From.Blob)
	case diffreview.KindSymlink:
		return as + fmt.Sprintf("a symlink to %q", string(m.From.Target))
	case diffreview.KindAbsent:
	}
	return ", so it is left as it is"
}

// notAgain tells a folder that somebody moved away, which no later try would
// mend, from a failure that may pass.
func (b *bench) notAgain(m move, err error) (string, error) {
	if gone(err) {
		return "its folder was moved or replaced" + b.kept(m), nil
	}
	return "", fmt.Errorf("bring back %q: %w", m.Path, err)
}

// unput takes a new file away again.
func (b *bench) unput(m move) (string, error) {
	temp := b.tree.settled(m.Temp)
	if !temp.absent() || temp.why != "" {
		if temp.why == "" && same(temp.state, m.To) {
			return "", b.remove(m.Temp) // not placed yet, or taken away already
		}
		// Taken away by an interrupted rollback, and not ours after all.
		return b.putBack(m)
	}
	host, err := b.tree.look(context.Background(), m.Path)
	if err != nil {
		return "", err
	}
	switch {
	case host.why == "" && (host.absent() || host.Kind == kindFolder):
		return "", nil // a folder: it was not out of the way yet
	case b.tree.alias(m.Path) != "":
		return "", nil // it is the file of another name, which was not out of the way yet
	case host.why != "" || !same(host.state, m.To):
		return "holds other bytes than were written, so it is left as it is", nil
	}
	b.fault("take back " + m.Path)
	if err := b.tree.place(m.Path, m.Temp); err != nil {
		if gone(err) {
			return "", nil
		}
		return "", fmt.Errorf("take %q away again: %w", m.Path, err)
	}
	b.fault("check back " + m.Path)
	if temp := b.tree.settled(m.Temp); temp.why != "" || !same(temp.state, m.To) {
		return b.putBack(m)
	}
	return "", b.remove(m.Temp)
}

func (b *bench) putBack(m move) (string, error) {
	if err := b.tree.place(m.Temp, m.Path); err != nil {
		return fmt.Sprintf("changed since; the changed file is %q", m.Temp), nil //nolint:nilerr // it is on disk and named
	}
	return "changed since, so it is left as it is", nil
}

// untake brings a deleted file back.
func (b *bench) untake(m move) (string, error) {
	temp := b.tree.settled(m.Temp)
	host, err := b.tree.look(context.Background(), m.Path)
	if err != nil {
		return "", err
	}
	free := host.why == "" && host.absent()
	if temp.why == "" && temp.absent() {
		if !free {
			return "", nil // never taken, or made anew since
		}
		if err := b.again(m, m.Path); err != nil {
			return b.notAgain(m, err)
		}
		return "", nil
	}
	if free {
		b.fault("untake " + m.Path)
		err := b.tree.place(m.Temp, m.Path)
		if err == nil {
			return "", nil
		}
		if !errors.Is(err, unix.EEXIST) {
			return b.notAgain(m, err)
		}
	}
	return b.salvage(m, temp)
}

// again writes what a move displaced once more, from what was kept.
func (b *bench) again(m move, at string) error {
	to := m.From
	to.Restore, to.Mode = true, to.Mode&0o777
	back := move{Path: m.Path, To: to, Temp: m.Temp}
	s, _, err := b.tree.stage(context.Background(), back, b.journal.blobs, true, true)
	if err != nil {
		return err
	}
	defer s.drop()
	return b.tree.name(s, back, at)
}
