package diffreview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview/linediff"
)

// contextLines surround each change in a hunk, as in git.
const contextLines = 3

// maxText bounds the bytes of text, both sides, that one change set holds for
// showing; later files beyond it are decided whole.
const maxText = 512 << 20

// Options are what Build is told beside the two sides.
type Options struct {
	Session    string
	Repo       string
	SnapshotAt time.Time
	Ignored    IgnoredChanges
	LeftOut    []LeftOut
	// Risk adds findings to the files. It runs after the hunks are there and
	// before the files are put in order. Nil finds nothing: only for callers
	// that approve nothing.
	Risk func(cs *ChangeSet, content func(Blob) ([]byte, error)) error
}

// Build makes the change set of src. It fails when ctx ends, when src breaks
// its contract (an unclean path, an unsorted list) or can't give content, and
// when Options.Risk fails: a change set without its findings is never shown.
func Build(ctx context.Context, src Source, opt Options) (*ChangeSet, error) {
	cs := &ChangeSet{
		Session: opt.Session, Repo: opt.Repo, SnapshotAt: opt.SnapshotAt,
		Ignored: opt.Ignored, LeftOut: slices.Clone(opt.LeftOut),
	}
	content := func(b Blob) ([]byte, error) { return src.Content(b, linediff.MaxBytes) }
	text := int64(0)
	last := ""
	for i, c := range src.Changes() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := checkChange(c); err != nil {
			return nil, err
		}
		if i > 0 && c.Path <= last {
			return nil, fmt.Errorf("change of %q after %q: the list is not sorted", c.Path, last)
		}
		last = c.Path
		if insideGit(c.Path) {
			cs.LeftOut = append(cs.LeftOut, LeftOut{Path: c.Path, Size: c.New.Size, Reason: "git's own folder is never part of a change set"})
			continue
		}
		if c.Old == c.New {
			continue
		}
		f := File{Path: c.Path, Old: c.Old, New: c.New, Status: statusOf(c)}
		if err := fillContent(&f, content, &text); err != nil {
			return nil, err
		}
		cs.Files = append(cs.Files, f)
	}
	if opt.Risk != nil {
		if err := opt.Risk(cs, content); err != nil {
			return nil, fmt.Errorf("look for risks: %w", err)
		}
	}
	cs.order()
	return cs, nil
}

func checkChange(c Change) error {
	if c.Path == "" || strings.ContainsRune(c.Path, 0) {
		return fmt.Errorf("change of %q: no path", c.Path)
	}
	for part := range strings.SplitSeq(c.Path, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("change of %q: the path is not relative and clean", c.Path)
		}
	}
	for _, e := range []Entry{c.Old, c.New} {
		ok := false
		switch e.Kind {
		case KindAbsent:
			ok = e == Entry{}
		case KindFile:
			ok = e.Blob != "" && e.Target == ""
		case KindSymlink:
			ok = e.Target != "" && e.Blob == "" && !e.Exec
		}
		if !ok {
			return fmt.Errorf("change of %q: entry of kind %q is not complete", c.Path, e.Kind)
		}
	}
	return nil
}

func insideGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == ".git" {
			return true
		}
	}
	return false
}

func statusOf(c Change) Status {
	switch {
	case c.Old.Kind == KindAbsent:
		return Added
	case c.New.Kind == KindAbsent:
		return Deleted
	case c.Old.Kind != c.New.Kind:
		return TypeOf
	case c.Old.Blob == c.New.Blob && c.Old.Target == c.New.Target:
		return ModeOnly
	}
	return Modified
}

// fillContent compares the two sides by lines where that is possible and gives
// the file its units.
func fillContent(f *File, content func(Blob) ([]byte, error), text *int64) error {
	byLines := (f.Status == Added || f.Status == Deleted || f.Status == Modified) &&
		f.Old.Kind != KindSymlink && f.New.Kind != KindSymlink
	if byLines {
		var sides [2][]byte
		for i, e := range []Entry{f.Old, f.New} {
			if e.Kind == KindAbsent {
				continue
			}
			if e.Size > linediff.MaxBytes {
				f.Unshown = fmt.Sprintf("larger than %d MiB", linediff.MaxBytes>>20)
				continue
			}
			b, err := content(e.Blob)
			if err != nil {
				return fmt.Errorf("read %q: %w", f.Path, err)
			}
			sides[i] = b
		}
		if f.Unshown == "" {
			f.Unshown = unshown(sides, text)
		}
		f.Binary = f.Unshown != ""
		if !f.Binary {
			f.Hunks, f.Added, f.Removed = hunks(f, sides[0], sides[1])
		}
	}
	if f.Status != Modified || f.Binary || !byLines || f.Old.Exec != f.New.Exec {
		f.Whole = wholeID(f)
	}
	if f.Status == Added || f.Status == Deleted {
		for i := range f.Hunks {
			f.Hunks[i].ID = f.Whole
		}
	}
	return nil
}

func unshown(sides [2][]byte, text *int64) string {
	for _, b := range sides {
		switch {
		case linediff.Binary(b):
			return "binary"
		case linediff.TooLarge(b):
			return fmt.Sprintf("longer than %d lines", linediff.MaxLines)
		}
	}
	n := int64(len(sides[0]) + len(sides[1]))
	if *text+n > maxText {
		return fmt.Sprintf("beyond %d MiB of text in all", maxText>>20)
	}
	*text += n
	return ""
}
