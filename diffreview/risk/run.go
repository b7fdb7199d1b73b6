package risk

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
// are there: File for each of them, as many at once as there are processors, then
// Set. It calls content from several goroutines, all of which have ended when it
// returns. It fails when content does: a change set that was not examined must
// not look harmless.
func Run(cs *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error), env Env) error {
	judged := make([]*Judged, len(cs.Files))
	errs := make([]error, len(cs.Files))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(cs.Files)) {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(cs.Files)); i = next.Add(1) - 1 {
				judged[i], errs[i] = File(&cs.Files[i], content, env)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return Set(judged, env)
}

// Judged is what File found in one file, and what Set needs of it.
type Judged struct {
	subject *subject
	found   []found
	whole   []*compiled // rules that cover the file and need the whole change
}

// found is a finding and the place of its rule in the tables.
type found struct {
	diffreview.Finding
	rule int
}

// File looks through one file with the rules that need no other. It reads f and
// shares nothing with calls for other files; content must allow that as well.
// The findings are not yet in f: Set puts them there.
func File(f *diffreview.File, content func(diffreview.Blob) ([]byte, error), env Env) (*Judged, error) {
	b := rules()
	s := newSubject(f, content, &env)
	s.scan(b)
	j := &Judged{subject: s}
	covering := b.index.covering(s)
	for _, rule := range covering {
		s.named = s.named || rule.Line == "" && rule.Name != hiddenRule && len(rule.Paths)+len(rule.Plain) > 0
	}
	for _, rule := range covering {
		if rule.Whole {
			j.whole = append(j.whole, rule)
			continue
		}
		j.add(rule, rule.apply(s))
	}
	s.forget()
	return j, s.err
}

// Set looks through a change set, given file by file in its order, with the
// rules that need all of it, and gives each file its findings.
func Set(judged []*Judged, env Env) error {
	subjects := make([]*subject, len(judged))
	for i, j := range judged {
		subjects[i] = j.subject
	}
	set := survey(subjects, &env)
	for _, j := range judged {
		j.subject.set = set
		for _, rule := range j.whole {
			j.add(rule, rule.apply(j.subject))
		}
		slices.SortStableFunc(j.found, func(a, b found) int {
			return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), a.Line-b.Line, a.rule-b.rule)
		})
		var out []diffreview.Finding
		for _, x := range j.found {
			out = append(out, x.Finding)
		}
		j.subject.f.Findings = out
		if j.subject.err != nil {
			return j.subject.err
		}
	}
	return nil
}

// add turns hits into findings, at most one for each rule and hunk.
func (j *Judged) add(rule *compiled, hits []hit) {
	if len(hits) == 0 {
		return
	}
	s := j.subject
	start := len(j.found)
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
		j.found = append(j.found, found{f, rule.index})
	}
	if mine := j.found[start:]; len(mine) > maxPerFile {
		strongest := slices.MaxFunc(mine, func(a, b found) int { return a.Severity.Rank() - b.Severity.Rank() })
		strongest.Line = 0
		j.found = append(j.found[:start], strongest)
	}
}
