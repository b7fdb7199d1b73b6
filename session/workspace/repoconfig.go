package workspace

import (
	"path/filepath"
	"strings"
)

// HooksPath is the repository's core.hooksPath when it lies in the work tree,
// relative to its top: a file put there is run by git on the host. "" when
// there is none, or it lies elsewhere.
func (r *Repo) HooksPath() string {
	v, ok := r.config.get("core.hookspath")
	if !ok || v == "" || strings.HasPrefix(v, "~") {
		return ""
	}
	if filepath.IsAbs(v) {
		rel, err := filepath.Rel(r.Root, v)
		if err != nil {
			return ""
		}
		v = rel
	}
	v = filepath.Clean(v)
	if v == ".." || strings.HasPrefix(v, "../") {
		return ""
	}
	return v
}

// Identity is the author that the account's git would name in this repository;
// either part may be "".
func (r *Repo) Identity() (name, email string) {
	name, _ = r.config.get("user.name")
	email, _ = r.config.get("user.email")
	return name, email
}
