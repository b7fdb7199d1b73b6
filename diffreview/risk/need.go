package risk

import (
	"cmp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A clause is a list of words, in lower case, of which one at least is in every
// text that an expression matches.
type clause []string

const (
	maxExact  = 24 // words that a part of an expression may stand for before it counts as any text
	maxClause = 80 // words of one clause
	maxNeeds  = 3  // clauses of one expression
)

// needed derives from an expression what a line must hold for it to match, in
// any case of its letters, so that the expression itself is tried on few lines
// (the idea of RE2's prefilters). No clause: nothing can be said.
func needed(re *syntax.Regexp) []clause {
	got := analyse(re)
	all := got.needs
	if c := asClause(got.exact); c != nil {
		all = append(all, c)
	}
	return best(all)
}

// known is what can be said of the texts that an expression matches: that they
// are those of exact, or that they hold a word of each clause.
type known struct {
	exact []string // nil: not known
	needs []clause
}

var anyText = known{}

func analyse(re *syntax.Regexp) known {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCharClass:
		return class(re)
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return known{exact: []string{""}}
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpQuest:
		if k := analyse(re.Sub[0]); k.exact != nil && len(k.exact) < maxExact {
			return known{exact: distinct(append(k.exact[:len(k.exact):len(k.exact)], ""))}
		}
	case syntax.OpPlus:
		return repeated(analyse(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return repeated(analyse(re.Sub[0]))
		}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	default:
	}
	return anyText
}

func literal(re *syntax.Regexp) known {
	var b strings.Builder
	for _, r := range re.Rune {
		if r >= utf8.RuneSelf && re.Flags&syntax.FoldCase != 0 {
			return anyText // folds to bytes of another length
		}
		if r < utf8.RuneSelf {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return known{exact: []string{b.String()}}
}

func class(re *syntax.Regexp) known {
	var out []string
	for i := 0; i+1 < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if hi-lo > 8 || hi >= utf8.RuneSelf && hi != 0x17f && hi != 0x212a {
			return anyText
		}
		for r := lo; r <= hi; r++ {
			// The long s and the sign for Kelvin, which folding adds: no tool
			// reads them as the letters that they stand beside.
			if r < utf8.RuneSelf {
				out = append(out, string(unicode.ToLower(r)))
			}
		}
	}
	if out = distinct(out); len(out) == 0 || len(out) > 8 {
		return anyText
	}
	return known{exact: out}
}

func repeated(k known) known {
	if c := asClause(k.exact); c != nil {
		return known{needs: []clause{c}}
	}
	return known{needs: k.needs}
}

func concat(subs []*syntax.Regexp) known {
	var needs []clause
	at := []string{""}
	whole := true
	flush := func() {
		if c := asClause(at); c != nil {
			needs = append(needs, c)
		}
		at, whole = []string{""}, false
	}
	for _, sub := range subs {
		k := analyse(sub)
		if k.exact == nil {
			flush()
			needs = append(needs, k.needs...)
			continue
		}
		if len(at)*len(k.exact) > maxExact {
			flush()
			if len(k.exact) > maxExact {
				at = k.exact
				flush()
				continue
			}
		}
		var next []string
		for _, a := range at {
			for _, b := range k.exact {
				next = append(next, a+b)
			}
		}
		at = distinct(next)
	}
	if whole {
		return known{exact: at}
	}
	flush()
	return known{needs: needs}
}

func alternate(subs []*syntax.Regexp) known {
	var exact []string
	var union clause
	all := true
	for _, sub := range subs {
		k := analyse(sub)
		all = all && k.exact != nil
		exact = append(exact, k.exact...)
		c := asClause(k.exact)
		if k.exact == nil {
			if b := best(k.needs); len(b) > 0 {
				c = b[0]
			}
		}
		if c == nil && !all {
			return anyText
		}
		union = append(union, c...)
	}
	if exact = distinct(exact); all && len(exact) <= 2*maxExact {
		return known{exact: exact}
	}
	if slices.Contains(exact, "") {
		return anyText
	}
	if union = shortest(union); len(union) > maxClause || len(union) == 0 {
		return anyText
	}
	return known{needs: []clause{union}}
}

// asClause makes exact texts a clause. One that may be empty needs no word.
func asClause(exact []string) clause {
	if len(exact) == 0 || slices.Contains(exact, "") {
		return nil
	}
	return shortest(exact)
}

// shortest drops words that hold another one of the list.
func shortest(words []string) clause {
	words = distinct(words)
	slices.SortStableFunc(words, func(a, b string) int { return len(a) - len(b) })
	var out clause
	for _, w := range words {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.Contains(w, o) }) {
			out = append(out, w)
		}
	}
	return out
}

func distinct(words []string) []string {
	out := slices.Clone(words)
	slices.Sort(out)
	return slices.Compact(out)
}

// best keeps the clauses that rule out most lines: those whose shortest word is
// longest, and no single letters beside them.
func best(all []clause) []clause {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b clause) int {
		return cmp.Or(len(b[0])-len(a[0]), len(a)-len(b))
	})
	out := all[:0]
	for i, c := range all {
		if i == maxNeeds || i > 0 && common(c) {
			break
		}
		out = append(out, c)
	}
	return out
}

// common says whether nearly every line of code holds a word of c.
func common(c clause) bool {
	return slices.ContainsFunc(c, func(w string) bool {
		return len(w) == 1 && (w[0] >= 'a' && w[0] <= 'z' || w[0] >= '0' && w[0] <= '9' || strings.Contains(" .,:;=()\"'/_-", w))
	})
}
