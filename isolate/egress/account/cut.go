package account

import (
	"slices"
	"strings"
)

// Cutter takes secrets out of what comes back, in the forms in which they may
// be written. What it cuts is written over with as many asterisks, so that no
// length changes. A Cutter never changes once it is made, and may be used by
// several goroutines. Making one costs some hundred microseconds a secret: keep
// it as long as the secrets are the same.
type Cutter struct {
	m      *matcher
	lower  []string  // the secrets, for Holds
	hold   int       // no form is longer
	breaks [256]bool // bytes that are in no form
}

// NewCutter makes a cutter for secrets; empty ones are left out.
func NewCutter(secrets ...string) *Cutter {
	var all [][]byte
	var owners []int32
	c := &Cutter{}
	for i, s := range secrets {
		if s == "" {
			continue
		}
		c.lower = append(c.lower, strings.ToLower(s))
		for _, f := range forms(s) {
			all = append(all, f)
			owners = append(owners, int32(i))
		}
	}
	if len(all) > 0 {
		c.m = newMatcher(all, owners)
		c.hold, c.breaks = holdOf(all), breaksOf(all)
	}
	return c
}

// Holds tells whether a header's name has a secret in it, in any case, since
// names are written in a case of their own.
func (c *Cutter) Holds(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(c.lower, func(s string) bool { return strings.Contains(name, s) })
}

// Empty says that there is nothing to cut.
func (c *Cutter) Empty() bool { return c.m == nil }

// Cut writes over every secret in b, in place, and gives how many there were.
func (c *Cutter) Cut(b []byte) int {
	if c.Empty() {
		return 0
	}
	n := 0
	s := stream{c: c}
	s.over(b, 0, func() { n++ })
	return n
}

// stream is how far a stream was searched.
type stream struct {
	c     *Cutter
	state int32
	low   int // the last run of bytes that were written over begins here, by the place in what over is given
	past  int // and ends here
}

// over searches b from a place on, and writes over what it finds, each byte
// once however many matches it belongs to. A match may begin before that place,
// in what was held back.
func (s *stream) over(b []byte, from int, seen func()) {
	s.state = s.c.m.scan(s.state, b[from:], func(end, length int, _ int32) {
		end += from
		start := end - length
		if start >= s.past {
			seen()
			s.low, s.past = start, start
		}
		if start < s.low {
			fill(b[start:s.low])
			s.low = start
		}
		fill(b[s.past:end])
		s.past = end
	})
}

func fill(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}
