package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fumehood/isolate"
	"fumehood/isolate/policy"
)

// readOnly lists the host folders that go in read-only: the policy's inputs,
// and toolchains; and the caches beside them. Each appears at its own path, and the stage
// shows one below the account's home below the session's HOME as well, since
// tools look there. Without a repository it is the list as any would have it.
func (h *Host) readOnly(p *Prepared) error {
	never := []string{string(h.Root), filepath.Join(h.Config, "fumehood")}
	f := p.Policy.Filesystem
	places, refused := policy.Inputs(f.Inputs, h.Home, never, filepath.EvalSymlinks)
	if f.Toolchains.Word == "" {
		more, no := policy.Inputs(f.Toolchains.List, h.Home, never, filepath.EvalSymlinks)
		places, refused = append(places, more...), append(refused, no...)
	}
	if len(refused) > 0 {
		var errs []error
		for _, r := range refused {
			errs = append(errs, fmt.Errorf("the policy's %q can't go in: %s", r.Path, r.Why))
		}
		return errors.Join(errs...)
	}
	places = h.caches(p, places, never)
	path := filepath.SplitList(h.getenv("PATH"))
	if f.Toolchains.Word == "auto" {
		set := policy.Toolchains(h.Home, policy.Search{Path: path, Links: h.interpreters(p), Given: places}, exists, filepath.EvalSymlinks)
		places = slices.Concat(places, set.Mounts, set.Files)
		p.Seed = set.Files
		p.Offered, p.Refused = set.Offered, append(p.Refused, set.Refused...)
		path = set.Path
	}
	seen := map[isolate.Mount]bool{}
	add := func(m isolate.Mount) {
		// What lies in the sandbox's own places is only there in a start from
		// within a session, which the kernel refuses further on.
		if !seen[m] && !within(m.Inside, "/usr") && !within(m.Inside, "/fumehood") && !(p.Repo != nil && within(m.Inside, p.Repo.Root)) {
			seen[m] = true
			p.ReadOnly = append(p.ReadOnly, m)
		}
	}
	for _, pl := range places {
		add(isolate.Mount{Host: pl.Real, Inside: pl.Path})
		if pl.Real != pl.Path {
			add(isolate.Mount{Host: pl.Real, Inside: pl.Real})
		}
	}
	p.Caches = slices.DeleteFunc(p.Caches, func(c policy.Cache) bool {
		return slices.ContainsFunc(p.ReadOnly, func(m isolate.Mount) bool { return within(m.Inside, c.Path) })
	})
	p.ToolPath = h.toolPath(path, p.ReadOnly)
	return nil
}

// interpreters are the folders that the interpreters of venvs lie in: those of
// the repository, and of programs that pipx installed.
func (h *Host) interpreters(p *Prepared) []string {
	var venvs []string
	if p.Repo != nil {
		for _, name := range []string{".venv", "venv", "env"} {
			venvs = append(venvs, filepath.Join(p.Repo.Root, name))
		}
	}
	if pipx, err := filepath.Glob(globEscape(h.Home) + "/.local/share/pipx/venvs/*"); err == nil {
		venvs = append(venvs, pipx[:min(len(pipx), maxVenvs)]...)
	}
	var out []string
	for _, venv := range venvs {
		at := filepath.Join(venv, "bin", "python")
		for range maxLinks {
			to, err := os.Readlink(at)
			if err != nil {
				break
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at = filepath.Clean(to)
			if dir := filepath.Dir(at); !within(dir, venv) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}

// Bounds of what is looked at for interpreters.
const (
	maxVenvs = 64
	maxLinks = 8
)

// toolPath keeps the entries of PATH that are there inside and not the
// system's own, which follow anyway.
func (h *Host) toolPath(path []string, mounts []isolate.Mount) []string {
	var out []string
	for _, dir := range path {
		if !filepath.IsAbs(dir) || strings.Contains(dir, ":") {
			continue
		}
		for _, m := range mounts {
			if within(dir, m.Inside) {
				out = append(out, dir)
				break
			}
		}
	}
	return out
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func (h *Host) getenv(name string) string {
	for _, kv := range h.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// maxSeed bounds a toolchain manager's settings file, in bytes.
const maxSeed = 64 << 10

// seedFiles copies toolchain managers' small settings into the session's home.
func seedFiles(home string, files []policy.Place, accountHome string, write func(path string, b []byte) error) error {
	for _, f := range files {
		rel, err := filepath.Rel(accountHome, f.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		b, err := readBounded(f.Real, maxSeed)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy %q: %w", f.Path, err)
		}
		if err := write(filepath.Join(home, rel), b); err != nil {
			return err
		}
	}
	return nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, fmt.Errorf("not a regular file of at most %d bytes", limit)
	}
	return os.ReadFile(path)
}
