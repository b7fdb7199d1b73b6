package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fumehood/diffreview"
)

// goal is one path and what it shall become.
type goal struct {
	path string
	ok   []diffreview.Entry // host entries that count as unchanged
	base diffreview.Entry   // the first of them, to name the difference
	want diffreview.Entry
	undo *undoOf // set when an apply is taken back
	note
}

// note is what a journal keeps of a move beside the move itself; see Target.
type note struct {
	units    []string
	merged   bool
	approved diffreview.Entry
}

// undoOf is what an apply left and what it had found.
type undoOf struct{ left, orig state }

func (g goal) next(found state) state {
	if g.undo != nil {
		return restored(found, g.undo.left, g.undo.orig)
	}
	return written(found, g.want)
}

// hostPath is what stands at a path of the host, or why it can't be compared.
type hostPath struct {
	state
	why string
	// as is the path that the file system has for it, where that is another one and
	// known; why says so too.
	as string
}

// hostDir is a folder above a target: Kind is kindFolder, absent, or what
// stands in its place. Names is its content, read only where a target below it
// is to be deleted.
type hostDir struct {
	kind     diffreview.Kind
	why      string
	names    []string
	listed   bool
	mode     uint32
	uid, gid uint32
}

// host is what was seen of the host's repository: every target's path and
// every folder above one.
type host struct {
	paths map[string]hostPath
	dirs  map[string]hostDir
}

// move takes one path from one state to another.
type move struct {
	Path string
	Base diffreview.Entry
	From state
	To   state
	Temp string // the temporary name, in a folder that outlives the move
	note
}

