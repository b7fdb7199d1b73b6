package policy

import "strings"

// globCovers tells whether every path that the pattern in fits, the pattern out
// fits too. "*" is any run within a segment, "**" any run. It answers no where
// it can't tell within its bounds: then something counts as wider that is not,
// which is the safe side. left is what may still be spent: a hostile file can
// have thousands of patterns, each of which would take its time.
func globCovers(out, in string, left *int) bool {
	if out == in {
		return true
	}
	a, b := globTokens(out), globTokens(in)
	if len(a) > maxGlob || len(b) > maxGlob {
		return false
	}
	return covers(a, b, globBytes(a, b), left)
}

const (
	maxGlob  = 256      // tokens of a pattern
	maxSpent = 20 << 20 // places looked at for one policy: about a tenth of a second
)

// A token of a pattern is a byte, or one of these.
const (
	star    = -1 // any run without a slash
	stars   = -2 // any run
	another = -3 // in an alphabet: a byte that neither pattern names
)

func globTokens(s string) []int {
	var out []int
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '*':
			out = append(out, int(s[i]))
		case strings.HasPrefix(s[i:], "**"):
			for i+1 < len(s) && s[i+1] == '*' {
				i++
			}
			out = append(out, stars)
		default:
			out = append(out, star)
		}
	}
	return out
}

// globBytes lists the bytes that the patterns tell apart.
func globBytes(patterns ...[]int) []int {
	all := []int{another, '/'}
	seen := map[int]bool{'/': true}
	for _, p := range patterns {
		for _, t := range p {
			if t >= 0 && !seen[t] {
				seen[t] = true
				all = append(all, t)
			}
		}
	}
	return all
}

// covers walks both patterns side by side: one place in the inner one, and all
// places in the outer one where the same bytes may have led.
func covers(outer, inner, alphabet []int, left *int) bool {
	type state struct {
		at  int
		set string
	}
	start := state{0, closure(outer, []bool{true})}
	seen, todo := map[state]bool{start: true}, []state{start}
	push := func(s state) {
		if !seen[s] {
			seen[s] = true
			todo = append(todo, s)
		}
	}
	for len(todo) > 0 {
		if *left -= len(alphabet) * (len(outer) + 1); *left < 0 {
			return false
		}
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.at == len(inner) {
			if s.set[len(outer)] != '1' {
				return false // a path ends here that the outer one does not fit
			}
			continue
		}
		t := inner[s.at]
		if t == star || t == stars {
			push(state{s.at + 1, s.set})
		}
		for _, c := range alphabet {
			switch {
			case t == c && t >= 0:
				push(state{s.at + 1, step(outer, s.set, c)})
			case t == stars, t == star && c != '/':
				push(state{s.at, step(outer, s.set, c)})
			}
		}
	}
	return true
}

// step gives where the outer pattern may be after one more byte.
func step(pattern []int, set string, c int) string {
	next := make([]bool, len(pattern)+1)
	for i, t := range pattern {
		if set[i] != '1' {
			continue
		}
		switch {
		case t == c && t >= 0:
			next[i+1] = true
		case t == stars, t == star && c != '/':
			next[i] = true
		}
	}
	return closure(pattern, next)
}

// closure adds the places that are reached without a byte: a run may be empty.
func closure(pattern []int, at []bool) string {
	out := make([]byte, len(pattern)+1)
	reached := false
	for i := range out {
		here := i < len(at) && at[i] || reached
		out[i] = '0'
		if here {
			out[i] = '1'
		}
		reached = here && i < len(pattern) && pattern[i] < 0
	}
	return string(out)
}
