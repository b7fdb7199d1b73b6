package risk

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
	"unicode/utf8"
)

const (
	farColumn  = 120 // text after so wide a gap is beyond most screens
	gapColumns = 40
	gapLines   = 60
	tooLong    = 1000 // bytes of a line of code
	tooMany    = 3000 // added lines of one file of code
)

func offscreen(s *subject, _ picked) (hits []hit) {
	if s.gone() || s.data {
		return nil
	}
	for i := range s.f.Hunks {
		blank := 0
		var above []byte
		for _, l := range s.f.Hunks[i].Lines {
			switch {
			case l.Op == '-':
				continue
			case l.Op == ' ':
				above, blank = l.Text, 0
				continue
			case onlySpace(l.Text):
				blank++
				continue
			}
			if blank >= gapLines {
				hits = append(hits, hit{line: l.New, why: fmt.Sprintf("this stands below %d blank lines", blank)})
			}
			blank = 0
			if col, ok := farText(l.Text, above); ok && !(s.prose && bytes.HasPrefix(bytes.TrimSpace(l.Text), []byte("|"))) {
				hits = append(hits, hit{line: l.New, why: fmt.Sprintf("this line goes on at column %d, beyond the edge of the screen", col)})
			}
			above = l.Text
		}
	}
	return hits
}

func indent(b []byte) int {
	col := 0
	for _, c := range b {
		switch c {
		case ' ':
			col++
		case '\t':
			col += 8 - col%8
		default:
			return col
		}
	}
	return col
}

// onlySpace says whether a line is blank. One letter says that most are not.
func onlySpace(b []byte) bool {
	for _, c := range b {
		if c > ' ' && c < utf8.RuneSelf {
			return false
		}
	}
	return len(bytes.TrimSpace(b)) == 0
}

// farText finds text behind a wide gap that is beyond farColumn. A gap that is
// hardly wider than the indentation of the line above does not count, since code
// that is nested deep stands with its like, nor does what only ends or fills a
// line: a backslash, a value in a column.
func farText(b, above []byte) (column int, ok bool) {
	if len(b) < 2*gapColumns && len(b)+7*bytes.Count(b, []byte{'\t'}) < 2*gapColumns {
		return 0, false // ends before any such column
	}
	col, gap, seen := 0, 0, false
	for i, c := range b {
		switch c {
		case ' ':
			col, gap = col+1, gap+1
		case '\t':
			w := 8 - col%8
			col, gap = col+w, gap+w
		case '\r':
		default:
			wide := gap >= gapColumns && col >= farColumn || gap >= 2*gapColumns && seen
			if wide && !filler(b[i:]) && (seen || col > indent(above)+16) {
				return col, true
			}
			col, gap, seen = col+1, 0, true
		}
	}
	return 0, false
}

// filler says whether the end of a line does nothing: a backslash, or one
// literal.
func filler(b []byte) bool {
	t := bytes.TrimRight(b, " \t\r,;\\")
	switch string(t) {
	case "", "true", "false", "nil", "null", "None", "True", "False", "{", "}", "(", ")", "},", "{}":
		return true
	}
	return len(bytes.Trim(t, "-.0123456789")) == 0
}

func longLine(s *subject, _ picked) (hits []hit) {
	if s.gone() {
		return nil
	}
	for _, l := range s.added {
		if len(l.text) <= tooLong {
			continue
		}
		h := hit{line: l.no, why: fmt.Sprintf("the line has %d bytes: nobody reads it, and a part of it can do anything", len(l.text))}
		if s.data || s.prose || s.lock || inertExt.has(s.ext) && inert(l.text, s.ext) {
			h.severity = note
		}
		hits = append(hits, h)
	}
	return hits
}

// inertExt are languages where a call has brackets and a string holds no code.
// An apostrophe has to be a quote in them: in others it can be a part of a number
// or of a name, and what stands between two such would count as a string.
var inertExt = words(".go .js .mjs .cjs .ts .mts .java .css .scss")

