package kit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxClip bounds what is given to the terminal's clipboard, in bytes.
const maxClip = 100 << 10

// ClipText makes foreign text fit for a clipboard, from which it may be pasted
// anywhere: lines and tabs stay; every other control, and what reorders or hides
// text, is dropped. What joins emoji stays.
func ClipText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t', r == '\u200d', unicode.Is(unicode.Variation_Selector, r):
		case harmful(r):
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxClip {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
