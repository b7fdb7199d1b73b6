package term

import (
	"io"
	"unicode/utf8"
)

// Filter passes to the user's own terminal what a program's raw output may do
// there: text, colours, cursor movement, erasing, scrolling, screen and input
// modes. It drops what would reach beyond the picture: clipboard, titles,
// notifications, links, queries (the emulator answers those), device strings,
// printing, window operations, the user's scrollback, and all it does not know.
// Every sequence is written anew from its parsed form, so that the user's
// terminal never parses bytes of the inside's own making. What it writes does
// not depend on how its input is cut. Not safe for concurrent use.
type Filter struct {
	w   io.Writer
	ps  parser
	out []byte
	outerState
}

// NewFilter is a filter in front of the user's terminal, which is taken to be
// in its normal state.
func NewFilter(w io.Writer) *Filter {
	f := &Filter{w: w}
	f.charsets = newCharsets()
	return f
}

// Write filters output. It reports p as written in full unless the terminal
// itself fails; an unfinished sequence waits for the next call.
func (f *Filter) Write(p []byte) (int, error) {
	f.out = f.out[:0]
	f.ps.feed(p, f)
	if len(f.out) > 0 {
		if _, err := f.w.Write(f.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (f *Filter) text(p []byte) { f.out = append(f.out, p...) }

func (f *Filter) char(r rune) { f.out = utf8.AppendRune(f.out, r) }

func (f *Filter) control(b byte) {
	switch b {
	case bel, '\b', '\t', '\n', '\v', '\f', '\r':
		f.out = append(f.out, b)
	case 0x0e, 0x0f:
		f.shift = 0x0f - b
		f.ever.sets = f.ever.sets || f.shift != 0
		f.out = append(f.out, b)
	}
}

// str drops every OSC, DCS, APC, PM and SOS string.
func (f *Filter) str(byte, []byte, int) {}

func (f *Filter) esc(q *sequence) {
	switch q.inter {
	case 0:
	case '(', ')', '*', '+':
		set := charset(q.final)
		f.g[q.inter-'('] = set
		f.ever.sets = f.ever.sets || set != 'B'
		f.out = append(f.out, esc, q.inter, set)
		return
	case '#':
		if q.final == '8' {
			f.out = append(f.out, "\x1b#8"...)
		}
		return
	default:
		return
	}
	switch q.final {
	case 'D', 'E', 'M':
	case '7':
		f.saveCursor()
	case '8':
		f.restoreCursor()
	case 'H':
		f.tabsMoved = true
	case '=', '>':
		f.keypad = q.final == '='
	case 'c':
		// A full reset would also take what the user had set.
		f.out = f.appendRestore(f.out)
		f.out = append(f.out, "\x1b[H\x1b[2J"...)
		return
	default:
		return
	}
	f.out = append(f.out, esc, q.final)
}

func (f *Filter) csi(q *sequence) {
	switch {
	case q.sub != 0 && (q.final != 'm' || q.prefix != 0 || q.inter != 0):
		// only colours have parts
	case q.inter != 0:
		f.csiInter(q)
	case q.prefix == 0:
		f.csiPlain(q)
	case q.prefix == '?':
		f.csiMode(q)
	case q.final == 'u':
		f.kittyKeys(q)
	case q.prefix == '>' && (q.final == 'm' || q.final == 'n'):
		f.modifyOtherKeys(q)
	}
}

func (f *Filter) csiPlain(q *sequence) {
	switch q.final {
	case '@', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'I', 'L', 'M', 'P', 'S', 'X', 'Z', '`', 'a', 'b', 'd', 'e':
		f.pass(q, 1)
	case 'H', 'f':
		f.pass(q, 2)
	case 'T':
		if q.n <= 1 { // with more it starts mouse tracking by highlight
			f.pass(q, 1)
		}
	case 'J', 'K': // 3J would erase the user's scrollback
		if q.raw(0) <= 2 {
			f.pass(q, 1)
		}
	case 'g':
		if n := q.raw(0); n == 0 || n == 3 {
			f.tabsMoved = true
			f.pass(q, 1)
		}
	case 'r':
		f.region = q.n > 0
		f.pass(q, 2)
	case 's', 'u':
		if q.n > 0 { // with parameters 's' sets margins
			return
		}
		if q.final == 's' {
			f.saveCursor()
		} else {
			f.restoreCursor()
		}
		f.pass(q, 0)
	case 'm':
		f.coloured = q.n != 0 && !(q.n == 1 && q.raw(0) == 0)
		f.ever.coloured = f.ever.coloured || f.coloured
		f.pass(q, maxParams)
	case 'h', 'l':
		for i := range q.n {
			f.ansiMode(q.raw(i), q.final == 'h')
		}
	}
}

// pass writes a sequence with at most that many of its parameters.
func (f *Filter) pass(q *sequence, limit int) {
	f.out = append(f.out, esc, '[')
	for i := range min(q.n, limit) {
		if i > 0 {
			sep := byte(';')
			if q.sub&(1<<(i-1)) != 0 {
				sep = ':'
			}
			f.out = append(f.out, sep)
		}
		if v := q.params[i]; v >= 0 {
			f.out = appendInt(f.out, int(v))
		}
	}
	f.out = append(f.out, q.final)
}

func (f *Filter) csiInter(q *sequence) {
	if q.prefix != 0 {
		return
	}
	switch {
	case q.inter == ' ' && q.final == 'q' && q.raw(0) <= 6:
		f.shaped = q.raw(0) != 0
		f.out = append(appendInt(append(f.out, "\x1b["...), q.raw(0)), " q"...)
	case q.inter == ' ' && (q.final == '@' || q.final == 'A'):
		f.out = append(appendInt(append(f.out, "\x1b["...), q.param(0, 1)), ' ', q.final)
	case q.inter == '!' && q.final == 'p':
		f.softReset()
	}
}

func (f *Filter) csiMode(q *sequence) {
	switch q.final {
	case 'J', 'K':
		if n := q.raw(0); n <= 2 {
			f.out = append(appendInt(append(f.out, "\x1b[?"...), n), q.final)
		}
	case 'W':
		if q.raw(0) == 5 {
			f.out = append(f.out, "\x1b[?5W"...)
		}
	case 'h', 'l':
		for i := range q.n {
			f.privateMode(q.raw(i), q.final == 'h')
		}
	}
}
