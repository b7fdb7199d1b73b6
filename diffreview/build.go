package diffreview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fumehood/diffreview/linediff"
)

// contextLines surround each change in a hunk, as in git.
const contextLines = 3

// maxText bounds the bytes of text, both sides, that one change set holds for
// showing; later files beyond it are decided whole.
const maxText = 512 << 20

// maxHeld bounds the lines that one change set holds, 48 bytes each beside their
// text, which may be nothing but newlines; later files beyond it are decided whole.
const maxHeld = 2_000_000

// errMany says that there are more.
var errMany = errors.New("more lines than a change set holds")

// Options are what Build is told beside the two sides.
type Options struct {
	Session    string
	Repo       string
	SnapshotAt time.Time
	Ignored    IgnoredChanges
	LeftOut    []LeftOut
	// RiskFile looks at one file as soon as its hunks are there, before Risk. It
	// is called for many files at once, and may be nil; content has the two sides
	// of f at hand. f stays where it is until Risk has run. Both are called again,
	// with a change set of their own, for the edits of files that moved.
	RiskFile func(f *File, content func(Blob) ([]byte, error)) error
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
	last := ""
	changes := src.Changes()
	cs.Files = slices.Grow(cs.Files, len(changes))
	for i, c := range changes {
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
		cs.Files = append(cs.Files, File{Path: c.Path, Old: c.Old, New: c.New, Status: statusOf(c), Ignored: c.Ignored})
	}
	if err := fill(ctx, cs.Files, content, opt.RiskFile); err != nil {
		return nil, err
	}
	if opt.Risk != nil {
		if err := opt.Risk(cs, content); err != nil {
			return nil, fmt.Errorf("look for risks: %w", err)
		}
	}
	// Rules see a rename as what it is made of, a file that goes and one that
	// comes: else a harmless one could hide in the move.
	if err := cs.pairRenames(content); err != nil {
		return nil, err
	}
	if err := cs.judgeInPlace(content, opt); err != nil {
		return nil, fmt.Errorf("look for risks: %w", err)
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

// fill gives all files their units, on every processor, and shows each to risk.
func fill(ctx context.Context, files []File, content func(Blob) ([]byte, error), risk func(*File, func(Blob) ([]byte, error)) error) error {
	var text int64
	for i := range files {
		if byLines(&files[i]) {
			text += files[i].Old.Size + files[i].New.Size
		}
	}
	one := func(f *File, left *room) error {
		r := recent{content: content}
		if err := fillContent(f, r.read, left); err != nil {
			return err
		}
		if left == nil && held(f) > maxHeld {
			return errMany
		}
		if risk == nil {
			return nil
		}
		if err := risk(f, r.read); err != nil {
			return fmt.Errorf("look for risks: %w", err)
		}
		return nil
	}
	if text <= maxText {
		var lines atomic.Int64
		err := each(ctx, len(files), func(i int) error {
			if err := one(&files[i], nil); err != nil {
				return err
			}
			if lines.Add(held(&files[i])) > maxHeld {
				return errMany
			}
			return nil
		})
		if !errors.Is(err, errMany) {
			return err
		}
	}
	// What is beyond a bound depends on the order: one after the other.
	left := &room{text: maxText, lines: maxHeld}
	for i := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := &files[i]
		*f = File{Path: f.Path, Old: f.Old, New: f.New, Status: f.Status, Ignored: f.Ignored}
		if err := one(f, left); err != nil {
			return err
		}
	}
	return nil
}

// room is what a change set may still hold.
type room struct{ text, lines int64 }

// held is how many lines a file takes; a hunk itself counts as some.
func held(f *File) (n int64) {
	for i := range f.Hunks {
		n += int64(len(f.Hunks[i].Lines)) + 4
	}
	return n
}

// recent remembers the last two blobs that it read: the sides of the file at hand.
type recent struct {
	content func(Blob) ([]byte, error)
	names   [2]Blob
	texts   [2][]byte
	next    int
}

func (s *recent) read(b Blob) ([]byte, error) {
	for i, n := range s.names {
		if n == b && b != "" {
			return s.texts[i], nil
		}
	}
	text, err := s.content(b)
	if err == nil {
		s.names[s.next], s.texts[s.next] = b, text
		s.next = 1 - s.next
	}
	return text, err
}

// byLines says whether a file's content is to be compared by lines, if it is text.
func byLines(f *File) bool {
	return (f.Status == Added || f.Status == Deleted || f.Status == Modified) &&
		f.Old.Kind != KindSymlink && f.New.Kind != KindSymlink
}

// fillContent compares the two sides by lines where that is possible and gives
// the file its units. left is what the change set may still hold; nil is enough
// for all.
func fillContent(f *File, content func(Blob) ([]byte, error), left *room) error {
	lines := byLines(f)
	if lines {
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
			if int64(len(b)) != e.Size {
				return fmt.Errorf("read %q: %d bytes, want %d", f.Path, len(b), e.Size)
			}
			sides[i] = b
		}
		if f.Unshown == "" {
			f.Unshown = unshown(sides, left)
		}
		f.Binary = f.Unshown != ""
		if !f.Binary {
			old := sides[0]
			if f.Status == Modified {
				old = noteEnds(f, sides[0], sides[1])
			}
			f.Hunks, f.Added, f.Removed = hunks(f, old, sides[1])
			if left != nil {
				left.take(f)
			}
		}
	}
	if f.Status != Modified || f.Binary || !lines || f.Old.Exec != f.New.Exec || f.Ends > 0 {
		f.Whole = wholeID(f)
	}
	if f.Status == Added || f.Status == Deleted {
		for i := range f.Hunks {
			f.Hunks[i].ID = f.Whole
		}
	}
	return nil
}

// take has a file's lines held, or the file decided whole where they are too many.
func (r *room) take(f *File) {
	n := held(f)
	if n > r.lines {
		f.Hunks, f.Added, f.Removed, f.Ends, f.EndsFrom, f.EndsTo = nil, 0, 0, 0, "", ""
		f.Binary, f.Unshown = true, fmt.Sprintf("beyond %d changed lines in all", maxHeld)
		return
	}
	r.lines -= n
}

func unshown(sides [2][]byte, left *room) string {
	for _, b := range sides {
		switch {
		case linediff.Binary(b):
			return "binary"
		case linediff.TooLarge(b):
			return fmt.Sprintf("longer than %d lines", linediff.MaxLines)
		}
	}
	if left == nil {
		return ""
	}
	n := int64(len(sides[0]) + len(sides[1]))
	if n > left.text {
		return fmt.Sprintf("beyond %d MiB of text in all", maxText>>20)
	}
	left.text -= n
	return ""
}
