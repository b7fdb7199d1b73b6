package diffreview

import (
	"bytes"

	"fumehood/diffreview/linediff"
)

// The two line endings, as EndsFrom and EndsTo name them.
const (
	crlf = "CRLF"
	lf   = "LF"
)

// fewEnds is how many lines at least must have changed their ending for that to
// be told apart from the edits.
const fewEnds = 2

// noteEnds tells a change of nearly all line endings apart from the edits, so
// that a review of one changed line does not show every line of the file. It
// gives the old text with the new endings: what the hunks are to be made on.
func noteEnds(f *File, old, new []byte) []byte {
	was, is := endsOf(old), endsOf(new)
	if was == "" || is == "" || was == is {
		return old
	}
	f.EndsFrom, f.EndsTo = was, is
	var out bytes.Buffer
	out.Grow(len(old) + len(old)/16)
	for _, raw := range linediff.Split(old) {
		changed := f.toEnds(raw)
		if len(changed) != len(raw) {
			f.Ends++
		}
		out.Write(changed)
	}
	if f.Ends < fewEnds {
		f.EndsFrom, f.EndsTo, f.Ends = "", "", 0
		return old
	}
	return out.Bytes()
}

// endsOf is the ending of nine in ten of a text's lines, or "".
func endsOf(b []byte) string {
	all := bytes.Count(b, []byte{'\n'})
	with := bytes.Count(b, []byte("\r\n"))
	switch {
	case all == 0:
		return ""
	case 10*with >= 9*all:
		return crlf
	case 10*with <= all:
		return lf
	}
	return ""
}

// toEnds gives a line of the old side the new ending.
func (f *File) toEnds(raw []byte) []byte { return withEnd(raw, f.EndsTo) }

// fromEnds gives a line of the new side the old ending.
func (f *File) fromEnds(raw []byte) []byte { return withEnd(raw, f.EndsFrom) }

func withEnd(raw []byte, ends string) []byte {
	body, ok := bytes.CutSuffix(raw, []byte{'\n'})
	if !ok || ends == "" {
		return raw
	}
	bare, had := bytes.CutSuffix(body, []byte{'\r'})
	switch {
	case ends == crlf && !had:
		return append(body[:len(body):len(body)], '\r', '\n')
	case ends == lf && had:
		return append(bare[:len(bare):len(bare)], '\n')
	}
	return raw
}

// SameButEnds tells whether two texts differ in their line endings alone, as a
// work tree and a commit do where git converts them, and gives a third one the
// endings of the second.
func SameButEnds(a, b, text []byte) (out []byte, ok bool) {
	was, is := endsOf(a), endsOf(b)
	if was == "" || is == "" || was == is {
		return nil, false
	}
	with := func(t []byte, ends string) []byte {
		var w bytes.Buffer
		w.Grow(len(t) + len(t)/16)
		for _, raw := range linediff.Split(t) {
			w.Write(withEnd(raw, ends))
		}
		return w.Bytes()
	}
	if !bytes.Equal(with(a, is), b) {
		return nil, false
	}
	return with(text, is), true
}
