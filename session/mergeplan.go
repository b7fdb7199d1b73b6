package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/linediff"
	"fumehood/diffreview/merge"
	"fumehood/session/workspace"
)

// applyPlan is what an apply is to write once the host's own changes are looked
// at.
type applyPlan struct {
	targets []apply.Target
	merged  map[string]string // by path: what was joined
	why     map[string]string // of the targets that stay conflicts, what would settle them
	left    []PathWhy         // left out, as the reviewer chose
	lands   landing
	risks   []Risk // of merges
	used    []usedChoice
}

// usedChoice is one that counts for what is written, for the record.
type usedChoice struct {
	Conflict string                `json:"conflict"`
	Chosen   diffreview.Resolution `json:"chosen"`
}

// planOf merges the targets that the host changed, where that is wanted and every
// conflict is settled.
func planOf(ctx context.Context, ao apply.Options, r *Review, o ApplyOptions, targets []apply.Target) (*applyPlan, error) {
	p := &applyPlan{merged: map[string]string{}, why: map[string]string{}, lands: landing{}}
	instead := map[string]*apply.Target{} // nil: left out
	moved, err := movedIn(ctx, ao, r, targets)
	if err != nil {
		return nil, err
	}
	differs := map[string]bool{}
	var met []joined
	err = apply.Compare(ctx, ao, targets, linediff.MaxBytes, func(x apply.Differs) error {
		differs[x.Target.Path] = true
		if x.Fixed {
			return nil
		}
		m, err := mergeOf(x, r, moved[x.Target.Path])
		if err != nil {
			return err
		}
		there := m.there(x.Content)
		x.Content = nil // m has it where it is needed
		met = append(met, joined{x, m, there})
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*Merge, len(met))
	for i := range met {
		all[i] = &met[i].m
	}
	if err := r.judgeMerges(all); err != nil {
		return nil, err
	}
	put := func(x apply.Differs, m *Merge, there bool) error {
		if leave := m.leave(); leave != "" {
			instead[m.Path] = nil
			if m.To != "" {
				instead[m.To] = nil
			}
			p.left = append(p.left, PathWhy{m.Path, leave})
			p.use(r, m.ID)
			return nil
		}
		if there {
			t := x.Target
			t.Base, t.Want, t.Approved, t.Merged = m.Host, m.Host, m.Agent, true
			instead[m.Path] = &t
			p.lands.put(m.Path, x.Target.Base, m)
			return nil
		}
		if p.why[m.Path] = m.conflict(x.Why, o); p.why[m.Path] != "" {
			if m.To != "" && o.SkipConflicts { // it would be there twice
				instead[m.To] = nil
				p.left = append(p.left, PathWhy{m.To, fmt.Sprintf("it moves %s, which is in conflict", diffreview.SafeName(m.Path))})
			}
			return nil
		}
		if m.text != nil {
			var err error
			if m.want.Blob, err = r.Snap.PutBlob(m.text); err != nil {
				return err
			}
			m.want.Size = int64(len(m.text))
		}
		t := x.Target
		t.Base, t.Merged = m.Host, true
		if m.To == "" {
			t.Approved, t.Want = m.Agent, m.want
			p.merged[m.Path] = m.what()
			p.lands.put(m.Path, x.Target.Base, m)
		} else {
			to := *moved[m.Path]
			to.Approved, to.Want, to.Merged = m.Agent, m.want, true
			instead[m.To] = &to
			p.lands.put(m.To, moved[m.Path].Base, m)
			p.merged[m.To] = fmt.Sprintf("%s; it was %s", m.what(), diffreview.SafeName(m.Path))
		}
		instead[m.Path] = &t
		p.use(r, m.ID)
		for i := range m.Parts {
			p.use(r, m.Parts[i].ID)
		}
		p.risks = append(p.risks, m.told()...)
		return nil
	}
	for i := range met {
		if err := put(met[i].x, &met[i].m, met[i].there); err != nil {
			return nil, err
		}
	}
	// A file goes only where it arrives: else it would be nowhere.
	for from, to := range movesOf(r, targets) {
		other, chosen := instead[to.Path]
		gone, known := instead[from]
		stays := gone == nil && (known || differs[from]) // in any case
		arrives := chosen && other != nil || !chosen && !(differs[to.Path] && o.SkipConflicts)
		if stays || arrives {
			continue
		}
		instead[from] = nil
		p.left = append(p.left, PathWhy{from, staysWhere(to.Path)})
	}
	for _, t := range targets {
		switch other, ok := instead[t.Path]; {
		case !ok:
			p.targets = append(p.targets, t)
		case other != nil:
			p.targets = append(p.targets, *other)
		}
	}
	return p, nil
}

// joined is a target that the host changed, and what they come to together.
type joined struct {
	x     apply.Differs
	m     Merge
	there bool // the host has it already
}

// staysWhere says why a file stays that was to be moved.
func staysWhere(to string) string {
	return fmt.Sprintf("it moves to %s, which is left out: it stays where it is", diffreview.SafeName(to))
}

func (p *applyPlan) use(r *Review, id string) {
	if c, ok := r.Decisions.Resolutions[id]; ok && id != "" {
		p.used = append(p.used, usedChoice{id, c})
	}
}

// leave says why a file is left out, "" when it is not.
func (m *Merge) leave() string {
	switch {
	case m.Left && m.Commit != "":
		return "left out, as you chose: the commit has another"
	case m.Take == diffreview.TakeHost && m.Commit != "":
		return "the commit's stays, as you chose"
	case m.Left:
		return "left out, as you chose: you changed it too"
	case m.Take == diffreview.TakeHost:
		return "your own stays, as you chose"
	}
	return ""
}

// conflict says what would settle a conflict, "" when nothing has to.
func (m *Merge) conflict(why string, o ApplyOptions) string {
	const write = "--merge writes it (the review shows it)"
	switch {
	case m.Why != "" && m.Open > 0:
		return fmt.Sprintf("%s, and it can't be merged by lines (%s): choose yours or the agent's in the review", why, m.Why)
	case m.Open > 0 && m.Base.Kind == diffreview.KindAbsent:
		return fmt.Sprintf("you and the agent both made this file since the copy, each another: %s to settle in the review", conflictsOf(m.Open))
	case m.Open > 0:
		return fmt.Sprintf("you and the agent changed the same lines: %s to settle in the review", conflictsOf(m.Open))
	case o.Merge:
		return m.held(o)
	case m.Why != "":
		return "you changed it too, and chose the agent's: " + write
	case m.conflicts():
		return "you changed it too, and all conflicts are settled: " + write
	}
	return "your file changed in other lines: it would merge without conflict; --merge writes the merge (the review shows it)"
}

// held says why an apply of all leaves a merge alone that nobody settled, "" when it
// need not: the rules find more in it than in the lines that were approved.
func (m *Merge) held(o ApplyOptions) string {
	if !o.All || m.conflicts() {
		return ""
	}
	for _, x := range m.fresh {
		if !slices.Contains(o.AcceptRisk, x.Rule) {
			return fmt.Sprintf("what the merge comes to is risky (%s: %s: %s): look at it in the review, or name the rule with --accept-risk", x.Severity, x.Rule, x.Why)
		}
	}
	return ""
}

// told are the risks of the merge alone, as an apply names them.
func (m *Merge) told() (out []Risk) {
	for _, x := range m.fresh {
		out = append(out, Risk{Path: cmp.Or(m.To, m.Path), In: "merge", Finding: x})
	}
	return out
}

// what counts what a merge joins.
func (m *Merge) what() string {
	if m.Why != "" {
		return "the agent's replaces yours, as you chose"
	}
	n := map[merge.Kind]int{}
	for i := range m.Parts {
		n[m.Parts[i].Kind]++
	}
	var out []string
	for _, k := range []struct {
		kind merge.Kind
		of   string
	}{{merge.FromHost, "of yours"}, {merge.FromAgent, "of the agent's"}, {merge.FromBoth, "that both made"}} {
		switch n[k.kind] {
		case 0:
		case 1:
			out = append(out, "1 change "+k.of)
		default:
			out = append(out, fmt.Sprintf("%d changes %s", n[k.kind], k.of))
		}
	}
	if c := n[merge.Conflict]; c > 0 {
		out = append(out, conflictsOf(c)+" settled")
	}
	switch {
	case len(out) == 0 && m.To != "":
		return "your changes"
	case len(out) == 0:
		return "content and mode were changed apart"
	}
	return strings.Join(out, ", ")
}

// hash names what would be written and what would not be: the same for a
// preview and an apply as long as nothing changed between them.
func (p *applyPlan) hash() string {
	list := slices.Clone(p.targets)
	slices.SortFunc(list, func(a, b apply.Target) int { return cmp.Compare(a.Path, b.Path) })
	h := sha256.New()
	for _, t := range list {
		base := ""
		if t.Merged {
			base = entryKey(t.Base)
		}
		// A hash takes all.
		_, _ = fmt.Fprintf(h, "%q %q %q %t\n", t.Path, entryKey(t.Want), base, p.why[t.Path] != "")
	}
	return hex.EncodeToString(h.Sum(nil))
}

// movedOn says that the repository has another branch or commit checked out than
// when the session was copied from it. That is no conflict, but explains some.
func (h *Host) movedOn(ctx context.Context, r *Review, o ApplyOptions) string {
	rec, where := r.Record, r.Record.Repo
	if rec.GitDir == "" {
		return ""
	}
	if o.Repo != "" {
		where = o.Repo
	}
	repo, err := workspace.Inspect(ctx, where, h.Home)
	if err != nil {
		return "" // the apply looks at the folder itself, and says what is wrong
	}
	at := func(branch, head string) string {
		switch {
		case head == "":
			head = "no commit"
		default:
			head = "commit " + head[:min(len(head), 12)]
		}
		if branch == "" {
			return head
		}
		return fmt.Sprintf("%s of branch %q", head, branch)
	}
	was, is := at(rec.Branch, rec.Head), at(branchName(repo.Branch), repo.Head)
	if was == is {
		return ""
	}
	return fmt.Sprintf("your repository is at %s; when it was copied it was at %s", is, was)
}

// tell puts the plan's reasons into what an apply gave.
func (p *applyPlan) tell(out *Applied, res *apply.Result) {
	for _, list := range [][]apply.PathWhy{res.Conflicts, res.Skipped} {
		for i := range list {
			if why := p.why[list[i].Path]; why != "" {
				list[i].Why = why
			}
		}
	}
	for _, path := range res.Written {
		if what, ok := p.merged[path]; ok {
			out.Merged = append(out.Merged, PathWhy{path, what})
		}
	}
	for _, x := range p.risks {
		if slices.Contains(res.Written, x.Path) {
			out.Risks = append(out.Risks, x)
		}
	}
	out.Skipped = append(out.Skipped, p.left...)
}
