package workspace

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"fumehood/diffreview"
	"fumehood/session/baseline"
)

// Source is what a workspace is laid out of a second time: a session's baseline
// from its own store, with Changed in place of the baseline's at their paths.
// Nothing that the inside has written is taken for the baseline's: where the
// store has no content but only its hash, what Repo and the session's own
// workspace have there counts when it has that hash.
type Source struct {
	Of      baseline.Dirs // the session's
	Base    *baseline.Manifest
	Repo    string // the host's folder; it may be gone
	Git     bool   // the session's workspace had a .git
	Changed []diffreview.Outcome
}

// Laid is what came of it.
type Laid struct {
	Files   int
	Bytes   int64
	LeftOut []diffreview.LeftOut // what is not there, though the baseline had it
}

// LayoutError: two of the chosen changes can't stand beside each other, or one
// beside what the baseline has where nothing was chosen.
type LayoutError struct{ Path, Above string }

func (e *LayoutError) Error() string {
	return fmt.Sprintf("%q needs %q to be a folder, and in what is approved that is a file: approve the change of both, or of neither", e.Path, e.Above)
}

// keptGit is where a store has the workspace's .git as it was at first, without
// its packs.
func keptGit(d baseline.Dirs) string { return filepath.Join(d.Store, "dotgit") }

// piece is one path to lay out.
type piece struct {
	path  string
	kind  diffreview.Kind
	mode  uint32
	size  int64
	mtime int64 // 0: now
	link  string
	ref   baseline.Ref
	blob  diffreview.Blob // of a change, unless data has the bytes
	data  []byte
	fresh bool // a change
}

// pieces puts the changes over the baseline, sorted by folder.
func pieces(base *baseline.Manifest, changed []diffreview.Outcome) ([]piece, error) {
	over := make(map[string]*diffreview.Outcome, len(changed))
	for i := range changed {
		over[changed[i].Path] = &changed[i]
	}
	out := make([]piece, 0, len(base.Entries)+len(changed))
	add := func(o *diffreview.Outcome, before uint32) {
		if o.Want.Kind == diffreview.KindAbsent {
			return
		}
		out = append(out, piece{
			path: o.Path, kind: o.Want.Kind, mode: execMode(before, o.Want.Exec), size: o.Want.Size,
			link: o.Want.Target, blob: o.Want.Blob, data: o.Content, fresh: true,
		})
	}
	for i := range base.Entries {
		e := &base.Entries[i]
		if o := over[e.Path]; o != nil {
			mode := e.Mode
			if e.Kind != diffreview.KindFile {
				mode = 0o644
			}
			add(o, mode)
			delete(over, e.Path)
			continue
		}
		out = append(out, piece{path: e.Path, kind: e.Kind, mode: e.Mode & 0o777, size: e.Size, mtime: e.Mtime, link: e.Target, ref: e.Ref})
	}
	for _, o := range over {
		add(o, 0o644)
	}
	slices.SortFunc(out, func(a, b piece) int {
		ad, an := split(a.path)
		bd, bn := split(b.path)
		return cmp.Or(cmp.Compare(ad, bd), cmp.Compare(an, bn))
	})
	return out, fits(out)
}

// execMode is a file's mode before with the one bit that git knows set or not:
// whoever may read may then also run.
func execMode(before uint32, exec bool) uint32 {
	if before &= 0o777; exec {
		return before | before&0o444>>2
	}
	return before &^ 0o111
}

// fits refuses a path below one that is no folder.
func fits(all []piece) error {
	taken := make(map[string]bool, len(all))
	for i := range all {
		taken[all[i].path] = true
	}
	last := ""
	for i := range all {
		dir, _ := split(all[i].path)
		if dir == last {
			continue
		}
		last = dir
		for ; dir != ""; dir, _ = split(dir) {
			if taken[dir] {
				return &LayoutError{Path: all[i].path, Above: dir}
			}
		}
	}
	return nil
}
