package baseline

import (
	"encoding/binary"
	"strings"
	"sync"
)

// IgnoreFile is one file of ignore rules, as text.
type IgnoreFile struct {
	Dir  string // the folder that it speaks of; "" is the workspace
	Text string
}

// Rules are the ignore rules of a baseline, frozen at copy-in so that nothing
// that is written inside can hide a file from review.
type Rules struct {
	// Global is the text of the account's own ignore file. It is the weakest.
	Global string
	// Roots are the repositories in the workspace: "" and each one nested in
	// it. Text is its info/exclude. Rules of an outer one stop at an inner.
	Roots []IgnoreFile
	// Files are the .gitignore files. The deepest is the strongest.
	Files []IgnoreFile
	// Fold is core.ignorecase: letters A to Z match in either case.
	Fold bool
}

func (r *Rules) append(b []byte) []byte {
	fold := byte(0)
	if r.Fold {
		fold = 1
	}
	b = append(b, fold)
	b = appendString(b, r.Global)
	for _, list := range [][]IgnoreFile{r.Roots, r.Files} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, f := range list {
			b = appendString(b, f.Dir)
			b = appendString(b, f.Text)
		}
	}
	return b
}

func (r *reader) rules() (out Rules) {
	out.Fold = r.byte() != 0
	out.Global = r.str()
	for _, list := range []*[]IgnoreFile{&out.Roots, &out.Files} {
		for range r.count(2) {
			*list = append(*list, IgnoreFile{Dir: r.str(), Text: r.str()})
		}
	}
	return out
}

// Ignore answers whether git would ignore a path under some Rules. Safe for
// several goroutines.
type Ignore struct {
	global []pattern
	roots  map[string][]pattern
	files  map[string][]pattern
	fold   bool

	// Hostile rules have a bound on the steps that matching takes. With none
	// left nothing matches. One goroutine asks such rules.
	bounded bool
	left    int64

	mu   sync.Mutex
	dirs map[string]bool // folders whose answer is known
}

// Compile makes the rules ready to be asked.
func (r *Rules) Compile() *Ignore {
	ig := &Ignore{
		global: parseIgnore(r.Global, r.Fold),
		roots:  make(map[string][]pattern, len(r.Roots)),
		files:  make(map[string][]pattern, len(r.Files)),
		fold:   r.Fold,
		dirs:   map[string]bool{"": false},
	}
	for _, f := range r.Roots {
		ig.roots[f.Dir] = parseIgnore(f.Text, r.Fold)
		ig.dirs[f.Dir] = false // a repository is asked about on its own
	}
	for _, f := range r.Files {
		ig.files[f.Dir] = parseIgnore(f.Text, r.Fold)
	}
	return ig
}

// Dir says whether everything in a folder is ignored, because the folder is or
// one above it.
func (ig *Ignore) Dir(rel string) bool {
	ig.mu.Lock()
	known, ok := ig.dirs[rel]
	ig.mu.Unlock()
	if ok {
		return known
	}
	// Outermost first, without recursion: a hostile tree may be deep.
	answer := false
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		dir := rel[:i]
		ig.mu.Lock()
		known, ok := ig.dirs[dir]
		ig.mu.Unlock()
		if !ok {
			known = answer || ig.match(dir, true)
			ig.mu.Lock()
			ig.dirs[dir] = known
			ig.mu.Unlock()
		}
		answer = known
	}
	return answer
}

// Path says whether git would ignore a file, link or folder.
func (ig *Ignore) Path(rel string, isDir bool) bool {
	parent := ""
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		parent = rel[:i]
	}
	if isDir {
		return ig.Dir(rel)
	}
	return ig.Dir(parent) || ig.match(rel, false)
}

// match asks the rules about rel alone, its folders aside: the .gitignore
// files from the deepest up to the repository that it is in, then that
// repository's exclude file, then the global one. The last line that matches
// in the first of them that has one decides.
func (ig *Ignore) match(rel string, isDir bool) bool {
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	dir := rel
	for {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			dir = ""
		} else {
			dir = dir[:i]
		}
		if verdict, ok := ig.last(ig.files[dir], dir, rel, base, isDir); ok {
			return verdict
		}
		exclude, root := ig.roots[dir]
		if !root && dir != "" {
			continue
		}
		if verdict, ok := ig.last(exclude, dir, rel, base, isDir); ok {
			return verdict
		}
		verdict, _ := ig.last(ig.global, dir, rel, base, isDir)
		return verdict
	}
}

func (ig *Ignore) last(list []pattern, dir, rel, base string, isDir bool) (ignored, ok bool) {
	if len(list) == 0 {
		return false, false
	}
	under := rel
	if dir != "" {
		under = rel[len(dir)+1:]
	}
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		if p.dirOnly && !isDir {
			continue
		}
		subject := under
		if p.baseOnly {
			subject = base
		}
		if ig.bounded && !ig.spend(&p.glob, subject) {
			return false, true
		}
		if p.glob.match(subject) {
			return !p.negate, true
		}
	}
	return false, false
}

// spend takes the steps of one match, and says whether there were enough.
func (ig *Ignore) spend(g *glob, text string) bool {
	ig.left--
	if g.fold || strings.HasPrefix(text, g.prefix) {
		ig.left -= int64(len(g.toks)-len(g.prefix)) * int64(len(text))
	}
	return ig.left > 0
}

// pattern is one line of an ignore file.
type pattern struct {
	negate, dirOnly bool
	baseOnly        bool // no slash: compared with the last component
	glob            glob
}

// parseIgnore reads the lines of an ignore file as git does.
func parseIgnore(text string, fold bool) []pattern {
	text = strings.TrimPrefix(text, "\ufeff")
	var out []pattern
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		// git reads lines as C strings.
		line, _, _ = strings.Cut(line, "\x00")
		line = strings.TrimSuffix(line, "\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if p, ok := parseLine(trimSpaces(line), fold); ok {
			out = append(out, p)
		}
	}
	return out
}

// trimSpaces takes the spaces at the end away unless one has a backslash.
func trimSpaces(s string) string {
	end := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			i++
			if i == len(s) {
				return s
			}
		}
		end = -1
	}
	if end >= 0 {
		return s[:end]
	}
	return s
}

func parseLine(s string, fold bool) (pattern, bool) {
	var p pattern
	if strings.HasPrefix(s, "!") {
		p.negate = true
		s = s[1:]
	}
	if strings.HasSuffix(s, "/") {
		p.dirOnly = true
		s = s[:len(s)-1]
	}
	p.baseOnly = !strings.Contains(s, "/")
	if !p.baseOnly {
		s = strings.TrimPrefix(s, "/")
	}
	if s == "" {
		return p, false
	}
	p.glob = compileGlob(s, !p.baseOnly, fold)
	return p, true
}
