package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fumehood/diffreview"
	"fumehood/session/baseline"
)

// dependencyFolders are what the word "auto" includes: folders that a package
// manager fills, when git ignores them.
var dependencyFolders = []string{
	"node_modules", "bower_components", ".venv", "venv", ".tox", "vendor", "target", "Pods", ".bundle", "elm-stuff", "deps", ".yarn", ".pnp.*",
}

// Dependency tells whether what was left out is of the folders that the word
// "auto" brings in.
func Dependency(l diffreview.LeftOut) bool {
	p, folder := strings.CutSuffix(l.Path, "/")
	return l.Reason == IgnoredByGit && compile(dependencyFolders).Path(p, folder)
}

// Choose decides what goes into a workspace. It reads the host's repository
// and writes nothing.
func Choose(ctx context.Context, r *Repo, o Options) (*Selection, error) {
	switch o.History {
	case "head", "all", "none":
	case "":
		o.History = "head"
	default:
		return nil, fmt.Errorf("history %q: want head, all or none", o.History)
	}
	c := &chooser{
		ctx: ctx, r: r, o: o,
		sel:     &Selection{history: o.History, skipped: map[string]bool{}},
		exclude: compile(o.Exclude), depends: compile(dependencyFolders), byPath: map[string]bool{},
	}
	var own []string
	for _, p := range o.Include {
		if p == "auto" {
			c.auto = c.depends
		} else {
			own = append(own, p)
		}
	}
	c.include = compile(own)
	c.sel.exclude = c.exclude
	if o.Progress != nil {
		o.Progress(0, 0, 0)
	}
	var err error
	if r.Git {
		err = c.repository()
	} else {
		err = c.folder("", Untracked)
	}
	if err != nil {
		return nil, fmt.Errorf("choose files of %q: %w", r.Root, err)
	}
	if err := c.look(); err != nil {
		return nil, fmt.Errorf("choose files of %q: %w", r.Root, err)
	}
	c.finish()
	return c.sel, nil
}

// compile makes patterns of git's kind ready; nil when there are none.
func compile(patterns []string) *baseline.Ignore {
	if len(patterns) == 0 {
		return nil
	}
	rules := baseline.Rules{Files: []baseline.IgnoreFile{{Text: strings.Join(patterns, "\n")}}}
	return rules.Compile()
}

type chooser struct {
	ctx     context.Context
	r       *Repo
	o       Options
	sel     *Selection
	exclude *baseline.Ignore
	include *baseline.Ignore
	auto    *baseline.Ignore
	depends *baseline.Ignore
	byPath  map[string]bool // of files that are not tracked, against doubles
	rules   bool            // attributes files were met
	mu      sync.Mutex
}

func (c *chooser) leave(path, why string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sel.LeftOut = append(c.sel.LeftOut, diffreview.LeftOut{Path: path, Reason: why, Size: size})
}

func (c *chooser) note(format string, args ...any) {
	c.sel.Notes = append(c.sel.Notes, fmt.Sprintf(format, args...))
}

// add takes a path in unless it is excluded.
func (c *chooser) add(path string, origin Origin, index int32) {
	if origin != Tracked {
		if c.byPath[path] {
			return
		}
		c.byPath[path] = true
	}
	if c.exclude != nil && c.exclude.Path(path, false) {
		why := "excluded by the policy"
		if origin == Tracked && c.sel.history != "none" && c.r.Head != "" {
			why += "; its committed content is still in the git history inside"
		}
		c.leave(path, why, 0)
		c.sel.skipped[path] = true
		return
	}
	if path == ".gitattributes" || strings.HasSuffix(path, "/.gitattributes") {
		c.rules = true
	}
	c.sel.Files = append(c.sel.Files, File{Path: path, Origin: origin, index: index})
}

