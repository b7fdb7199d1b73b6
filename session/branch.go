package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fumehood/diffreview/apply"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// makeBranch makes a commit and its branch, and records them: the intention
// first, so that a kill at any point leaves no branch that undo does not know.
// fields go into the event. The caller holds the lock and has settled what was
// interrupted before.
func (h *Host) makeBranch(ctx context.Context, d store.Dir, repo *workspace.Repo, c workspace.Commit, fields map[string]any) (string, error) {
	list, err := d.Branches()
	if err != nil {
		return "", err
	}
	// One name for all: a folder that a kill left is replaced by the next.
	c.Temp = filepath.Join(string(d), "commit")
	if err := os.RemoveAll(c.Temp); err != nil {
		return "", err
	}
	if err := os.Mkdir(c.Temp, 0o700); err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(c.Temp) }() // a copy of what the store has
	c.Intend = func(commit string) error {
		// The same commit is intended again when it is made within the same second.
		list = slices.DeleteFunc(list, func(b store.Branch) bool { return b.Intended && b.Name == c.Branch && b.Commit == commit })
		paths, _ := fields["paths"].([]string)
		list = append(list, store.Branch{
			Name: c.Branch, Commit: commit, Parent: c.Parent, At: time.Now().UTC(), By: h.User, TTY: h.TTY, Intended: true, Paths: paths,
		})
		return d.SaveBranches(list)
	}
	commit, err := repo.Make(ctx, c)
	if err != nil {
		// Where git was stopped the intention stays: a child of it may still be at it.
		if n := len(list); n > 0 && list[n-1].Intended && ctx.Err() == nil {
			err = errors.Join(err, d.SaveBranches(list[:n-1]))
		}
		return "", err
	}
	return commit, h.made(d, list, len(list)-1, fields)
}

// made records that a branch is there. The event comes first: after a kill
// between the two it is told again, and not missing.
func (h *Host) made(d store.Dir, list []store.Branch, at int, fields map[string]any) error {
	b := &list[at]
	fields["by"], fields["tty"], fields["branch"], fields["commit"], fields["parent"] = b.By, b.TTY, b.Name, b.Commit, b.Parent
	if err := d.AppendEvent(time.Now(), "applied", "to branch "+b.Name, fields); err != nil {
		return err
	}
	b.Intended, b.Paths = false, nil
	return d.SaveBranches(list)
}

// settleBranches looks for the branches that an interrupted apply meant to make,
// and records those that are there. An intention without its branch stays one: a
// git that outlived its fumehood may make it yet.
func (h *Host) settleBranches(ctx context.Context, d store.Dir, r *Review, repo string) (list []store.Branch, err error) {
	if list, err = d.Branches(); err != nil {
		return nil, err
	}
	for i := range list {
		if !list[i].Intended {
			continue
		}
		where, err := h.sameRepository(ctx, r, ApplyOptions{Repo: repo})
		if err != nil {
			return nil, err
		}
		there, err := where.HasBranch(ctx, list[i].Name, list[i].Commit)
		if err != nil {
			return nil, err
		}
		if there {
			if err := h.made(d, list, i, map[string]any{"paths": list[i].Paths, "interrupted": true}); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// freeName refuses a branch that an apply of this session made and that is as it
// was left: an apply that was interrupted may have, unseen.
func freeName(ctx context.Context, list []store.Branch, repo *workspace.Repo, name string) error {
	for _, b := range list {
		if b.Name != name || b.Intended || !b.Undone.IsZero() {
			continue
		}
		if there, err := repo.HasBranch(ctx, b.Name, b.Commit); err != nil || there {
			return cmp.Or(err, fmt.Errorf("the branch %q is there already: an apply of this session made it on %s; \"fumehood undo\" takes it away, or choose another name; %w",
				name, b.At.Local().Format("2 Jan at 15:04:05"), workspace.ErrBranch))
		}
	}
	return nil
}

// undoBranch takes the newest branch back that an apply made, if it was made
// after the newest apply to the work tree that stands. done is false where there
// is none.
func (h *Host) undoBranch(ctx context.Context, d store.Dir, r *Review, repo string, out *Applied) (done bool, err error) {
	list, err := h.settleBranches(ctx, d, r, repo)
	if err != nil {
		return false, err
	}
	at := -1
	for i, b := range list {
		if b.Undone.IsZero() && !b.Intended {
			at = i
		}
	}
	if at < 0 {
		return false, nil
	}
	history, err := apply.History(d.Journal())
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(history, func(e apply.Entry) bool {
		return e.Kind == "apply" && e.State == "done" && e.UndoneBy == "" && e.At.After(list[at].At)
	}) {
		return false, nil
	}
	b := list[at]
	where, err := h.sameRepository(ctx, r, ApplyOptions{Repo: repo})
	if err != nil {
		return false, err
	}
	moved, err := where.RemoveBranch(ctx, b.Name, b.Commit)
	if err != nil {
		return false, err
	}
	if moved != "" {
		out.Conflicts = append(out.Conflicts, PathWhy{filepath.Join("refs/heads", b.Name), moved})
		return true, ErrConflict
	}
	out.Branch, out.Commit = b.Name, b.Commit
	// As in made: after a kill between the two, the same branch is undone again.
	err = d.AppendEvent(time.Now(), "undone", "branch "+b.Name, map[string]any{
		"by": h.User, "tty": h.TTY, "branch": b.Name, "commit": b.Commit,
	})
	if err != nil {
		return true, err
	}
	list[at].Undone = time.Now().UTC()
	return true, d.SaveBranches(list)
}
