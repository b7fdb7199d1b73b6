package workspace

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// strayGit says what in a repository's git folder leads to another place, and
// why nothing of it is brought in, or "". An unpacked archive can bring a .git
// that is a link, a file that names a folder, or a folder of its own that takes
// references, index or all of its history from any repository of the account.
// Git follows each of them. A linked work tree and a submodule are known by
// their git folder, which names the work tree in turn and lies where its
// repository keeps such folders.
func strayGit(r *Repo) (path, why string) {
	dotGit := filepath.Join(r.Root, ".git")
	// Without one the git folder's own configuration names the work tree.
	if fi, err := os.Lstat(dotGit); err == nil {
		if why := strayEntry(r, dotGit, fi); why != "" {
			return dotGit, why
		}
	}
	common := commonDir(r.GitDir)
	if common != r.GitDir && !samePlace(filepath.Dir(r.GitDir), filepath.Join(common, "worktrees")) {
		return filepath.Join(r.GitDir, "commondir"), "names the repository " + common + ", which this folder is no work tree of: its history is another repository's"
	}
	if link := linkIn(r.GitDir, common); link != "" {
		return link, "is a link: what it leads to is not this repository's"
	}
	return "", ""
}

func strayEntry(r *Repo, dotGit string, fi os.FileInfo) string {
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

// linkIn finds a link among what decides which objects go in: the names of a git
// folder whose content git takes for its own, folders of objects, and every
// reference. Below a folder of objects names are hashes, which nobody knows who
// has not read them.
func linkIn(dirs ...string) string {
	isLink := func(path string) bool {
		fi, err := os.Lstat(path)
		return err == nil && fi.Mode()&os.ModeSymlink != 0
	}
	for _, dir := range dirs {
		for _, name := range []string{"HEAD", "index", "commondir", "packed-refs", "refs", "reftable", "objects"} {
			if path := filepath.Join(dir, name); isLink(path) {
				return path
			}
		}
		objects := filepath.Join(dir, "objects")
		entries, _ := os.ReadDir(objects) // what can't be listed git can't read
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				return filepath.Join(objects, e.Name())
			}
		}
		link := ""
		_ = filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, e os.DirEntry, err error) error { // as above
			if err == nil && e.Type()&os.ModeSymlink != 0 {
				link = path
				return filepath.SkipAll
			}
			return nil
		})
		if link != "" {
			return link
		}
	}
	return ""
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
