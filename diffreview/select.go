package diffreview

import (
	"bytes"
	"fmt"

	"fumehood/diffreview/linediff"
)

// Result gives what a file becomes by the decisions on its units: base where
// nothing is approved, the snapshot's side where all is, else the base with the
// approved hunks put in. base is the content of f.Old; it is read only where
// part of the hunks is approved, and may be nil otherwise.
//
// The entry's Blob names content of the store, and content is nil, unless the
// bytes are new: then Blob is empty, content holds them and Size is their
// length. changed says whether the entry differs from f.Old. It fails on
// decisions that no file can satisfy and on a base that is not f's.
func Result(f *File, base []byte) (e Entry, content []byte, changed bool, err error) {
	whole := f.WholeDecision == Approved && f.Whole != ""
	approved := 0
	for _, h := range f.Hunks {
		if h.Decision == Approved {
			approved++
		}
	}
	switch f.Status {
	case Added, Deleted, TypeOf, ModeOnly:
		if approved > 0 && !whole {
			return Entry{}, nil, false, fmt.Errorf("%q: its lines are approved but not that it is %s", f.Path, f.Status)
		}
		if whole {
			return f.New, nil, true, nil
		}
		return f.Old, nil, false, nil
	case Modified:
	default:
		return Entry{}, nil, false, fmt.Errorf("%q: status %q can't be decided here", f.Path, f.Status)
	}
	if len(f.Hunks) == 0 { // binary, too large, or a link
		if whole {
			return f.New, nil, true, nil
		}
		return f.Old, nil, false, nil
	}
	e = f.Old
	if whole {
		e.Exec = f.New.Exec
	}
	switch approved {
	case 0:
		return e, nil, e != f.Old, nil
	case len(f.Hunks):
		e.Blob, e.Size = f.New.Blob, f.New.Size
		return e, nil, true, nil
	}
	content, err = splice(f, base)
	if err != nil {
		return Entry{}, nil, false, err
	}
	e.Blob, e.Size = "", int64(len(content))
	return e, content, true, nil
}

// splice puts the approved hunks of f into base.
func splice(f *File, base []byte) ([]byte, error) {
	lines := linediff.Split(base)
	var out bytes.Buffer
	out.Grow(len(base))
	// A last line without newline that is no longer last would become part of
	// a line that neither side has.
	joined := false
	write := func(raw []byte) {
		joined = joined || out.Len() > 0 && out.Bytes()[out.Len()-1] != '\n'
		out.Write(raw)
	}
	at := 0 // lines of base already written or dropped
	copyTo := func(end int) {
		for ; at < end; at++ {
			write(lines[at])
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
		if h.Decision != Approved {
			copyTo(end)
			continue
		}
		for _, l := range h.Lines {
			raw := l.raw()
			if l.Op == '+' {
				write(raw)
				continue
			}
			if at >= end || !bytes.Equal(lines[at], raw) {
				return nil, fmt.Errorf("%q: hunk at line %d was not made on this base", f.Path, h.OldStart)
			}
			if l.Op == ' ' {
				write(raw)
			}
			at++
		}
		if at != end {
			return nil, fmt.Errorf("%q: hunk at line %d covers %d lines of its base, not %d", f.Path, h.OldStart, at-start, h.OldLines)
		}
	}
	copyTo(len(lines))
	if joined {
		return nil, fmt.Errorf("%q: the approved hunks would join two lines", f.Path)
	}
	return out.Bytes(), nil
}
