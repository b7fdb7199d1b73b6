package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/internal/atomicfile"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// ApplyTo is where an apply writes to; the zero value is the work tree.
type ApplyTo struct {
	Branch          string // a new branch of the repository, without refs/heads/
	Message, Author string // of its commit
	Patch           string // a new file
}

// ParseTo reads what --to was given.
func ParseTo(s string) (ApplyTo, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case s == "" || s == "worktree":
		return ApplyTo{}, nil
	case kind == "branch" && rest != "":
		return ApplyTo{Branch: rest}, nil
	case kind == "patch" && rest != "":
		return ApplyTo{Patch: rest}, nil
	}
	return ApplyTo{}, fmt.Errorf("%q is nowhere to apply to: worktree, branch:NAME or patch:FILE", s)
}

// toPatch writes what is approved to a new file, as git apply takes it.
func (h *Host) toPatch(d store.Dir, r *Review, o ApplyOptions, targets []apply.Target, out Applied) (Applied, error) {
	if _, err := os.Lstat(o.To.Patch); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errors.New("it is there already; choose another name")
		}
		return out, fmt.Errorf("write the patch to %q: %w", o.To.Patch, err)
	}
	var b bytes.Buffer
	which := diffreview.Which{ApprovedOnly: true, Only: o.Only, SHA256: r.Record.ObjectFormat == "sha256"}
	if err := diffreview.Patch(&b, r.Set, r.Content, which); err != nil {
		return out, err
	}
	for _, t := range targets {
		out.Applied = append(out.Applied, t.Path)
	}
	out.Changes = changesOf(targets, out.Applied)
	if out.Patch = o.To.Patch; o.DryRun {
		return out, nil
	}
	if err := atomicfile.Write(o.To.Patch, b.Bytes(), 0o644); err != nil {
		return out, fmt.Errorf("write the patch: %w", err)
	}
	return out, d.AppendEvent(time.Now(), "patch written", countOf(out.Applied), map[string]any{
		"by": h.User, "tty": h.TTY, "file": o.To.Patch, "paths": out.Applied, "targets": targets,
	})
}

// toBranch makes a commit of what is approved, on a branch of its own, on top of
// the commit that the session was copied from.
func (h *Host) toBranch(ctx context.Context, d store.Dir, r *Review, o ApplyOptions, targets []apply.Target, out Applied) (Applied, error) {
	out.Branch = o.To.Branch
	repo, err := h.sameRepository(ctx, r, o)
	if err != nil {
		return out, err
	}
	if !o.DryRun {
		list, err := h.settleBranches(ctx, d, r, o.Repo)
		if err == nil {
			err = freeName(ctx, list, repo, o.To.Branch)
		}
		if err != nil {
			return out, err
		}
	}
	if err := repo.CheckBranch(ctx, o.To.Branch); err != nil {
		return out, err
	}
	parent, p, err := branchPlanOf(ctx, repo, r, o, targets)
	if err != nil {
		return out, err
	}
	part, err := judgePart(r, o, p.landing(o), &out)
	if err != nil {
		return out, err
	}
	out.Parent, out.Plan, out.Notes = parent, shownAs(p.hash(parent), r.Set, o.Only, part), p.notes
	out.Risks = append(out.Risks, p.risks...)
	if o.Plan != "" && o.Plan != out.Plan {
		return out, errStale
	}
	out.Conflicts, out.Skipped = append(out.Conflicts, p.conflicts...), append(out.Skipped, p.left...)
	switch {
	case len(out.Conflicts) > 0 && !o.SkipConflicts:
		return out, fmt.Errorf("the branch would lose or take in work of yours; %w", ErrNothing)
	case len(p.files) == 0 && len(out.Conflicts)+len(p.left) > 0:
		return out, fmt.Errorf("all that is approved and not in the commit %.12s is left out; %w", parent, ErrNothing)
	case len(p.files) == 0:
		return out, fmt.Errorf("the commit %.12s has all that is approved already; %w", parent, ErrNothing)
	}
	out.Skipped, out.Conflicts = append(out.Skipped, out.Conflicts...), []PathWhy{}
	for _, f := range p.files {
		out.Applied = append(out.Applied, f.Path)
	}
	if out.Changes = changesOf(targets, out.Applied); o.DryRun {
		return out, nil
	}
	message := o.To.Message
	if message == "" {
		message = fmt.Sprintf("Changes of session %s\n\nApproved by %s in fumehood.\n", r.Record.Name, h.User)
	}
	out.Commit, err = h.makeBranch(ctx, d, repo, workspace.Commit{
		Branch: o.To.Branch, Parent: parent, Author: o.To.Author, Message: message, Files: p.files,
	}, map[string]any{"paths": out.Applied, "skipped": out.Skipped, "targets": targets, "resolutions": p.used})
	return out, err
}

// sameRepository finds the repository and refuses when it is another one than
// the session was copied from.
func (h *Host) sameRepository(ctx context.Context, r *Review, o ApplyOptions) (*workspace.Repo, error) {
	rec := r.Record
	where := rec.Repo
	if o.Repo != "" {
		where = o.Repo
	}
	repo, err := workspace.Inspect(ctx, where, h.Home)
	if err != nil {
		return nil, err
	}
	switch {
	case !repo.Git:
		return nil, fmt.Errorf("%q is no git repository: it has no branches; %w", where, workspace.ErrBranch)
	case o.Repo == "" && (repo.Root != rec.Repo || repo.GitDev != rec.GitDev || repo.GitIno != rec.GitIno):
		return nil, &apply.MovedError{Path: rec.Repo, Why: "its git folder is another one by now; --repo names where it is"}
	}
	return repo, nil
}
