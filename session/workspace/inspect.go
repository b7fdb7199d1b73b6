package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Inspect finds the repository around dir. home is the account's home folder.
// The error is a *RefusedError when that folder is never brought in; a folder
// that is in no repository is fine, and Repo.Git says so.
func Inspect(ctx context.Context, dir, home string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", dir, err)
	}
	if fi, err := os.Stat(real); err != nil {
		return nil, fmt.Errorf("look at %q: %w", dir, err)
	} else if !fi.IsDir() {
		return nil, &RefusedError{Path: dir, Why: "is not a folder"}
	}
	r := &Repo{Root: real, home: home}
	g, err := newHostGit(real, home, os.Getenv("PATH"))
	switch {
	case errors.Is(err, ErrNoGit) && !anyGit(real):
		// Without a repository git is not needed.
	case err != nil:
		return nil, err
	default:
		if err := r.locate(ctx, g, real); err != nil {
			return nil, err
		}
	}
	if why := refused(r.Root, home); why != "" {
		e := &RefusedError{Path: r.Root, Why: why, Hint: "start in a project's own folder"}
		if r.Root != real {
			e.Why = "the repository around it: " + why
		}
		return nil, e
	}
	if r.RootDev, r.RootIno, err = identity(r.Root); err != nil {
		return nil, err
	}
	if !r.Git {
		return r, nil
	}
	if path, why := strayGit(r); why != "" {
		return nil, &RefusedError{
			Path: path, Why: why,
			Hint: "if that repository is meant, start in it; a git folder kept elsewhere on purpose points back with core.worktree",
		}
	}
	if r.GitDev, r.GitIno, err = identity(r.GitDir); err != nil {
		return nil, err
	}
	return r, r.describe(ctx)
}

