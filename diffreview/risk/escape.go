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

// escapeRules are for what leads out of the folder or makes git see another
// repository than the one that was reviewed.
var escapeRules = []Rule{
	{Name: "link", Severity: danger, Why: "the link leads out of the folder", Check: linkLeads, Whole: true},
	{Name: "link-parent", Severity: danger, Why: "a folder above this file is a link: writing it writes somewhere else", Check: linkParent, Whole: true},
	{Name: "repository-like", Severity: danger, Why: "git takes this folder for a repository of its own and obeys its configuration, which can name programs to run", Check: repositoryLike, Whole: true},
	{Name: "git-folder-name", Severity: danger, Why: "some file systems read this name as .git, where git looks for programs to run", Check: gitName},
	{Name: "executable-bit", Severity: warn, Why: "the file becomes a program that can be started by its name", Check: executableBit},
	{Name: "name-collision", Severity: warn, Why: "where case or accents do not count this is the same file as another: one overwrites the other", Check: nameCollision, Whole: true},
	{Name: "name-lookalike", Severity: warn, Why: "the name looks like another's but is not it", Check: nameLookalike, Whole: true},
	{Name: "name-hidden", Severity: warn, Why: "the name holds characters that are invisible, turn the text around, or act on a terminal", Check: nameHidden},
	{Name: "name-shell", Severity: warn, Why: "a script that passes this name through a shell or as an argument would run or obey part of it", Check: nameShell},
}

// linkLeads follows a new link's target by its text, and through the links that
// would be there, without looking at any file system.
func linkLeads(s *subject, _ picked) []hit {
	if s.f.New.Kind != diffreview.KindSymlink {
		return nil
	}
	target := s.f.New.Target
	where, why := s.set.follow(s.f.Path)
	switch {
	case why != "":
		return []hit{{why: fmt.Sprintf("the link to %s %s", diffreview.SafeName(target), why)}}
	case s.f.Old.Kind == diffreview.KindFile, s.set.names.folder(s.f.Path):
		return []hit{{severity: warn, why: fmt.Sprintf("what was here becomes a link to %s: reading and writing it goes there", diffreview.SafeName(target))}}
	case !s.set.names.has(where) && !s.set.names.folder(where):
		return []hit{{severity: warn, why: fmt.Sprintf("the link points at %s, which is not in the change or the baseline: what comes to be there later is reached by it", diffreview.SafeName(target))}}
	}
	return []hit{{severity: note, why: fmt.Sprintf("a link to %s", diffreview.SafeName(target))}}
}

// maxLinks bounds how many links one path may go through, as the kernel does.
const maxLinks = 40

// follow resolves a link of the work tree by name. why says where it leaves.
func (r *changes) follow(link string) (where, why string) {
	seen := 0
	// done is resolved; rest is still to do.
	done, rest := []string{}, strings.Split(link, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", "leads above the folder"
			}
			done = done[:len(done)-1]
			continue
		}
		if sameAsGit(part) {
			return "", "leads into git's own folder"
		}
		at := strings.Join(append(done[:len(done):len(done)], part), "/")
		target, ok := r.links[at]
		if !ok {
			done = append(done, part)
			continue
		}
		if seen++; seen > maxLinks {
			return "", "goes round in a circle"
		}
		if strings.HasPrefix(target, "/") {
			return "", "is absolute: it leaves the folder"
		}
		if strings.Contains(target, "\\") || len(target) > 1 && target[1] == ':' {
			return "", "is absolute or leads above the folder on some systems"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return strings.Join(done, "/"), ""
}

func linkParent(s *subject, _ picked) []hit {
	if s.gone() {
		return nil
	}
	for dir := path.Dir(s.f.Path); dir != "."; dir = path.Dir(dir) {
		if _, ok := s.set.links[dir]; ok {
			return []hit{{why: fmt.Sprintf("%s above this file is a link: writing the file writes somewhere else", diffreview.SafeName(dir))}}
		}
	}
	return nil
}

// gitParts are what a folder needs for git to take it for a repository, by the
// name in it.
var gitParts = map[string]string{
	"head": "HEAD", "objects": "objects", "refs": "refs", "commondir": "commondir",
	"packed-refs": "refs", "config": "config", "gitdir": "commondir",
}