// listings asks git for the index, the untracked and the ignored. The index
// must not move meanwhile: what it proves is proven by its time.
func (c *chooser) listings() (index, untracked, ignored []byte, err error) {
	path := filepath.Join(c.r.GitDir, "index")
	for range 5 {
		before, missing := os.Stat(path)
		if missing != nil && !errors.Is(missing, os.ErrNotExist) {
			return nil, nil, nil, missing
		}
		var wg sync.WaitGroup
		var errs [3]error
		g := c.r.git
		wg.Go(func() { index, errs[0] = g.output(c.ctx, nil, "ls-files", "-z", "--cached", "--stage", "--debug") })
		wg.Go(func() { untracked, errs[1] = g.output(c.ctx, nil, "ls-files", "-z", "-o", "--exclude-standard") })
		wg.Go(func() {
			ignored, errs[2] = g.output(c.ctx, nil, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
		})
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return nil, nil, nil, err
		}
		after, gone := os.Stat(path)
		if missing != nil && gone != nil {
			return index, untracked, ignored, nil //nolint:nilerr // no index yet
		}
		if missing == nil && gone == nil && os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()) && before.Size() == after.Size() {
			c.sel.indexTime = before.ModTime().UnixNano()
			return index, untracked, ignored, nil
		}
	}
	return nil, nil, nil, errors.New("the index keeps changing: another git is at work; wait for it and start again")
}

func (c *chooser) repository() error {
	rawIndex, rawUntracked, rawIgnored, err := c.listings()
	if err != nil {
		return err
	}
	if c.sel.index, err = parseIndex(rawIndex, c.r.hashSize()); err != nil {
		return err
	}
	for i := range c.sel.index {
		e := &c.sel.index[i]
		switch {
		case i > 0 && c.sel.index[i-1].path == e.path: // another stage of a conflict
		case hasGitPart(e.path):
			return fmt.Errorf("git ls-files: the index holds %q, which git itself refuses", e.path)
		case e.mode == modeGitlink:
			if err := c.repoInside(e.path, "submodule"); err != nil {
				return err
			}
		default:
			c.add(e.path, Tracked, int32(i))
		}
	}
	files, repos := parsePaths(rawUntracked)
	for _, p := range files {
		c.add(p, Untracked, -1)
	}
	for _, p := range repos {
		if err := c.repoInside(p, "repository"); err != nil {
			return err
		}
	}
	files, folders := parsePaths(rawIgnored)
	if err := c.ignored(files, folders); err != nil {
		return err
	}
	return c.unlisted(folders)
}

