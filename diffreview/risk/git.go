package risk

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fumehood/diffreview"
)

// hiddenRule is the name of the rule that gives way to all others.
const hiddenRule = "hidden-settings"

// hiddenSettings speaks of hidden files that no other rule knows by name. Prose,
// pictures and styles below a hidden folder are read by people.
func hiddenSettings(s *subject, _ picked) []hit {
	if s.gone() || s.named || s.base[0] != '.' && (s.prose || viewed.has(s.ext)) {
		return nil
	}
	return []hit{{}}
}

var viewed = words(".png .jpg .jpeg .gif .svg .webp .ico .css .scss .less .html .woff .woff2 .ttf .mp4 .mdx .pdf")

// inHooksPath covers the folder that the host's own configuration names.
func inHooksPath(s *subject, _ picked) []hit {
	dir := path.Clean(s.env.HooksPath)
	if s.env.HooksPath == "" || dir == "." || s.gone() {
		return nil
	}
	if s.f.Path == dir || strings.HasPrefix(strings.ToLower(s.f.Path), strings.ToLower(dir)+"/") {
		return []hit{{}}
	}
	return nil
}

// preCommit tells hooks that run a command of this machine from those that
// pre-commit fetches.
func preCommit(s *subject, _ picked) (hits []hit) {
	local := regexp.MustCompile(`repo:\s*['"]?local|language:\s*['"]?(system|script|fail)|entry:|args:|additional_dependencies|default_install_hook_types|default_language_version|repo:\s*['"]?(\.|/|file:)`)
	for _, l := range s.added {
		t := bytes.TrimSpace(l.text)
		if len(t) == 0 || t[0] == '#' {
			continue
		}
		if local.Match(clip(t)) {
			hits = append(hits, hit{line: l.no, severity: danger, why: "pre-commit runs this command of the tree's own at the next commit"})
			continue
		}
		hits = append(hits, hit{line: l.no})
	}
	for _, l := range s.removed {
		hits = append(hits, hit{line: l.no, why: "pre-commit checks less, or with something else, at the next commit"})
	}
	if len(hits) == 0 && (s.f.Binary || s.f.New.Kind == diffreview.KindSymlink) {
		hits = append(hits, hit{})
	}
	return hits
}

