package risk

import (
	"bytes"
	"slices"
	"sync"
)

// lexicon finds the words that all expressions need in one pass over a text (Aho
// and Corasick's machine). Case does not count: an expression is as strict as it
// wants.
type lexicon struct {
	class  [256]uint8 // of a byte; 0 stands for all that no word has
	width  int        // number of classes
	next   []uint16   // next[state*width+class], while it is made
	table  []uint32   // as next, and made for scan: where the next state's row begins, with the bit end
	owners [][]owner  // by state: the clauses that the word is of
	full   []uint8    // by alternative: bits of its clauses
	weak   [][]clause // by alternative: what is looked for where all else is
	of     []uint16   // by alternative: its expression
	count  int        // of expressions
}

type owner struct {
	alt uint16
	bit uint8
}

// marks are what one scan found. They are used again for the next file.
type marks struct {
	lines [][]int32 // by alternative: the lines that hold all it needs
	used  []uint16  // alternatives that have lines
	any   []bool    // by expression: one of its alternatives has
	seen  []seen    // by alternative
}

// seen is what was found of an alternative's clauses on one line.
type seen struct {
	line int32 // its index plus one
	bits uint8
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// newLexicon numbers the alternatives of all expressions.
func newLexicon(all []*expression) *lexicon {
	x := &lexicon{width: 1}
	total := 1
	for _, e := range all {
		e.id = uint16(x.count)
		x.count++
		for _, a := range e.alts {
			x.of = append(x.of, e.id)
			a.id = uint16(len(x.full))
			strong := a.strong()
			x.full = append(x.full, uint8(1)<<strong-1)
			x.weak = append(x.weak, a.needs[strong:])
			for _, c := range a.needs[:strong] {
				for _, w := range c {
					total += len(w)
					x.letters(w)
				}
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		x.class[c] = x.class[lower(c)]
	}
	x.next = make([]uint16, x.width, total*x.width)
	x.owners = make([][]owner, 1)
	for _, e := range all {
		for _, a := range e.alts {
			for i, c := range a.needs[:a.strong()] {
				for _, w := range c {
					x.add(w, owner{a.id, 1 << i})
				}
			}
		}
	}
	x.arrange(x.link())
	x.next = nil
	return x
}

// end marks, in the lexicon's table, a state in which a word ends.
const end = 1 << 31

func (x *lexicon) letters(w string) {
	for i := range len(w) {
		if c := lower(w[i]); x.class[c] == 0 {
			x.class[c] = uint8(x.width)
			x.width++
		}
	}
}

func (x *lexicon) add(w string, o owner) {
	s := 0
	for i := range len(w) {
		at := s*x.width + int(x.class[w[i]])
		if x.next[at] == 0 {
			x.next[at] = uint16(len(x.owners))
			x.owners = append(x.owners, nil)
			x.next = append(x.next, make([]uint16, x.width)...)
		}
		s = int(x.next[at])
	}
	x.owners[s] = append(x.owners[s], o)
}

// link fills in where to go on when a word breaks off: the longest end of what
// was read that begins a word. It gives the states in the order of how much of a
// word was read.
func (x *lexicon) link() []uint16 {
	fail := make([]uint16, len(x.owners))
	queue := make([]uint16, 1, len(x.owners))
	for c := range x.width {
		if s := x.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for i := 1; i < len(queue); i++ {
		s := queue[i]
		x.owners[s] = append(x.owners[s], x.owners[fail[s]]...)
		for c := range x.width {
			at := int(s)*x.width + c
			back := x.next[int(fail[s])*x.width+c]
			if t := x.next[at]; t != 0 {
				fail[t] = back
				queue = append(queue, t)
			} else {
				x.next[at] = back
			}
		}
	}
	return queue
}

// arrange makes the table, the states in the order given: those where a text is
// nearly all of the time come first, on few pages of memory.
func (x *lexicon) arrange(order []uint16) {
	row := make([]uint32, len(order)) // by state: where its row begins
	owners := make([][]owner, len(order))
	for i, s := range order {
		owners[i] = x.owners[s]
		if row[s] = uint32(i * x.width); len(owners[i]) > 0 {
			row[s] |= end
		}
	}
	x.owners = owners
	x.table = make([]uint32, 0, len(x.next))
	for _, s := range order {
		for _, to := range x.next[int(s)*x.width : (int(s)+1)*x.width] {
			x.table = append(x.table, row[to])
		}
	}
}

// marksPool keeps them between files: there is one for each file being read.
var marksPool sync.Pool

func (x *lexicon) marks() *marks {
	if m, ok := marksPool.Get().(*marks); ok {
		return m
	}
	n := len(x.full)
	return &marks{lines: make([][]int32, n), any: make([]bool, x.count), seen: make([]seen, n)}
}

// release makes m empty, for the next file.
func (m *marks) release() {
	m.clear()
	marksPool.Put(m)
}

func (m *marks) clear() {
	for _, a := range m.used {
		m.lines[a] = m.lines[a][:0]
	}
	m.used = m.used[:0]
	clear(m.any)
	clear(m.seen)
}

// scan marks the lines that hold all that an alternative needs. m is empty.
func (x *lexicon) scan(lines []line, m *marks) {
	table, class := x.table, &x.class // in registers
	for i := range lines {
		text := clip(lines[i].text)
		s := uint32(0) // where the state's row begins
		for _, c := range text {
			s = table[s+uint32(class[c])]
			if s&end != 0 {
				s &^= end
				x.found(s/uint32(x.width), int32(i), text, m)
			}
		}
	}
}

func (x *lexicon) found(s uint32, at int32, text []byte, m *marks) {
	for _, o := range x.owners[s] {
		b := &m.seen[o.alt]
		if b.line != at+1 {
			*b = seen{line: at + 1}
		}
		if b.bits&o.bit != 0 {
			continue
		}
		b.bits |= o.bit
		if b.bits == x.full[o.alt] && holdsAll(text, x.weak[o.alt]) {
			if len(m.lines[o.alt]) == 0 {
				m.used = append(m.used, o.alt)
				m.any[x.of[o.alt]] = true
			}
			m.lines[o.alt] = append(m.lines[o.alt], at)
		}
	}
}

// holdsAll says whether a text holds a word of each clause, in any case.
func holdsAll(text []byte, needs []clause) bool {
	for _, c := range needs {
		if !slices.ContainsFunc(c, func(w string) bool { return containsFold(text, w) }) {
			return false
		}
	}
	return true
}

// containsFold says whether a text holds a word, which is in lower case.
func containsFold(text []byte, w string) bool {
	if c := w[0]; c < 'a' || c > 'z' {
		i := bytes.IndexByte(text, c)
		if i < 0 {
			return false
		}
		text = text[i:]
	}
	for i := range len(text) - len(w) + 1 {
		n := 0
		for n < len(w) && lower(text[i+n]) == w[n] {
			n++
		}
		if n == len(w) {
			return true
		}
	}
	return false
}