const readColumns = 200 // of a long line are read

// inert says whether a long line does nothing but list names, numbers and strings
// after what is read of it: no call, no assignment, no operator outside quotes.
func inert(b []byte, ext string) bool {
	var quote byte
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case quote != 0:
			if c == '\\' && quote != '`' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"', c == '\'', c == '`' && ext == ".go":
			quote = c
		case i < readColumns:
			if c == '`' || c == '/' && i+1 < len(b) && b[i+1] != '/' {
				return false // a template, or a pattern whose quotes are none
			}
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', c == '_':
		case bytes.IndexByte([]byte(" \t\r,;:.-{}[])$"), c) < 0:
			return false
		}
	}
	return quote == 0
}

func bulk(s *subject, _ picked) []hit {
	if s.gone() || s.data || s.prose || s.lock || len(s.fresh) < tooMany {
		return nil
	}
	return []hit{{why: fmt.Sprintf("%d new lines at once are not read line by line: one of them can do anything", len(s.fresh))}}
}

// blobText finds long runs of base 64, hexadecimal, escapes or numbers.
var blobText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[A-Za-z0-9+/_-]{160,}={0,2}|(?:\\x[0-9a-fA-F]{2}){32,}|(?:\\[0-7]{3}){32,}|(?:\\u[0-9a-fA-F]{4}){32,}|(?:0[xX][0-9a-fA-F]{1,2}\s*,\s*){32,}|(?:\b\d{1,3}\s*,\s*){64,}|(?:%[0-9a-fA-F]{2}){32,}`)
})

// mayBlob says whether blobText could match: a long run without spaces, or many
// of the signs that escapes and lists have.
func mayBlob(t []byte) bool {
	run := 0
	for _, c := range t {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '_' || c == '-' {
			if run++; run >= 160 {
				return true
			}
			continue
		}
		run = 0
	}
	return bytes.Count(t, []byte{'\\'}) >= 32 || bytes.Count(t, []byte{','}) >= 32 || bytes.Count(t, []byte{'%'}) >= 32
}

func blob(s *subject, _ picked) (hits []hit) {
	if s.gone() || s.lock {
		return nil
	}
	numbers := 0 // successive lines of nothing but byte values
	for _, l := range s.added {
		t := bytes.TrimSpace(l.text)
		if isByteRow(t) {
			if numbers++; numbers == 8 && !s.data {
				hits = append(hits, hit{line: l.no, why: "rows of numbers stand for bytes that nobody can read"})
			}
			continue
		}
		numbers = 0
		if len(t) < 96 {
			continue
		}
		if !mayBlob(clip(t)) {
			continue
		}
		m := blobText().Find(clip(t))
		if m == nil || !dense(m) {
			continue
		}
		h := hit{line: l.no}
		if s.prose || s.data || bytes.Contains(t, append([]byte("://"), m[:20]...)) || bytes.Contains(t, []byte("data:image/")) || bytes.Contains(t, []byte("data:font/")) || bytes.Contains(t, []byte("data:application/font")) {
			h.severity = note
		}
		hits = append(hits, h)
	}
	return hits
}

// dense says whether a run looks encoded rather than like a long name or a rule:
// many different signs, digits among them.
func dense(m []byte) bool {
	var seen [256]bool
	n, digits := 0, 0
	for _, c := range m {
		if c >= '0' && c <= '9' {
			digits++
		}
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n >= 12 && digits >= 4 || n >= 9 && digits*2 >= len(m)
}

func isByteRow(t []byte) bool {
	if len(t) < 40 {
		return false
	}
	for _, c := range t {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') && c != 'x' && c != ',' && c != ' ' && c != '\t' && c != '+' && c != '/' {
			return false
		}
	}
	return bytes.Count(t, []byte{','}) >= 8
}