// mediaPattern holds for attribute patterns of what is no text in any case.
var mediaPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\.(png|jpe?g|gif|webp|ico|icns|bmp|tiff?|pdf|ttf|otf|woff2?|eot|mp[34]|m4a|wav|ogg|flac|mov|avi|webm|zip|gz|tgz|bz2|xz|zst|7z|jar|psd|ai|sketch|fig|bin|dat|db|sqlite3?|parquet|npz?|docx?|xlsx?|pptx?|svg|csv|lock|snap|map)$|-lock\.(json|yaml)$|^go\.sum$|\.min\.\w+$`)
})

func gitAttributes(s *subject, _ picked) (hits []hit) {
	if s.f.New.Kind == diffreview.KindSymlink {
		return []hit{{}}
	}
	for _, l := range s.added {
		fields := strings.Fields(string(clip(l.text)))
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		sev, why := diffreview.Severity(note), "how git treats the files changes"
		for _, attr := range fields[1:] {
			name, value, set := strings.Cut(attr, "=")
			switch {
			case name == "filter" && set && value == "lfs":
				sev, why = strongest(sev, warn), "git passes matching files through git-lfs, where the host has it"
			case (name == "filter" || name == "diff" || name == "merge") && set && !(name != "filter" && builtinDriver.has(value)):
				sev, why = danger, fmt.Sprintf("git runs the %s driver %s, where the host has one of this name, on matching files", name, diffreview.SafeName(value))
			case attr == "-diff" || attr == "binary" || attr == "diff=false" || strings.HasPrefix(attr, "linguist-generated") && attr != "linguist-generated=false" || strings.HasPrefix(attr, "gitlab-generated") || strings.HasPrefix(attr, "linguist-vendored"):
				if !mediaPattern().MatchString(fields[0]) {
					sev, why = strongest(sev, warn), "later changes of matching files are not shown, or folded"
				}
			case name == "ident" || name == "working-tree-encoding" || name == "export-subst" || name == "export-ignore" || name == "merge" || attr == "-merge" || attr == "-text" && !mediaPattern().MatchString(fields[0]) || strings.HasPrefix(fields[0], "[attr]"):
				sev, why = strongest(sev, warn), "git stores, merges or exports other bytes than the ones that are shown"
			}
		}
		hits = append(hits, hit{line: l.no, severity: sev, why: why})
	}
	return hits
}

// builtinDriver are the drivers that git has itself; they run no program.
var builtinDriver = words("ada bash bibtex cpp csharp css dts elixir fortran fountain golang html java kotlin markdown matlab objc pascal perl php python ruby rust scheme tex text union binary true false astextplain ours theirs")

func strongest(a, b diffreview.Severity) diffreview.Severity {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}

func gitModules(s *subject, _ picked) (hits []hit) {
	if s.f.New.Kind == diffreview.KindSymlink || s.f.Binary {
		return []hit{{severity: danger, why: "git reads the list of submodules through this"}}
	}
	for _, l := range s.added {
		if t := bytes.TrimSpace(l.text); len(t) == 0 || t[0] == '#' || t[0] == ';' {
			continue
		}
		key, value, ok := bytes.Cut(l.text, []byte{'='})
		if !ok {
			if len(bytes.TrimSpace(l.text)) > 0 {
				h := hit{line: l.no}
				if bytes.Contains(l.text, []byte("..")) {
					h.severity, h.why = danger, "the submodule's name leads out of git's folder"
				}
				hits = append(hits, h)
			}
			continue
		}
		k, v := strings.ToLower(string(bytes.TrimSpace(key))), strings.Trim(string(bytes.TrimSpace(value)), `"`)
		h := hit{line: l.no}
		switch {
		case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) || (k == "path" || k == "url") && strings.Contains(v, `\`):
			h.severity, h.why = danger, "git reads another value than the one that is shown: what is written there goes somewhere else"
		case k == "update" && strings.HasPrefix(v, "!"):
			h.severity, h.why = danger, "git runs this command at the next submodule update"
		case strings.HasPrefix(v, "-"):
			h.severity, h.why = danger, "git takes this value for an option, which can name a program to run"
		case k == "url" && (strings.Contains(v, "::") || strings.HasPrefix(v, "file:") || strings.HasPrefix(v, "/") || strings.ContainsAny(v, "`$;|\n\r%") || strings.HasPrefix(v, "http:") || strings.Contains(v, "://-") || strings.HasPrefix(v, "git:")):
			h.severity, h.why = danger, "an address of this kind runs a command, or fetches without any check"
		case k == "path" && (strings.Contains(v, "..") || strings.HasPrefix(v, "/") || slices.ContainsFunc(strings.Split(v, "/"), sameAsGit)):
			h.severity, h.why = danger, "the submodule's folder lies outside the tree or in git's own"
		}
		hits = append(hits, h)
	}
	for _, l := range s.removed {
		if t := bytes.TrimSpace(l.text); len(t) == 0 || t[0] == '#' || t[0] == ';' {
			continue
		}
		hits = append(hits, hit{line: l.no, why: "the list of submodules changes"})
	}
	return hits
}

// ignoreHides covers files that the ignore rules of this same change hide, and
// the rules that do it.
func ignoreHides(s *subject, _ picked) []hit {
	if s.set.hidden[s.f.Path] {
		return []hit{{}}
	}
	return s.set.hides[s]
}

func isIgnoreFile(base string) bool { return base == ".gitignore" }

// maxHideSteps bounds matching the added lines of ignore files with all that
// changed: thousands of each would take hours.
const maxHideSteps = 5e8

