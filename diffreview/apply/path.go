package apply

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxPath   = 4095 // bytes, as the kernel's PATH_MAX without the NUL
	maxName   = 255  // bytes of one component
	tempStart = ".fumehood-"
)

var errGitFolder = errors.New("is inside a git folder, which apply never writes")

// checkPath refuses what can't be, or must not be, the path of a target.
func checkPath(p string) error {
	switch {
	case p == "":
		return errors.New("the path is empty")
	case len(p) > maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath)
	case strings.IndexByte(p, 0) >= 0:
		return errors.New("the path holds a NUL byte")
	case p[0] == '/':
		return errors.New("the path is absolute")
	}
	for _, c := range strings.Split(p, "/") {
		switch {
		case c == "" || c == "." || c == "..":
			return fmt.Errorf("the path has a component %q", c)
		case len(c) > maxName:
			return fmt.Errorf("a component of the path is longer than %d bytes", maxName)
		case isDotGit(c):
			return errGitFolder
		case isTemp(c):
			return fmt.Errorf("the name starts with %q, as apply's own temporary files do", tempStart)
		}
	}
	return nil
}

func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, tempStart)
	return ok && len(rest) == tempRandom*2
}

// isDotGit says whether some file system would take the name for ".git". The
// tree may be cloned to, or shared with, a system that folds names, and git
// itself refuses these on every system.
func isDotGit(name string) bool {
	if foldHFS(name) == ".git" {
		return true
	}
	// NTFS knows a backslash as a separator.
	for _, part := range strings.Split(name, `\`) {
		if isNTFSDotGit(part) {
			return true
		}
	}
	return false
}

// isNTFSDotGit: NTFS ignores case, trailing dots and spaces, and what follows a
// colon (a stream of the same file); "git~1" is the short name of ".git".
func isNTFSDotGit(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return equalFoldASCII(name, ".git") || equalFoldASCII(name, "git~1")
}

// foldHFS drops the code points that HFS+ ignores and folds ASCII case.
func foldHFS(name string) string {
	if !utf8.ValidString(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e,
			r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

func equalFoldASCII(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if x >= 'A' && x <= 'Z' {
			x += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}

// parentOf gives the folder of a path; "" is the root.
func parentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

func baseOf(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// ancestors gives every folder above p, the outermost first, without the root.
func ancestors(p string) []string {
	var out []string
	for i := range len(p) {
		if p[i] == '/' {
			out = append(out, p[:i])
		}
	}
	return out
}
