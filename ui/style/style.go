// Package style turns the tokens of a theme into what is written before and
// after a piece of text. It knows no colour itself.
package style

import "github.com/charmbracelet/x/ansi"

// Style is the SGR sequence of one token. The zero Style changes nothing.
type Style struct{ sgr string }

// Render wraps plain text. Text that has attributes of its own must not be
// wrapped: its reset would end this style as well.
func (s Style) Render(text string) string {
	if s.sgr == "" || text == "" {
		return text
	}
	return s.sgr + text + ansi.ResetStyle
}

// On is s with the attributes of over on top of it.
func (s Style) On(over Style) Style { return Style{s.sgr + over.sgr} }

// Open is the sequence that begins the style, for a writer that ends it itself.
func (s Style) Open() string { return s.sgr }

// Close ends any style.
const Close = ansi.ResetStyle

// Styles are the tokens by meaning.
type Styles struct {
	Theme string

	Text, Strong, Muted, Accent, Focus, Border Style

	Added, Removed, AddedLine, RemovedLine, AddedWord, RemovedWord Style

	Held, Stale, Refused, Warn, Danger Style

	Running, Waiting, Ended Style

	Selection, StatusBar, Control, Key, Error Style
}

func attr(f func(ansi.Style) ansi.Style) Style { return Style{f(ansi.Style{}).String()} }

// Mono is attributes without any colour.
func Mono() *Styles {
	bold := attr(func(a ansi.Style) ansi.Style { return a.Bold() })
	faint := attr(func(a ansi.Style) ansi.Style { return a.Faint() })
	reverse := attr(func(a ansi.Style) ansi.Style { return a.Reverse(true) })
	under := attr(func(a ansi.Style) ansi.Style { return a.Underline(true) })
	return &Styles{
		Theme: "mono", Strong: bold, Muted: faint, Accent: bold, Focus: reverse, Border: faint,
		Added: bold, Removed: Style{}, AddedWord: under, RemovedWord: under,
		Held: bold, Stale: faint, Refused: bold, Warn: bold, Danger: reverse,
		Running: Style{}, Waiting: bold, Ended: faint,
		Selection: reverse, StatusBar: reverse, Control: reverse, Key: bold, Error: reverse,
	}
}
