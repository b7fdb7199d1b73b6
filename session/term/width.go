package term

import (
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/displaywidth"
)

// runeWidth is how many cells a program takes a character to need: 0, 1 or 2.
// It agrees with what measures the lines when they are drawn.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1 // Latin; a soft hyphen is drawn as a hyphen
	case r >= 0x2500 && r < 0x2600, r >= 0x2800 && r < 0x2900: // boxes, blocks, braille
		if r == 0x25fd || r == 0x25fe {
			return 2
		}
		return 1
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4: // CJK, Hangul
		return 2
	}
	if isFlag(r) {
		return 1 // two of them make one sign of two cells
	}
	return displaywidth.Rune(r)
}

// hidden says that a character without width must not reach a screen: marks of
// direction, invisible operators, tags, and whatever else only formats.
func hidden(r rune) bool {
	switch {
	case r == zwj || r >= 0xfe00 && r <= vs16:
		return false
	case r >= 0xe0000:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Cs)
}

// visible replaces the few characters that have a width here and are invisible
// or change the order of others.
func visible(r rune) rune {
	switch {
	case r == 0xad:
		return '-'
	case r < 0x300, r >= 0x2500 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return r
	case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp):
		return replacement
	}
	return r
}

// isFlag says that r is half of a flag.
func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// widensTo2 says that this character followed by VS16 is an emoji of two cells.
func widensTo2(text string) bool {
	return displaywidth.String(text+"\ufe0f") == 2
}

// fits cuts a cell's text to what takes exactly w cells by either way of
// counting that terminals and their libraries use; the rest is blank.
func fits(text string, w int) string {
	if measured(text) == w {
		return text
	}
	if text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		one := string(first)
		switch measured(one) {
		case w:
			return one
		case 1:
			if w == 2 {
				return one + " "
			}
		}
	}
	return string(replacement) + "  "[:w-1]
}

// measured is the width of a text, or -1 when the two ways differ.
func measured(text string) int {
	a := ansi.GraphemeWidth.StringWidth(text)
	if a != ansi.WcWidth.StringWidth(text) {
		return -1
	}
	return a
}

// lineWidth is the width of a drawn line, and whether both ways agree.
func lineWidth(b []byte) (int, bool) {
	a := ansi.GraphemeWidth.StringWidth(string(b))
	return a, a == ansi.WcWidth.StringWidth(string(b))
}
