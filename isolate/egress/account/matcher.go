package account

// matcher finds every occurrence of some byte strings in one pass: an
// Aho-Corasick automaton. A state is a prefix of a form. Forms are long and
// share little, so that nearly every state has one way on, which is kept in the
// state itself; only the few with more have a list. A dense table would take
// 1 KiB a state, and one is made for each credential that is read.
//
// While no form is begun, most bytes are never looked at: shift says by two
// bytes how far the next form's beginning is at least (Wu and Manber). That
// never looks back, so the time stays linear in the input whatever it is.
type matcher struct {
	states []state
	more   map[int32][]edge // ways on beside a state's own
	root   [256]int32
	window int             // how many bytes of each form shift knows; 0 is no skipping
	shift  [shifts]uint8   // by hash of the window's last two bytes
	length map[int32]int32 // of the longest form that ends in a state
	owner  map[int32]int32 // whose that is
}

type state struct {
	next  int32 // by the byte on; 0 is none
	fail  int32 // the longest end of this prefix that is a prefix itself
	depth int32 // its length
	on    byte
	many  bool // there are others in more
	ends  bool // a form ends here
}

type edge struct {
	on byte
	to int32
}

const (
	shifts    = 1 << 13
	maxWindow = 16
)

func hash2(a, b byte) int { return int(a)<<5&(shifts-1) ^ int(b) }

// newMatcher makes one of forms; owners[i] is handed back where forms[i] is
// found. None may be empty.
func newMatcher(forms [][]byte, owners []int32) *matcher {
	m := &matcher{more: map[int32][]edge{}, length: map[int32]int32{}, owner: map[int32]int32{}}
	total, shortest := 1, maxWindow
	for _, f := range forms {
		total += len(f)
		shortest = min(shortest, len(f))
	}
	m.states = make([]state, 1, total)
	for i, f := range forms {
		m.add(f, owners[i])
	}
	m.link()
	if len(forms) > 0 && shortest >= 4 {
		m.skips(forms, shortest)
	}
	return m
}

func (m *matcher) add(form []byte, owner int32) {
	at := int32(0)
	for _, b := range form {
		to := m.child(at, b)
		if to == 0 {
			to = int32(len(m.states))
			m.states = append(m.states, state{depth: m.states[at].depth + 1})
			m.join(at, b, to)
		}
		at = to
	}
	if !m.states[at].ends {
		m.states[at].ends = true
		m.length[at], m.owner[at] = int32(len(form)), owner
	}
}

func (m *matcher) join(at int32, b byte, to int32) {
	s := &m.states[at]
	switch {
	case at == 0:
		m.root[b] = to
	case s.next == 0:
		s.on, s.next = b, to
	default:
		s.many = true
		m.more[at] = append(m.more[at], edge{b, to})
	}
}

// child is the way on from a state, or 0.
func (m *matcher) child(at int32, b byte) int32 {
	if at == 0 {
		return m.root[b]
	}
	s := &m.states[at]
	if s.next != 0 && s.on == b {
		return s.next
	}
	if s.many {
		for _, e := range m.more[at] {
			if e.on == b {
				return e.to
			}
		}
	}
	return 0
}

// step is the automaton's own: the longest prefix that the input ends in now.
func (m *matcher) step(at int32, b byte) int32 {
	for {
		if to := m.child(at, b); to != 0 || at == 0 {
			return to
		}
		at = m.states[at].fail
	}
}

// link finds every state's fail, shorter prefixes first.
func (m *matcher) link() {
	var queue []int32
	for _, to := range m.root {
		if to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		s := m.states[at]
		if !s.ends && m.states[s.fail].ends {
			m.states[at].ends = true
			m.length[at], m.owner[at] = m.length[s.fail], m.owner[s.fail]
		}
		if s.next == 0 {
			continue
		}
		for _, e := range append([]edge{{s.on, s.next}}, m.more[at]...) {
			m.states[e.to].fail = m.step(s.fail, e.on)
			queue = append(queue, e.to)
		}
	}
}

// skips fills shift: a form that begins k bytes into the window has the
// window's last two bytes k bytes before its own.
func (m *matcher) skips(forms [][]byte, window int) {
	m.window = window
	for i := range m.shift {
		m.shift[i] = uint8(window - 1)
	}
	for _, f := range forms {
		for j := 0; j+1 < window; j++ {
			at := &m.shift[hash2(f[j], f[j+1])]
			*at = min(*at, uint8(window-2-j))
		}
	}
}

// scan reads b on from a state and calls hit for each place where a form ends:
// end is the place in b, length that of the longest form. It gives the state
// after b.
func (m *matcher) scan(at int32, b []byte, hit func(end, length int, owner int32)) int32 {
	for i := 0; i < len(b); {
		if at == 0 && m.window > 0 {
			if i = m.skip(b, i); i >= len(b) {
				return 0
			}
		}
		at = m.step(at, b[i])
		i++
		if m.states[at].ends {
			hit(i, int(m.length[at]), m.owner[at])
		}
	}
	return at
}

// skip gives the first place from i on where a form may begin.
func (m *matcher) skip(b []byte, i int) int {
	for i+m.window <= len(b) {
		s := int(m.shift[hash2(b[i+m.window-2], b[i+m.window-1])])
		if s == 0 {
			if m.root[b[i]] != 0 {
				return i
			}
			s = 1
		}
		i += s
	}
	for i < len(b) && m.root[b[i]] == 0 {
		i++
	}
	return i
}
