package diffreview

import (
	"fmt"
	"sort"
	"strings"
)

// Skipped is a unit that a bulk approval left alone.
type Skipped struct {
	Path string
	ID   string
	Why  string
}

// Fits says whether only (nil: all) holds for a file: of a renamed one for its
// new name or the old one, since it goes there and comes from here.
func (f *File) Fits(only func(path string) bool) bool {
	return only == nil || only(f.Path) || f.OldPath != "" && only(f.OldPath)
}

// ApproveAll approves every undecided unit of the files that fit only (nil:
// all) and records it as rec, save those under a finding above note whose rule
// is not in acceptRules: these it returns, each with the reason. A finding on a
// path, a mode or a line outside every hunk covers the whole file; one on a line
// covers its hunk, one in a reviewer's own text the hunk that it stands for; what
// is decided as a whole is covered by any finding in the file. Rejected units stay
// rejected.
func (d *Decisions) ApproveAll(cs *ChangeSet, acceptRules []string, only func(path string) bool, rec Decision) []Skipped {
	accepted := make(map[string]bool, len(acceptRules))
	for _, r := range acceptRules {
		accepted[r] = true
	}
	var skipped []Skipped
	for i := range cs.Files {
		f := &cs.Files[i]
		if !f.Fits(only) {
			continue
		}
		cover := f.cover(accepted)
		f.Each(func(id string, mark *Mark, h *Hunk) {
			if mark.Decision != Undecided {
				return
			}
			if by := cover[id]; by != nil {
				skipped = append(skipped, Skipped{Path: f.Path, ID: id, Why: fmt.Sprintf("%s: %s: %s", by.Severity, by.Rule, by.Why)})
				return
			}
			r := rec
			r.Verdict, r.Path = Approved, f.Path
			if h != nil {
				r.Edit = h.Edit
			}
			if h != nil && h.Part != nil { // the lines that were rejected stay so
				r.Verdict, r.Lines = Undecided, strings.ReplaceAll(h.Letters(), string(lineUndecided), string(lineApproved))
			}
			d.Set(r, id)
			put(mark, h, r)
		})
	}
	return skipped
}

// Risky gives, for each unit of the file that is under a finding above note, the
// strongest such finding. A bulk key must leave these units alone.
func (f *File) Risky() map[string]*Finding { return f.cover(nil) }

func (f *File) cover(accepted map[string]bool) map[string]*Finding {
	out := map[string]*Finding{}
	var most, all *Finding // the strongest at all, and of those that cover every hunk
	stronger := func(was, x *Finding) *Finding {
		if was == nil || x.Severity.Rank() > was.Severity.Rank() {
			return x
		}
		return was
	}
	stands := f.Standing()
	for i := range f.Findings {
		x := &f.Findings[i]
		if x.Severity.Rank() <= Note.Rank() || accepted[x.Rule] || !stands(x) {
			continue
		}
		most = stronger(most, x)
		if x.Edit != "" {
			out[x.Unit] = stronger(out[x.Unit], x)
		} else if h := f.HunkAt(x.Line); h != nil {
			out[h.ID] = stronger(out[h.ID], x)
		} else {
			all = stronger(all, x)
		}
	}
	if all != nil {
		for i := range f.Hunks {
			out[f.Hunks[i].ID] = stronger(out[f.Hunks[i].ID], all)
		}
	}
	if f.Whole != "" && most != nil {
		out[f.Whole] = most
	}
	return out
}

// HunkAt gives the hunk that shows a line of the new file, or nil.
func (f *File) HunkAt(line int) *Hunk {
	if line < 1 {
		return nil
	}
	// Hunks stand in order and do not overlap: the last one that begins at or
	// before the line, or one before it when that is empty in the new file.
	n := sort.Search(len(f.Hunks), func(i int) bool { return f.Hunks[i].NewStart > line })
	for i := n - 1; i >= 0; i-- {
		if h := &f.Hunks[i]; h.NewLines > 0 {
			if line < h.NewStart+h.NewLines {
				return h
			}
			return nil
		}
	}
	return nil
}
