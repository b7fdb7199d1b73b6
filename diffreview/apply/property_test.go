package apply

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
)

// node is one place of the model's tree: a folder, a file or a link.
type node struct {
	kids map[string]*node // of a folder
	link bool
	data string
	mode os.FileMode
}

func (n *node) clone() *node {
	c := *n
	if n.kids != nil {
		c.kids = map[string]*node{}
		for k, v := range n.kids {
			c.kids[k] = v.clone()
		}
	}
	return &c
}

// find gives the node at a path and its folder, as a kernel would: nil below
// what is no folder.
func (n *node) find(p string) (at, dir *node) {
	at = n
	for _, c := range strings.Split(p, "/") {
		if at == nil || at.kids == nil {
			return nil, nil
		}
		dir, at = at, at.kids[c]
	}
	return at, dir
}

func (n *node) entry(st memStore) diffreview.Entry {
	switch {
	case n == nil || n.kids != nil:
		return diffreview.Entry{}
	case n.link:
		return link(n.data)
	}
	e := st.file(n.data)
	e.Exec = n.mode&0o100 != 0
	return e
}

func (n *node) files(at string, out map[string]*node) map[string]*node {
	for k, v := range n.kids {
		if v.kids != nil {
			v.files(join(at, k), out)
		} else {
			out[join(at, k)] = v
		}
	}
	return out
}

// dice is the source of a random tree.
type dice struct{ *rand.Rand }

func (d dice) pick(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) path() string {
	p := d.pick("a", "b", "c", "sp ace", "\xff\n")
	for d.IntN(3) > 0 && strings.Count(p, "/") < 3 {
		p += "/" + d.pick("a", "b", "c")
	}
	return p
}

func (d dice) leaf() *node {
	if d.IntN(5) == 0 {
		return &node{link: true, data: d.pick("a", "../b", "/etc/passwd", "c/a", "\xfe")}
	}
	modes := []os.FileMode{0o644, 0o755, 0o600, 0o700, 0o640, 0o750, 0o444, 0o664}
	return &node{data: d.pick("", "x", "y\n", "z\x00", "long "+strings.Repeat("l", 3000)), mode: modes[d.IntN(len(modes))]}
}

// put sets a leaf where the tree allows it, with replace also where a whole
// folder or a file stands in the way.
func (d dice) put(root *node, p string, leaf *node, replace bool) {
	at := root
	parts := strings.Split(p, "/")
	for _, c := range parts[:len(parts)-1] {
		next := at.kids[c]
		if next == nil || next.kids == nil {
			if next != nil && !replace {
				return
			}
			next = &node{kids: map[string]*node{}, mode: []os.FileMode{0o755, 0o700, 0o775}[d.IntN(3)]}
			at.kids[c] = next
		}
		at = next
	}
	name := parts[len(parts)-1]
	if old := at.kids[name]; old != nil && old.kids != nil && !replace {
		return
	}
	at.kids[name] = leaf
}

// edit changes a tree a few times: writes, deletes, modes.
func (d dice) edit(root *node, times int, replace bool) {
	for range times {
		have := make([]string, 0)
		for p := range root.files("", map[string]*node{}) {
			have = append(have, p)
		}
		slices.Sort(have)
		switch k := d.IntN(10); {
		case k < 3 || len(have) == 0:
			d.put(root, d.path(), d.leaf(), replace)
		case k < 6:
			d.put(root, have[d.IntN(len(have))], d.leaf(), false)
		case k < 8:
			p := have[d.IntN(len(have))]
			_, dir := root.find(p)
			delete(dir.kids, baseOf(p))
		default:
			n, _ := root.find(have[d.IntN(len(have))])
			n.mode ^= 0o100
		}
	}
}

// build writes a model's tree to disk.
func (s *site) build(at string, n *node) {
	for name, k := range n.kids {
		p := join(at, name)
		full := filepath.Join(s.repo, p)
		switch {
		case k.kids != nil:
			must(s.t, os.Mkdir(full, 0o755))
			s.build(p, k)
			must(s.t, os.Chmod(full, k.mode))
		case k.link:
			must(s.t, os.Symlink(k.data, full))
		default:
			s.write(p, k.data, k.mode)
		}
	}
}

