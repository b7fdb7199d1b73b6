package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/risk"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// ApplyOptions narrow an apply.
type ApplyOptions struct {
	All           bool     // approve every undecided unit first, but not under an open warn or danger finding
	AcceptRisk    []string // rules whose findings do not hold All back
	Only          func(path string) bool
	DryRun        bool // nothing is written and no decision recorded
	SkipConflicts bool
	// Merge writes merges with the host's own changes, as far as no conflict is
	// open; else each file that the host changed is a conflict.
	Merge bool
	// Plan, when not empty, is Applied.Plan of a dry run: nothing is written unless
	// it would still be the same.
	Plan string
	Repo string // re-points a session to where its repository is now
	// Ignored are pathspecs of paths that the baseline's rules ignore; without
	// one no such path is approved or written.
	Ignored []string
	To      ApplyTo
}

func onlyText(only func(string) bool) string {
	if only == nil {
		return ""
	}
	return "that fits --only "
}

// changesOf says what each path that was written became.
func changesOf(targets []apply.Target, written []string) []PathWhy {
	out := []PathWhy{}
	for _, t := range targets {
		if !slices.Contains(written, t.Path) {
			continue
		}
		kind := "modified"
		switch {
		case t.Base.Kind == diffreview.KindAbsent:
			kind = "added"
		case t.Want.Kind == diffreview.KindAbsent:
			kind = "deleted"
		case t.Base.Kind != t.Want.Kind:
			kind = "type"
		case t.Base.Blob == t.Want.Blob && t.Base.Target == t.Want.Target:
			kind = "mode"
		}
		out = append(out, PathWhy{t.Path, kind})
	}
	return out
}

// ErrNothing says that there was nothing to write; what wraps it says why.
var ErrNothing = errors.New("nothing was written")

// ErrNothingToUndo says that no apply stands.
var ErrNothingToUndo = errors.New("there is no apply to take back; nothing was written")

// ErrConflict says that the host changed; nothing was written.
var ErrConflict = errors.New("the host's files changed since the copy; nothing was written")

// Apply writes what is approved of a fresh snapshot to the host's work tree,
// all or nothing.
func (h *Host) Apply(ctx context.Context, d store.Dir, o ApplyOptions) (Applied, error) {
	if err := knownRules(o.AcceptRisk); err != nil {
		return Applied{}, err
	}
	r, err := h.Review(ctx, d, o.All, o.Ignored...)
	if err != nil {
		return Applied{}, err
	}
	narrow := onlyText(o.Only)
	if o.Only, err = withoutIgnored(r.Set, o); err != nil {
		return Applied{}, err
	}
	out := Applied{Session: r.Record.ID, Applied: []string{}, Changes: []PathWhy{}, Merged: []PathWhy{}, Conflicts: []PathWhy{}, Skipped: []PathWhy{}, Risks: []Risk{}}
	if o.All {
		skipped, err := h.approveAll(ctx, d, r, o)
		if err != nil {
			return out, err
		}
		out.Skipped = append(out.Skipped, skipped...)
	}
	unlock, err := d.Lock()
	if err != nil {
		return out, err
	}
	defer unlock()
	targets, skipped, err := targetsOf(ctx, r, o.Only)
	if err != nil {
		return out, err
	}
	out.Skipped = append(out.Skipped, without(skipped, out.Skipped)...)
	if len(targets) == 0 {
		return out, fmt.Errorf("nothing %sis approved; %w", narrow, ErrNothing)
	}
	switch {
	case o.To.Branch != "":
		return h.toBranch(ctx, d, r, o, targets, out)
	case o.To.Patch != "":
		if _, err := judgePart(r, o, nil, &out); err != nil { // it is against what was copied in
			return out, err
		}
		return h.toPatch(d, r, o, targets, out)
	}
	ao, err := h.applyOptions(ctx, d, r, o)
	if err != nil {
		return out, err
	}
	out.MovedOn = h.movedOn(ctx, r, o)
	plan, err := planOf(ctx, ao, r, o, targets)
	if err != nil {
		return out, err
	}
	lands, err := plan.landing(ctx, ao, o)
	if err != nil {
		return out, err
	}
	part, err := judgePart(r, o, lands, &out)
	if err != nil {
		return out, err
	}
	if out.Plan = shownAs(plan.hash(), r.Set, o.Only, part); o.Plan != "" && o.Plan != out.Plan {
		return out, errStale
	}
	res, err := apply.Apply(ctx, ao, plan.targets)
	plan.tell(&out, &res)
	for _, p := range res.Applied {
		if !slices.Contains(res.Written, p) {
			out.Skipped = append(out.Skipped, PathWhy{p, "the repository has it already"})
		}
	}
	res.Applied = res.Written
	out.Changes = changesOf(plan.targets, res.Written)
	h.fold(&out, res)
	if err != nil {
		return out, err
	}
	if len(res.Conflicts) > 0 && !o.SkipConflicts {
		return out, ErrConflict
	}
	switch {
	case len(plan.targets) == 0:
		return out, fmt.Errorf("all that is approved is left out, as you chose; %w", ErrNothing)
	case len(res.Written) == 0 && len(res.Conflicts)+len(res.Skipped) > 0:
		return out, fmt.Errorf("all that is approved and not there yet is in conflict with the host; %w", ErrNothing)
	case o.DryRun && len(res.Written) > 0:
		return out, nil
	case len(res.Written) == 0:
		return out, fmt.Errorf("the repository has all that is approved already; %w", ErrNothing)
	}
	return out, d.AppendEvent(time.Now(), "applied", countOf(out.Applied), map[string]any{
		"by": h.User, "tty": h.TTY, "apply": res.ID, "paths": out.Applied, "conflicts": out.Conflicts, "skipped": out.Skipped,
		"targets": plan.targets, "merged": out.Merged, "resolutions": plan.used,
	})
}

