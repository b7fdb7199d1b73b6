package review

import (
	"sort"

	"fumehood/diffreview"
	"fumehood/ui/kit"
)

// placeFindings sorts findings to the line that shows them; those about the
// path, the mode or a line that no hunk shows stand at the head of the file. What
// is found in a reviewer's own text stands with that: see addWritten.
func placeFindings(f *diffreview.File) (byLine map[int][]int, loose []int) {
	stands := f.Standing()
	for i, x := range f.Findings {
		if x.Edit != "" || !stands(&x) {
			continue
		}
		if !shown(f, x.Line) {
			loose = append(loose, i)
			continue
		}
		if byLine == nil {
			byLine = map[int][]int{}
		}
		byLine[x.Line] = append(byLine[x.Line], i)
	}
	sort.SliceStable(loose, func(i, j int) bool {
		return f.Findings[loose[i]].Severity.Rank() > f.Findings[loose[j]].Severity.Rank()
	})
	return byLine, loose
}

// shown says whether a hunk shows a line of the new side. Hunks are in order,
// and a file may have as many as findings: so it halves instead of walking.
func shown(f *diffreview.File, line int) bool {
	i := sort.Search(len(f.Hunks), func(i int) bool { return f.Hunks[i].NewStart+f.Hunks[i].NewLines > line })
	return line > 0 && i < len(f.Hunks) && line >= f.Hunks[i].NewStart
}

// about says in sentences what lines can't show.
func about(f *diffreview.File) []string {
	var out []string
	if f.OldPath != "" && f.OldPath != f.Path {
		out = append(out, "renamed from "+diffreview.SafeName(f.OldPath))
	}
	if om, nm := f.Old.Mode(), f.New.Mode(); om != "" && nm != "" && om != nm {
		out = append(out, "mode "+om+" → "+nm)
	} else if om == "" && nm == "100755" {
		out = append(out, "can be executed (mode 100755)")
	}
	if f.Old.Kind == diffreview.KindSymlink {
		out = append(out, "was a link to "+diffreview.SafeName(f.Old.Target))
	}
	if f.New.Kind == diffreview.KindSymlink {
		out = append(out, "is a link to "+diffreview.SafeName(f.New.Target))
	}
	if f.Binary {
		why := f.Unshown
		if why == "" {
			why = "binary"
		}
		out = append(out, "NOT SHOWN: "+why+", "+sizes(f)+". To approve it is to take it unseen.")
	} else if len(f.Hunks) == 0 && f.New.Kind == diffreview.KindFile && f.New.Size == 0 && f.Status == diffreview.Added {
		out = append(out, "an empty file")
	}
	return out
}

func sizes(f *diffreview.File) string {
	switch {
	case f.Old.Kind == diffreview.KindAbsent:
		return kit.Bytes(f.New.Size)
	case f.New.Kind == diffreview.KindAbsent:
		return kit.Bytes(f.Old.Size)
	}
	return kit.Bytes(f.Old.Size) + " → " + kit.Bytes(f.New.Size)
}
