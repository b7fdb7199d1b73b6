package rule

import (
	"errors"
	"fmt"
	"strings"
)

// glob is a pattern over bytes: "*" is any run without a separator, "**" any run,
// both also none. It is matched as a set of states, one bit each, so that no
// glob and no path makes it slower than their lengths' product over 64.
type glob struct {
	text   string
	prefix string // what stands before the first wildcard
	rest   string // from the first wildcard on
	sep    string // the bytes that "*" does not match
	states *states
}

// states is the automaton of a glob's rest. State i is before token i; the last
// one is the end.
type states struct {
	class      [256]uint8 // of a byte: which of lits; 0 is of those the glob doesn't have
	lits       [][]uint64 // the states in front of that byte
	star, deep []uint64
	words, end int
}

// maxGlob bounds a glob, in bytes, and so the time that a match takes.
const (
	maxGlob = 1024
	words   = maxGlob/64 + 1
)

// The separators of the two things that globs are over.
const (
	pathSep  = "/"
	querySep = "&;"
)

// newGlob compiles a glob that is in normal form: checkGlob says so.
func newGlob(text, sep string) *glob {
	g := &glob{text: text, prefix: text, sep: sep}
	i := strings.IndexByte(text, '*')
	if i < 0 {
		return g
	}
	g.prefix, g.rest = text[:i], text[i:]
	if g.rest != "*" && g.rest != "**" {
		g.states = newStates(g.rest)
	}
	return g
}

func newStates(text string) *states {
	n := len(text) - strings.Count(text, "**") // tokens
	s := &states{words: n/64 + 1, end: n}
	s.star, s.deep = make([]uint64, s.words), make([]uint64, s.words)
	s.lits = [][]uint64{make([]uint64, s.words)}
	for i := 0; text != ""; i++ {
		word, bit := i/64, uint64(1)<<(i%64)
		switch rest, deep := strings.CutPrefix(text, "**"); {
		case deep:
			s.deep[word] |= bit
			text = rest
			continue
		case text[0] == '*':
			s.star[word] |= bit
		default:
			c := text[0]
			if s.class[c] == 0 {
				s.class[c] = uint8(len(s.lits)) // at most 128: globs are ASCII
				s.lits = append(s.lits, make([]uint64, s.words))
			}
			s.lits[s.class[c]][word] |= bit
		}
		text = text[1:]
	}
	return s
}

func (g *glob) match(s string) bool {
	rest, ok := strings.CutPrefix(s, g.prefix)
	switch {
	case !ok:
		return false
	case g.states != nil:
		return g.states.match(rest, g.sep)
	case g.rest == "**":
		return true
	case g.rest == "*":
		return !strings.ContainsAny(rest, g.sep)
	}
	return rest == ""
}

func (a *states) match(s, sep string) bool {
	var buf [words]uint64
	at := buf[:a.words]
	at[0] = 1
	a.skip(at)
	for i := range len(s) {
		lit := a.lits[a.class[s[i]]]
		within := strings.IndexByte(sep, s[i]) < 0
		var carry, alive uint64
		for w, now := range at {
			step, stay := now&lit[w], now&a.deep[w]
			if within {
				stay |= now & a.star[w]
			}
			at[w] = stay | step<<1 | carry
			carry = step >> 63
			alive |= at[w]
		}
		if alive == 0 {
			return false
		}
		a.skip(at)
	}
	return at[a.end/64]&(1<<(a.end%64)) != 0
}

// skip adds the states behind wildcards, which match nothing as well. No two
// wildcards are neighbours, so one step is all.
func (a *states) skip(at []uint64) {
	var carry uint64
	for w := range at {
		wild := at[w] & (a.star[w] | a.deep[w])
		at[w] |= wild<<1 | carry
		carry = wild >> 63
	}
}

// checkGlob says what is wrong with a glob, and what to write in its place. also
// is what may stand in it besides the characters of a path segment.
func checkGlob(g, also string) (string, error) {
	if len(g) > maxGlob {
		return "", fmt.Errorf("a glob of more than %d bytes", maxGlob)
	}
	if strings.Contains(g, "***") {
		return strings.ReplaceAll(g, "***", "**"), errors.New("three asterisks are no wildcard")
	}
	var fixed strings.Builder
	var wrong error
	for i := 0; i < len(g); i++ {
		c := g[i]
		if c != '%' {
			if !pchar(c) && strings.IndexByte(also, c) < 0 {
				fmt.Fprintf(&fixed, "%%%02X", c)
				wrong = fmt.Errorf("%q has to be percent-encoded; only * and ** are wildcards", rune(c))
				if c >= 0x80 {
					wrong = errors.New("what is not ASCII has to be percent-encoded")
				}
				continue
			}
			fixed.WriteByte(c)
			continue
		}
		b, ok := escape(g, i)
		switch {
		case !ok:
			return "", errors.New("a percent sign without two hexadecimal digits; the sign itself is %25")
		case unreserved(b):
			fixed.WriteByte(b)
			wrong = fmt.Errorf("%s stands for %q, which is matched as itself", g[i:i+3], rune(b))
		case g[i:i+3] != strings.ToUpper(g[i:i+3]):
			fixed.WriteString(strings.ToUpper(g[i : i+3]))
			wrong = fmt.Errorf("%s has to be in upper case", g[i:i+3])
		default:
			fixed.WriteString(g[i : i+3])
		}
		i += 2
	}
	return fixed.String(), wrong
}