// ignored takes in what the policy includes of the ignored and names the rest.
func (c *chooser) ignored(files, folders []string) error {
	for _, p := range files {
		switch {
		case c.include != nil && c.include.Path(p, false):
			c.add(p, Included, -1)
		case c.auto != nil && c.auto.Path(p, false):
			c.add(p, Depends, -1)
		default:
			c.leaveIgnored(p, p, false)
		}
	}
	for _, p := range folders {
		var err error
		switch {
		case c.include != nil && c.include.Path(p, true):
			err = c.folder(p, Included)
		case c.auto != nil && c.auto.Path(p, true):
			err = c.folder(p, Depends)
		case c.include != nil:
			err = c.partly(p, IgnoredByGit)
		default:
			c.leaveIgnored(p, p+"/", true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// IgnoredByGit is the reason for what stays out because git ignores it.
const IgnoredByGit = "ignored by git"

// leaveIgnored leaves out what git ignores; of dependencies it notes that they
// can be brought in, where the policy includes nothing.
func (c *chooser) leaveIgnored(p, name string, folder bool) {
	size := c.size(p)
	c.leave(name, IgnoredByGit, size)
	if c.include == nil && c.auto == nil && c.depends.Path(p, folder) {
		c.sel.Dependencies = append(c.sel.Dependencies, diffreview.LeftOut{Path: name, Reason: IgnoredByGit, Size: size})
	}
}

// repoInside brings the files of a submodule or a nested repository as plain
// files: what its own git lists, without its .git.
func (c *chooser) repoInside(path, what string) error {
	if c.exclude != nil && c.exclude.Path(path, true) {
		c.leave(path+"/", "excluded by the policy", c.size(path))
		return nil
	}
	abs := filepath.Join(c.r.Root, path)
	if fi, err := os.Lstat(filepath.Join(abs, ".git")); err != nil || fi.Mode()&os.ModeSymlink != 0 {
		if what == "submodule" {
			c.note("submodule %q is not checked out: its folder is empty inside too", path)
			return nil
		}
		return c.folder(path, Untracked)
	}
	g, err := newHostGit(abs, c.r.home, os.Getenv("PATH"))
	if err != nil {
		return err
	}
	g = g.owned(abs)
	out, err := g.output(c.ctx, nil, "rev-parse", "--absolute-git-dir", "--show-toplevel")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if err != nil || len(lines) != 2 || lines[1] != abs {
		// Not a repository to git, or one that works on another folder.
		c.note("%s %q: git does not open it; all its files go in as plain files", what, path)
		return c.folder(path, Untracked)
	}
	c.note("%s %q: its files go in and come back as plain files; its own git history does not", what, path)
	c.sel.Repos = append(c.sel.Repos, path)
	return c.nested(g, lines[0], path)
}

func (c *chooser) nested(g *hostGit, gitDir, path string) error {
	exclude, err := gitText(commonDir(gitDir), "info/exclude")
	if err != nil {
		return err
	}
	c.sel.roots = append(c.sel.roots, baseline.IgnoreFile{Dir: path, Text: exclude})
	tracked, err := g.output(c.ctx, nil, "ls-files", "-z", "--cached", "--stage")
	if err != nil {
		return err
	}
	untracked, err := g.output(c.ctx, nil, "ls-files", "-z", "-o", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(tracked), "\x00") {
		info, name, ok := strings.Cut(line, "\t")
		if !ok || hasGitPart(name) {
			continue
		}
		inner := path + "/" + name
		if strings.HasPrefix(info, "160000 ") {
			if strings.Count(inner, "/") > 200 {
				c.leave(inner, "repositories nested too deep", 0)
				continue
			}
			if err := c.repoInside(inner, "submodule"); err != nil {
				return err
			}
			continue
		}
		c.add(inner, Nested, -1)
	}
	files, repos := parsePaths(untracked)
	for _, p := range files {
		c.add(path+"/"+p, Untracked, -1)
	}
	for _, p := range repos {
		if err := c.repoInside(path+"/"+p, "repository"); err != nil {
			return err
		}
	}
	return nil
}

// finish counts, and puts everything in order.
func (c *chooser) finish() {
	s := c.sel
	s.converts = c.converts()
	for i := range s.Files {
		f := &s.Files[i]
		s.Bytes += f.Info.Size
		switch {
		case f.Origin == Untracked:
			s.Untracked++
		case f.Origin == Tracked && !s.index[f.index].clean:
			s.Dirty++
		}
	}
	s.Dirty += len(s.Gone)
	slices.SortFunc(s.LeftOut, func(a, b diffreview.LeftOut) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(s.Gone)
	slices.Sort(s.Repos)
	if c.r.foreign != "" {
		c.note("core.excludesFile names %q, which for a repository's own setting is outside of it: git obeys it, and its text does not go in", c.r.foreign)
	}
	switch {
	case s.history == "all" && c.r.sharesObjects():
		c.note("every branch and stash goes in, and commits that a log still names; what else is in the object store is not known to be this repository's: it shares that of another")
	case s.history == "all":
		c.note("the whole object store goes in: every branch, every stash, and commits that were dropped")
	}
}

// converts says whether anything could make a file's bytes differ from its
// blob while git calls it unchanged: then bytes are compared, not times.
func (c *chooser) converts() bool {
	if !c.r.Git {
		return true
	}
	if v, ok := c.r.config.get("core.autocrlf"); ok && !strings.EqualFold(v, "false") {
		return true
	}
	if _, ok := c.r.config.get("core.eol"); ok {
		return true
	}
	if c.rules || c.r.attributes != "" {
		return true
	}
	for _, p := range []string{filepath.Join(c.r.CommonDir, "info", "attributes"), "/etc/gitattributes", "/usr/local/etc/gitattributes"} {
		if _, err := os.Lstat(p); err == nil {
			return true
		}
	}
	return false
}
