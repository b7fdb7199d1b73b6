package workspace

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// strayGit says why the repository that .git leads to is not this folder's own,
// or "". An unpacked archive can bring a .git that is a link, or a file that
// names a folder, to any repository of the account, whose history would then be
// brought inside. Git follows both; a linked work tree and a submodule are
// known by their git folder, which names the work tree in turn.
func strayGit(r *Repo) string {
	dotGit := filepath.Join(r.Root, ".git")
	fi, err := os.Lstat(dotGit)
	if err != nil {
		return "" // a work tree named by the git folder's own configuration
	}
	switch {
	case fi.IsDir():
		return ""
	case fi.Mode()&os.ModeSymlink != 0:
		return "is a link to another place (" + r.GitDir + "), whose history is not this folder's"
	}
	if back := firstLine(filepath.Join(r.GitDir, "gitdir")); back != "" && samePlace(back, dotGit) {
		return ""
	}
	if v, ok := r.config.get("core.worktree"); ok && v != "" {
		if !filepath.IsAbs(v) {
			v = filepath.Join(r.GitDir, v)
		}
		if samePlace(v, r.Root) {
			return ""
		}
	}
	return "names the git folder " + r.GitDir + ", which does not name this folder in turn: its history is another repository's"
}

// samePlace tells whether two paths lead to the same file or folder.
func samePlace(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// firstLine is a small file's first line, "" when there is none to read.
func firstLine(path string) string {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 8<<10))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}
