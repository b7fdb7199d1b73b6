package risk

import "sync"

// lexicon finds the words of all rules in one pass over a text (Aho and Corasick's
// machine), so that expressions look only at lines which can match. Case does not
// count: a rule's own expression is as strict as it wants.
type lexicon struct {
	class  [256]uint8 // of a byte; 0 stands for all that no word has
	width  int        // number of classes
	next   []uint16   // next[state*width+class]
	owners [][]uint16 // by state: rules of which a word ends here
}

var ruleWords = sync.OnceValue(func() *lexicon {
	var lists [][]string
	for _, r := range rules() {
		lists = append(lists, r.Has)
	}
	return newLexicon(lists)
})

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func newLexicon(lists [][]string) *lexicon {
	x := &lexicon{width: 1}
	total := 1
	for _, list := range lists {
		for _, w := range list {
			total += len(w)
			for i := range len(w) {
				if c := lower(w[i]); x.class[c] == 0 {
					x.class[c] = uint8(x.width)
					x.width++
				}
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		x.class[c] = x.class[lower(c)]
	}
	x.next = make([]uint16, x.width, total*x.width)
	x.owners = make([][]uint16, 1)
	for rule, list := range lists {
		for _, w := range list {
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
			x.owners[s] = append(x.owners[s], uint16(rule))
		}
	}
	x.link()
	return x
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

// index gives, for each rule, the lines that hold one of its words.
func (x *lexicon) index(lines []line) map[uint16][]int32 {
	out := map[uint16][]int32{}
	for i, l := range lines {
		s := uint16(0)
		for _, c := range clip(l.text) {
			s = x.next[int(s)*x.width+int(x.class[c])]
			for _, rule := range x.owners[s] {
				if got := out[rule]; len(got) == 0 || got[len(got)-1] != int32(i) {
					out[rule] = append(got, int32(i))
				}
			}
		}
	}
	return out
}