// dirMove makes or removes one folder. Mode 0 is a new folder's.
type dirMove struct {
	Path string `json:"-"` // as raw in the record
	Raw  raw    `json:"path"`
	Mode uint32 `json:"mode"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	// Needed: a file takes the folder's place, so it has to go.
	Needed bool `json:"needed,omitempty"`
}

// plan is what to do, in order: deletes, rmdirs, mkdirs, writes.
type plan struct {
	deletes   []move
	rmdirs    []dirMove // the deepest first
	mkdirs    []dirMove // the outermost first
	writes    []move
	already   []string // the host has what is wanted
	conflicts []PathWhy
	differ    map[string]bool // conflicts of another file or link at the path, nothing else
	gone      map[string]bool // the paths of rmdirs
}

func (p plan) moves() []move { return slices.Concat(p.deletes, p.writes) }

// dirRules narrow what happens to folders when an apply is undone.
type dirRules struct {
	only  map[string]bool    // nil: any emptied folder goes; else only these
	modes map[string]dirMove // modes of folders that come back
}

// check compares goals with the host and plans the moves. It is pure: the same
// answer on the same host, nothing is read or written. A goal in conflict is
// left out of the moves; whether the others are made is the caller's choice.
func check(goals []goal, h host, rules dirRules) plan {
	c := checker{h: h, rules: rules, goals: map[string]goal{}, moves: map[string]move{}, why: map[string]string{}, done: map[string]bool{}, differ: map[string]bool{}}
	for _, g := range goals {
		c.goals[g.path] = g
	}
	for _, g := range goals {
		c.compare(g)
	}
	for p := range c.why {
		// "Gone" is true of what is behind a symlink, yet not the reason.
		if c.h.paths[p].absent() {
			if why := c.parents(p, true); why != "" {
				c.why[p] = why
				delete(c.differ, p)
			}
		}
	}
	// A conflict takes a move away, which may take the place from another.
	for changed := true; changed; {
		c.emptied()
		changed = c.settle()
	}
	return c.plan()
}

type checker struct {
	h     host
	rules dirRules
	goals map[string]goal
	moves map[string]move
	why   map[string]string
	done  map[string]bool
	gone  map[string]bool // folders that the deletions empty

	differ map[string]bool
}

// compare decides on one goal by what stands at its own path.
func (c *checker) compare(g goal) {
	hp := c.h.paths[g.path]
	found := hp.entry()
	switch {
	case hp.as != "" && c.makesRoom(g, hp.as):
		// A change of case alone: the file goes under its old name first, and then the
		// name is free.
		c.moves[g.path] = move{Path: g.path, Base: g.base, To: g.next(state{}), note: g.note}
	case hp.as != "" && c.renamedTo(g, hp.as):
		c.done[g.path] = true // what stands there has its new name
	case hp.why != "":
		c.why[g.path] = hp.why
	case sameEntry(found, g.want) && (g.undo == nil || same(g.next(hp.state), hp.state)):
		c.done[g.path] = true
	case hp.Kind == kindFolder && g.want.Kind == diffreview.KindAbsent:
		c.done[g.path] = true // a folder is no entry: the file is gone, as wanted
	case hp.Kind == kindFolder && g.base.Kind == diffreview.KindAbsent:
		// May work out when the folder's files are deleted too: settle decides.
		c.moves[g.path] = move{Path: g.path, Base: g.base, To: g.next(state{}), note: g.note}
	case slices.ContainsFunc(g.ok, func(e diffreview.Entry) bool { return sameEntry(found, e) }):
		c.moves[g.path] = move{Path: g.path, Base: g.base, From: hp.state, To: g.next(hp.state), note: g.note}
	default:
		c.why[g.path] = differs(g, found)
		c.differ[g.path] = found.Kind != kindFolder && found.Kind != kindSpecial
	}
}

// makesRoom says whether what stands at a new file's path under another name is to
// be deleted there.
func (c *checker) makesRoom(g goal, as string) bool {
	other, ok := c.goals[as]
	return ok && other.want.Kind == diffreview.KindAbsent && g.want.Kind != diffreview.KindAbsent && g.base.Kind == diffreview.KindAbsent
}

// renamedTo says whether a file is to go whose name another goal's file has.
func (c *checker) renamedTo(g goal, as string) bool {
	other, ok := c.goals[as]
	return ok && other.want.Kind != diffreview.KindAbsent && g.want.Kind == diffreview.KindAbsent
}

// differs says how the host's entry is not the one expected.
func differs(g goal, found diffreview.Entry) string {
	since := "after the copy"
	switch {
	case g.undo != nil:
		since = "after it was applied"
	case g.merged:
		since = "after it was merged"
	}
	base := g.base
	switch {
	case found.Kind == kindFolder:
		return "is a folder on the host"
	case found.Kind == kindSpecial:
		return "is a socket, fifo or device on the host"
	case found.Kind == diffreview.KindAbsent:
		return "the host's file is gone"
	case base.Kind == diffreview.KindAbsent:
		return "a file appeared on the host " + since
	case found.Kind != base.Kind && found.Kind == diffreview.KindSymlink:
		return "the host's file became a symlink " + since
	case found.Kind != base.Kind:
		return "the host's symlink became a file " + since
	case found.Kind == diffreview.KindSymlink:
		return "the host's symlink changed " + since
	case found.Blob == base.Blob:
		return "the mode of the host's file changed " + since
	}
	return "the host's file changed " + since
}

// emptied finds the folders that the deletions leave empty.
func (c *checker) emptied() {
	c.gone = map[string]bool{}
	keep := map[string]bool{}
	above := map[string]bool{}
	for p, m := range c.moves {
		for _, d := range ancestors(p) {
			if m.To.absent() {
				above[d] = true
			} else {
				keep[d] = true
			}
		}
	}
	dirs := make([]string, 0, len(above))
	for d := range above {
		dirs = append(dirs, d)
	}
	slices.SortFunc(dirs, func(a, b string) int { // the deepest first
		return cmp.Or(cmp.Compare(strings.Count(b, "/"), strings.Count(a, "/")), cmp.Compare(a, b))
	})
	for _, d := range dirs {
		if c.rules.only != nil && !c.rules.only[d] {
			continue
		}
		hd := c.h.dirs[d]
		if hd.kind != kindFolder || !hd.listed || keep[d] {
			continue
		}
		empty := !slices.ContainsFunc(hd.names, func(name string) bool {
			p := join(d, name)
			m, deleted := c.moves[p]
			return !c.gone[p] && !(deleted && m.To.absent())
		})
		if empty {
			c.gone[d] = true
		}
	}
}

// settle looks at each move's surroundings and says whether any conflict came
// of it.
func (c *checker) settle() bool {
	changed := false
	fail := func(p, why string) {
		delete(c.moves, p)
		delete(c.done, p)
		c.why[p] = why
		changed = true
	}
	for p, m := range c.moves {
		if c.h.paths[p].Kind == kindFolder && !c.gone[p] {
			fail(p, "is a folder on the host")
			continue
		}
		if hp := c.h.paths[p]; hp.as != "" {
			if m, ok := c.moves[hp.as]; !ok || !m.To.absent() {
				fail(p, hp.why)
				continue
			}
		}
		if why := c.parents(p, !m.To.absent()); why != "" {
			fail(p, why)
		}
	}
	for p := range c.done {
		if why := c.parents(p, false); why != "" {
			fail(p, why)
		}
	}
	return changed
}

// parents says why nothing can be done below the folders above p, or "".
func (c *checker) parents(p string, write bool) string {
	for _, d := range ancestors(p) {
		g, isGoal := c.goals[d]
		if isGoal && g.want.Kind != diffreview.KindAbsent && write {
			return fmt.Sprintf("%q above it is to be a %s", d, g.want.Kind)
		}
		m, moved := c.moves[d]
		goes := moved && m.To.absent()
		hd := c.h.dirs[d]
		switch {
		case hd.why != "":
			return hd.why
		case hd.kind == kindFolder || hd.kind == diffreview.KindAbsent:
		case goes:
			return "" // what stands there goes first, and nothing is below it
		case hd.kind == diffreview.KindSymlink && !(isGoal && c.done[d]):
			return fmt.Sprintf("the parent %q is a symlink on the host", d)
		case write:
			return fmt.Sprintf("the parent %q is a file on the host", d)
		default:
			return "" // to be absent, and it is
		}
	}
	return ""
}

func (c *checker) plan() plan {
	p := plan{gone: c.gone, differ: c.differ}
	absent := map[string]bool{}
	for path, m := range c.moves {
		if m.To.absent() {
			p.deletes = append(p.deletes, m)
			continue
		}
		p.writes = append(p.writes, m)
		for _, d := range ancestors(path) {
			if c.h.dirs[d].kind != kindFolder {
				absent[d] = true
			}
		}
	}
	for d := range c.gone {
		hd := c.h.dirs[d]
		_, needed := c.moves[d]
		p.rmdirs = append(p.rmdirs, dirMove{Path: d, Mode: hd.mode, UID: hd.uid, GID: hd.gid, Needed: needed || c.neededBelow(d)})
	}
	for d := range absent {
		dm := c.rules.modes[d]
		dm.Path, dm.Needed = d, false
		p.mkdirs = append(p.mkdirs, dm)
	}
	for path, why := range c.why {
		p.conflicts = append(p.conflicts, PathWhy{path, why})
	}
	for path := range c.done {
		p.already = append(p.already, path)
	}
	byPath := func(a, b move) int { return cmp.Compare(a.Path, b.Path) }
	slices.SortFunc(p.deletes, byPath)
	slices.SortFunc(p.writes, byPath)
	slices.SortFunc(p.rmdirs, func(a, b dirMove) int { return cmp.Compare(b.Path, a.Path) })
	slices.SortFunc(p.mkdirs, func(a, b dirMove) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(p.conflicts, func(a, b PathWhy) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(p.already)
	return p
}

// neededBelow: a folder inside one whose place a file takes has to go as well.
func (c *checker) neededBelow(d string) bool {
	return slices.ContainsFunc(ancestors(d), func(a string) bool {
		_, ok := c.moves[a]
		return ok
	})
}

// tempDir gives the folder for a move's temporary name: the nearest above it
// that exists now and is not removed, so that the name is on the same file
// system and in nobody's way.
func (p plan) tempDir(path string, h host) string {
	up := ancestors(path)
	for i := len(up) - 1; i >= 0; i-- {
		if d := up[i]; h.dirs[d].kind == kindFolder && !p.gone[d] {
			return d
		}
	}
	return ""
}
