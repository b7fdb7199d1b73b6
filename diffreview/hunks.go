package diffreview

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"fumehood/diffreview/linediff"
)

// hunks compares two texts and cuts the changed lines, with context, into units.
func hunks(f *File, old, new []byte) (out []Hunk, added, removed int) {
	a, b := linediff.Split(old), linediff.Split(new)
	runs := linediff.Diff(a, b)
	for _, r := range runs {
		added += r.B1 - r.B0
		removed += r.A1 - r.A0
	}
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].A0-runs[n-1].A1 <= 2*contextLines {
			n++
		}
		h := cutHunk(a, b, runs[:n])
		h.ID = hunkID(f, &h)
		out = append(out, h)
		runs = runs[n:]
	}
	return out, added, removed
}

// cutHunk makes one hunk of runs that are near each other.
func cutHunk(a, b [][]byte, runs []linediff.Run) Hunk {
	first, last := runs[0], runs[len(runs)-1]
	lead := min(contextLines, first.A0)
	tail := min(contextLines, len(a)-last.A1)
	x, y := first.A0-lead, first.B0-lead
	endA := last.A1 + tail
	h := Hunk{OldStart: x + 1, OldLines: endA - x, NewStart: y + 1, NewLines: last.B1 + tail - y}
	if h.OldLines == 0 {
		h.OldStart = x
	}
	if h.NewLines == 0 {
		h.NewStart = y
	}
	h.Lines = make([]Line, 0, h.OldLines+h.NewLines)
	add := func(op byte, raw []byte, old, new int) {
		text, eol := bytes.CutSuffix(raw, []byte{'\n'})
		h.Lines = append(h.Lines, Line{Op: op, Text: text, Old: old, New: new, NoEOL: !eol})
	}
	same := func(until int) {
		for ; x < until; x, y = x+1, y+1 {
			add(' ', a[x], x+1, y+1)
		}
	}
	for _, r := range runs {
		same(r.A0)
		for ; x < r.A1; x++ {
			add('-', a[x], x+1, 0)
		}
		for ; y < r.B1; y++ {
			add('+', b[y], 0, y+1)
		}
	}
	same(endA)
	return h
}

// raw gives the line as it stands in its file.
func (l Line) raw() []byte {
	if l.NoEOL {
		return l.Text
	}
	return append(l.Text[:len(l.Text):len(l.Text)], '\n')
}

// idLen is the length of a unit ID in hexadecimal digits. 160 bits, since the
// agent chooses the bytes: with fewer it could look for two contents of one ID,
// show the harmless one, and swap it after the approval.
const idLen = 40

// idHash gathers fields with their lengths, so that no two lists of fields run
// together.
type idHash struct{ b []byte }

func newID(kind string, size int) *idHash {
	d := &idHash{make([]byte, 0, 256+size)}
	d.text("fumehood unit 1")
	d.text(kind)
	return d
}

func (d *idHash) number(n int) { d.b = binary.LittleEndian.AppendUint64(d.b, uint64(n)) }

func (d *idHash) text(s string) {
	d.number(len(s))
	d.b = append(d.b, s...)
}

func (d *idHash) sum() string {
	sum := sha256.Sum256(d.b)
	return hex.EncodeToString(sum[:])[:idLen]
}

func (d *idHash) entry(e Entry) {
	d.text(string(e.Kind))
	d.text(e.Mode())
	d.text(string(e.Blob))
	d.text(e.Target)
}

func hunkID(f *File, h *Hunk) string {
	size := 0
	for _, l := range h.Lines {
		size += 16 + len(l.Text)
	}
	d := newID("hunk", size)
	d.text(f.Path)
	d.text(string(f.Old.Blob))
	d.number(h.OldStart)
	d.number(len(h.Lines))
	for _, l := range h.Lines {
		eol := 1
		if l.NoEOL {
			eol = 0
		}
		d.number(int(l.Op)<<1 | eol)
		d.number(len(l.Text))
		d.b = append(d.b, l.Text...)
	}
	return d.sum()
}

// wholeID covers both entries in full: an approval of the executable bit, say,
// belongs to the content that it makes executable.
func wholeID(f *File) string {
	d := newID("whole", 512)
	d.text(f.Path)
	d.text(f.OldPath)
	d.entry(f.Old)
	d.entry(f.New)
	return d.sum()
}
