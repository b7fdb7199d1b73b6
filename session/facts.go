package session

import (
	"fmt"
	"slices"
	"sync"

	"fumehood/diffreview"
	"fumehood/diffreview/risk"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

// Facts is what the risk rules have to know beside the change set: of the
// baseline, of git on the host, and of the workspace's ignore rules.
type Facts struct {
	Paths        []string          // of the baseline
	Links        map[string]string // of the baseline, path to target
	HooksPath    string            // core.hooksPath in the work tree
	Untracked    []string          // paths that git on the host does not hold
	NewlyIgnored []string          // added under ignore rules written inside
}

// FactsOf gathers the facts of a session's snapshot.
func FactsOf(rec *store.Record, base *baseline.Manifest, snap *baseline.Snapshot) *Facts {
	f := &Facts{
		Paths: make([]string, 0, len(base.Entries)), Links: map[string]string{},
		HooksPath: rec.HooksPath, Untracked: rec.Untracked, NewlyIgnored: snap.NewlyIgnored,
	}
	for i := range base.Entries {
		e := &base.Entries[i]
		f.Paths = append(f.Paths, e.Path)
		if e.Kind == diffreview.KindSymlink {
			f.Links[e.Path] = e.Target
		}
	}
	return f
}

// Rules makes a change set be judged while it is built: by the risk rules, and
// by what git on the host would not list because of ignore rules that the agent
// wrote itself, or does not hold.
func (f *Facts) Rules(o *diffreview.Options) {
	env := risk.Env{Paths: f.Paths, Links: f.Links, HooksPath: f.HooksPath}
	var mu sync.Mutex
	judged := map[*diffreview.File]*risk.Judged{}
	o.RiskFile = func(c *diffreview.File, content func(diffreview.Blob) ([]byte, error)) error {
		j, err := risk.File(c, content, env)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		judged[c] = j
		return nil
	}
	o.Risk = func(set *diffreview.ChangeSet, _ func(diffreview.Blob) ([]byte, error)) error {
		all := make([]*risk.Judged, len(set.Files))
		for i := range set.Files {
			j, ok := judged[&set.Files[i]]
			if !ok {
				return fmt.Errorf("%q was not examined", set.Files[i].Path)
			}
			all[i] = j
		}
		if err := risk.Set(all, env); err != nil {
			return err
		}
		f.add(set)
		return nil
	}
}

// Find judges a change set that is already built, as Rules does.
func (f *Facts) Find(set *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error)) error {
	if err := risk.Run(set, content, risk.Env{Paths: f.Paths, Links: f.Links, HooksPath: f.HooksPath}); err != nil {
		return err
	}
	f.add(set)
	return nil
}

// add gives the findings that need what the rules of package risk do not know.
func (f *Facts) add(set *diffreview.ChangeSet) {
	hidden := map[string]bool{}
	for _, p := range f.NewlyIgnored {
		hidden[p] = true
	}
	for i := range set.Files {
		c := &set.Files[i]
		if c.Status == diffreview.Deleted && slices.Contains(f.Untracked, c.Path) {
			c.Findings = append(c.Findings, diffreview.Finding{
				Rule: onlyCopyDeleted, Severity: diffreview.Warn,
				Why: "git on this machine does not hold this file: once it is deleted only fumehood's undo brings it back",
			})
		}
		if hidden[c.Path] {
			c.Findings = append(c.Findings, diffreview.Finding{
				Rule: hiddenByRule, Severity: diffreview.Warn,
				Why: "ignore rules that this change set adds would hide this file from git on this machine",
			})
		}
	}
}
