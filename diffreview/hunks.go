package diffreview

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"sync"

	"fumehood/diffreview/linediff"
)

// hunks compares two texts and cuts the changed lines, with context, into units.
func hunks(f *File, old, new []byte) (out []Hunk, added, removed int) {
	s, ok := sheets.Get().(*sheet)
	if !ok {
		s = &sheet{}
	}
	defer s.giveBack()
	s.a, s.b = linediff.AppendSplit(s.a, old), linediff.AppendSplit(s.b, new)
	runs := linediff.Diff(s.a, s.b)
	for _, r := range runs {
		added += r.B1 - r.B0
		removed += r.A1 - r.A0
	}
	count := 0
	for rest := runs; len(rest) > 0; rest = rest[near(rest):] {
		count++
	}
	if count > 0 {
		out = make([]Hunk, 0, count)
	}
	for len(runs) > 0 {
		n := near(runs)
		h := cutHunk(s.a, s.b, runs[:n])
		if f.Status == Modified || f.Status == Renamed { // else it has the ID of the file
			h.ID = s.hunkID(f, &h)
		}
		out = append(out, h)
		runs = runs[n:]
	}
	release(out, len(old)+len(new))
	return out, added, removed
}

// near counts the runs at the head of the list whose context overlaps or touches.
func near(runs []linediff.Run) int {
	n := 1
	for n < len(runs) && runs[n].A0-runs[n-1].A1 <= 2*contextLines {
		n++
	}
	return n
}

// release lets go of the two texts where the hunks are a small part of them: a
// change set must not hold all of each large file in which one line changed.
func release(list []Hunk, texts int) {
	size := 0
	for i := range list {
		for _, l := range list[i].Lines {
			size += len(l.Text)
		}
	}
	if size > texts/4 {
		return
	}
	buf := make([]byte, 0, size)
	for i := range list {
		lines := list[i].Lines
		for k := range lines {
			from := len(buf)
			buf = append(buf, lines[k].Text...)
			lines[k].Text = buf[from:len(buf):len(buf)]
		}
	}
}

// sheet is memory for one comparison after another.
type sheet struct {
	a, b [][]byte
	id   idHash
}

var sheets sync.Pool

// mostSheet is how many lines a side of a sheet may have grown to and be kept.
const mostSheet = 1 << 16

func (s *sheet) giveBack() {
	if max(cap(s.a), cap(s.b)) > mostSheet || cap(s.id.b) > 1<<20 {
		return
	}
	clear(s.a) // no text stays reachable
	clear(s.b)
	s.a, s.b = s.a[:0], s.b[:0]
	sheets.Put(s)
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
	both := h.OldLines // context lines count once
	for _, r := range runs {
		both += r.B1 - r.B0
	}
	h.Lines = make([]Line, both)
	at := 0
	add := func(op byte, raw []byte, old, new int) {
		l := &h.Lines[at]
		at++
		l.Op, l.Text, l.Old, l.New = op, raw, old, new
		if n := len(raw) - 1; raw[n] == '\n' {
			l.Text = raw[:n:n]
		} else {
			l.NoEOL = true
		}
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

func (d *idHash) begin(kind string) {
	d.b = d.b[:0]
	d.text("fumehood unit 2")
	d.text(kind)
}

func (d *idHash) number(n int) { d.b = binary.LittleEndian.AppendUint64(d.b, uint64(n)) }

func (d *idHash) text(s string) {
	d.number(len(s))
	d.b = append(d.b, s...)
}

func (d *idHash) sum() string {
	sum := sha256.Sum256(d.b)
	return hex.EncodeToString(sum[:idLen/2])
}

func (d *idHash) entry(e Entry) {
	d.text(string(e.Kind))
	d.text(e.Mode())
	d.text(string(e.Blob))
	d.text(e.Target)
}

// hunkID covers the hunk's place and all of its lines. The old ones need not be
// hashed again: the blob of the old side names them, and the line endings that
// the hunk was made with. Where the lines land without the whole part, and with
// which endings, belongs to what was approved.
func (s *sheet) hunkID(f *File, h *Hunk) string {
	d := &s.id
	d.begin("hunk")
	d.text(f.Path)
	d.text(f.OldPath)
	d.text(string(f.Old.Blob))
	d.text(f.EndsFrom)
	d.text(f.EndsTo)
	d.number(h.OldStart)
	d.number(len(h.Lines))
	for i := range h.Lines {
		l := &h.Lines[i]
		op := l.Op << 1
		if !l.NoEOL {
			op |= 1
		}
		d.b = append(d.b, op)
		if l.Op == '+' {
			d.number(len(l.Text))
			d.b = append(d.b, l.Text...)
		}
	}
	return d.sum()
}

// wholeID covers both entries in full: an approval of the executable bit, say,
// belongs to the content that it makes executable.
func wholeID(f *File) string {
	var d idHash
	d.begin("whole")
	d.text(f.Path)
	d.text(f.OldPath)
	d.entry(f.Old)
	d.entry(f.New)
	return d.sum()
}
