// Package style turns the tokens of a theme into what is written before and
// after a piece of text. It knows no colour itself.
package style

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"

	"fumehood/themes"
	"fumehood/ui/syntax"
)

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

	// Syntax are the parts of source text, by their kind. HasSyntax says that any
	// of them differs from the text around it.
	Syntax    [syntax.Kinds]Style
	HasSyntax bool
}

// Of makes the styles of a theme.
func Of(t themes.Theme) Styles {
	s := Styles{
		Theme: t.Name,
		Text:  one(t.Text), Strong: one(t.Strong), Muted: one(t.Muted), Accent: one(t.Accent), Focus: one(t.Focus), Border: one(t.Border),
		Added: one(t.Added), Removed: one(t.Removed), AddedLine: one(t.AddedLine), RemovedLine: one(t.RemovedLine),
		AddedWord: one(t.AddedWord), RemovedWord: one(t.RemovedWord),
		Held: one(t.Held), Stale: one(t.Stale), Refused: one(t.Refused), Warn: one(t.Warn), Danger: one(t.Danger),
		Running: one(t.Running), Waiting: one(t.Waiting), Ended: one(t.Ended),
		Selection: one(t.Selection), StatusBar: one(t.StatusBar), Control: one(t.Control), Key: one(t.Key), Error: one(t.Error),
		Syntax: [syntax.Kinds]Style{
			syntax.Keyword: one(t.Syntax.Keyword), syntax.String: one(t.Syntax.String), syntax.Comment: one(t.Syntax.Comment),
			syntax.Number: one(t.Syntax.Number), syntax.Type: one(t.Syntax.Type), syntax.Function: one(t.Syntax.Function),
			syntax.Builtin: one(t.Syntax.Builtin), syntax.Operator: one(t.Syntax.Operator), syntax.Punctuation: one(t.Syntax.Punctuation),
			syntax.Preproc: one(t.Syntax.Preproc),
		},
	}
	s.HasSyntax = s.Syntax != [syntax.Kinds]Style{}
	return s
}

func one(s themes.Style) Style {
	var a ansi.Style
	if s.Bold {
		a = a.Bold()
	}
	if s.Faint {
		a = a.Faint()
	}
	if s.Italic {
		a = a.Italic(true)
	}
	if s.Underline {
		a = a.Underline(true)
	}
	if s.Reverse {
		a = a.Reverse(true)
	}
	if s.Strike {
		a = a.Strikethrough(true)
	}
	if c := colour(s.FG); c != nil {
		a = a.ForegroundColor(c)
	}
	if c := colour(s.BG); c != nil {
		a = a.BackgroundColor(c)
	}
	if len(a) == 0 {
		return Style{}
	}
	return Style{a.String()}
}

func colour(c themes.Colour) color.Color {
	r, g, b, ok := c.RGB()
	if !ok {
		return nil
	}
	return color.RGBA{R: r, G: g, B: b, A: 0xff}
}