// hideByIgnore finds what the added lines of ignore files hide, and what is to
// be said of each of these lines.
func (r *changes) hideByIgnore() {
	r.hidden, r.hides = map[string]bool{}, map[*subject][]hit{}
	left := int64(maxHideSteps)
	for _, s := range r.subjects {
		if !isIgnoreFile(s.base) || s.gone() {
			continue
		}
		for _, l := range s.added {
			p, ok := parseIgnore(string(l.text))
			if !ok || p.negate {
				continue
			}
			var first *subject
			for _, other := range r.subjects {
				if left -= p.steps(other.f.Path); left < 0 {
					break
				}
				if other == s || first != nil && other.gone() || !p.match(path.Dir(s.f.Path), other.f.Path) {
					continue
				}
				if first == nil {
					first = other
				}
				if !other.gone() {
					r.hidden[other.f.Path] = true
				}
			}
			if left < 0 {
				r.hides[s] = append(r.hides[s], hit{line: l.no, why: "from here on the rules take too long to match: they may hide anything from git status"})
				break
			}
			if first != nil {
				r.hides[s] = append(r.hides[s], hit{line: l.no, why: fmt.Sprintf("this hides %s, which this same change touches, from git status", diffreview.SafeName(first.f.Path))})
			}
			if p.everything() {
				r.hides[s] = append(r.hides[s], hit{line: l.no, why: "this hides whatever comes later from git status"})
			}
		}
	}
}

// ignorePattern is one line of an ignore file. A changed file that an added
// line covers counts as hidden even where a later line takes it back: this finds
// out what to look at, not what git does.
type ignorePattern struct {
	segs     []string
	anchored bool
	negate   bool
	stars    int64 // its length, where it has a star: a name is then tried from each of its places
}

// steps is about what a match with a path costs.
func (p ignorePattern) steps(file string) int64 { return (1 + p.stars) * int64(len(file)) }

func parseIgnore(l string) (ignorePattern, bool) {
	l = strings.TrimRight(l, " \t\r")
	if l == "" || l[0] == '#' {
		return ignorePattern{}, false
	}
	var p ignorePattern
	l, p.negate = strings.CutPrefix(l, "!")
	l = strings.TrimSuffix(l, "/")
	p.anchored = strings.Contains(l, "/")
	l = strings.TrimPrefix(l, "/")
	if l == "" || len(l) > 4096 {
		return ignorePattern{}, false
	}
	p.segs = strings.Split(l, "/")
	if strings.Contains(l, "*") {
		p.stars = int64(len(l))
	}
	return p, len(p.segs) <= 64
}

func (p ignorePattern) everything() bool {
	return len(p.segs) == 1 && (p.segs[0] == "*" || p.segs[0] == "**" || p.segs[0] == "*.*")
}

// match says whether the pattern of an ignore file in dir covers the file or a
// folder above it.
func (p ignorePattern) match(dir, file string) bool {
	if dir != "." {
		rest, ok := strings.CutPrefix(file, dir+"/")
		if !ok {
			return false
		}
		file = rest
	}
	segs := strings.Split(file, "/")
	if !p.anchored {
		for _, s := range segs {
			if wild(p.segs[0], s) {
				return true
			}
		}
		return false
	}
	for n := 1; n <= len(segs); n++ {
		if matchSegs(p.segs, segs[:n]) {
			return true
		}
	}
	return false
}

// matchSegs matches part by part; ** stands for any number of parts.
func matchSegs(pat, segs []string) bool {
	// One row of a table for each pattern part, so that many ** cost no more.
	row := make([]bool, len(segs)+1)
	row[0] = true
	for _, p := range pat {
		next := make([]bool, len(segs)+1)
		if p == "**" {
			on := false
			for j := range row {
				on = on || row[j]
				next[j] = on
			}
		} else {
			for j := range segs {
				next[j+1] = row[j] && wild(p, segs[j])
			}
		}
		row = next
	}
	return row[len(segs)]
}

func wild(pattern, s string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "**", "*"), s)
	return err == nil && ok
}
