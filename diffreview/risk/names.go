package risk

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"fumehood/diffreview"
)

// nameIndex knows every path that would be there after the change.
type nameIndex struct {
	files   map[string]bool
	folders map[string]bool
	folded  map[string][]string // by what a forgiving file system compares
	skel    map[string][]string // by what it looks like
	clash   bool                // of folded or skel: there are two of one kind
}

// indexNames knows all files and folders, but compares only the names that the
// change touches: a repository's other names were there before.
func indexNames(paths []string, touched []*subject) nameIndex {
	x := nameIndex{files: make(map[string]bool, len(paths)), folders: map[string]bool{}, folded: map[string][]string{}, skel: map[string][]string{}}
	plain := true // no touched name has letters beyond ASCII
	for _, s := range touched {
		if s.gone() {
			continue
		}
		plain = plain && ascii(s.f.Path)
		for p := s.f.Path; p != "."; p = path.Dir(p) {
			f := fold(p)
			if _, ok := x.folded[f]; ok && p != s.f.Path {
				break // and so are the folders above
			}
			x.folded[f] = nil
		}
	}
	entry := func(p string) {
		if f := fold(p); len(x.folded) > 0 {
			if others, ok := x.folded[f]; ok {
				x.folded[f] = append(others, p)
			}
		}
		if !plain || !ascii(p) {
			k := skeleton(p)
			x.skel[k] = append(x.skel[k], p)
		}
	}
	for _, p := range paths {
		if x.files[p] {
			continue
		}
		x.files[p] = true
		entry(p)
		for dir := path.Dir(p); dir != "." && !x.folders[dir]; dir = path.Dir(dir) {
			x.folders[dir] = true
			entry(dir)
		}
	}
	for _, lists := range []map[string][]string{x.folded, x.skel} {
		for _, l := range lists {
			slices.Sort(l) // which other one is named must not change from run to run
			x.clash = x.clash || len(l) > 1
		}
	}
	return x
}

func (x nameIndex) has(p string) bool    { return x.files[p] }
func (x nameIndex) folder(p string) bool { return p == "" || x.folders[p] }

// fold makes equal what case-insensitive, normalising or ignorant file systems
// take for one name.
func fold(p string) string {
	if ascii(p) {
		return trimParts(strings.ToLower(p))
	}
	return trimParts(wholeFold.Replace(strings.ToLower(strings.ToUpper(norm.NFKC.String(hfsPlain(p))))))
}

// wholeFold are letters that fold to two.
var wholeFold = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ŉ", "ʼn", "İ", "i", "i̇", "i")

// trimParts drops the dots and spaces at the end of each part, as Windows does.
func trimParts(p string) string {
	if !strings.Contains(p, "./") && !strings.Contains(p, " /") && !strings.HasSuffix(p, ".") && !strings.HasSuffix(p, " ") {
		return p
	}
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = strings.TrimRight(parts[i], ". ")
	}
	return strings.Join(parts, "/")
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hfsPlain drops the characters that some file systems do not see in a name.
func hfsPlain(s string) string {
	if ascii(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if diffreview.IsBidi(r) || r == 0xfeff || r >= 0x200b && r <= 0x200f || r >= 0x2060 && r <= 0x206f || r == 0xad {
			return -1
		}
		return r
	}, s)
}

// sameAsGit says whether a part of a path is .git to git, or to a file system
// that it may be checked out on.
func sameAsGit(part string) bool {
	p := strings.ToLower(hfsPlain(part))
	p, _, _ = strings.Cut(p, ":") // a stream of NTFS
	p = strings.TrimRight(p, ". ")
	for _, s := range strings.Split(p, "\\") {
		s = strings.TrimRight(s, ". ")
		if s == ".git" || strings.HasPrefix(s, "git~") && len(s) == 5 && s[4] >= '1' && s[4] <= '9' {
			return true
		}
	}
	return false
}