func (n *node) snap(at string, out snap, s *site) snap {
	for name, k := range n.kids {
		p := join(at, name)
		switch {
		case k.kids != nil:
			out[p] = fmt.Sprintf("dir mode=%04o", k.mode)
			k.snap(p, out, s)
		case k.link:
			out[p] = fmt.Sprintf("link target=%q", k.data)
		default:
			out[p] = fmt.Sprintf("file mode=%04o sha=%s", k.mode, s.store.put(k.data))
		}
	}
	return out
}

// modelApply is the independent account of what applying targets to a host
// means: first everything goes that is to go, then everything is written. It
// says false when some path does not allow it.
func modelApply(host *node, st memStore, ts []Target) (*node, bool) {
	out := host.clone()
	var todo []Target
	for _, t := range ts {
		at, _ := out.find(t.Path)
		if at.entry(st) == t.Want && (at == nil || at.kids == nil || t.Want == absent) {
			if viaLink(out, t.Path, ts) {
				return nil, false
			}
			continue
		}
		if at.entry(st) != t.Base || viaLink(out, t.Path, ts) {
			return nil, false
		}
		todo = append(todo, t)
	}
	for _, t := range todo {
		if t.Want == absent {
			_, dir := out.find(t.Path)
			delete(dir.kids, baseOf(t.Path))
		}
	}
	for _, t := range todo {
		if t.Want == absent {
			prune(out, parentOf(t.Path), todo)
		}
	}
	for _, t := range todo {
		if t.Want == absent {
			continue
		}
		dir := out
		if up := parentOf(t.Path); up != "" {
			for _, c := range strings.Split(up, "/") {
				next := dir.kids[c]
				if next == nil {
					next = &node{kids: map[string]*node{}, mode: 0o755}
					dir.kids[c] = next
				}
				if next.kids == nil {
					return nil, false
				}
				dir = next
			}
		}
		old := dir.kids[baseOf(t.Path)]
		if old != nil && old.kids != nil {
			return nil, false
		}
		dir.kids[baseOf(t.Path)] = modelWrite(old, t.Want, st)
	}
	return out, true
}

// viaLink: a path that leads through a link is nobody's to write, unless that
// link itself goes or is as wanted.
func viaLink(root *node, p string, ts []Target) bool {
	for _, d := range ancestors(p) {
		at, _ := root.find(d)
		if at != nil && at.link {
			return !slices.ContainsFunc(ts, func(t Target) bool {
				return t.Path == d && (t.Want == absent || t.Want == link(at.data))
			})
		}
	}
	return false
}

func prune(root *node, d string, todo []Target) {
	for d != "" {
		at, dir := root.find(d)
		if at == nil || len(at.kids) > 0 || slices.ContainsFunc(todo, func(t Target) bool {
			return t.Want != absent && strings.HasPrefix(t.Path, d+"/")
		}) {
			return
		}
		delete(dir.kids, baseOf(d))
		d = parentOf(d)
	}
}

func modelWrite(old *node, want diffreview.Entry, st memStore) *node {
	if want.Kind == diffreview.KindSymlink {
		return &node{link: true, data: want.Target}
	}
	n := &node{data: string(st[want.Blob])}
	if old == nil || old.link {
		n.mode = map[bool]os.FileMode{false: 0o644, true: 0o755}[want.Exec]
		return n
	}
	n.mode = old.mode
	if was := old.mode&0o100 != 0; was && !want.Exec {
		n.mode &= 0o666
	} else if !was && want.Exec {
		n.mode |= 0o100
		for _, who := range []os.FileMode{0o4, 0o40, 0o400} {
			if old.mode&who != 0 {
				n.mode |= who / 4
			}
		}
	}
	return n
}

