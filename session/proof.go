package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
)

// UnprovenError refuses a start: the policy asks for a proof, and there is none
// for this deployment shape.
type UnprovenError struct {
	Policy string
	Why    string
	Joined bool // with the repository's own policy, which makes it another
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("policy %q starts only what is proven: %s", e.Policy, e.Why)
}

// Hint says what proves it.
func (e *UnprovenError) Hint() string {
	if e.Joined {
		return "the repository's own policy makes it another: \"fumehood policy show --toml >FILE\" here, then \"fumehood walls --policy FILE\""
	}
	p := e.Policy
	if p == "" || strings.ContainsAny(p, " \t\n'\"\\$`*?") {
		p = "POLICY"
	}
	return fmt.Sprintf("\"fumehood walls --policy %s\" runs the wall tests, which takes seconds", p)
}

// demand refuses when the policy asks for a proof that st is not.
func demand(p *policy.Policy, st walls.Standing, err error) error {
	if p.Boundary.Proven != policy.ProvenRequired {
		return nil
	}
	if err != nil {
		return &UnprovenError{Policy: p.Name, Why: err.Error()}
	}
	if ok, why := st.Proven(); !ok {
		return &UnprovenError{Policy: p.Name, Why: why}
	}
	return nil
}

// mountLines prints what of the host a session gets read-only, as a shape has
// it.
func mountLines(ms []isolate.Mount) []string {
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Host + " -> " + m.Inside
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// merge says what to keep of a run in which not every test was made. Such a run
// proves nothing, so it can only take away: what failed in it is put into the
// record of the same policy and shape. The record to keep is nil when there is
// nothing to say.
func mergeProofs(kept, run *walls.Record) *walls.Record {
	if run.Complete() {
		return run
	}
	var bad []walls.Result
	for _, t := range run.Tests {
		if t.Verdict != walls.Held && t.Verdict != walls.NA {
			bad = append(bad, t)
		}
	}
	if len(bad) == 0 && len(run.Left) == 0 {
		return nil
	}
	if kept == nil || kept.ShapeHash != run.ShapeHash {
		out := *run
		out.Tests = bad
		return &out
	}
	out := *kept
	out.Date, out.By = run.Date, run.By
	out.Left = append(slices.Clone(kept.Left), run.Left...)
	out.Tests = slices.Clone(kept.Tests)
	for _, t := range bad {
		i := slices.IndexFunc(out.Tests, func(r walls.Result) bool { return r.Number == t.Number })
		if i < 0 {
			out.Tests = append(out.Tests, t)
			continue
		}
		out.Tests[i] = t
	}
	return &out
}

// Verified is the last section of a policy's text block: the newest record, by
// whom and in which shape, what failed or does not apply, and why it is stale.
func Verified(st walls.Standing, err error, now time.Time) []policy.Line {
	if err != nil {
		return []policy.Line{{Label: "wall tests", Text: "not proven: " + err.Error()}}
	}
	r := st.Record
	if r == nil {
		return nil
	}
	ok, why := st.Proven()
	word := "proven in this shape"
	switch {
	case ok:
	case len(st.Stale) > 0 && r.Clean() && r.Complete():
		word = "STALE: held in another shape"
	default:
		word = "NOT PROVEN: " + why
	}
	held, na, rest := tally(r)
	out := []policy.Line{
		{Label: "wall tests", Text: word},
		{Label: "run", Text: fmt.Sprintf("%s (%s) by %s", r.Date.UTC().Format("2006-01-02 15:04:05Z"), ago(now.Sub(r.Date)), r.By)},
		{Label: "outcome", Text: fmt.Sprintf("%d of %d tests held", held, len(r.Tests))},
	}
	for _, t := range rest {
		out = append(out, policy.Line{Label: string(t.Verdict), Text: fmt.Sprintf("%d %s: %s", t.Number, t.Name, t.Reason)})
	}
	for _, t := range na {
		out = append(out, policy.Line{Label: "n.a.", Text: fmt.Sprintf("%d %s: %s", t.Number, t.Name, t.Reason)})
	}
	for _, l := range r.Left {
		out = append(out, policy.Line{Label: "left behind", Text: l})
	}
	for _, s := range st.Stale {
		out = append(out, policy.Line{Label: "stale", Text: s})
	}
	return append(out, policy.Line{Label: "shape", Text: ShapeText(r.Shape)})
}

// ShapeText says in words in which deployment shape tests were run.
func ShapeText(s walls.Shape) string {
	who := fmt.Sprintf("uid %d", s.UID)
	if s.UID == 0 {
		who = "root"
	}
	where := "not in a container as far as could be seen"
	if s.Container != "" {
		where = "in a container, by " + s.Container
	}
	lsm := s.LSM
	if lsm == "" {
		lsm = "not told"
	}
	out := ""
	if s.WayOut != "" {
		out = "; the way out " + s.WayOut
	}
	return fmt.Sprintf("kernel %s; %s, %d supplementary groups; cgroups %s; %s; security modules %s; build %.12s; %d host places inside%s",
		s.Kernel, who, len(s.Groups), s.Cgroup, where, lsm, s.Build, len(s.Mounts), out)
}

func tally(r *walls.Record) (held int, na, rest []walls.Result) {
	for _, t := range r.Tests {
		switch t.Verdict {
		case walls.Held:
			held++
		case walls.NA:
			na = append(na, t)
		case walls.Failed, walls.Errored:
			rest = append(rest, t)
		default:
			rest = append(rest, t)
		}
	}
	return held, na, rest
}

func ago(d time.Duration) string {
	n, unit := 0, "second"
	switch {
	case d < 0:
		return "in the future, by this clock"
	case d < time.Minute:
		n = int(d.Seconds())
	case d < time.Hour:
		n, unit = int(d.Minutes()), "minute"
	case d < 48*time.Hour:
		n, unit = int(d.Hours()), "hour"
	default:
		n, unit = int(d.Hours()/24), "day"
	}
	if n == 1 {
		return "1 " + unit + " ago"
	}
	return fmt.Sprintf("%d %ss ago", n, unit)
}
