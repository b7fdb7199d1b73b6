package linediff

import (
	"bytes"
	"hash/maphash"
	"sync"
)

// differ compares two lists of lines by their numbers. One is used for many
// files after another: its memory is most of what a comparison of a small file
// would cost.
type differ struct {
	a, b                 []int32
	countA, countB, posB []int32 // by number; zero outside anchors
	counts               []int32 // what the three are parts of
	runs                 []Run
	budget               int // steps left for shortest edits
	v, trace             []int32
	steps                []step
	pairs                []pair // anchors of the levels under way, one behind the other
	common               []pair
	tails, prev          []int32

	seed  maphash.Seed
	slots []slot // a power of two of them, at most half in use
	lines [][]byte
}

// slot is one line of the table: its hash, and its number plus one.
type slot struct {
	hash uint64
	id   int32
}

var differs sync.Pool

func takeDiffer() *differ {
	if d, ok := differs.Get().(*differ); ok {
		return d
	}
	return &differ{seed: maphash.MakeSeed()}
}

// mostKept is how many lines a differ may have grown to and still be kept.
const mostKept = 1 << 16

func (d *differ) giveBack() {
	clear(d.lines) // no file's text stays reachable
	if len(d.slots) <= 4*mostKept {
		differs.Put(d)
	}
}

// reset makes room for that many lines of both sides together.
func (d *differ) reset(lines int) {
	size := 64
	for size < 2*lines {
		size *= 2
	}
	if cap(d.slots) < size {
		d.slots = make([]slot, size)
	}
	d.slots = d.slots[:size]
	clear(d.slots)
	d.a, d.b, d.lines, d.runs = d.a[:0], d.b[:0], d.lines[:0], d.runs[:0]
	d.pairs = d.pairs[:0]
	d.budget = 64*lines + 1<<20
}

// number appends the numbers of lines to out: equal lines have equal ones. It
// goes by a seeded hash, then compares.
func (d *differ) number(out []int32, lines [][]byte) []int32 {
	mask := uint64(len(d.slots) - 1)
	for _, l := range lines {
		h := maphash.Bytes(d.seed, l)
		at := h & mask
		for ; ; at = (at + 1) & mask {
			s := &d.slots[at]
			if s.id == 0 {
				d.lines = append(d.lines, l)
				*s = slot{h, int32(len(d.lines))}
				break
			}
			if s.hash == h && bytes.Equal(d.lines[s.id-1], l) {
				break
			}
		}
		out = append(out, d.slots[at].id-1)
	}
	return out
}

// prepare makes the counters for the numbers that were given out.
func (d *differ) prepare() {
	n := len(d.lines)
	if cap(d.counts) < 3*n {
		d.counts = make([]int32, 3*n)
	}
	d.counts = d.counts[:3*n]
	clear(d.counts)
	d.countA, d.countB, d.posB = d.counts[:n], d.counts[n:2*n], d.counts[2*n:]
}
