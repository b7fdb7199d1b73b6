package kit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe makes one line of plain text of foreign bytes: no control, escape,
// bidi, format or invalid byte of it reaches the terminal. Each such character
// becomes one mark, so that something hidden is seen to have been there.
func Safe(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(mark)
		case r == '\t' || r == '\n':
			b.WriteByte(' ')
		case harmful(r):
			b.WriteRune(mark)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// SafeText is Safe for text of several lines.
func SafeText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Safe(l)
	}
	return strings.Join(lines, "\n")
}

// SafeLine lets one line of a session's screen through: printable text and SGR
// sequences (colour, weight, underline). Everything else that could move the
// cursor, set a mode, ask the terminal or name a link is dropped. The line
// always ends with the attributes reset.
func SafeLine(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(reset))
	styled := false
	for i := 0; i < len(s); {
		if s[i] == 0x1b {
			n, sgr := sequence(s[i:])
			if sgr {
				b.WriteString(s[i : i+n])
				styled = true
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(mark)
		case r == '\u200d' || unicode.Is(unicode.Variation_Selector, r):
			b.WriteRune(r) // joins emoji; neither can reorder or hide text
		case harmful(r):
		default:
			b.WriteRune(r)
		}
	}
	if styled {
		b.WriteString(reset)
	}
	return b.String()
}

const (
	mark  = '\ufffd'
	reset = "\x1b[m"
	// maxSGR bounds one sequence in bytes. The longest that an honest screen
	// writer makes sets every attribute and three colours.
	maxSGR = 128
)

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// harmful says of a character that it acts on a terminal or on a reader
// instead of being seen: controls, bidi and other format characters, line
// separators, private use, surrogates, unassigned tags.
func harmful(r rune) bool {
	switch {
	case r < 0x20 || (r >= 0x7f && r < 0xa0):
		return true
	case r < 0x300:
		return r == 0xad // soft hyphen
	case r == 0x2028 || r == 0x2029:
		return true
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0:
		return true // fillers: letters without ink
	}
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || unicode.Is(unicode.Variation_Selector, r)
}

// sequence measures the escape sequence at the start of s and says whether it
// is an SGR that may pass. A sequence that does not end counts to the end of s.
func sequence(s string) (n int, sgr bool) {
	if len(s) < 2 {
		return len(s), false
	}
	switch s[1] {
	case '[':
		return csi(s)
	case ']', 'P', 'X', '^', '_':
		// A string for the terminal: skipped to its end, whatever it says.
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1, false
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2, false
			}
		}
		return len(s), false
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] < 0x7f {
		i++
	}
	return i, false
}

func csi(s string) (n int, sgr bool) {
	params := true
	for i := 2; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c == ';', c == ':':
		case c >= 0x20 && c <= 0x3f:
			params = false // private or intermediate byte: not a plain SGR
		case c >= 0x40 && c <= 0x7e:
			return i + 1, params && c == 'm' && i < maxSGR
		default:
			return i, false // broken off by a control: that one is judged next
		}
	}
	return len(s), false
}