func nameCollision(s *subject, _ picked) []hit {
	if s.gone() || !s.set.names.clash {
		return nil
	}
	// The file itself, or a folder on the way that this change makes.
	for p := s.f.Path; p != "."; p = path.Dir(p) {
		for _, other := range s.set.names.folded[fold(p)] {
			if other != p {
				return []hit{{why: fmt.Sprintf("where case, accents or trailing dots do not count this is the same as %s: one overwrites the other", diffreview.SafeName(other))}}
			}
		}
	}
	return nil
}

func nameLookalike(s *subject, _ picked) []hit {
	if !s.came() {
		return nil
	}
	if !ascii(s.f.Path) {
		for _, part := range strings.Split(s.f.Path, "/") {
			if w, ok := mixedWord(part, true); ok {
				return []hit{{why: fmt.Sprintf("%s mixes letters of two scripts that look alike", diffreview.SafeName(w))}}
			}
		}
	}
	for p := s.f.Path; p != "."; p = path.Dir(p) {
		if ascii(p) && !strings.ContainsAny(p, "01lI|") {
			continue
		}
		for _, other := range s.set.names.skel[skeleton(p)] {
			if other != p && fold(other) != fold(p) && (!ascii(other) || !ascii(p)) {
				return []hit{{why: fmt.Sprintf("the name looks like %s but is another", diffreview.SafeName(other))}}
			}
		}
	}
	return nil
}

func nameHidden(s *subject, _ picked) []hit {
	if s.gone() {
		return nil
	}
	odd := false
	for i := 0; i < len(s.f.Path); {
		r, n := utf8.DecodeRuneInString(s.f.Path[i:])
		i += n
		switch {
		case diffreview.IsBidi(r):
			return []hit{{severity: danger, why: "the name turns the direction of its text: it reads as another"}}
		case r == utf8.RuneError && n == 1:
			odd = true
		case r == 0xa0 || r == 0x3000:
			odd = true
		case unicode.IsControl(r) || diffreview.IsInvisible(r) && r != 0x200d && !unicode.IsPrint(r) || r == 0x3164 || r == 0xffa0 || r == 0x115f || r == 0x1160 || r == 0x2800:
			return []hit{{}}
		}
	}
	for _, part := range strings.Split(s.f.Path, "/") {
		if strings.TrimRight(part, ". ") != part || part[0] == ' ' {
			return []hit{{why: "the name begins or ends in a space or a dot, which is hard to see and dropped by some systems"}}
		}
		if len(part) > 200 {
			odd = true
		}
	}
	if odd {
		return []hit{{severity: note, why: "the name is no plain text"}}
	}
	return nil
}

func nameShell(s *subject, _ picked) []hit {
	if s.gone() {
		return nil
	}
	for _, part := range strings.Split(s.f.Path, "/") {
		switch {
		case part[0] == '-':
			return []hit{{why: "the name begins with a dash: commands take it for an option"}}
		case strings.ContainsAny(part, "`;|<>*\\\n\t") || strings.Contains(part, "$(") || strings.Contains(part, "${") || strings.Contains(part, "&&"):
			return []hit{{}}
		case streamOf(part):
			return []hit{{why: "to Windows this is a stream hidden in another file, and to programs that copy between machines what stands before the colon is a machine"}}
		case strings.Contains(part, "=") && strings.HasPrefix(part, "--"), part[0] == '~', strings.ContainsAny(part, "\"'&?") || strings.ContainsRune(part, ':'):
			return []hit{{severity: note}}
		case reservedName(part):
			return []hit{{severity: note, why: "Windows takes this name for a device"}}
		}
	}
	return nil
}

// streamOf says whether a name is that of a file, a colon and something that hangs on it.
func streamOf(part string) bool {
	i := strings.IndexByte(part, ':')
	return i > 0 && i < len(part)-1 && path.Ext(part[:i]) != "" && strings.Trim(path.Ext(part[:i])[1:], "0123456789") != ""
}

func reservedName(part string) bool {
	base, _, _ := strings.Cut(strings.ToLower(part), ".")
	switch base {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '1' && base[3] <= '9'
}