// repositoryFolders finds the folders that hold HEAD and one of what git looks
// for beside it. Empty folders do not show in a change set, and ignored ones may
// be there on the host, so one of them is enough.
func repositoryFolders(paths []string) map[string]bool {
	if !slices.ContainsFunc(paths, func(p string) bool { return strings.EqualFold(path.Base(p), "head") }) {
		return nil
	}
	parts := map[string]map[string]bool{}
	put := func(dir, part string) {
		if parts[dir] == nil {
			parts[dir] = map[string]bool{}
		}
		parts[dir][part] = true
	}
	for _, p := range paths {
		segs := strings.Split(p, "/")
		for i, seg := range segs {
			part := gitParts[strings.ToLower(seg)]
			isDir := i < len(segs)-1
			if part == "" || isDir != (part == "objects" || seg == "refs") {
				continue
			}
			put(strings.Join(segs[:i], "/"), part)
		}
	}
	out := map[string]bool{}
	for dir, has := range parts {
		if has["HEAD"] && (has["objects"] || has["refs"] || has["commondir"] || has["config"]) {
			out[dir] = true
		}
	}
	return out
}

func repositoryLike(s *subject, _ picked) []hit {
	if s.gone() {
		return nil
	}
	segs := strings.Split(s.f.Path, "/")
	for i := range segs {
		dir := strings.Join(segs[:i], "/")
		if !s.set.repos[dir] || gitParts[strings.ToLower(segs[i])] == "" && segs[i] != "hooks" && segs[i] != "info" {
			continue
		}
		return []hit{{}}
	}
	// A lone HEAD: git needs only folders beside it that may be there.
	if s.base == "head" && len(s.fresh) == 1 && (bytes.HasPrefix(s.fresh[0].text, []byte("ref: refs/")) || isObjectName(bytes.TrimSpace(s.fresh[0].text))) {
		return []hit{{severity: warn}}
	}
	return nil
}

func isObjectName(b []byte) bool {
	if len(b) != 40 && len(b) != 64 {
		return false
	}
	return len(bytes.Trim(b, "0123456789abcdef")) == 0
}

func gitName(s *subject, _ picked) []hit {
	if s.gone() {
		return nil
	}
	for _, part := range strings.Split(s.f.Path, "/") {
		if sameAsGit(part) {
			return []hit{{}}
		}
		if plain := hfsPlain(part); plain != part && strings.HasPrefix(strings.ToLower(plain), ".git") {
			return []hit{{why: "some file systems read this name as " + diffreview.SafeName(plain) + ", which git obeys"}}
		}
	}
	return nil
}

func executableBit(s *subject, _ picked) []hit {
	if !s.f.New.Exec || s.f.Old.Exec {
		return nil
	}
	return []hit{{}}
}

// shebang finds a changed interpreter line of a file that is run.
func shebang(s *subject, _ picked) []hit {
	if s.gone() || s.came() {
		return nil
	}
	for _, l := range s.added {
		if l.no == 1 && bytes.HasPrefix(l.text, []byte("#!")) {
			return []hit{{line: 1}}
		}
	}
	return nil
}

// plainAddress finds addresses that had an s after http.
func plainAddress(s *subject, with picked) (hits []hit) {
	if s.came() || s.gone() || s.lock {
		return nil
	}
	lines, whole := with.added()
	if !whole {
		hits = append(hits, s.tooMany())
	}
	if len(lines) == 0 {
		return hits
	}
	before := map[string]bool{}
	for _, l := range s.removed[:min(len(s.removed), maxLook)] {
		for _, m := range webHost().FindAllSubmatch(clip(l.text), 8) {
			if len(m[1]) > 0 {
				before[string(bytes.ToLower(m[2]))] = true
			}
		}
	}
	for _, l := range lines {
		for _, m := range webHost().FindAllSubmatch(clip(l.text), 8) {
			if len(m[1]) == 0 && before[string(bytes.ToLower(m[2]))] {
				hits = append(hits, hit{line: l.no})
				break
			}
		}
	}
	return hits
}

var webHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bhttp(s?)://([\w.-]+)`) })

// termsChanged tells another year from other terms. A new file of terms takes
// nothing away.
func termsChanged(s *subject, _ picked) []hit {
	if s.came() || len(s.f.Hunks) > 0 && !s.f.Binary && slices.Equal(withoutDigits(s.removed), withoutDigits(s.added)) {
		return []hit{{severity: note}}
	}
	return []hit{{}}
}

func withoutDigits(lines []line) []string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == ' ' || r == '-' || r == ',' || r == '\t' {
				return -1
			}
			return r
		}, string(l.text)))
	}
	return out
}

// never is for rules that speak of deletions alone.
func never(*subject, picked) []hit { return nil }
