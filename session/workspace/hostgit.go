package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// hostGit runs the host's own git on the host's repository, to list and read.
type hostGit struct {
	bin string
	dir string   // current directory
	env []string // complete
}

// GitError is a git command that did not succeed.
type GitError struct {
	Args   []string
	Err    error
	Stderr string // its first lines, as they are: hostile
}

func (e *GitError) Error() string {
	msg := fmt.Sprintf("git %s: %v", e.Args[0], e.Err)
	if e.Stderr != "" {
		msg += fmt.Sprintf(": %q", e.Stderr)
	}
	return msg
}

func (e *GitError) Unwrap() error { return e.Err }

// ErrNoGit is a host without git.
var ErrNoGit = errors.New("git is not on PATH; install git 2.25 or later")

// findGit looks for git on PATH. A relative folder of PATH and any folder in
// the repository itself is passed over: what a repository brings never runs.
func findGit(path, root string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		bin := filepath.Join(dir, "git")
		fi, err := os.Stat(bin)
		if err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(bin)
		if err != nil || within(root, bin) || within(root, real) {
			continue
		}
		return bin, nil
	}
	return "", ErrNoGit
}

// within says whether path is root or below it.
func within(root, path string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// overrides turn off whatever a repository's configuration could make git run
// or write while it lists and packs.
var overrides = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.untrackedCache=false",
	"-c", "core.sshCommand=false",
	"-c", "core.alternateRefsCommand=false",
	"-c", "core.pager=cat",
	"-c", "core.fsync=none",
	"-c", "protocol.allow=never",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "pack.packSizeLimit=0",
	"-c", "pack.writeReverseIndex=false",
}

// newHostGit prepares git for one folder. Its environment is made, not
// inherited: GIT_DIR and its like in the caller's would point elsewhere.
func newHostGit(dir, home, path string) (*hostGit, error) {
	bin, err := findGit(path, dir)
	if err != nil {
		return nil, err
	}
	g := &hostGit{bin: bin, dir: dir}
	g.env = []string{
		"PATH=" + path, "HOME=" + home, "LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_PAGER=cat",
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if v, ok := os.LookupEnv(name); ok {
			g.env = append(g.env, name+"="+v)
		}
	}
	return g, nil
}

// owned adds what lets git open a repository that belongs to another account,
// for this process alone: dir and the folders above it are named as safe.
func (g *hostGit) owned(dir string) *hostGit {
	out := *g
	out.env = append([]string(nil), g.env...)
	n := 0
	for d := dir; ; d = filepath.Dir(d) {
		out.env = append(out.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=safe.directory", n), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, d))
		n++
		if d == filepath.Dir(d) {
			break
		}
	}
	out.env = append(out.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	return &out
}

// with adds to the environment.
func (g *hostGit) with(env ...string) *hostGit {
	out := *g
	out.env = append(append([]string(nil), g.env...), env...)
	return &out
}

// command is git with the overrides. It ends with ctx.
func (g *hostGit) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.bin, append(overrides[:len(overrides):len(overrides)], args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.WaitDelay = time.Second
	return cmd
}

// output runs git and gives all that it printed.
func (g *hostGit) output(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	return run(ctx, g.command(ctx, args...), stdin, args)
}

// plain is output without the overrides, for reading the configuration itself.
func (g *hostGit) plain(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.bin, args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.WaitDelay = time.Second
	return run(ctx, cmd, nil, args)
}

func run(ctx context.Context, cmd *exec.Cmd, stdin io.Reader, args []string) ([]byte, error) {
	var out bytes.Buffer
	errs := &head{max: 2000}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return out.Bytes(), ctx.Err()
		}
		return out.Bytes(), &GitError{Args: args, Err: err, Stderr: strings.TrimSpace(errs.b.String())}
	}
	return out.Bytes(), nil
}

// exited says whether git ended by itself with that status.
func exited(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// head keeps the first bytes that are written to it.
type head struct {
	b   bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), h.max-h.b.Len())])
	return len(p), nil
}
