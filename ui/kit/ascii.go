package kit

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// asciiFor gives the workbench's own signs in ASCII, one cell each.
var asciiFor = map[rune]byte{
	'✓': 'v', '✗': 'x', '·': '.', '▸': '>', '▾': 'v', '●': '*', '▶': '>', '■': '#', '─': '-', '│': '|', '┼': '+', '┬': '+', '┴': '+',
	'█': '#', '░': '.', '›': '>', '…': '~', '‹': '<', '⋯': '~', '±': '%', '▪': '*', '━': '=', '→': '>', '←': '<', '↑': '^', '↓': 'v', '−': '-', '×': 'x', '␛': '^', '␍': '^', '↵': '$',
}

// ASCII writes text for a terminal whose locale is not UTF-8: its own signs by
// their nearest letter, any other character as question marks of its width.
// Sequences stay as they are.
func ASCII(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch c, ok := asciiFor[r]; {
		case r < 0x80:
			b.WriteRune(r)
		case ok:
			b.WriteByte(c)
		default:
			b.WriteString(strings.Repeat("?", ansi.StringWidth(string(r))))
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
