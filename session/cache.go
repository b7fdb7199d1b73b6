package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/session/store"
)

// caches finds the language caches that go in, each with a layer of the
// session's own for what it changes. They come with toolchains = "auto". What is
// left of the policy's own places goes in read-only.
func (h *Host) caches(p *Prepared, places []policy.Place, never []string) []policy.Place {
	if p.Policy.Filesystem.Toolchains.Word != "auto" || h.Home == "" {
		return places
	}
	found, left, refused := policy.Caches(h.Home, places, never, exists, filepath.EvalSymlinks)
	p.Refused = append(p.Refused, refused...)
	for _, c := range found {
		if fi, err := os.Stat(c.Real); err != nil || !fi.IsDir() {
			continue
		}
		if p.Repo != nil && (within(p.Repo.Root, c.Path) || within(c.Path, p.Repo.Root)) {
			continue // it is the repository's own, and copied
		}
		if err := isolate.CacheFits(c.Real, h.stateFolder()); err != nil {
			p.Refused = append(p.Refused, policy.Refusal{Path: c.Path, Why: err.Error()})
			continue
		}
		p.Caches = append(p.Caches, c)
	}
	return left
}

// stateFolder is where sessions lie, or will: the nearest folder that exists.
func (h *Host) stateFolder() string {
	dir := string(h.Root)
	for !exists(dir) && dir != "/" {
		dir = filepath.Dir(dir)
	}
	return dir
}

// cacheMounts is what of caches a start is told.
func cacheMounts(all []policy.Cache) []store.Cache {
	var out []store.Cache
	for _, c := range all {
		out = append(out, store.Cache{Name: c.Name, Mount: isolate.Mount{Host: c.Real, Inside: c.Path}})
	}
	return out
}

// maxHidden bounds what is hidden of one cache, in names.
const maxHidden = 4096

// prepareCaches makes the layers of a new session's caches. Nothing of the
// session has run yet: later, what is in a layer is hostile.
func prepareCaches(d store.Dir, all []policy.Cache, uid, gid int) error {
	if len(all) == 0 {
		return nil
	}
	if err := os.Mkdir(d.Caches(), 0o700); err != nil {
		return fmt.Errorf("make the folder of caches: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(d.Caches(), uid, gid); err != nil {
			return err
		}
	}
	for _, c := range all {
		hidden, err := hiddenIn(c)
		if err != nil {
			return err
		}
		if err := isolate.PrepareLayer(d.Cache(c.Name), uid, gid, hidden); err != nil {
			return err
		}
	}
	return nil
}

// hiddenIn is the names that a cache's patterns mean now. One without a "*" is
// hidden also where it is not there yet.
func hiddenIn(c policy.Cache) ([]string, error) {
	var out []string
	for _, pattern := range c.Hidden {
		if !strings.Contains(pattern, "*") {
			out = append(out, pattern)
			continue
		}
		names, err := filepath.Glob(globEscape(c.Real) + "/" + pattern)
		if err != nil {
			return nil, fmt.Errorf("cache %q: %w", c.Path, err)
		}
		for _, name := range names {
			out = append(out, strings.TrimPrefix(name, c.Real+"/"))
		}
	}
	if len(out) > maxHidden {
		return nil, fmt.Errorf("cache %q: %d names in it are to be hidden, the limit is %d; filesystem.toolchains = \"none\" leaves caches out", c.Path, len(out), maxHidden)
	}
	return out, nil
}

// globEscape is a path as a pattern that means only it.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// cacheEnv is what tools need to find what was built outside.
func cacheEnv(all []policy.Cache) []string {
	at := map[string]string{}
	for _, c := range all {
		at[c.Name] = c.Path
	}
	// The path of a module is part of what its build is found by.
	if at["go-build"] != "" && at["go-mod"] != "" {
		return []string{"GOMODCACHE=" + at["go-mod"]}
	}
	return nil
}

// mountsOf is every host folder of a session, as a line each.
func mountsOf(readOnly []isolate.Mount, caches []store.Cache) []string {
	out := mountLines(readOnly)
	for _, c := range caches {
		out = append(out, c.Host+" -> "+c.Inside+" (changes in a layer of the session's)")
	}
	return out
}