// withoutIgnored narrows an apply to what is not ignored or was asked for.
func withoutIgnored(set *diffreview.ChangeSet, o ApplyOptions) (func(string) bool, error) {
	asked := func(string) bool { return false }
	if len(o.Ignored) > 0 {
		var err error
		if asked, err = Pathspec(o.Ignored); err != nil {
			return nil, err
		}
	}
	out := map[string]bool{}
	for i := range set.Files {
		if f := &set.Files[i]; f.Ignored && !asked(f.Path) {
			out[f.Path] = true
			if f.OldPath != "" { // by which it would fit as well
				out[f.OldPath] = true
			}
		}
	}
	if len(out) == 0 {
		return o.Only, nil
	}
	return func(p string) bool { return !out[p] && (o.Only == nil || o.Only(p)) }, nil
}

// knownRules refuses a misspelt rule, which would accept nothing and say so only
// by what is skipped.
func knownRules(names []string) error {
	known := map[string]bool{hiddenByRule: true, onlyCopyDeleted: true}
	for _, r := range risk.Rules() {
		known[r.Name] = true
	}
	for _, n := range names {
		if !known[n] {
			return fmt.Errorf("no risk rule is named %q; \"fumehood diff --risks\" shows the names", n)
		}
	}
	return nil
}

// countOf says how many paths there are.
func countOf(paths []string) string {
	if len(paths) == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", len(paths))
}

// without gives the entries of more whose path was not said before: why --all
// left a file undecided says more than that it is undecided.
func without(more, said []PathWhy) []PathWhy {
	var out []PathWhy
	for _, m := range more {
		if !slices.ContainsFunc(said, func(s PathWhy) bool { return s.Path == m.Path }) {
			out = append(out, m)
		}
	}
	return out
}

func (h *Host) fold(out *Applied, res apply.Result) {
	out.Applied = append(out.Applied, res.Applied...)
	for _, c := range res.Conflicts {
		out.Conflicts = append(out.Conflicts, PathWhy{c.Path, c.Why})
	}
	for _, c := range append(res.Skipped, res.Notes...) {
		out.Skipped = append(out.Skipped, PathWhy{c.Path, c.Why})
	}
}

