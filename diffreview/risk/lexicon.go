package risk

import "sync"

// lexicon finds the words that all expressions need in one pass over a text (Aho
// and Corasick's machine). Case does not count: an expression is as strict as it
// wants.
type lexicon struct {
	class  [256]uint8 // of a byte; 0 stands for all that no word has
	width  int        // number of classes
	next   []uint16   // next[state*width+class], while it is made
	table  []uint32   // as next, and made for scan: where the next state's row begins, with the bit end
	owners [][]owner  // by state: the clauses that the word is of
	full   []uint8    // by alternative: bits of all its clauses
}

type owner struct {
	alt uint16
	bit uint8
}

// marks are what one scan found. They are used again for the next file.
type marks struct {
	lines [][]int32 // by alternative: the lines that hold all it needs
	used  []uint16  // alternatives that have lines
	line  []int32   // by alternative: the line that bits speaks of
	bits  []uint8
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
		for _, a := range e.alts {
			a.id = uint16(len(x.full))
			x.full = append(x.full, uint8(1)<<len(a.needs)-1)
			for _, c := range a.needs {
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
			for i, c := range a.needs {
				for _, w := range c {
					x.add(w, owner{a.id, 1 << i})
				}
			}
		}
	}
	x.link()
	x.table = make([]uint32, len(x.next))
	for i, s := range x.next {
		if x.table[i] = uint32(s) * uint32(x.width); len(x.owners[s]) > 0 {
			x.table[i] |= end
		}
	}
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
// was read that begins a word.
func (x *lexicon) link() {
	fail := make([]uint16, len(x.owners))
	var queue []uint16
	for c := range x.width {
		if s := x.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
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
}

// marksPool keeps them between files: there is one for each file being read.
var marksPool sync.Pool

func (x *lexicon) marks() *marks {
	if m, ok := marksPool.Get().(*marks); ok {
		return m
	}
	n := len(x.full)
	return &marks{lines: make([][]int32, n), line: make([]int32, n), bits: make([]uint8, n)}
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
	clear(m.line)
}

// scan marks the lines that hold all that an alternative needs. m is empty.
func (x *lexicon) scan(lines []line, m *marks) {
	for i := range lines {
		s := uint32(0) // where the state's row begins
		for _, c := range clip(lines[i].text) {
			s = x.table[s+uint32(x.class[c])]
			if s&end != 0 {
				s &^= end
				x.found(s/uint32(x.width), int32(i), m)
			}
		}
	}
}

func (x *lexicon) found(s uint32, at int32, m *marks) {
	for _, o := range x.owners[s] {
		if m.line[o.alt] != at+1 {
			m.line[o.alt], m.bits[o.alt] = at+1, 0
		}
		if m.bits[o.alt]&o.bit != 0 {
			continue
		}
		m.bits[o.alt] |= o.bit
		if m.bits[o.alt] == x.full[o.alt] {
			if len(m.lines[o.alt]) == 0 {
				m.used = append(m.used, o.alt)
			}
			m.lines[o.alt] = append(m.lines[o.alt], at)
		}
	}
}