func identity(path string) (dev, ino uint64, err error) {
	fi, err := os.Stat(path)
	if err != nil {
		return 0, 0, fmt.Errorf("look at %q: %w", path, err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("look at %q: no inode", path)
	}
	return uint64(st.Dev), st.Ino, nil
}

// anyGit says whether dir or a folder above it holds a .git.
func anyGit(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// locate asks git where the repository is.
func (r *Repo) locate(ctx context.Context, g *hostGit, dir string) error {
	asked := []string{
		"--is-inside-work-tree", "--is-bare-repository", "--is-shallow-repository",
		"--show-object-format", "--absolute-git-dir", "--show-toplevel",
		// Last, since it fails where there is no commit yet.
		"HEAD^{commit}", "HEAD^{tree}", "--symbolic-full-name", "HEAD",
	}
	const paths = 6 // of asked, up to the last that is sure to have an answer
	safe := g.owned(dir)
	var conf []byte
	var confErr error
	var wg sync.WaitGroup
	wg.Go(func() { conf, confErr = safe.plain(ctx, "config", "-z", "--list") })
	out, err := safe.output(ctx, nil, append([]string{"rev-parse"}, asked...)...)
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil && len(lines) < paths {
		var ge *GitError
		switch {
		case !errors.As(err, &ge):
			return err
		case strings.Contains(ge.Stderr, "not a git repository (or any"):
			return nil
		case len(lines) > 1 && lines[1] == "true":
			return &RefusedError{Path: dir, Why: "is a bare repository: it has no files to work on", Hint: "clone it, and start there"}
		case lines[0] == "false":
			return &RefusedError{Path: dir, Why: "is inside a repository's own .git folder", Hint: "start in the work tree"}
		}
		return err
	}
	if confErr != nil {
		return confErr
	}
	r.config = parseConfig(conf)
	if err == nil && len(lines) == len(asked)-1 {
		r.Head, r.headTree, r.Branch = lines[6], lines[7], lines[8]
		if r.Branch == "HEAD" {
			r.Branch, r.Detached = "", true
		}
	} else if unborn := err != nil && len(lines) == paths+1 && lines[paths] == asked[paths]; unborn {
		lines = lines[:paths] // no commit yet: git repeats what it could not resolve
	} else {
		// A path with a newline in it, say: each answer by itself.
		lines = lines[:0]
		for _, a := range asked[:paths] {
			out, err := safe.output(ctx, nil, "rev-parse", a)
			if err != nil {
				return err
			}
			lines = append(lines, strings.TrimSuffix(string(out), "\n"))
		}
	}
	r.Git = true
	r.Shallow = lines[2] == "true"
	r.Format, r.GitDir, r.Root = lines[3], lines[4], lines[5]
	if r.Format != "sha1" && r.Format != "sha256" {
		return fmt.Errorf("repository %q: object format %q is not known here", r.Root, r.Format)
	}
	if !within(r.Root, dir) {
		return &RefusedError{Path: dir, Why: fmt.Sprintf("its repository works on another folder, %q", r.Root), Hint: "start there"}
	}
	// Checked again with the root that git names: a program in the repository
	// above dir must not have been it.
	if g, err = newHostGit(r.Root, r.home, os.Getenv("PATH")); err != nil {
		return err
	}
	// With both named git looks for nothing, and asks not whose they are.
	r.git = g.with("GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Root)
	return nil
}

// describe fills in what HEAD is and what the configuration says.
func (r *Repo) describe(ctx context.Context) error {
	r.CommonDir = commonDir(r.GitDir)
	r.Linked = r.CommonDir != r.GitDir
	if r.Head == "" {
		if err := r.head(ctx); err != nil {
			return err
		}
	}
	r.Sparse = r.config.is("core.sparsecheckout")
	var err error
	if r.excludes, err = r.ignoreFile(ctx); err != nil {
		return err
	}
	r.attributes, err = r.userFile("core.attributesfile", "attributes")
	return err
}

// head asks what HEAD is, one question at a time.
func (r *Repo) head(ctx context.Context) error {
	branch, err := r.git.output(ctx, nil, "symbolic-ref", "-q", "HEAD")
	switch {
	case err == nil:
		r.Branch = strings.TrimSuffix(string(branch), "\n")
	case exited(err, 1):
		r.Detached = true
	default:
		return err
	}
	head, err := r.git.output(ctx, nil, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if exited(err, 1) && !r.Detached {
		r.Unborn = true
		return nil
	}
	if err != nil {
		return err
	}
	tree, err := r.git.output(ctx, nil, "rev-parse", "-q", "--verify", "HEAD^{tree}")
	r.Head, r.headTree = strings.TrimSpace(string(head)), strings.TrimSpace(string(tree))
	return err
}

// maxRules bounds an ignore or attributes file that is read whole.
const maxRules = 8 << 20

// userFile reads a file that the configuration names, or the one in git's
// folder of the account; no such file is empty text.
func (r *Repo) userFile(key, name string) (string, error) {
	path, ok := r.config.get(key)
	switch {
	case ok && path == "":
		return "", nil
	case strings.HasPrefix(path, "~/"):
		path = filepath.Join(r.home, path[2:])
	case !ok && os.Getenv("XDG_CONFIG_HOME") != "":
		path = filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "git", name)
	case !ok:
		path = filepath.Join(r.home, ".config", "git", name)
	case !filepath.IsAbs(path):
		path = filepath.Join(r.Root, path)
	}
	return readRules(path)
}

// readRules reads a text file of the host's configuration; a missing one, or
// what is no regular file, is empty.
func readRules(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return "", nil //nolint:nilerr // git passes over such a file as well
	}
	if fi.Size() > maxRules {
		return "", fmt.Errorf("read %q: %d bytes, more than the limit of %d", path, fi.Size(), maxRules)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", path, err)
	}
	return string(raw), nil
}

// systemFolders are never a project. Below those with a slash at the end
// nothing is, either.
var systemFolders = []string{
	"/", "/bin/", "/boot/", "/dev", "/etc/", "/home", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/lost+found/",
	"/media", "/mnt", "/opt", "/proc/", "/root", "/run", "/sbin/", "/srv", "/sys/", "/tmp",
	"/usr", "/usr/bin/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libexec/", "/usr/sbin/",
	"/usr/include", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/share", "/usr/src",
	"/var", "/var/cache", "/var/lib", "/var/log", "/var/tmp", "/dev/shm",
}

// refused says why a folder is never brought in, or "".
func refused(root, home string) string {
	for _, s := range systemFolders {
		if root == s || strings.TrimSuffix(s, "/") == root {
			return "is a system folder"
		}
		if s != "/" && strings.HasSuffix(s, "/") && strings.HasPrefix(root, s) {
			return "is in a system folder"
		}
	}
	if home == "" {
		return ""
	}
	// Compared by inode: a home is often reached through links or mounts.
	at, err := os.Stat(root)
	if err != nil {
		return ""
	}
	for d := filepath.Clean(home); ; d = filepath.Dir(d) {
		if fi, err := os.Stat(d); err == nil && os.SameFile(at, fi) {
			if d == filepath.Clean(home) {
				return "is the home folder: keys, tokens and everything else in it would go in"
			}
			return "holds the home folder"
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return ""
	}
	if within(root, real) {
		return "holds the home folder"
	}
	return ""
}
