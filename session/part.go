package session

import (
	"context"
	"fmt"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/session/store"
)

// landing is what an apply writes at a path in the place of what is approved there:
// what a merge came to, or nil where it is left out, by choice or as a conflict.
type landing map[string]*diffreview.Outcome

// put notes what a merge came to at a path that was base in the copy.
func (l landing) put(path string, base diffreview.Entry, m *Merge) {
	l[path] = &diffreview.Outcome{Path: path, Base: base, Want: m.want, Content: m.text}
}

func (l landing) leave(list []PathWhy) {
	for _, w := range list {
		l[w.Path] = nil
	}
}

// partOf gives the risks of what lands, without the rest.
func partOf(r *Review, o ApplyOptions, l landing) ([]diffreview.PartFinding, error) {
	part, err := r.Set.JudgePart(o.Only, l, r.Content, r.Facts.Find)
	if err != nil {
		return nil, fmt.Errorf("look for risks in what is approved: %w", err)
	}
	return part, nil
}

// judgePart puts the risks of what lands into what an apply gives, and those of
// reviewers' own texts.
func judgePart(r *Review, o ApplyOptions, l landing, out *Applied) ([]diffreview.PartFinding, error) {
	part, err := partOf(r, o, l)
	out.Risks = append(out.Risks, ownRisks(r.Set, o.Only)...)
	for _, x := range part {
		out.Risks = append(out.Risks, Risk{Path: x.Path, In: "part", Finding: x.Finding})
	}
	return part, err
}

// landingOf is how what is approved now would land. Nothing is written.
func (h *Host) landingOf(ctx context.Context, d store.Dir, r *Review, o ApplyOptions) (landing, error) {
	if o.To.Patch != "" {
		return nil, nil // it is against what was copied in
	}
	targets, _, err := targetsOf(ctx, r, o.Only)
	if err != nil || len(targets) == 0 {
		return nil, err
	}
	if o.To.Branch != "" {
		repo, err := h.sameRepository(ctx, r, o)
		if err != nil {
			return nil, err
		}
		_, p, err := branchPlanOf(ctx, repo, r, o, targets)
		if err != nil {
			return nil, err
		}
		return p.landing(o), nil
	}
	ao, err := h.applyOptions(ctx, d, r, o)
	if err != nil {
		return nil, err
	}
	p, err := planOf(ctx, ao, r, o, targets)
	if err != nil {
		return nil, err
	}
	return p.landing(ctx, ao, o)
}

// landing is how the plan's targets land.
func (p *applyPlan) landing(ctx context.Context, ao apply.Options, o ApplyOptions) (landing, error) {
	p.lands.leave(p.left)
	if !o.SkipConflicts || len(p.targets) == 0 {
		return p.lands, nil
	}
	return p.lands, apply.Compare(ctx, ao, p.targets, 0, func(x apply.Differs) error {
		p.lands[x.Target.Path] = nil
		return nil
	})
}

// landing is how the branch's files land.
func (p *branchPlan) landing(o ApplyOptions) landing {
	p.lands.leave(p.left)
	if o.SkipConflicts {
		p.lands.leave(p.conflicts)
	}
	return p.lands
}
