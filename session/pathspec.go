package session

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Pathspec makes a test for paths out of what a user wrote: a path (a folder
// stands for all below it), a pattern with * ? [ ] where * does not cross a
// slash and ** does, or ":(literal)PATH" for names that look like patterns.
func Pathspec(specs []string) (func(string) bool, error) {
	var tests []func(string) bool
	for _, s := range specs {
		t, err := pathTest(s)
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return func(p string) bool {
		for _, t := range tests {
			if t(p) {
				return true
			}
		}
		return false
	}, nil
}

func pathTest(spec string) (func(string) bool, error) {
	if lit, ok := strings.CutPrefix(spec, ":(literal)"); ok {
		return below(lit), nil
	}
	if strings.HasPrefix(spec, ":") {
		return nil, fmt.Errorf("pathspec %q: of git's magic words only :(literal) is known", spec)
	}
	s := strings.TrimSuffix(strings.TrimPrefix(spec, "./"), "/")
	if s == "" || s == "." {
		if spec == "" {
			return nil, errors.New("an empty pathspec fits nothing; \".\" is everything")
		}
		return func(string) bool { return true }, nil
	}
	if !strings.ContainsAny(s, "*?[") {
		return below(s), nil
	}
	parts := strings.Split(s, "/")
	for _, p := range parts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("pathspec %q: %w", spec, err)
		}
	}
	return func(p string) bool { return matchParts(parts, strings.Split(p, "/")) }, nil
}

func below(want string) func(string) bool {
	return func(p string) bool { return p == want || strings.HasPrefix(p, want+"/") }
}

// matchParts matches a whole pattern against a path or a folder above it.
func matchParts(pat, name []string) bool {
	for len(pat) > 0 {
		if pat[0] == "**" {
			for i := 0; i <= len(name); i++ {
				if matchParts(pat[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(pat[0], name[0]); !ok { // the pattern was checked before
			return false
		}
		pat, name = pat[1:], name[1:]
	}
	return true
}
