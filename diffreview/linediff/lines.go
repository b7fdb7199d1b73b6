// Package linediff compares byte strings by lines and lines by words. It is
// pure, keeps every byte (a CR is part of its line), and is bounded: no input,
// however made, costs more than a fixed number of steps for each line.
package linediff

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// Run is one changed region: old lines [A0,A1) became new lines [B0,B1). Either
// side may be empty, never both. Runs are ascending and never touch.
type Run struct{ A0, A1, B0, B1 int }

// Split cuts b after each newline. The lines alias b and joined they are b; the
// last one has no newline when b does not end with one.
func Split(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	lines := make([][]byte, 0, bytes.Count(b, nl)+1)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		lines = append(lines, b[:i:i])
		b = b[i:]
	}
	return lines
}

var nl = []byte{'\n'}

// Diff gives the changed regions between two lists of lines, compared whole,
// newline included. Lines that are unique on both sides anchor the comparison;
// what is between anchors is compared for the shortest edit within a budget of
// steps, and where that runs out the region counts as replaced.
func Diff(a, b [][]byte) []Run {
	n := newNumbering(len(a))
	return diffSymbols(n.all(a), n.all(b), len(n.lines))
}

// numbering gives equal lines equal numbers. It goes by a seeded hash, then
// compares: a map of strings would copy every line.
type numbering struct {
	seed  maphash.Seed
	ids   map[uint64]int32
	lines [][]byte
}

func newNumbering(size int) *numbering {
	return &numbering{seed: maphash.MakeSeed(), ids: make(map[uint64]int32, size)}
}

func (n *numbering) all(lines [][]byte) []int32 {
	out := make([]int32, len(lines))
	for i, l := range lines {
		for h := maphash.Bytes(n.seed, l); ; h++ {
			id, ok := n.ids[h]
			if !ok {
				id = int32(len(n.lines))
				n.ids[h] = id
				n.lines = append(n.lines, l)
			} else if !bytes.Equal(n.lines[id], l) {
				continue
			}
			out[i] = id
			break
		}
	}
	return out
}

// maxDepth bounds how often a gap is searched again for lines that are unique
// within it. Each level reads every line at most once.
const maxDepth = 12

func diffSymbols(a, b []int32, symbols int) []Run {
	counts := make([]int32, 3*symbols)
	d := &differ{
		a: a, b: b,
		countA: counts[:symbols], countB: counts[symbols : 2*symbols], posB: counts[2*symbols:],
		budget: 64*(len(a)+len(b)) + 1<<20,
	}
	d.compare(0, len(a), 0, len(b), 0)
	return d.slide(d.runs)
}

type differ struct {
	a, b                 []int32
	countA, countB, posB []int32 // by symbol; zero outside anchors
	runs                 []Run
	budget               int // steps left for shortest edits
	v, trace             []int32
}

func (d *differ) emit(r Run) {
	if r.A0 == r.A1 && r.B0 == r.B1 {
		return
	}
	if k := len(d.runs) - 1; k >= 0 && d.runs[k].A1 == r.A0 && d.runs[k].B1 == r.B0 {
		d.runs[k].A1, d.runs[k].B1 = r.A1, r.B1
		return
	}
	d.runs = append(d.runs, r)
}

func (d *differ) compare(a0, a1, b0, b1, depth int) {
	for a0 < a1 && b0 < b1 && d.a[a0] == d.b[b0] {
		a0, b0 = a0+1, b0+1
	}
	for a0 < a1 && b0 < b1 && d.a[a1-1] == d.b[b1-1] {
		a1, b1 = a1-1, b1-1
	}
	if a0 == a1 || b0 == b1 {
		d.emit(Run{a0, a1, b0, b1})
		return
	}
	var pairs []pair
	if depth < maxDepth {
		pairs = d.anchors(a0, a1, b0, b1)
	}
	if len(pairs) == 0 {
		if !d.shortest(a0, a1, b0, b1) {
			d.emit(Run{a0, a1, b0, b1})
		}
		return
	}
	for _, p := range pairs {
		d.compare(a0, p.a, b0, p.b, depth+1)
		a0, b0 = p.a+1, p.b+1
	}
	d.compare(a0, a1, b0, b1, depth+1)
}

type pair struct{ a, b int }

// anchors gives the longest list of lines that occur exactly once on each side
// of the region and in the same order on both (the patience method).
func (d *differ) anchors(a0, a1, b0, b1 int) []pair {
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]]++
	}
	for j := b0; j < b1; j++ {
		d.countB[d.b[j]]++
		d.posB[d.b[j]] = int32(j)
	}
	var common []pair
	for i := a0; i < a1; i++ {
		if s := d.a[i]; d.countA[s] == 1 && d.countB[s] == 1 {
			common = append(common, pair{i, int(d.posB[s])})
		}
	}
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]] = 0
	}
	for j := b0; j < b1; j++ {
		d.countB[d.b[j]] = 0
	}
	return longestAscending(common)
}

// longestAscending keeps the longest subsequence whose b ascends; a already does.
func longestAscending(in []pair) []pair {
	if len(in) == 0 {
		return nil
	}
	var tails []int // index into in of the smallest last b for each length
	prev := make([]int, len(in))
	for i, p := range in {
		k, _ := slices.BinarySearchFunc(tails, p.b, func(t, b int) int { return in[t].b - b })
		prev[i] = -1
		if k > 0 {
			prev[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	out := make([]pair, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; i, k = prev[i], k-1 {
		out[k] = in[i]
	}
	return out
}

// slide moves pure insertions and deletions down as far as the text allows, so
// that an added function shows from its first line to its last rather than
// from the brace of the one before. Runs that come to touch become one.
func (d *differ) slide(runs []Run) []Run {
	out := runs[:0]
	for i, r := range runs {
		endA, endB := len(d.a), len(d.b)
		if i+1 < len(runs) {
			endA, endB = runs[i+1].A0, runs[i+1].B0
		}
		switch {
		case r.A0 == r.A1:
			for r.A1 < endA && r.B1 < endB && d.b[r.B0] == d.b[r.B1] {
				r = Run{r.A0 + 1, r.A1 + 1, r.B0 + 1, r.B1 + 1}
			}
		case r.B0 == r.B1:
			for r.A1 < endA && r.B1 < endB && d.a[r.A0] == d.a[r.A1] {
				r = Run{r.A0 + 1, r.A1 + 1, r.B0 + 1, r.B1 + 1}
			}
		}
		if k := len(out) - 1; k >= 0 && out[k].A1 == r.A0 && out[k].B1 == r.B0 {
			out[k].A1, out[k].B1 = r.A1, r.B1
			continue
		}
		out = append(out, r)
	}
	return out
}
