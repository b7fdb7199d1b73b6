package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/beneath"
)

// workers is how many folders are looked at, or copied, at once. More than two
// gained nothing on two cores and little on more.
const workers = 3

// folder takes in everything below a folder that is no repository to git, or
// that git ignores: ordinary files and links, empty folders too.
func (c *chooser) folder(rel string, origin Origin) error {
	return c.walk(rel, func(path string, e *beneath.Entry) {
		switch e.Kind {
		case beneath.Directory:
			c.sel.dirs = append(c.sel.dirs, path)
		case beneath.Other:
			c.leave(path, e.Special(), 0)
		case beneath.Regular, beneath.Symlink:
			c.add(path, origin, -1)
		}
	})
}

// unlisted meets what git does not list at all: special files, which are named,
// and empty folders, which programs count on. Ignored folders are passed over.
func (c *chooser) unlisted(ignored []string) error {
	skip := make(map[string]bool, len(ignored))
	for _, p := range ignored {
		skip[p] = true
	}
	dir, err := beneath.OpenRoot(c.r.Root)
	if err != nil {
		return err
	}
	defer dir.Close() // read-only
	out, err := dir.Walk(c.ctx, beneath.Limits{KindsOnly: true}, func(_ *beneath.Dir, in string, entries []beneath.Entry) error {
		for i := range entries {
			e := &entries[i]
			path := beneath.Join(in, e.Name)
			switch {
			case hasGitPart(e.Name):
				e.Skip = true
			case e.Kind == beneath.Other:
				c.leave(path, e.Special(), 0)
			case e.Kind != beneath.Directory:
			case skip[path], c.exclude != nil && c.exclude.Path(path, true):
				e.Skip = true
			case !c.inRepo(path):
				c.mu.Lock()
				c.sel.dirs = append(c.sel.dirs, path)
				c.mu.Unlock()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range out.Findings {
		c.leave(f.Path, f.Reason, 0)
	}
	return nil
}

// inRepo says whether a path is in a submodule or nested repository, whose own
// ignored folders are not known here.
func (c *chooser) inRepo(path string) bool {
	for _, r := range c.sel.Repos {
		if within(r, path) {
			return true
		}
	}
	return false
}

// partly takes in of an ignored folder what an include pattern names below it.
func (c *chooser) partly(rel, why string) error {
	var left int64
	var some bool
	err := c.walk(rel, func(path string, e *beneath.Entry) {
		switch {
		case e.Kind == beneath.Directory:
		case e.Kind != beneath.Other && c.include.Path(path, false):
			c.add(path, Included, -1)
			some = true
		default:
			left += e.Size
		}
	})
	if err != nil {
		return err
	}
	if some {
		why += ", but for what the policy includes"
	}
	c.leave(rel+"/", why, left)
	return nil
}

// walk visits a folder of the repository in one goroutine, without what git
// keeps for itself.
func (c *chooser) walk(rel string, fn func(path string, e *beneath.Entry)) error {
	dir, err := beneath.OpenRoot(c.r.Root)
	if err != nil {
		return err
	}
	defer dir.Close() // read-only
	if rel != "" {
		sub, err := dir.OpenDir(rel)
		if err != nil {
			c.leave(rel+"/", beneath.Reason(err), 0)
			return nil
		}
		defer sub.Close() // read-only
		dir = sub
	}
	out, err := dir.Walk(c.ctx, beneath.Limits{Workers: 1}, func(_ *beneath.Dir, in string, entries []beneath.Entry) error {
		for i := range entries {
			e := &entries[i]
			path := beneath.Join(beneath.Join(rel, in), e.Name)
			if hasGitPart(e.Name) {
				e.Skip = true
				if path != ".git" {
					c.leave(path, "the .git of a repository inside: its files go in as plain files", 0)
				}
				continue
			}
			if e.Kind == beneath.Directory && c.exclude != nil && c.exclude.Path(path, true) {
				e.Skip = true
				c.leave(path+"/", "excluded by the policy", 0)
				continue
			}
			fn(path, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range out.Findings {
		c.leave(beneath.Join(rel, f.Path), f.Reason, 0)
	}
	if !out.Complete {
		return fmt.Errorf("folder %q: %s", beneath.Join(c.r.Root, rel), out.Findings[0].Reason)
	}
	return nil
}

// size estimates what a left-out path holds, within a few milliseconds; -1
// when it is more than that allows to count.
func (c *chooser) size(rel string) int64 {
	dir, err := beneath.OpenRoot(c.r.Root)
	if err != nil {
		return 0
	}
	defer dir.Close() // read-only
	info, err := dir.Lstat(rel)
	if err != nil || info.Kind != beneath.Directory {
		return info.Size
	}
	sub, err := dir.OpenDir(rel)
	if err != nil {
		return 0
	}
	defer sub.Close() // read-only
	var sum int64
	out, err := sub.Walk(c.ctx, beneath.Limits{Workers: 1, Entries: 5000, Time: 20 * time.Millisecond}, func(_ *beneath.Dir, _ string, entries []beneath.Entry) error {
		for _, e := range entries {
			if e.Kind == beneath.Regular {
				sum += e.Size
			}
		}
		return nil
	})
	if err != nil || !out.Complete {
		return -1
	}
	return sum
}

// look describes every chosen file, folder by folder, and takes out of the
// list what is gone, special, unreadable or a secret.
func (c *chooser) look() error {
	s := c.sel
	sortFiles(s.Files)
	root, err := beneath.OpenRoot(c.r.Root)
	if err != nil {
		return err
	}
	defer root.Close() // read-only
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	groups := groupFiles(s.Files)
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range workers {
		wg.Go(func() {
			buf := make([]byte, sniffMax+1)
			for ctx.Err() == nil {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(groups) {
					return
				}
				c.lookIn(root, groups[i], buf)
			}
		})
	}
	wg.Wait()
	if err := c.ctx.Err(); err != nil {
		return err
	}
	s.Files = slices.DeleteFunc(s.Files, func(f File) bool { return f.Info.Kind == 0 })
	return nil
}

// sortFiles orders by folder, then name.
func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int {
		ad, an := split(a.Path)
		bd, bn := split(b.Path)
		return cmp.Or(cmp.Compare(ad, bd), cmp.Compare(an, bn))
	})
}

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// groupFiles cuts sorted files into runs of one folder, long ones in pieces.
func groupFiles(files []File) [][]File {
	const most = 256
	var out [][]File
	for i := 0; i < len(files); {
		dir, _ := split(files[i].Path)
		j := i + 1
		for j < len(files) && j-i < most {
			if d, _ := split(files[j].Path); d != dir {
				break
			}
			j++
		}
		out = append(out, files[i:j])
		i = j
	}
	return out
}

// openDir opens a folder of root; "" is root itself.
func openDir(root *beneath.Dir, rel string) (*beneath.Dir, func(), error) {
	if rel == "" {
		return root, func() {}, nil
	}
	d, err := root.OpenDir(rel)
	if err != nil {
		return nil, nil, err
	}
	return d, func() { _ = d.Close() }, nil // read-only
}

func (c *chooser) lookIn(root *beneath.Dir, files []File, buf []byte) {
	rel, _ := split(files[0].Path)
	dir, done, err := openDir(root, rel)
	if err != nil {
		for i := range files {
			c.lost(&files[i], err)
		}
		return
	}
	defer done()
	for i := range files {
		f := &files[i]
		_, name := split(f.Path)
		info, err := dir.LstatName(name)
		if err != nil {
			c.lost(f, err)
			continue
		}
		c.judge(dir, f, name, info, buf)
	}
}

// lost is a chosen path that can't be looked at.
func (c *chooser) lost(f *File, err error) {
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		c.drop(f, beneath.Reason(err), 0)
		return
	}
	if f.Origin != Tracked {
		return // it went away since it was listed
	}
	if c.sel.index[f.index].flags&flagSkipWorktree != 0 {
		return // sparse: never was there
	}
	c.mu.Lock()
	c.sel.Gone = append(c.sel.Gone, f.Path)
	c.mu.Unlock()
}

// drop leaves a path out; a tracked one is then hidden from git inside.
func (c *chooser) drop(f *File, why string, size int64) {
	c.leave(f.Path, why, size)
	c.mu.Lock()
	c.sel.skipped[f.Path] = true
	c.mu.Unlock()
}

func (c *chooser) judge(dir *beneath.Dir, f *File, name string, info beneath.Info, buf []byte) {
	switch info.Kind {
	case beneath.Directory:
		c.lost(f, unix.ENOENT) // a folder took its place
		return
	case beneath.Other:
		c.drop(f, info.Special(), 0)
		return
	case beneath.Symlink:
	case beneath.Regular:
		if !readable(dir, name, info) {
			c.drop(f, "unreadable: permission denied", info.Size)
			return
		}
		why := ""
		switch f.Origin {
		case Tracked, Nested: // shared by whoever committed it
		case Depends:
			if why = secretInDependency(f.Path); why == "" && registryFile(name) {
				why = c.secret(dir, f, name, info, buf)
			}
		case Untracked, Included:
			why = c.secret(dir, f, name, info, buf)
		}
		if why != "" {
			c.drop(f, "looks like a secret: "+why, info.Size)
			return
		}
	}
	f.Info = info
	if f.Origin == Tracked {
		e := &c.sel.index[f.index]
		e.clean = e.matches(&info, c.sel.indexTime)
	}
}

// readable asks the kernel only where the mode leaves a doubt.
func readable(dir *beneath.Dir, name string, info beneath.Info) bool {
	if info.Mode&0o444 == 0o444 || os.Geteuid() == 0 {
		return true
	}
	return unix.Faccessat(dir.Fd(), name, unix.R_OK, unix.AT_EACCESS) == nil
}

func (c *chooser) secret(dir *beneath.Dir, f *File, name string, info beneath.Info, buf []byte) string {
	if why := secretByName(f.Path); why != "" {
		return why
	}
	if info.Size == 0 || info.Size > sniffMax {
		return ""
	}
	file, _, err := dir.OpenFile(name)
	if err != nil {
		return "" // the copy says why
	}
	defer file.Close() // read-only
	n, err := io.ReadFull(file, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return ""
	}
	return secretByContent(name, buf[:n])
}
