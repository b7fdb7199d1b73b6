package risk

import (
	"path"
	"strings"
)

// patterns are the paths of one rule, arranged so that a path that can't match
// costs one or two look-ups.
type patterns struct {
	base  map[string]bool // whole last parts
	wild  []string        // patterns of the last part
	paths []pathPattern
}

type pathPattern struct {
	segs   []string
	rooted bool
	below  bool // ends in **
}

func compilePatterns(list []string) *patterns {
	p := &patterns{base: map[string]bool{}}
	for _, s := range list {
		switch {
		case strings.Contains(s, "/"):
			p.paths = append(p.paths, compilePath(s))
		case strings.ContainsAny(s, "*?["):
			p.wild = append(p.wild, s)
		default:
			p.base[s] = true
		}
	}
	return p
}

func compilePath(s string) pathPattern {
	rest, rooted := strings.CutPrefix(s, "/")
	rest, below := strings.CutSuffix(rest, "/**")
	return pathPattern{strings.Split(rest, "/"), rooted, below}
}

// compiledExt are endings of files that no tool loads by their name alone, and
// of prose; sourceExt are those of all source code.
var (
	compiledExt = words(".go .rs .java .kt .scala .cs .fs .c .cc .cpp .cxx .h .hh .hpp .m .mm .swift .md .mdx .rst .adoc .html .css .scss .less .tsx .jsx .vue .svelte .ex .erl .hs .ml .mli .clj .dart .zig .proto .graphql")
	sourceExt   = words(".go .rs .java .kt .scala .cs .fs .c .cc .cpp .cxx .h .hh .hpp .m .mm .swift .md .mdx .rst .adoc .html .css .scss .less .tsx .jsx .vue .svelte .ex .erl .hs .ml .mli .clj .dart .zig .proto .graphql .py .pyi .js .ts .mjs .cjs .mts .rb .php .lua .pl .r .jl .sql .png .svg .jpg .gif .txt")
)

// match says whether one of the patterns covers the path, given in lower-case
// parts.
func (p *patterns) match(segs []string) bool {
	last := segs[len(segs)-1]
	if p.base[last] {
		return true
	}
	for _, w := range p.wild {
		// "tool.*" means the tool's settings, not a source file called tool.
		if strings.HasSuffix(w, "*") && compiledExt.has(path.Ext(last)) {
			continue
		}
		if glob(w, last) {
			return true
		}
	}
	for _, q := range p.paths {
		if q.match(segs) {
			return true
		}
	}
	return false
}

func (q pathPattern) match(segs []string) bool {
	n := len(q.segs)
	end := len(segs) - n // where the pattern must start to end with the path
	if q.below {
		end-- // at least one part below
	}
	if end < 0 {
		return false
	}
	start := end
	if q.below {
		start = 0
	}
	if q.rooted {
		if !q.below && end != 0 {
			return false
		}
		start, end = 0, 0
	}
	for at := start; at <= end; at++ {
		ok := true
		for i := 0; i < n && ok; i++ {
			ok = glob(q.segs[i], segs[at+i])
		}
		if ok {
			return true
		}
	}
	return false
}

func glob(pattern, s string) bool {
	if pattern == "" || s == "" {
		return pattern == s
	}
	// Most names differ in the first or the last letter already.
	if c := pattern[0]; c != s[0] && c != '*' && c != '?' && c != '[' {
		return false
	}
	if c := pattern[len(pattern)-1]; c != s[len(s)-1] && c != '*' && c != '?' && c != ']' {
		return false
	}
	if !strings.ContainsAny(pattern, wildSigns) {
		return pattern == s
	}
	if rest, ok := strings.CutPrefix(pattern, "*"); ok {
		if !strings.ContainsAny(rest, wildSigns) {
			return strings.HasSuffix(s, rest)
		}
		if part, ok := strings.CutSuffix(rest, "*"); ok && !strings.ContainsAny(part, wildSigns) {
			return strings.Contains(s, part)
		}
	}
	// All patterns are constants of the tables; a test checks that they parse.
	ok, err := path.Match(pattern, s)
	return err == nil && ok
}
