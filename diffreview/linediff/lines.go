// Package linediff compares byte strings by lines and lines by words. It is
// pure, keeps every byte (a CR is part of its line), and is bounded: no input,
// however made, costs more than a fixed number of steps for each line.
package linediff

import (
	"bytes"
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
	return AppendSplit(make([][]byte, 0, bytes.Count(b, nl)+1), b)
}

// AppendSplit is Split into memory that the caller has already.
func AppendSplit(lines [][]byte, b []byte) [][]byte {
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
	// What is equal at both ends is most of most files: it gets no numbers.
	pre := 0
	for pre < len(a) && pre < len(b) && bytes.Equal(a[pre], b[pre]) {
		pre++
	}
	suf := 0
	for suf < len(a)-pre && suf < len(b)-pre && bytes.Equal(a[len(a)-1-suf], b[len(b)-1-suf]) {
		suf++
	}
	endA, endB := len(a)-suf, len(b)-suf
	var runs []Run
	switch {
	case pre == endA && pre == endB:
		return nil
	case pre == endA || pre == endB:
		runs = []Run{{pre, endA, pre, endB}}
	default:
		runs = diffMiddle(a[pre:endA], b[pre:endB], pre)
	}
	return slide(a, b, runs)
}

// diffMiddle compares lists that differ at both ends, which lie behind the line
// at of either text.
func diffMiddle(a, b [][]byte, at int) []Run {
	d := takeDiffer()
	defer d.giveBack()
	d.reset(len(a) + len(b))
	d.a, d.b = d.number(d.a, a), d.number(d.b, b)
	d.prepare()
	d.compare(0, len(a), 0, len(b), 0)
	runs := slices.Clone(d.runs)
	for i := range runs {
		r := &runs[i]
		*r = Run{at + r.A0, at + r.A1, at + r.B0, at + r.B1}
	}
	return runs
}

// maxDepth bounds how often a gap is searched again for lines that are unique
// within it. Each level reads every line at most once.
const maxDepth = 12

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
	from := len(d.pairs)
	if depth < maxDepth {
		d.anchors(a0, a1, b0, b1)
	}
	until := len(d.pairs)
	if from == until {
		if !d.shortest(a0, a1, b0, b1) {
			d.emit(Run{a0, a1, b0, b1})
		}
		return
	}
	for i := from; i < until; i++ { // by number: deeper levels use what is behind
		p := d.pairs[i]
		d.compare(a0, int(p.a), b0, int(p.b), depth+1)
		a0, b0 = int(p.a)+1, int(p.b)+1
	}
	d.compare(a0, a1, b0, b1, depth+1)
	d.pairs = d.pairs[:from]
}

// pair is an old and a new line that are the same.
type pair struct{ a, b int32 }

// anchors appends to pairs the longest list of lines that occur exactly once on
// each side of the region and in the same order on both (the patience method).
func (d *differ) anchors(a0, a1, b0, b1 int) {
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]]++
	}
	for j := b0; j < b1; j++ {
		d.countB[d.b[j]]++
		d.posB[d.b[j]] = int32(j)
	}
	d.common = d.common[:0]
	for i := a0; i < a1; i++ {
		if s := d.a[i]; d.countA[s] == 1 && d.countB[s] == 1 {
			d.common = append(d.common, pair{int32(i), d.posB[s]})
		}
	}
	for i := a0; i < a1; i++ {
		d.countA[d.a[i]] = 0
	}
	for j := b0; j < b1; j++ {
		d.countB[d.b[j]] = 0
	}
	d.longestAscending()
}

// longestAscending appends to pairs the longest part of common whose b ascends; a
// already does.
func (d *differ) longestAscending() {
	in := d.common
	d.tails, d.prev = d.tails[:0], d.prev[:0] // tails: index into in of the smallest last b for each length
	for i, p := range in {
		k := len(d.tails)
		if k > 0 && in[d.tails[k-1]].b > p.b {
			k, _ = slices.BinarySearchFunc(d.tails, p.b, func(t, b int32) int { return int(in[t].b) - int(b) })
		}
		before := int32(-1)
		if k > 0 {
			before = d.tails[k-1]
		}
		d.prev = append(d.prev, before)
		if k == len(d.tails) {
			d.tails = append(d.tails, int32(i))
		} else {
			d.tails[k] = int32(i)
		}
	}
	from, n := len(d.pairs), len(d.tails)
	if n == 0 {
		return
	}
	d.pairs = slices.Grow(d.pairs, n)[:from+n]
	for i, k := d.tails[n-1], n-1; k >= 0; i, k = d.prev[i], k-1 {
		d.pairs[from+k] = in[i]
	}
}

// slide moves pure insertions and deletions down as far as the text allows, so
// that an added function shows from its first line to its last rather than
// from the brace of the one before. Runs that come to touch become one.
func slide(a, b [][]byte, runs []Run) []Run {
	out := runs[:0]
	for i, r := range runs {
		endA, endB := len(a), len(b)
		if i+1 < len(runs) {
			endA, endB = runs[i+1].A0, runs[i+1].B0
		}
		switch {
		case r.A0 == r.A1:
			for r.A1 < endA && r.B1 < endB && bytes.Equal(b[r.B0], b[r.B1]) {
				r = Run{r.A0 + 1, r.A1 + 1, r.B0 + 1, r.B1 + 1}
			}
		case r.B0 == r.B1:
			for r.A1 < endA && r.B1 < endB && bytes.Equal(a[r.A0], a[r.A1]) {
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
