package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/linediff"
	"fumehood/session/workspace"
)

// branchPlan is what a branch is to get. Targets are against what was copied in:
// the user's uncommitted edits are in there and not in the commit that the branch
// follows, so they stay out, by a merge with the copy as what both started from
// and the commit in the host's place.
type branchPlan struct {
	files  []workspace.CommitFile
	merges []Merge
	// conflicts have no choice yet; left are left out by one.
	conflicts, left, notes []PathWhy
	used                   []usedChoice
	lands                  landing
	risks                  []Risk // of merges

	r    *Review
	at   string // the commit
	to   string // the name of the branch
	have map[string]workspace.TreeFile
}

// branchPlanOf compares what is approved with the commit that the session was
// copied from.
func branchPlanOf(ctx context.Context, repo *workspace.Repo, r *Review, o ApplyOptions, targets []apply.Target) (parent string, p *branchPlan, err error) {
	parent = r.Record.Head
	if parent == "" && !repo.Unborn {
		return "", nil, fmt.Errorf("the repository had no commit when it was copied, and has one now: there is nothing that a branch could follow; %w", workspace.ErrBranch)
	}
	paths := make([]string, len(targets))
	for i, t := range targets {
		paths[i] = t.Path
	}
	p = &branchPlan{r: r, at: parent, to: o.To.Branch, lands: landing{}}
	if p.have, err = repo.FilesOf(ctx, parent, paths); err != nil {
		return "", nil, err
	}
	moves := movesOf(r, targets)
	from := map[string]*apply.Target{}
	for i := range targets {
		if to := moves[targets[i].Path]; to != nil {
			from[to.Path] = &targets[i]
		}
	}
	for i := range targets {
		if err := p.add(&targets[i], from[targets[i].Path]); err != nil {
			return "", nil, fmt.Errorf("%s: %w", diffreview.SafeName(targets[i].Path), err)
		}
	}
	if err := p.judge(o); err != nil {
		return "", nil, err
	}
	// A file goes only where it arrives: else the branch would have it nowhere.
	for old, to := range moves {
		at := slices.IndexFunc(p.files, func(f workspace.CommitFile) bool { return f.Path == old })
		itself := said(p.conflicts, old) || said(p.left, old)
		if at >= 0 && (itself || said(p.conflicts, to.Path) || said(p.left, to.Path)) {
			p.files = slices.Delete(p.files, at, at+1)
			if !itself {
				p.left = append(p.left, PathWhy{old, staysWhere(to.Path)})
			}
		}
	}
	slices.SortFunc(p.merges, func(a, b Merge) int { return cmp.Compare(a.Path, b.Path) })
	return parent, p, nil
}

// judge has the risk rules look at what merges come to.
func (p *branchPlan) judge(o ApplyOptions) error {
	all := make([]*Merge, len(p.merges))
	for i := range p.merges {
		all[i] = &p.merges[i]
	}
	if err := p.r.judgeMerges(all); err != nil {
		return err
	}
	for _, m := range all {
		path := cmp.Or(m.To, m.Path)
		at := slices.IndexFunc(p.files, func(f workspace.CommitFile) bool { return f.Path == path })
		if at < 0 {
			continue
		}
		if why := m.held(o); why != "" {
			p.files = slices.Delete(p.files, at, at+1)
			p.conflicts = append(p.conflicts, PathWhy{path, why})
			continue
		}
		p.risks = append(p.risks, m.told()...)
	}
	return nil
}

func said(list []PathWhy, path string) bool {
	return slices.ContainsFunc(list, func(w PathWhy) bool { return w.Path == path })
}

// read gives the content of an entry that the session's store has.
func (p *branchPlan) read(e diffreview.Entry) ([]byte, error) {
	if e.Kind != diffreview.KindFile {
		return []byte(e.Target), nil
	}
	return p.r.Snap.Content(e.Blob, MaxContent)
}

// add plans one target. from is where an approved rename takes it from: what the
// commit has there is then joined with it.
func (p *branchPlan) add(t, from *apply.Target) (err error) {
	x := apply.Differs{Target: *t, Ancestor: t.Base}
	has := p.have[t.Path]
	var moved *apply.Target
	if from != nil && has.Mode == "" && from.Base.Kind == diffreview.KindFile {
		x.Target, x.Ancestor = *from, from.Base
		if old := p.have[from.Path]; old.Mode == "100644" || old.Mode == "100755" {
			has, moved = old, t
		}
	}
	f := workspace.CommitFile{Path: t.Path, Entry: t.Want}
	switch {
	case has.Mode == "160000":
		p.conflicts = append(p.conflicts, PathWhy{t.Path, "a submodule is there in the commit"})
		return nil
	case t.Want.Kind == diffreview.KindAbsent:
		if has.Mode != "" {
			p.files = append(p.files, f)
		}
		return nil
	case has.Mode == "":
		if x.Ancestor.Kind != diffreview.KindAbsent {
			p.note(t.Path, "is in no commit yet: the branch has the whole file, your part of it too")
		}
		f.Data, err = p.read(t.Want)
		p.files = append(p.files, f)
		return err
	}
	if x.Found, err = p.found(has); err != nil {
		return err
	}
	if x.Content = has.Data; len(has.Data) > linediff.MaxBytes {
		x.Content = nil
	}
	alike, err := p.alike(&f, &x, has.Data)
	if err != nil || alike {
		p.files = append(p.files, f)
		return err
	}
	return p.merge(f, x, moved)
}