// approveAll decides what --all decides, on the change set and, unless it is a
// dry run, in the record.
func (h *Host) approveAll(ctx context.Context, d store.Dir, r *Review, o ApplyOptions) ([]PathWhy, error) {
	var skipped []PathWhy
	mark := func(dec *diffreview.Decisions) error {
		before := maps.Clone(dec.Units)
		all := dec.ApproveAll(r.Set, o.AcceptRisk, o.Only, h.verdictBy(diffreview.Approved, ""))
		dec.Fill(r.Set)
		held, err := holdBack(r, dec, before, o, func() (landing, error) {
			if !o.SkipConflicts && !o.Merge && len(dec.Resolutions) == 0 {
				return nil, nil // all of it lands, or nothing is written
			}
			return h.landingOf(ctx, d, r, o)
		})
		for _, s := range append(all, held...) {
			// Once for all hunks of a file that one finding holds back.
			if one := (PathWhy{s.Path, s.Why}); len(skipped) == 0 || skipped[len(skipped)-1] != one {
				skipped = append(skipped, one)
			}
		}
		return err
	}
	if o.DryRun {
		dec, err := loadDecisions(d)
		if err != nil {
			return nil, err
		}
		return skipped, mark(dec)
	}
	if err := h.decide(d, mark); err != nil {
		return nil, err
	}
	saveCounts(d, r.Set)
	return skipped, d.AppendEvent(time.Now(), "decided", "approved all but what is risky", map[string]any{
		"by": h.User, "tty": h.TTY, "accept_risk": o.AcceptRisk, "skipped": skipped,
	})
}

// maxHolds is how often what is left of a bulk approval is judged anew.
const maxHolds = 8

// holdBack takes back what a bulk approval approved of files in which the rules find
// more once the rest is left out: a test that goes away because it moved to a file
// that is held back itself, or is in conflict. before are the decisions before it;
// lands says how what is approved now would land.
func holdBack(r *Review, dec *diffreview.Decisions, before map[string]diffreview.Decision, o ApplyOptions, lands func() (landing, error)) (held []diffreview.Skipped, err error) {
	for n := range maxHolds + 1 {
		l, err := lands()
		if err != nil {
			return held, err
		}
		part, err := partOf(r, o, l)
		if err != nil {
			return held, err
		}
		why := map[string]string{}
		for _, x := range part {
			if !slices.Contains(o.AcceptRisk, x.Rule) && why[x.Path] == "" {
				why[x.Path] = fmt.Sprintf("%s: %s: %s (the rest of the change is left out)", x.Severity, x.Rule, x.Why)
			}
		}
		if len(why) == 0 {
			return held, nil
		}
		took := false
		for i := range r.Set.Files {
			f := &r.Set.Files[i]
			because := cmp.Or(why[f.Path], why[f.OldPath])
			if n == maxHolds {
				because = "what is left out shows ever more risks in the rest: approve it in the review"
			}
			if because == "" {
				continue
			}
			for _, id := range f.UnitIDs() {
				if was, is := before[id], dec.Units[id]; was != is {
					dec.Set(was, id)
					held = append(held, diffreview.Skipped{Path: f.Path, ID: id, Why: because})
					took = true
				}
			}
		}
		if !took { // approved by hand: it is told
			return held, nil
		}
		dec.Fill(r.Set)
	}
	return held, nil
}

