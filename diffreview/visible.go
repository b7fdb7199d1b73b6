package diffreview

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SpanKind says what a span of a line is.
type SpanKind uint8

// The kinds of spans. All but Plain are marks: Text stands for bytes that a
// terminal would obey, hide or draw as nothing.
const (
	Plain     SpanKind = iota
	Tab                // one tab; Text is "→"
	Trailing           // space at the end of the line; Text is one "·" for each
	CR                 // carriage return; Text is "␍"
	Control            // C0, DEL, C1; Text is "␛", "␡", "<U+009B>"
	Bidi               // turns the direction of what follows; Text is "<U+202E>"
	Invisible          // drawn as nothing, or as a space that is none; Text is "<U+200B>"
	Invalid            // bytes that are no UTF-8; Text is "<FF>"
)

// Span is a part of a line as it may be printed. Raw is the bytes that it stands
// for: all Raw joined are the line.
type Span struct {
	Kind SpanKind
	Text string // printable, one cell or more for each rune, never a control
	Raw  []byte
}

// maxCombining is how many marks may stand on one letter; more pile up over the
// lines around it.
const maxCombining = 4

// Visible cuts b into spans that show everything in it and can be printed on a
// terminal in this order without effect. A newline counts as control.
func Visible(b []byte) []Span {
	body := len(bytes.TrimRight(b, " \t\r"))
	var out []Span
	combining := 0
	before := rune(0)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		kind, text := spanOf(r, n, b[i])
		if (r == 0xfe0e || r == 0xfe0f) && !takesSelector(before, b[i+n:]) {
			kind, text = Invisible, codePoint(r)
		}
		before = r
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if combining++; kind == Plain && (combining > maxCombining || i == 0) {
				kind, text = Invisible, codePoint(r)
			}
		} else {
			combining = 0
		}
		if i >= body && kind == Plain {
			kind, text = Trailing, "·"
		}
		if k := len(out) - 1; k >= 0 && out[k].Kind == kind && (kind == Plain || kind == Trailing) {
			out[k].Raw = b[i-len(out[k].Raw) : i+n]
		} else {
			out = append(out, Span{kind, text, b[i : i+n]})
		}
		i += n
		if kind == Plain {
			// Plain ASCII is the rule: take a run of it whole.
			k := len(out) - 1
			end := i + plainLen(b[i:max(i, body)])
			out[k].Raw = b[i-len(out[k].Raw) : end]
			if end > i {
				combining = 0
				before = rune(b[end-1])
			}
			i = end
		}
	}
	// The texts of runs are made once: growing them would cost the square of a
	// long line.
	for k := range out {
		switch out[k].Kind {
		case Plain:
			out[k].Text = string(out[k].Raw)
		case Trailing:
			out[k].Text = strings.Repeat("·", len(out[k].Raw))
		default: // made with the span: these stand alone
		}
	}
	return out
}

// takesSelector says whether one of the two selectors of text and emoji does
// anything between a character and what follows. Behind a letter it is drawn as
// nothing: two words would look the same and not be.
func takesSelector(before rune, rest []byte) bool {
	if before < 0xa0 { // keycaps
		return (before == '#' || before == '*' || before >= '0' && before <= '9') && bytes.HasPrefix(rest, []byte("\u20e3"))
	}
	return !unicode.In(before, unicode.L, unicode.M)
}

// plainLen is the length of the printable ASCII at the start of b.
func plainLen(b []byte) int {
	for i, c := range b {
		if c < ' ' || c > '~' {
			return i
		}
	}
	return len(b)
}

func spanOf(r rune, n int, first byte) (SpanKind, string) {
	switch {
	case r == utf8.RuneError && n == 1:
		return Invalid, fmt.Sprintf("<%02X>", first)
	case r == '\t':
		return Tab, "→"
	case r == '\r':
		return CR, "␍"
	case r < ' ':
		return Control, string(rune(0x2400 + r))
	case r == 0x7f:
		return Control, "␡"
	case r < 0x7f:
		return Plain, string(r)
	case r < 0xa0:
		return Control, codePoint(r)
	case IsBidi(r):
		return Bidi, codePoint(r)
	case IsInvisible(r):
		return Invisible, codePoint(r)
	}
	return Plain, string(r)
}

func codePoint(r rune) string { return fmt.Sprintf("<U+%04X>", r) }

// IsBidi holds for the characters that turn the direction of the text around
// them.
func IsBidi(r rune) bool {
	return r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// IsInvisible holds for characters beyond ASCII, bidi controls aside, that are
// drawn as nothing or as blank, or that no font has: format characters, fillers,
// odd spaces, line separators, private and unassigned ones, variation selectors
// other than the two that choose between text and emoji.
func IsInvisible(r rune) bool {
	if r < 0xa0 || IsBidi(r) {
		return false
	}
	switch r {
	case 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	case 0xfe0e, 0xfe0f:
		return false
	}
	if r >= 0x180b && r <= 0x180f || r >= 0xfe00 && r <= 0xfe0d || r >= 0xe0000 && r <= 0xe0fff {
		return true
	}
	return !unicode.IsPrint(r)
}

// SafeName gives a path as it may be printed in a line of its own or within one:
// unchanged when it is plain, else in double quotes with C escapes as git has
// them, \u and \U for invisible characters, and \x for bytes that are no UTF-8.
func SafeName(path string) string {
	plain := path != "" && path[0] != ' ' && path[len(path)-1] != ' '
	combining := 0
	for i, r := range path {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if combining++; combining > maxCombining || i == 0 {
				plain = false
			}
		} else {
			combining = 0
		}
		if r == '"' || r == '\\' || r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || IsBidi(r) || IsInvisible(r) {
			plain = false
		}
	}
	if plain {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, path[i])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff && IsInvisible(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case r >= 0x7f && r < 0xa0 || IsBidi(r) || IsInvisible(r) || unicode.In(r, unicode.Mn, unicode.Me):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}
