package prove

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fumehood/internal/atomicfile"
)

// makeRepo makes the throw-away repository that sessions copy: two commits, a
// stash that was dropped and holds the token, and an ignored file with it.
func (e *env) makeRepo(ctx context.Context) error {
	e.repo = filepath.Join(e.dir, "repo")
	if err := os.Mkdir(e.repo, 0o755); err != nil {
		return fmt.Errorf("make the throw-away repository: %w", err)
	}
	write := func(name, text string) error {
		path := filepath.Join(e.repo, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return atomicfile.Write(path, []byte(text), 0o644)
	}
	for _, f := range [][2]string{
		{"README.md", "# a repository of the wall tests\n"},
		{"src/main.txt", "line one\nline two\nline three\n"},
		{".gitignore", "ignored.env\n"},
		{"ignored.env", "TOKEN=" + e.token + "\n"},
	} {
		if err := write(f[0], f[1]); err != nil {
			return fmt.Errorf("make the throw-away repository: %w", err)
		}
	}
	for _, step := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"commit", "-q", "-m", "first"},
		// Credentials as accounts have them in a repository's own settings.
		{"remote", "add", "origin", "https://someone:" + e.token + "@git.test/repository.git"},
		{"config", "http.extraHeader", "Authorization: Bearer " + e.token},
		{"config", "credential.helper", "!echo password=" + e.token},
	} {
		if err := e.git(ctx, step...); err != nil {
			return err
		}
	}
	// The stash's own untracked file stays in the object store when it is dropped.
	if err := write("dropped.env", "TOKEN="+e.token+"\n"); err != nil {
		return fmt.Errorf("make the throw-away repository: %w", err)
	}
	for _, step := range [][]string{{"stash", "push", "-q", "-u"}, {"stash", "drop", "-q"}} {
		if err := e.git(ctx, step...); err != nil {
			return err
		}
	}
	return nil
}

// git runs the host's git on the throw-away repository, before anything of a
// session can have touched it.
func (e *env) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", e.repo}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + e.dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=fumehood", "GIT_AUTHOR_EMAIL=fumehood@example.test", "GIT_COMMITTER_NAME=fumehood", "GIT_COMMITTER_EMAIL=fumehood@example.test",
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s in the throw-away repository: %w: %s", args[0], err, strings.TrimSpace(string(text)))
	}
	return nil
}
