package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/merge"
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
	content := func(b diffreview.Blob) ([]byte, error) { return r.Snap.Content(b, MaxContent) }
	which := diffreview.Which{ApprovedOnly: true, Only: o.Only, SHA256: r.Record.ObjectFormat == "sha256"}
	if err := diffreview.Patch(&b, r.Set, content, which); err != nil {
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
	repo, err := h.sameRepository(ctx, r, o)
	if err != nil {
		return out, err
	}
	parent := r.Record.Head
	if parent == "" && !repo.Unborn {
		return out, fmt.Errorf("the repository had no commit when it was copied, and has one now: there is nothing that a branch could follow; %w", workspace.ErrBranch)
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
	files, err := commitFiles(ctx, repo, r, parent, targets, &out)
	if err != nil {
		return out, err
	}
	switch {
	case len(out.Conflicts) > 0 && !o.SkipConflicts:
		return out, fmt.Errorf("the branch would lose or take in work of yours; %w", ErrNothing)
	case len(files) == 0:
		return out, fmt.Errorf("the commit %.12s has all that is approved already; %w", parent, ErrNothing)
	}
	out.Skipped, out.Conflicts = append(out.Skipped, out.Conflicts...), []PathWhy{}
	for _, f := range files {
		out.Applied = append(out.Applied, f.Path)
	}
	out.Changes = changesOf(targets, out.Applied)
	if out.Branch = o.To.Branch; o.DryRun {
		return out, nil
	}
	message := o.To.Message
	if message == "" {
		message = fmt.Sprintf("Changes of session %s\n\nApproved by %s in fumehood.\n", r.Record.Name, h.User)
	}
	out.Commit, err = h.makeBranch(ctx, d, repo, workspace.Commit{
		Branch: o.To.Branch, Parent: parent, Author: o.To.Author, Message: message, Files: files,
	}, map[string]any{"paths": out.Applied, "skipped": out.Skipped, "targets": targets})
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

// commitFiles turns targets, which are against what was copied in, into what the
// commit's parent has to become. Uncommitted edits of the user are in the copy
// and not in the parent: they stay out, by a merge with the copy as the base.
func commitFiles(ctx context.Context, repo *workspace.Repo, r *Review, parent string, targets []apply.Target, out *Applied) ([]workspace.CommitFile, error) {
	paths := make([]string, len(targets))
	for i, t := range targets {
		paths[i] = t.Path
	}
	have, err := repo.FilesOf(ctx, parent, paths)
	if err != nil {
		return nil, err
	}
	var files []workspace.CommitFile
	for _, t := range targets {
		f, why, err := commitFile(r, t, have[t.Path], out)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", diffreview.SafeName(t.Path), err)
		}
		if why != "" {
			out.Conflicts = append(out.Conflicts, PathWhy{t.Path, why})
		} else if f != nil {
			files = append(files, *f)
		}
	}
	// A file goes only where it arrives: else the branch would have it nowhere.
	for from, to := range movesOf(r, targets) {
		if at := slices.IndexFunc(files, func(f workspace.CommitFile) bool { return f.Path == from }); at >= 0 && conflictAt(out, to.Path) {
			files = slices.Delete(files, at, at+1)
			out.Conflicts = append(out.Conflicts, PathWhy{from, staysWhere(to.Path)})
		}
	}
	return files, nil
}

func conflictAt(out *Applied, path string) bool {
	return slices.ContainsFunc(out.Conflicts, func(c PathWhy) bool { return c.Path == path })
}

// commitFile is one of them: nil where the parent needs no change, why where it
// can't have it.
func commitFile(r *Review, t apply.Target, have workspace.TreeFile, out *Applied) (f *workspace.CommitFile, why string, err error) {
	read := func(e diffreview.Entry) ([]byte, error) {
		if e.Kind != diffreview.KindFile {
			return []byte(e.Target), nil
		}
		return r.Snap.Content(e.Blob, MaxContent)
	}
	base, err := read(t.Base)
	if err != nil {
		return nil, "", err
	}
	want, err := read(t.Want)
	if err != nil {
		return nil, "", err
	}
	f = &workspace.CommitFile{Path: t.Path, Entry: t.Want, Data: want}
	isLink := func(mode string) bool { return mode == "120000" }
	switch {
	case have.Mode == "160000":
		return nil, "a submodule is there in the commit", nil
	case t.Want.Kind == diffreview.KindAbsent && have.Mode == "":
		return nil, "", nil
	case t.Want.Kind == diffreview.KindAbsent:
		return f, "", nil
	case have.Mode == "" && t.Base.Kind != diffreview.KindAbsent:
		out.Notes = append(out.Notes, PathWhy{t.Path, "is in no commit yet: the branch has the whole file, your part of it too"})
		return f, "", nil
	case have.Mode == "":
		return f, "", nil
	case t.Base.Kind == diffreview.KindAbsent:
		return nil, "the commit has a file there that was not copied in", nil
	case isLink(have.Mode) != (t.Base.Kind == diffreview.KindSymlink):
		return nil, "the commit has another kind of file there than what was copied in", nil
	}
	// The bit is merged like text: what the approved part changed wins.
	if t.Want.Kind == diffreview.KindFile && t.Base.Kind == diffreview.KindFile && t.Want.Exec == t.Base.Exec {
		f.Entry.Exec = have.Mode == "100755"
	}
	if bytes.Equal(base, have.Data) {
		return f, "", nil
	}
	if t.Want.Kind != diffreview.KindFile || t.Base.Kind != diffreview.KindFile {
		return nil, "your uncommitted change of it is not in the commit", nil
	}
	if text, ok := diffreview.SameButEnds(base, have.Data, want); ok {
		f.Data = text
		return f, "", nil
	}
	if why := merge.Unfit(base, have.Data, want); why != "" {
		return nil, "your uncommitted change of it is not in the commit, and it can't be merged: " + why, nil
	}
	text, err := merge.Text(merge.Lines(t.Path, base, have.Data, want))
	if err != nil {
		return nil, "your uncommitted edits and the approved ones are of the same lines: commit yours first, or apply to the work tree", nil //nolint:nilerr // that is the answer
	}
	f.Data = text
	out.Notes = append(out.Notes, PathWhy{t.Path, "without your uncommitted edits"})
	return f, "", nil
}