// targetsOf turns the approved part of a change set into what apply writes.
func targetsOf(ctx context.Context, r *Review, only func(string) bool) ([]apply.Target, []PathWhy, error) {
	var out []apply.Target
	var skipped []PathWhy
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		if !f.Fits(only) {
			continue
		}
		todo, err := diffreview.Outcomes(f, r.Content)
		if err != nil {
			return nil, nil, fmt.Errorf("approved part of %s: %w", diffreview.SafeName(f.Path), err)
		}
		if len(todo) == 0 {
			if why := notApproved(f); why != "" {
				skipped = append(skipped, PathWhy{f.Path, why})
			}
			continue
		}
		units := f.ApprovedUnits()
		for _, o := range todo {
			if o.Want.Kind == diffreview.KindFile && o.Want.Blob == "" {
				if o.Want.Blob, err = r.Snap.PutBlob(o.Content); err != nil {
					return nil, nil, err
				}
			}
			out = append(out, apply.Target{Path: o.Path, Base: o.Base, Want: o.Want, Units: units})
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	return out, skipped, nil
}

// ownRisks gives what the rules find above a note in reviewers' own texts that are
// approved.
func ownRisks(set *diffreview.ChangeSet, only func(string) bool) []Risk {
	out := []Risk{}
	for i := range set.Files {
		f := &set.Files[i]
		if !f.Fits(only) {
			continue
		}
		for _, x := range f.Risks() {
			if x.Edit == "" || x.Severity.Rank() <= diffreview.Note.Rank() {
				continue
			}
			if mark, _ := f.Unit(x.Unit); mark != nil && mark.Decision == diffreview.Approved {
				out = append(out, Risk{Path: f.Path, In: "edit", Finding: x})
			}
		}
	}
	return out
}

// shownAs names what is to be written together with what the rules find in it: a
// newer snapshot may have the same lines approved, and other files that made them
// harmless, or not.
func shownAs(plan string, set *diffreview.ChangeSet, only func(string) bool, part []diffreview.PartFinding) string {
	h := sha256.New()
	add := func(where, path string, x *diffreview.Finding) {
		// A hash takes all.
		_, _ = fmt.Fprintf(h, "%s %q %q %d %q\n", where, path, x.Rule, x.Line, x.Why)
	}
	for i := range part {
		add("part", part[i].Path, &part[i].Finding)
	}
	for i := range set.Files {
		f := &set.Files[i]
		if !f.Fits(only) || len(f.ApprovedUnits()) == 0 {
			continue
		}
		for _, x := range f.Risks() {
			add("whole", f.Path, &x)
		}
	}
	_, _ = h.Write([]byte(plan))
	return hex.EncodeToString(h.Sum(nil))
}

// notApproved says why nothing of a file is written, "" where that needs no
// word.
func notApproved(f *diffreview.File) string {
	switch f.Decision() {
	case diffreview.Undecided:
		return "undecided"
	case diffreview.Rejected, diffreview.Mixed:
		return "rejected"
	case diffreview.Approved:
	}
	return ""
}

func (h *Host) applyOptions(ctx context.Context, d store.Dir, r *Review, o ApplyOptions) (apply.Options, error) {
	rec := r.Record
	root := apply.Root{Path: rec.Repo, Dev: rec.RepoDev, Ino: rec.RepoIno, GitDir: rec.GitDir, GitDev: rec.GitDev, GitIno: rec.GitIno}
	if o.Repo != "" {
		repo, err := workspace.Inspect(ctx, o.Repo, h.Home)
		if err != nil {
			return apply.Options{}, err
		}
		root = apply.Root{Path: repo.Root, Dev: repo.RootDev, Ino: repo.RootIno, GitDir: repo.GitDir, GitDev: repo.GitDev, GitIno: repo.GitIno}
	}
	return apply.Options{
		Root: root, Store: r.Snap, Journal: d.Journal(), DryRun: o.DryRun, SkipConflicts: o.SkipConflicts,
		Now: time.Now, Who: h.User, TTY: h.TTY,
	}, nil
}

// Undo takes the newest apply back, if the files are still as it left them.
func (h *Host) Undo(ctx context.Context, d store.Dir, repo string) (Applied, error) {
	r, err := h.Review(ctx, d, false)
	if err != nil {
		return Applied{}, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return Applied{}, err
	}
	defer unlock()
	out := Applied{Session: r.Record.ID, Applied: []string{}, Changes: []PathWhy{}, Merged: []PathWhy{}, Conflicts: []PathWhy{}, Skipped: []PathWhy{}, Risks: []Risk{}}
	if done, err := h.undoBranch(ctx, d, r, repo, &out); done || err != nil {
		return out, err
	}
	ao, err := h.applyOptions(ctx, d, r, ApplyOptions{Repo: repo})
	if err != nil {
		return out, err
	}
	res, err := apply.Undo(ctx, ao)
	if errors.Is(err, apply.ErrNothing) {
		return out, ErrNothingToUndo
	}
	h.fold(&out, res)
	if err != nil {
		return out, err
	}
	if len(res.Conflicts) > 0 {
		return out, ErrConflict
	}
	return out, d.AppendEvent(time.Now(), "undone", countOf(out.Applied), map[string]any{
		"by": h.User, "tty": h.TTY, "apply": res.ID, "paths": out.Applied,
	})
}
