package diffreview

import (
	"bytes"
	"fmt"

	"fumehood/diffreview/linediff"
)

// Outcome is one path as the decisions on a file leave it.
type Outcome struct {
	Path string
	Base Entry // in the baseline
	// Want is what shall stand there. Its Blob names content of the store, unless
	// the bytes are new: then Blob is empty, Content holds them, and Size is their
	// length.
	Want    Entry
	Content []byte
}

// Outcomes gives what the decisions on a file make of the paths that it is about,
// in the order of the paths: none where nothing is approved, else one, and two
// for an approved rename. content reads blobs of either side and edits, whole; it
// is asked only where a part of the lines is approved. It fails on decisions that
// no file can satisfy, and on a base that is not f's.
func Outcomes(f *File, content func(Blob) ([]byte, error)) ([]Outcome, error) {
	whole := f.Whole != "" && f.WholeMark.Decision == Approved
	one := func(want Entry, text []byte, err error) ([]Outcome, error) {
		if err != nil || want == f.Old {
			return nil, err
		}
		return []Outcome{{Path: f.Path, Base: f.Old, Want: want, Content: text}}, nil
	}
	switch f.Status {
	case TypeOf, ModeOnly:
		if whole {
			return one(f.New, nil, nil)
		}
		return nil, nil
	case Added, Deleted:
		return one(comeOrGo(f, whole, content))
	case Modified:
		return one(modified(f, whole, content))
	case Renamed:
		want, text, err := modified(f, whole, content)
		if !whole { // the edits alone, where the file was
			out, err := one(want, text, err)
			for i := range out {
				out[i].Path = f.OldPath
			}
			return out, err
		}
		if err != nil {
			return nil, err
		}
		out := []Outcome{{Path: f.OldPath, Base: f.Old}, {Path: f.Path, Want: want, Content: text}}
		if f.Path < f.OldPath {
			out[0], out[1] = out[1], out[0]
		}
		return out, nil
	}
	return nil, fmt.Errorf("%q: status %q can't be decided here", f.Path, f.Status)
}

// comeOrGo is what becomes of an added or deleted file. Of lines chosen one by
// one a new file has only those, and an old one loses only those.
func comeOrGo(f *File, whole bool, content func(Blob) ([]byte, error)) (Entry, []byte, error) {
	h := &Hunk{}
	if len(f.Hunks) > 0 {
		h = &f.Hunks[0]
	}
	if len(f.Hunks) > 1 || len(f.Hunks) == 1 && h.ID != f.Whole {
		return Entry{}, nil, fmt.Errorf("%q: a file that is %s has one unit, not %d", f.Path, f.Status, len(f.UnitIDs()))
	}
	if h.Part == nil && h.Edit == "" {
		if whole {
			return f.New, nil, nil
		}
		return f.Old, nil, nil
	}
	if h.Part == nil && !whole || h.Part != nil && !anyApproved(h) {
		return f.Old, nil, nil
	}
	e := f.New
	var base []byte
	if f.Status == Deleted {
		e = f.Old
		var err error
		if base, err = content(f.Old.Blob); err != nil {
			return Entry{}, nil, readError(f, err)
		}
	}
	text, err := splice(f, base, false, content)
	if f.Status == Deleted && len(text) == 0 && err == nil {
		return f.New, nil, nil // an empty file is not what was asked for
	}
	return f.entryOf(e, base, text, err)
}

// entryOf is e with new content, or with that of the base where it is the same.
func (f *File) entryOf(e Entry, base, text []byte, err error) (Entry, []byte, error) {
	if err == nil && f.Old.Kind == KindFile && bytes.Equal(base, text) {
		e.Blob, e.Size = f.Old.Blob, f.Old.Size
		return e, nil, nil
	}
	if text == nil {
		text = []byte{}
	}
	e.Blob, e.Size = "", int64(len(text))
	return e, text, err
}

func anyApproved(h *Hunk) bool {
	for i := range h.Lines {
		if h.LineVerdict(i) == Approved {
			return true
		}
	}
	return false
}

