package diffreview

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
)

// Limits of the search for renames that are edited as well. Beyond them what is
// left stays a file that went and one that came; files with equal bytes are found
// in any case.
const (
	maxRenamePairs = 40_000    // beyond it only files of one name are compared
	maxNamesakes   = 200_000   // pairs of one name
	maxRenameLines = 4_000_000 // hashed; 16 bytes each are held
	maxRenameSteps = 40_000_000
	// alike is how much of the larger of two files both must have, in percent, to
	// count as one that moved; git's figure.
	alike = 50
)

// pairRenames makes one file of a deleted and an added one with the same bytes,
// or with at least half of their lines in common.
func (cs *ChangeSet) pairRenames(content func(Blob) ([]byte, error)) error {
	var gone, came []int
	for i := range cs.Files {
		switch f := &cs.Files[i]; {
		case f.Ignored: // is asked for by its own path, and goes alone
		case f.Status == Deleted && f.Old.Kind == KindFile && f.Old.Size > 0:
			gone = append(gone, i)
		case f.Status == Added && f.New.Kind == KindFile && f.New.Size > 0:
			came = append(came, i)
		}
	}
	if len(gone) == 0 || len(came) == 0 {
		return nil
	}
	to := map[int]int{} // index of what came -> of what went
	cs.pairEqual(gone, came, to)
	taken := map[int]bool{}
	for _, g := range to {
		taken[g] = true
	}
	gone = slices.DeleteFunc(gone, func(i int) bool { return taken[i] || cs.Files[i].Binary })
	came = slices.DeleteFunc(came, func(i int) bool { _, ok := to[i]; return ok || cs.Files[i].Binary })
	cs.pairAlike(gone, came, to)
	drop := make([]bool, len(cs.Files))
	for c, g := range to {
		if err := cs.Files[c].renamedFrom(&cs.Files[g], content); err != nil {
			return err
		}
		drop[g] = true
	}
	kept := cs.Files[:0]
	for i := range cs.Files {
		if !drop[i] {
			kept = append(kept, cs.Files[i])
		}
	}
	clear(cs.Files[len(kept):])
	cs.Files = kept
	return nil
}

// pairEqual pairs files with the same bytes, those of one name first.
func (cs *ChangeSet) pairEqual(gone, came []int, to map[int]int) {
	type key struct {
		blob Blob
		name string // "" for any
	}
	waiting := map[key][]int{}
	for _, g := range gone {
		f := &cs.Files[g]
		for _, k := range []key{{f.Old.Blob, path.Base(f.Path)}, {f.Old.Blob, ""}} {
			waiting[k] = append(waiting[k], g)
		}
	}
	taken := map[int]bool{}
	for _, sameName := range []bool{true, false} {
		for _, c := range came {
			if _, ok := to[c]; ok {
				continue
			}
			k := key{blob: cs.Files[c].New.Blob}
			if sameName {
				k.name = path.Base(cs.Files[c].Path)
			}
			for len(waiting[k]) > 0 {
				g := waiting[k][0]
				waiting[k] = waiting[k][1:]
				if !taken[g] {
					to[c], taken[g] = g, true
					break
				}
			}
		}
	}
}

// lineSize is a line as a hash, with the bytes that all lines like it take.
type lineSize struct {
	hash uint64
	size int
}

// linesOf gives the lines of a file that came or went, each once, by hash. A CR
// at a line's end does not count: else a file whose endings changed on the way
// would be another.
func linesOf(seed maphash.Seed, f *File) []lineSize {
	var out []lineSize
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			out = append(out, lineSize{maphash.Bytes(seed, bytes.TrimSuffix(l.Text, []byte{'\r'})), len(l.Text) + 1})
		}
	}
	slices.SortFunc(out, func(a, b lineSize) int { return cmp.Compare(a.hash, b.hash) })
	n := 0
	for _, l := range out {
		if n > 0 && out[n-1].hash == l.hash {
			out[n-1].size += l.size
			continue
		}
		out[n] = l
		n++
	}
	return slices.Clip(out[:n])
}

