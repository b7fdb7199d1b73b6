package risk

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// expression is a regular expression cut at its top into alternatives. Each is
// compiled when a line first holds the words that it needs: most never are, and
// one of them costs a fraction of the whole.
type expression struct {
	id   uint16 // in the lexicon
	alts []*alternative
}

type alternative struct {
	id    uint16 // in the lexicon
	needs []clause
	re    func() *regexp.Regexp // nil: the words alone decide
}

// strong is how many of a's clauses the lexicon looks for. The others have a word
// of one or two letters, which stands in most lines of some language: they are
// looked for on the lines that hold the rest.
func (a *alternative) strong() int {
	n := len(a.needs)
	for n > 1 && len(a.needs[0][0]) > 2 && len(a.needs[n-1][0]) <= 2 {
		n--
	}
	return n
}

// maxAlternatives bounds into how many pieces one expression is cut.
const maxAlternatives = 400

// newExpression cuts source. words, where there are some, are one more clause of
// alternatives of which nothing can be said.
func newExpression(source string, words []string) *expression {
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		panic("risk: " + err.Error()) // a constant of the tables, which tests compile
	}
	x := &expression{}
	for _, sub := range pieces(re, maxAlternatives) {
		a := &alternative{needs: needed(sub)}
		if len(a.needs) == 0 && len(words) > 0 {
			a.needs = []clause{lowerAll(words)}
		}
		a.re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(sub.String()) })
		x.alts = append(x.alts, a)
	}
	return x
}

// wordList stands for lines that hold one of words, for a check of its own.
func wordList(words []string) *expression {
	return &expression{alts: []*alternative{{needs: []clause{lowerAll(words)}}}}
}

func lowerAll(words []string) clause {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(w)
	}
	return shortest(out)
}

// pieces gives expressions of which one matches where re does. What the parser
// took out as a common beginning is given back to each.
func pieces(re *syntax.Regexp, limit int) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return pieces(re.Sub[0], limit)
	case syntax.OpAlternate:
		var out []*syntax.Regexp
		for _, sub := range re.Sub {
			out = append(out, pieces(sub, limit)...)
		}
		if len(out) <= limit {
			return out
		}
	case syntax.OpConcat:
		last := re.Sub[len(re.Sub)-1]
		if last.Op != syntax.OpAlternate && last.Op != syntax.OpCapture {
			break
		}
		var out []*syntax.Regexp
		for _, end := range pieces(last, limit) {
			sub := slices.Clone(re.Sub)
			sub[len(sub)-1] = end
			out = append(out, &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: sub})
		}
		if len(out) > 1 && len(out) <= limit {
			return out
		}
	default:
	}
	return []*syntax.Regexp{re}
}

// candidate is a line on which an alternative is worth trying.
type candidate struct {
	at  int32 // index of the line
	alt *alternative
}

// candidates are the lines of a scan that hold what an alternative of x needs,
// in their order.
func (x *expression) candidates(m *marks) []candidate {
	if !m.any[x.id] {
		return nil
	}
	n := 0
	for _, a := range x.alts {
		n += len(m.lines[a.id])
	}
	out := make([]candidate, 0, n)
	for _, a := range x.alts {
		for _, at := range m.lines[a.id] {
			out = append(out, candidate{at, a})
		}
	}
	if len(x.alts) > 1 {
		slices.SortFunc(out, func(a, b candidate) int { return int(a.at - b.at) })
	}
	return out
}
