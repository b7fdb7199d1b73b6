package baseline

import "strings"

// glob is a pattern of git's kind, compiled. Its matching takes time in
// proportion to pattern times text, whatever the pattern: ignore files that
// are written inside are matched too.
type glob struct {
	never  bool   // malformed: git lets such a pattern match nothing
	prefix string // what comes before the first wildcard, to refuse quickly
	toks   []token
	fold   bool
}

type token struct {
	op  op
	lit byte
	set *[256]bool
}

type op uint8

const (
	opLit  op = iota
	opAny     // one byte but a slash
	opAll     // one byte, a slash too
	opSet     // one byte of a set
	opStar    // any bytes but slashes
	opDeep    // any bytes
	opDirs    // nothing, or any bytes that end in a slash
)

const special = "*?[\\"

// compileGlob reads a pattern. With path a slash is matched by a slash alone
// and "**" between slashes by any folders; without, the text is one name.
func compileGlob(s string, path, fold bool) glob {
	g := glob{fold: fold}
	plain := strings.IndexAny(s, special)
	if plain < 0 {
		plain = len(s)
	}
	g.prefix = s[:plain]
	one, star := opAll, opDeep
	if path {
		one, star = opAny, opStar
	}
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			if i+1 == len(s) {
				g.never = true
				return g
			}
			// git folds no letter after a backslash, nor a single one in
			// brackets: as capitals they match nothing when case is ignored.
			g.toks = append(g.toks, token{op: opLit, lit: s[i+1]})
			i += 2
		case '?':
			g.toks = append(g.toks, token{op: one})
			i++
		case '*':
			j := i
			for j < len(s) && s[j] == '*' {
				j++
			}
			// git compares what is before the first wildcard apart, so that
			// "**" counts as the start of a component there as well.
			starts := i == plain || i == 0 || s[i-1] == '/'
			ends := j == len(s) || s[j] == '/' || strings.HasPrefix(s[j:], "\\/")
			switch {
			case path && j-i > 1 && starts && ends && j < len(s) && s[j] == '/':
				g.toks = append(g.toks, token{op: opDirs})
				j++
			case path && j-i > 1 && starts && ends:
				g.toks = append(g.toks, token{op: opDeep})
			default:
				g.toks = append(g.toks, token{op: star})
			}
			i = j
		case '[':
			set, next, ok := compileSet(s, i+1, fold)
			if !ok {
				g.never = true
				return g
			}
			if path {
				set['/'] = false
			}
			g.toks = append(g.toks, token{op: opSet, set: set})
			i = next
		default:
			if fold {
				c = lowerByte(c)
			}
			g.toks = append(g.toks, token{op: opLit, lit: c})
			i++
		}
	}
	if fold {
		g.prefix = lower(g.prefix)
	}
	return g
}

// compileSet reads a bracket expression from after its "[".
func compileSet(s string, i int, fold bool) (set *[256]bool, next int, ok bool) {
	set = new([256]bool)
	negate := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negate {
		i++
	}
	prev := -1 // the byte a range may start from
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, false
		}
		c := s[i]
		switch {
		case c == ']' && !first:
			for b := range set {
				set[b] = set[b] != negate
			}
			return set, i + 1, true
		case c == '\\':
			if i++; i >= len(s) {
				return nil, 0, false
			}
			set[s[i]] = true
			prev = int(s[i])
		case c == '-' && prev > 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i >= len(s) {
					return nil, 0, false
				}
			}
			for b := prev; b <= int(s[i]); b++ {
				set[b] = true
				if fold { // the text is folded before it is looked up
					set[lowerByte(byte(b))] = true
				}
			}
			prev = -1
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0, false
			}
			class := s[i+2 : i+2+end]
			if !strings.HasSuffix(class, ":") {
				set['['] = true // a plain bracket after all
				prev = '['
				break
			}
			if !addClass(set, strings.TrimSuffix(class, ":"), fold) {
				return nil, 0, false
			}
			i += 2 + end
			prev = -1
		default:
			set[c] = true
			prev = int(c)
		}
		i++
	}
}

func addClass(set *[256]bool, name string, fold bool) bool {
	in, ok := classes[name]
	if !ok {
		return false
	}
	for b := range 128 {
		if in(byte(b)) {
			set[b] = true
		}
	}
	if fold && name == "upper" {
		for b := 'a'; b <= 'z'; b++ {
			set[b] = true
		}
	}
	return true
}

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }
func isLower(b byte) bool { return b >= 'a' && b <= 'z' }
func isDigit(b byte) bool { return b >= '0' && b <= '9' }
func isAlpha(b byte) bool { return isUpper(b) || isLower(b) }
func isGraph(b byte) bool { return b > ' ' && b < 0x7f }

var classes = map[string]func(byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < ' ' || b == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(b byte) bool { return b >= ' ' && b < 0x7f },
	"punct":  func(b byte) bool { return isGraph(b) && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' },
	"upper":  isUpper,
	"xdigit": func(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' },
}

func lowerByte(b byte) byte {
	if isUpper(b) {
		return b + 'a' - 'A'
	}
	return b
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lowerByte(c)
	}
	return string(b)
}

// match runs the pattern as a set of places in it that are alive, so that no
// text makes it go back. All of text must be matched.
func (g *glob) match(text string) bool {
	if g.never {
		return false
	}
	if g.fold {
		text = lower(text)
	}
	if !strings.HasPrefix(text, g.prefix) {
		return false
	}
	if len(g.prefix) == len(g.toks) {
		return len(text) == len(g.prefix)
	}
	toks, text := g.toks[len(g.prefix):], text[len(g.prefix):]
	n := len(toks)
	now, next := make([]bool, n+1), make([]bool, n+1)
	reach(toks, now, 0)
	for i := 0; i < len(text); i++ {
		c, alive := text[i], false
		clear(next)
		for p := range n {
			if !now[p] {
				continue
			}
			t := &toks[p]
			switch t.op {
			case opLit:
				if c == t.lit {
					reach(toks, next, p+1)
				}
			case opAny:
				if c != '/' {
					reach(toks, next, p+1)
				}
			case opAll:
				reach(toks, next, p+1)
			case opSet:
				if t.set[c] {
					reach(toks, next, p+1)
				}
			case opStar:
				if c != '/' {
					reach(toks, next, p)
				}
			case opDeep:
				reach(toks, next, p)
			case opDirs:
				next[p] = true // stays; its way out is after a slash
				if c == '/' {
					reach(toks, next, p+1)
				}
			}
		}
		for _, a := range next {
			alive = alive || a
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[n]
}

// reach marks place p and those that need no byte to get to from it.
func reach(toks []token, at []bool, p int) {
	for ; ; p++ {
		if at[p] && p < len(toks) && toks[p].op != opDirs {
			return
		}
		at[p] = true
		if p == len(toks) || toks[p].op != opStar && toks[p].op != opDeep && toks[p].op != opDirs {
			return
		}
	}
}
