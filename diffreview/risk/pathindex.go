package risk

import (
	"path"
	"slices"
	"strings"
)

// pathIndex finds the rules that cover a path without asking each: by what is
// fixed in their patterns. It says the same as compiled.covers, which a test
// holds it to.
type pathIndex struct {
	always []*compiled           // rules without patterns
	base   map[string][]indexed  // whole last parts
	tail   map[string][]indexed  // ends of last parts, for patterns *TAIL
	tails  [256][]int            // the lengths of them, by their last byte
	wild   [256][]indexed        // other patterns of the last part, by their first byte; 0: a wild one
	part   map[string][]*indexed // patterns of several parts, by one that is fixed
	loose  []*indexed            // those without one
}

// indexed is one pattern of a rule.
type indexed struct {
	rule  *compiled
	glob  string      // of the last part
	path  pathPattern // of several
	plain bool        // from Plain: not for source code
}

func newPathIndex(all []*compiled) *pathIndex {
	x := &pathIndex{base: map[string][]indexed{}, tail: map[string][]indexed{}, part: map[string][]*indexed{}}
	for _, r := range all {
		if len(r.Paths)+len(r.Plain) == 0 {
			x.always = append(x.always, r)
		}
		for _, p := range r.Paths {
			x.add(p, indexed{rule: r})
		}
		for _, p := range r.Plain {
			x.add(p, indexed{rule: r, plain: true})
		}
	}
	return x
}

const wildSigns = "*?["

func (x *pathIndex) add(p string, e indexed) {
	rest, star := strings.CutPrefix(p, "*")
	switch {
	case strings.Contains(p, "/"):
		e.path = compilePath(p)
		for _, part := range e.path.segs {
			if !strings.ContainsAny(part, wildSigns) {
				x.part[part] = append(x.part[part], &e)
				return
			}
		}
		x.loose = append(x.loose, &e)
	case !strings.ContainsAny(p, wildSigns):
		x.base[p] = append(x.base[p], e)
	case star && !strings.ContainsAny(rest, wildSigns):
		x.tail[rest] = append(x.tail[rest], e)
		if lengths := &x.tails[rest[len(rest)-1]]; !slices.Contains(*lengths, len(rest)) {
			*lengths = append(*lengths, len(rest))
		}
	default:
		e.glob = p
		first := p[0]
		if strings.IndexByte(wildSigns, first) >= 0 {
			first = 0
		}
		x.wild[first] = append(x.wild[first], e)
	}
}

// covering gives the rules that speak of files of this path, in their order.
func (x *pathIndex) covering(s *subject) []*compiled {
	out := make([]*compiled, len(x.always), len(x.always)+8)
	copy(out, x.always)
	source, compiledSource := sourceExt.has(path.Ext(s.base)), compiledExt.has(path.Ext(s.base))
	take := func(e *indexed) {
		if !e.plain || !source {
			out = append(out, e.rule)
		}
	}
	each := func(list []indexed) {
		for i := range list {
			take(&list[i])
		}
	}
	each(x.base[s.base])
	for _, n := range x.tails[s.base[len(s.base)-1]] {
		if n <= len(s.base) {
			each(x.tail[s.base[len(s.base)-n:]])
		}
	}
	for _, list := range [][]indexed{x.wild[0], x.wild[s.base[0]]} {
		for i := range list {
			if e := &list[i]; (!compiledSource || !strings.HasSuffix(e.glob, "*")) && glob(e.glob, s.base) {
				take(e)
			}
		}
	}
	for _, part := range s.segs {
		for _, e := range x.part[part] {
			if e.path.match(s.segs) {
				take(e)
			}
		}
	}
	for _, e := range x.loose {
		if e.path.match(s.segs) {
			take(e)
		}
	}
	slices.SortFunc(out, func(a, b *compiled) int { return a.index - b.index })
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(r *compiled) bool { return len(r.Not) > 0 && r.not.match(s.segs) })
}

// covers says whether the rule speaks of files of this path.
func (r *compiled) covers(s *subject) bool {
	if len(r.Paths)+len(r.Plain) == 0 {
		return !r.not.match(s.segs)
	}
	return (r.paths.match(s.segs) || !sourceExt.has(path.Ext(s.base)) && r.plain.match(s.segs)) && !r.not.match(s.segs)
}