// common is how many bytes of lines two files share.
func common(a, b []lineSize) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch d := cmp.Compare(a[0].hash, b[0].hash); {
		case d < 0:
			a = a[1:]
		case d > 0:
			b = b[1:]
		default:
			n += min(a[0].size, b[0].size)
			a, b = a[1:], b[1:]
		}
	}
	return n
}

type pairing struct{ came, gone, score int }

// pairAlike pairs files that have most lines in common, the most alike first.
func (cs *ChangeSet) pairAlike(gone, came []int, to map[int]int) {
	byName := map[string][]int{}
	for _, g := range gone {
		name := path.Base(cs.Files[g].Path)
		byName[name] = append(byName[name], g)
	}
	a := alikeness{cs: cs, seed: maphash.MakeSeed(), lines: map[int][]lineSize{}, pairs: maxNamesakes, room: maxRenameLines, steps: maxRenameSteps}
	// Namesakes first: where a limit ends the search, the likely ones were had.
	for _, c := range came {
		for _, g := range byName[path.Base(cs.Files[c].Path)] {
			if a.spent() {
				break
			}
			a.compare(c, g, 100)
		}
	}
	if len(gone)*len(came) <= maxRenamePairs {
		for _, c := range came {
			for _, g := range gone {
				if path.Base(cs.Files[c].Path) != path.Base(cs.Files[g].Path) {
					a.compare(c, g, 0)
				}
			}
		}
	}
	slices.SortFunc(a.found, func(a, b pairing) int {
		return cmp.Or(b.score-a.score, a.came-b.came, a.gone-b.gone)
	})
	taken := map[int]bool{}
	for _, p := range a.found {
		if _, ok := to[p.came]; !ok && !taken[p.gone] {
			to[p.came] = p.gone
			taken[p.gone] = true
		}
	}
}

// alikeness compares files within limits.
type alikeness struct {
	cs                 *ChangeSet
	seed               maphash.Seed
	lines              map[int][]lineSize
	found              []pairing
	pairs, room, steps int // what is left
}

func (a *alikeness) of(i int) ([]lineSize, bool) {
	l, ok := a.lines[i]
	if !ok {
		f := &a.cs.Files[i]
		if a.room -= f.Added + f.Removed; a.room < 0 {
			return nil, false
		}
		l = linesOf(a.seed, f)
		a.lines[i] = l
	}
	return l, true
}

func (a *alikeness) spent() bool { return a.pairs <= 0 || a.steps <= 0 }

// compare notes two files that are alike, with extra points.
func (a *alikeness) compare(c, g, extra int) {
	if a.pairs--; a.spent() {
		return
	}
	came, gone := a.cs.Files[c].New.Size, a.cs.Files[g].Old.Size
	if 100*min(came, gone) < alike*max(came, gone) {
		return
	}
	x, ok := a.of(c)
	if !ok {
		return
	}
	y, ok := a.of(g)
	if !ok {
		return
	}
	a.steps -= len(x) + len(y)
	score := int(100 * int64(common(x, y)) / max(came, gone))
	if score >= alike {
		a.found = append(a.found, pairing{c, g, score + extra})
	}
}

// renamedFrom makes f, which came, the new name of old, which went. Findings of
// both stay: those about the old file stand at the head.
func (f *File) renamedFrom(old *File, content func(Blob) ([]byte, error)) error {
	f.Status, f.OldPath, f.Old = Renamed, old.Path, old.Old
	f.Hunks, f.Added, f.Removed = nil, 0, 0
	for _, x := range old.Findings {
		x.Line = 0
		f.Findings = append(f.Findings, x)
	}
	if f.Old.Blob != f.New.Blob {
		var sides [2][]byte
		for i, e := range []Entry{f.Old, f.New} {
			b, err := content(e.Blob)
			if err != nil {
				return fmt.Errorf("read %q: %w", f.Path, err)
			}
			sides[i] = b
		}
		f.Hunks, f.Added, f.Removed = hunks(f, noteEnds(f, sides[0], sides[1]), sides[1])
	} else if !f.Binary {
		f.Unshown = ""
	}
	f.Whole = wholeID(f)
	return nil
}
