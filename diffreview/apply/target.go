package apply

import (
	"errors"
	"fmt"
	"strings"

	"fumehood/diffreview"
)

const maxTargets = 200_000

// checkTargets refuses lists that can't be meant: they come from a caller that
// decided on bytes which a hostile program made.
func checkTargets(ts []Target) error {
	if len(ts) > maxTargets {
		return fmt.Errorf("%d targets, at most %d can be applied at once", len(ts), maxTargets)
	}
	seen := make(map[string]bool, len(ts))
	for _, t := range ts {
		if err := checkPath(t.Path); err != nil {
			return fmt.Errorf("refused %q: %w", t.Path, err)
		}
		if seen[t.Path] {
			return fmt.Errorf("refused %q: it is listed twice", t.Path)
		}
		seen[t.Path] = true
		for _, e := range []diffreview.Entry{t.Base, t.Want, t.Approved} {
			if err := checkEntry(e); err != nil {
				return fmt.Errorf("refused %q: %w", t.Path, err)
			}
		}
	}
	return nil
}

func checkEntry(e diffreview.Entry) error {
	switch e.Kind {
	case diffreview.KindAbsent:
		return nil
	case diffreview.KindFile:
		if !validBlob(e.Blob) {
			return fmt.Errorf("its content hash is %q", e.Blob)
		}
		return nil
	case diffreview.KindSymlink:
		switch {
		case e.Target == "":
			return errors.New("a symlink to nothing can't be written")
		case len(e.Target) > maxPath:
			return fmt.Errorf("a symlink's target is longer than %d bytes", maxPath)
		case strings.IndexByte(e.Target, 0) >= 0:
			return errors.New("a symlink's target holds a NUL byte")
		}
		return nil
	}
	return fmt.Errorf("its kind is %q", e.Kind)
}

// goals turns targets into what check compares. Last wins over the journal's
// own memory: it may know of another session's apply.
func goals(ts []Target, journaled, last map[string]diffreview.Entry) []goal {
	out := make([]goal, 0, len(ts))
	for _, t := range ts {
		g := goal{path: t.Path, base: t.Base, want: t.Want, ok: []diffreview.Entry{t.Base}, note: note{t.Units, t.Merged, t.Approved}}
		if t.Merged {
			out = append(out, g)
			continue
		}
		for _, m := range []map[string]diffreview.Entry{journaled, last} {
			if e, ok := m[t.Path]; ok {
				g.ok = append(g.ok, e)
			}
		}
		out = append(out, g)
	}
	return out
}