func TestApplyIsTheModelAndUndoIsItsInverse(t *testing.T) {
	runs, seed := 400, uint64(1)
	if v := os.Getenv("FUMEHOOD_APPLY_SEED"); v != "" {
		_, err := fmt.Sscan(v, &seed)
		must(t, err)
	}
	done, conflicts, skipped := 0, 0, 0
	for i := range runs {
		d := dice{rand.New(rand.NewPCG(seed, uint64(i)))}
		s := newFastSite(t)
		base := &node{kids: map[string]*node{}}
		d.edit(base, 12, false)
		work := base.clone()
		d.edit(work, 8, true)
		hostTree := base.clone()
		if d.IntN(2) == 0 {
			d.edit(hostTree, d.IntN(4), true)
		}
		var ts []Target
		all := base.files("", map[string]*node{})
		for p := range work.files("", map[string]*node{}) {
			all[p] = nil
		}
		paths := make([]string, 0, len(all))
		for p := range all {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		for _, p := range paths {
			b, _ := base.find(p)
			w, _ := work.find(p)
			if tg := (Target{Path: p, Base: b.entry(s.store), Want: w.entry(s.store)}); tg.Base != tg.Want && d.IntN(5) > 0 {
				ts = append(ts, tg)
			}
		}
		d.Shuffle(len(ts), func(i, j int) { ts[i], ts[j] = ts[j], ts[i] })

		s.build("", hostTree)
		before := s.snap()
		want, ok := modelApply(hostTree, s.store, ts)
		o := s.options()
		o.lacks.nameless = d.IntN(2) == 0
		o.SkipConflicts = !ok && d.IntN(2) == 0
		res, err := Apply(context.Background(), o, ts)
		name := fmt.Sprintf("run %d: host %v, targets %+v", i, before, ts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch {
		case ok && len(res.Conflicts) > 0:
			t.Fatalf("%s: got conflicts %v, the model has none", name, res.Conflicts)
		case ok:
			done++
			if diff := cmp.Diff(want.snap("", snap{}, s), s.snap().without("mtime")); diff != "" {
				t.Fatalf("%s: not the model's tree (-want +got):\n%s", name, diff)
			}
		case !o.SkipConflicts:
			conflicts++
			if len(res.Conflicts) == 0 {
				t.Fatalf("%s: applied, the model has a conflict", name)
			}
			s.wantSame(before)
		default:
			skipped++
			if len(res.Skipped) == 0 {
				t.Fatalf("%s: nothing skipped, the model has a conflict", name)
			}
			s.checkSkipped(name, before, ts, res)
		}
		for p, v := range s.snap() {
			if _, target := before[p]; target && !slices.Contains(res.Written, p) && v != before[p] {
				t.Fatalf("%s: %q was not written, yet changed: %s -> %s", name, p, before[p], v)
			}
		}
		if len(res.Written) > 0 {
			if u, err := Undo(context.Background(), s.options()); err != nil || len(u.Conflicts) > 0 {
				t.Fatalf("%s: undo: %+v, %v", name, u, err)
			}
		}
		if diff := cmp.Diff(before, s.snap()); diff != "" {
			t.Fatalf("%s: undo is not the inverse (-before +after):\n%s", name, diff)
		}
	}
	t.Logf("%d applied, %d in conflict, %d with conflicts skipped", done, conflicts, skipped)
	if done < runs/4 || conflicts < runs/20 || skipped < runs/20 {
		t.Error("the cases are not spread: too few of one kind")
	}
}

// checkSkipped: what was skipped is as before, what was applied as wanted.
func (s *site) checkSkipped(name string, before snap, ts []Target, res Result) {
	now := s.snap()
	for _, sk := range res.Skipped {
		// A folder above a skipped path may have gone with other deletions.
		if now[sk.Path] != before[sk.Path] {
			s.t.Errorf("%s: %q was skipped, yet changed: %q -> %q", name, sk.Path, before[sk.Path], now[sk.Path])
		}
	}
	for _, tg := range ts {
		if !slices.Contains(res.Applied, tg.Path) {
			continue
		}
		var want string
		switch tg.Want.Kind {
		case diffreview.KindFile:
			want = "sha=" + string(tg.Want.Blob)
		case diffreview.KindSymlink:
			want = fmt.Sprintf("target=%q", tg.Want.Target)
		default:
			if v := now[tg.Path]; v != "" && !strings.HasPrefix(v, "dir ") {
				s.t.Errorf("%s: %q is listed as applied: got %q, want it gone", name, tg.Path, v)
			}
			continue
		}
		if !strings.Contains(now[tg.Path], want) {
			s.t.Errorf("%s: %q is listed as applied: got %q, want %q", name, tg.Path, now[tg.Path], want)
		}
	}
}