// modified is what becomes of a file that stays, at whichever path.
func modified(f *File, whole bool, content func(Blob) ([]byte, error)) (Entry, []byte, error) {
	if len(f.Hunks) == 0 && f.Ends == 0 { // binary, too large, a link, or only renamed
		if whole {
			return f.New, nil, nil
		}
		return f.Old, nil, nil
	}
	e := f.Old
	if whole {
		e.Exec = f.New.Exec
	}
	some, all := whole && f.Ends > 0, f.Ends == 0 || whole
	for i := range f.Hunks {
		h := &f.Hunks[i]
		some = some || anyApproved(h)
		all = all && h.Decision == Approved && h.Edit == ""
	}
	switch {
	case !some:
		return e, nil, nil
	case all:
		e.Blob, e.Size = f.New.Blob, f.New.Size
		return e, nil, nil
	}
	base, err := content(f.Old.Blob)
	if err != nil {
		return Entry{}, nil, readError(f, err)
	}
	text, err := splice(f, base, whole, content)
	return f.entryOf(e, base, text, err)
}

// splice puts the approved lines of f into base. ends says that the new line
// endings are approved, where they are a unit of their own. Beside a JoinError it
// gives what the file would be.
func splice(f *File, base []byte, ends bool, content func(Blob) ([]byte, error)) ([]byte, error) {
	lines := linediff.Split(base)
	s := splicer{f: f, out: bytes.NewBuffer(make([]byte, 0, len(base))), ends: ends}
	at := 0 // lines of base already written or dropped
	copyTo := func(end int) {
		for ; at < end; at++ {
			s.base(lines[at])
		}
	}
	for i := range f.Hunks {
		h := &f.Hunks[i]
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		end := start + h.OldLines
		if start < at || end > len(lines) {
			return nil, fmt.Errorf("%q: hunk at line %d does not lie in the base of %d lines", f.Path, h.OldStart, len(lines))
		}
		copyTo(start)
		if h.Decision == Approved && h.Edit != "" {
			text, err := content(h.Edit)
			if err != nil {
				return nil, editError(f, err)
			}
			for _, raw := range linediff.Split(text) {
				s.added(raw)
			}
			at = end
			continue
		}
		for k, l := range h.Lines {
			raw := l.raw()
			if l.Op == '+' {
				if h.LineVerdict(k) == Approved {
					s.added(raw)
				}
				continue
			}
			if at >= end || !bytes.Equal(f.toEnds(lines[at]), raw) {
				return nil, fmt.Errorf("%q: hunk at line %d was not made on this base", f.Path, h.OldStart)
			}
			if l.Op == ' ' || h.LineVerdict(k) != Approved {
				s.base(lines[at])
			}
			at++
		}
		if at != end {
			return nil, fmt.Errorf("%q: hunk at line %d covers %d lines of its base, not %d", f.Path, h.OldStart, at-start, h.OldLines)
		}
	}
	copyTo(len(lines))
	if s.joined {
		return s.out.Bytes(), &JoinError{Path: f.Path}
	}
	return s.out.Bytes(), nil
}

func readError(f *File, err error) error { return fmt.Errorf("read %q: %w", f.Path, err) }

func editError(f *File, err error) error { return fmt.Errorf("your edit of %q: %w", f.Path, err) }

// JoinError: lines were chosen such that a last line without newline would get
// another one behind it, and both would become one that neither side has.
type JoinError struct{ Path string }

func (e *JoinError) Error() string {
	return fmt.Sprintf("%q: these lines would join two lines into one, since the last has no newline at its end: choose both or neither", e.Path)
}

type splicer struct {
	f      *File
	out    *bytes.Buffer
	ends   bool
	joined bool
}

func (s *splicer) base(raw []byte) {
	if s.ends {
		raw = s.f.toEnds(raw)
	}
	s.write(raw)
}

func (s *splicer) added(raw []byte) {
	if !s.ends {
		raw = s.f.fromEnds(raw)
	}
	s.write(raw)
}

func (s *splicer) write(raw []byte) {
	b := s.out.Bytes()
	s.joined = s.joined || len(b) > 0 && b[len(b)-1] != '\n'
	s.out.Write(raw)
}
