package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
)

// commonDir is the git folder of the repository that a git folder belongs to:
// for a linked work tree another one.
func commonDir(gitDir string) string {
	raw, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if err != nil {
		return gitDir
	}
	common := strings.TrimSuffix(string(raw), "\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return filepath.Clean(common)
}

// sharesObjects says whether git looks for objects elsewhere too: all of them
// are then another repository's as well.
func (r *Repo) sharesObjects() bool {
	_, err := os.Lstat(filepath.Join(r.CommonDir, "objects", "info", "alternates"))
	return err == nil
}

// ignoreFile reads the ignore file that the configuration names. Its text goes
// in, so what the repository's own configuration names is read below the
// repository alone: it could be any file of the account.
func (r *Repo) ignoreFile(ctx context.Context) (string, error) {
	const key = "core.excludesfile"
	path, ok := r.config.get(key)
	if ok && path != "" {
		if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
			return r.ownFile(path)
		}
		// Where git sees no repository it reads what the account and the machine set.
		own, err := r.git.with("GIT_DIR=/dev/null").plain(ctx, "config", "-z", "--get", key)
		if err != nil && !exited(err, 1) {
			return "", err
		}
		if strings.TrimSuffix(string(own), "\x00") != path {
			return r.ownFile(path)
		}
	}
	return r.userFile(key, "ignore")
}

// ownFile reads a file of the work tree that the configuration names. One
// outside, or one that a link leads to, is noted and not read.
func (r *Repo) ownFile(path string) (string, error) {
	rel := strings.TrimPrefix(filepath.Clean(path), r.Root+"/")
	if strings.HasPrefix(path, "~") {
		rel = ""
	}
	text, err := gitText(r.Root, rel)
	if errors.As(err, new(*RefusedError)) {
		r.foreign = path
		return "", nil
	}
	return text, err
}

// gitText reads a text file of a git folder, or of the work tree, whose text
// goes in. It is read below that folder and through no link: what a link leads
// to is not the repository's. A missing one is empty.
func gitText(dir, rel string) (string, error) {
	at := filepath.Join(dir, rel)
	refused := &RefusedError{
		Path: at, Why: "leads out of the repository, or is no plain file: what is there would go in",
		Hint: "put a copy of it there",
	}
	if beneath.Check(rel) != nil {
		return "", refused
	}
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", at, err)
	}
	defer root.Close() // read-only
	f, info, err := root.OpenFile(rel)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return "", nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV), errors.Is(err, beneath.ErrNotRegular):
		return "", refused
	case err != nil:
		return "", fmt.Errorf("read %q: %w", at, err)
	}
	defer f.Close() // read-only
	if info.Size > maxRules {
		return "", fmt.Errorf("read %q: %d bytes, more than the limit of %d", at, info.Size, maxRules)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxRules))
	if err != nil {
		return "", fmt.Errorf("read %q: %w", at, err)
	}
	return string(raw), nil
}