// found is what the commit has as an entry, to be compared with others.
func (p *branchPlan) found(has workspace.TreeFile) (e diffreview.Entry, err error) {
	if has.Mode == "120000" {
		return diffreview.Entry{Kind: diffreview.KindSymlink, Target: string(has.Data)}, nil
	}
	e = diffreview.Entry{Kind: diffreview.KindFile, Exec: has.Mode == "100755", Size: int64(len(has.Data))}
	e.Blob, err = p.r.Snap.PutBlob(has.Data)
	return e, err
}

// alike fills f in where the commit has what was copied in, but for line endings
// that git converts: what is approved goes in as it is.
func (p *branchPlan) alike(f *workspace.CommitFile, x *apply.Differs, has []byte) (bool, error) {
	if x.Found.Kind != x.Ancestor.Kind {
		return false, nil
	}
	base, err := p.read(x.Ancestor)
	if err != nil {
		return false, err
	}
	if f.Data, err = p.read(f.Entry); err != nil {
		return false, err
	}
	file := f.Entry.Kind == diffreview.KindFile
	if !bytes.Equal(base, has) {
		text, ok := []byte(nil), false
		if file && x.Found.Kind == diffreview.KindFile {
			text, ok = diffreview.SameButEnds(base, has, f.Data)
		}
		if !ok {
			return false, nil
		}
		f.Data = text
	}
	if file && x.Found.Kind == diffreview.KindFile {
		f.Entry.Exec = joinExec(x.Ancestor, x.Found, f.Entry)
	}
	return true, nil
}

// merge joins what is approved with what the commit has, as far as every
// conflict is settled.
func (p *branchPlan) merge(f workspace.CommitFile, x apply.Differs, moved *apply.Target) error {
	m, err := mergeOf(x, p.r, moved)
	if err != nil {
		return err
	}
	m.Commit = p.at
	there := m.there(x.Content)
	if !there || m.conflicts() {
		p.merges = append(p.merges, m)
	}
	if leave := m.leave(); leave != "" {
		p.left = append(p.left, PathWhy{m.Path, leave})
		p.use(m.ID)
		return nil
	}
	if m.Open > 0 {
		p.conflicts = append(p.conflicts, PathWhy{m.Path, p.conflict(&m)})
		return nil
	}
	p.use(m.ID)
	for i := range m.Parts {
		p.use(m.Parts[i].ID)
	}
	base := x.Target.Base
	if moved != nil {
		base = moved.Base
	}
	p.lands.put(f.Path, base, &m)
	if there {
		return nil
	}
	if f.Entry, f.Data = m.want, m.text; f.Data == nil {
		if f.Data, err = p.read(m.want); err != nil {
			return err
		}
	}
	p.files = append(p.files, f)
	switch {
	case m.Why != "":
		p.note(f.Path, "as it is approved, in place of what the commit has, as you chose")
	case m.conflicts():
		p.note(f.Path, "without your uncommitted edits, but for what you chose where the approved ones are of the same lines")
	default:
		p.note(f.Path, "without your uncommitted edits")
	}
	return nil
}

// conflict says why the branch can't have a file, and what settles it. It would
// not help to commit: the branch follows the commit that was copied.
func (p *branchPlan) conflict(m *Merge) string {
	settle := fmt.Sprintf("settle it in \"fumehood review --to branch:%s\" (key M), or apply to the work tree", p.to)
	switch {
	case m.Base.Kind == diffreview.KindAbsent:
		return fmt.Sprintf("the commit %.12s has another file there, which was not copied in: %s", p.at, settle)
	case m.Why != "":
		return fmt.Sprintf("your uncommitted change of it is not in the commit %.12s, and it can't be merged by lines (%s): %s", p.at, m.Why, settle)
	}
	return fmt.Sprintf("your uncommitted edits and the approved ones are of the same lines, and the commit %.12s has none of them: %s", p.at, settle)
}

func (p *branchPlan) note(path, text string) { p.notes = append(p.notes, PathWhy{path, text}) }

func (p *branchPlan) use(id string) {
	if c, ok := p.r.Decisions.Resolutions[id]; ok && id != "" {
		p.used = append(p.used, usedChoice{id, c})
	}
}

// hash names what would be committed and what would not be, as applyPlan's does.
func (p *branchPlan) hash(parent string) string {
	h := sha256.New()
	// A hash takes all.
	_, _ = fmt.Fprintf(h, "%q %q\n", p.to, parent)
	files := slices.Clone(p.files)
	slices.SortFunc(files, func(a, b workspace.CommitFile) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%q %q %q %x\n", f.Path, f.Entry.Mode(), f.Entry.Target, sha256.Sum256(f.Data))
	}
	for _, list := range [][]PathWhy{p.conflicts, p.left} {
		_, _ = fmt.Fprintf(h, "%q\n", list)
	}
	return hex.EncodeToString(h.Sum(nil))
}
