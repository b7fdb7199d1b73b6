package diffreview

import "slices"

// PartFinding is a finding above a note that only a part of a change set has.
type PartFinding struct {
	Path string
	Finding
}

// JudgePart has find look at what is approved of the files that fit only, and at
// what of the others is applied, as if there were no more. It gives what it finds
// above a note that no approved part of the change set has a finding for: what was
// harmless beside the rest is not, say, when a test goes away and the file that it
// moved to is left out. The change set stays as it is.
//
// instead has what lands at a path in the place of what is approved there: what a
// merge came to, or nil where it is left out. Of what is in a merge itself nothing
// is given: it was judged as one.
func (cs *ChangeSet) JudgePart(only func(path string) bool, instead map[string]*Outcome, content func(Blob) ([]byte, error), find Find) ([]PartFinding, error) {
	var outcomes []Outcome
	whole, part := map[*File]bool{}, false
	for i := range cs.Files {
		f := &cs.Files[i]
		all, own := f.wholly()
		applied := f.applied()
		other := f.among(instead) && !applied
		part = part || !all || other
		switch {
		case !f.Fits(only) && !applied:
			part = true
		case all && !own && !other:
			whole[f] = true
		default:
			some, err := Outcomes(f, content)
			if err != nil {
				return nil, err
			}
			for _, o := range some {
				if in, ok := instead[o.Path]; ok && other {
					if in != nil {
						outcomes = append(outcomes, *in)
					}
					continue
				}
				outcomes = append(outcomes, o)
			}
		}
	}
	if !part || len(whole)+len(outcomes) == 0 {
		return nil, nil
	}
	as, err := cs.judge(outcomes, func(f *File) bool { return whole[f] }, content, find)
	if err != nil {
		return nil, err
	}
	known, moved := cs.known()
	is := func(path, rule, text string) bool {
		key := partKey{path, rule, text}
		if known[key] == 0 {
			return false
		}
		if !moved[path] {
			known[key]--
		}
		return true
	}
	var out []PartFinding
	for i := range as.Files {
		f := &as.Files[i]
		for _, x := range f.Findings {
			if x.Severity.Rank() > Note.Rank() && instead[f.Path] == nil && !is(f.Path, x.Rule, f.textAt(x)) && !is(f.Path, x.Rule, "") {
				out = append(out, PartFinding{f.Path, x})
			}
		}
	}
	return out, nil
}

// partKey names a finding by its rule and the text of its line, which stands at
// another number where lines before it are left out.
type partKey struct{ path, rule, text string }

// known counts the findings on what is approved. A file that moved is judged as one
// that goes and one that comes, with other lines: there the rule alone tells.
func (cs *ChangeSet) known() (known map[partKey]int, moved map[string]bool) {
	known, moved = map[partKey]int{}, map[string]bool{}
	for i := range cs.Files {
		f := &cs.Files[i]
		for _, x := range f.Risks() {
			if h := f.HunkAt(x.Line); h != nil && x.Edit == "" && h.Decision != Approved && !slices.Contains(h.Part, Approved) {
				continue
			}
			if f.Status == Renamed {
				known[partKey{f.Path, x.Rule, ""}]++
				known[partKey{f.OldPath, x.Rule, ""}]++
				continue
			}
			known[partKey{f.Path, x.Rule, f.textAt(x)}]++
		}
		if f.Status == Renamed {
			moved[f.Path], moved[f.OldPath] = true, true
		}
	}
	return known, moved
}

// textAt is the text of the line that a finding is on, "" where no hunk shows it.
func (f *File) textAt(x Finding) string {
	if h := f.HunkAt(x.Line); h != nil && x.Edit == "" {
		for i := range h.Lines {
			if h.Lines[i].New == x.Line {
				return string(h.Lines[i].Text)
			}
		}
	}
	return ""
}

// wholly says whether all of the file is approved, and whether reviewers' own texts
// are in it.
func (f *File) wholly() (all, own bool) {
	all = true
	f.Each(func(_ string, m *Mark, h *Hunk) {
		all = all && m.Decision == Approved && (h == nil || h.Part == nil)
		own = own || h != nil && h.Edit != ""
	})
	return all, own
}

// among says whether the file is about one of the paths.
func (f *File) among(paths map[string]*Outcome) bool {
	for _, p := range []string{f.Path, f.OldPath} {
		if _, ok := paths[p]; ok {
			return true
		}
	}
	return false
}

// applied says that something of the file is approved, and that all of that is
// applied.
func (f *File) applied() bool {
	some, all := false, true
	f.Each(func(_ string, m *Mark, h *Hunk) {
		if m.Decision == Approved || h != nil && slices.Contains(h.Part, Approved) {
			some, all = true, all && m.Applied
		}
	})
	return some && all
}
