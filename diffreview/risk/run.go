package risk

import (
	"cmp"
	"fmt"
	"slices"

	"fumehood/diffreview"
)

// Env is what the rules know of the host beside the change set. All of it is
// optional; without Paths only the change set's own names are compared.
type Env struct {
	// Paths are all files and links of the baseline.
	Paths []string
	// Links are the baseline's symbolic links, with their targets.
	Links map[string]string
	// HooksPath is the host repository's core.hooksPath when it lies in the work
	// tree, relative to its top.
	HooksPath string
}

// maxPerFile bounds the findings of one rule in one file. Beyond it one finding
// stands for the whole file, so that no hunk goes uncovered.
const maxPerFile = 40

// Hook makes the function that diffreview.Options.Risk takes.
func Hook(env Env) func(*diffreview.ChangeSet, func(diffreview.Blob) ([]byte, error)) error {
	return func(cs *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error)) error {
		return Run(cs, content, env)
	}
}

// Run adds the findings of all rules to the files of cs, replacing those that
// are there. It fails when content does: a change set that was not examined must
// not look harmless.
func Run(cs *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error), env Env) error {
	r := &run{cs: cs, content: content, env: env}
	subjects := make([]*subject, len(cs.Files))
	for i := range cs.Files {
		subjects[i] = r.subject(&cs.Files[i])
	}
	r.subjects = subjects
	r.survey()
	for i, s := range subjects {
		var found []diffreview.Finding
		for _, rule := range rules() {
			found = append(found, findings(rule, s, rule.apply(s))...)
		}
		slices.SortStableFunc(found, func(a, b diffreview.Finding) int {
			return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), a.Line-b.Line)
		})
		cs.Files[i].Findings = found
	}
	return r.err
}

// run is one pass over a change set.
type run struct {
	cs       *diffreview.ChangeSet
	content  func(diffreview.Blob) ([]byte, error)
	env      Env
	subjects []*subject
	err      error

	names  nameIndex
	links  map[string]string // after the change
	repos  map[string]bool   // folders that git would take for a repository
	hidden map[string]bool   // changed paths that a changed ignore file hides
	// test declarations and assertions that the change adds anywhere
	movedTests, movedAsserts movedLines
}

func (r *run) fail(path string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("examine %q: %w", path, err)
	}
}

// findings turns hits into findings, at most one for each rule and hunk.
func findings(rule *compiled, s *subject, hits []hit) []diffreview.Finding {
	var out []diffreview.Finding
	seen := map[*diffreview.Hunk]diffreview.Severity{}
	for _, h := range hits {
		sev := cmp.Or(h.severity, rule.Severity)
		f := diffreview.Finding{Rule: rule.Name, Severity: sev, Line: h.line, Why: cmp.Or(h.why, rule.Why)}
		if s.gone() {
			f.Line = 0 // there is no new file to have lines
		}
		hunk := s.f.HunkAt(f.Line)
		if hunk == nil {
			f.Line = 0
		}
		if seen[hunk].Rank() >= sev.Rank() {
			continue
		}
		seen[hunk] = sev
		out = append(out, f)
	}
	if len(out) > maxPerFile {
		strongest := slices.MaxFunc(out, func(a, b diffreview.Finding) int { return a.Severity.Rank() - b.Severity.Rank() })
		strongest.Line = 0
		return []diffreview.Finding{strongest}
	}
	return out
}
