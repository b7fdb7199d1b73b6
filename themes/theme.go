// Package themes owns the colours of the workbench, as data: a theme gives
// every token a colour and attributes by what the token means (added, refused,
// focus), never by where it stands. It draws nothing and asks no terminal;
// ui/style turns a theme into escape sequences.
package themes

import "fmt"

// Theme is one set of colours. Every token is set by every theme; colour is
// never the only sign of a meaning.
type Theme struct {
	Name string
	// Dark tells for which background of the terminal it is made.
	Dark bool
	// Background is the background it is made for, which it does not paint;
	// "" when it has no colours at all.
	Background Colour

	Text, Strong, Muted, Accent, Focus, Border Style

	// Added and Removed are signs and counts; the Line pair lies under a whole
	// line of a diff, the Word pair under what changed within it.
	Added, Removed, AddedLine, RemovedLine, AddedWord, RemovedWord Style

	// The marks of the wall strip, and the severities of a finding.
	Held, Stale, Refused, Warn, Danger Style

	// The states of a session.
	Running, Waiting, Ended Style

	// Control marks a control or hidden character that was made visible.
	Selection, StatusBar, Control, Key, Error Style

	Syntax Syntax
}

// Syntax are the tokens of highlighted source text. They have no background,
// since they stand on that of a line.
type Syntax struct {
	Keyword, String, Comment, Number, Type, Function, Builtin, Operator, Punctuation, Preproc Style
}

// Style is how one token looks. The zero Style changes nothing.
type Style struct {
	FG, BG                                          Colour
	Bold, Faint, Italic, Underline, Reverse, Strike bool
}

// Colour is "#rrggbb" in lower case; "" is the terminal's own.
type Colour string

// RGB splits a colour; ok is false for the terminal's own.
func (c Colour) RGB() (r, g, b uint8, ok bool) {
	if len(c) != 7 || c[0] != '#' {
		return 0, 0, 0, false
	}
	var v [3]uint8
	for i := range v {
		hi, lo := hexDigit(c[1+2*i]), hexDigit(c[2+2*i])
		if hi < 0 || lo < 0 {
			return 0, 0, 0, false
		}
		v[i] = uint8(hi<<4 | lo)
	}
	return v[0], v[1], v[2], true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}

// token is one row: its key in the file and its place in the theme.
type token struct {
	key string
	at  *Style
}

func (t *Theme) tokens() []token {
	return []token{
		{"text", &t.Text},
		{"strong", &t.Strong},
		{"muted", &t.Muted},
		{"accent", &t.Accent},
		{"focus", &t.Focus},
		{"border", &t.Border},
		{"added", &t.Added},
		{"removed", &t.Removed},
		{"added_line", &t.AddedLine},
		{"removed_line", &t.RemovedLine},
		{"added_word", &t.AddedWord},
		{"removed_word", &t.RemovedWord},
		{"held", &t.Held},
		{"stale", &t.Stale},
		{"refused", &t.Refused},
		{"warn", &t.Warn},
		{"danger", &t.Danger},
		{"running", &t.Running},
		{"waiting", &t.Waiting},
		{"ended", &t.Ended},
		{"selection", &t.Selection},
		{"status_bar", &t.StatusBar},
		{"control", &t.Control},
		{"key", &t.Key},
		{"error", &t.Error},
	}
}

func (s *Syntax) tokens() []token {
	return []token{
		{"keyword", &s.Keyword},
		{"string", &s.String},
		{"comment", &s.Comment},
		{"number", &s.Number},
		{"type", &s.Type},
		{"function", &s.Function},
		{"builtin", &s.Builtin},
		{"operator", &s.Operator},
		{"punctuation", &s.Punctuation},
		{"preproc", &s.Preproc},
	}
}

// Pick names the theme for a terminal: mono where colour is not wanted.
func Pick(darkBackground, noColor bool) string {
	switch {
	case noColor:
		return "mono"
	case darkBackground:
		return "dark"
	}
	return "light"
}

// Variant names the theme that is meant by a name on a background: a theme
// that has a form for light backgrounds is swapped for it there.
func Variant(name string, darkBackground bool) string {
	if !darkBackground && (name == "contrast" || name == "colourblind") {
		return name + "-light"
	}
	return name
}

// Order lists the themes as a key goes through them, from the one that Pick names:
// first those that are made for the terminal's background, as far as that is known.
func Order(darkBackground bool) []string {
	fit, other := []string{Pick(darkBackground, false)}, []string{}
	for _, name := range Names() {
		t, err := Load(name)
		if name == fit[0] {
			continue
		}
		if err == nil && t.Background != "" && t.Dark != darkBackground {
			other = append(other, name)
			continue
		}
		fit = append(fit, name)
	}
	return append(fit, other...)
}

// fill sets the tokens from the texts of a file; none may be missing or
// unknown.
func fill(tokens []token, texts map[string]string) error {
	for _, t := range tokens {
		text, ok := texts[t.key]
		if !ok {
			return fmt.Errorf("token %q is missing", t.key)
		}
		style, err := parseStyle(text)
		if err != nil {
			return fmt.Errorf("token %q: %w", t.key, err)
		}
		*t.at = style
		delete(texts, t.key)
	}
	for key := range texts {
		return fmt.Errorf("unknown token %q", key)
	}
	return nil
}
