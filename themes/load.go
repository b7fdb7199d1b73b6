package themes

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed *.toml
var files embed.FS

// Names lists the themes, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // embedded: cannot be
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".toml")
	}
	return names
}

// Load reads a theme by its name.
func Load(name string) (Theme, error) {
	src, err := files.ReadFile(name + ".toml")
	if err != nil {
		return Theme{}, fmt.Errorf("no theme %q: there are %s", name, strings.Join(Names(), ", "))
	}
	t, err := parse(src)
	if err != nil {
		return Theme{}, fmt.Errorf("theme %q: %w", name, err)
	}
	t.Name = name
	return t, nil
}

// file is the form of a theme's file.
type file struct {
	Dark       bool              `toml:"dark"`
	Background string            `toml:"background"`
	Tokens     map[string]string `toml:"tokens"`
	Syntax     map[string]string `toml:"syntax"`
}

func parse(src []byte) (Theme, error) {
	var f file
	if err := toml.NewDecoder(bytes.NewReader(src)).DisallowUnknownFields().Decode(&f); err != nil {
		return Theme{}, err
	}
	t := Theme{Dark: f.Dark, Background: Colour(f.Background)}
	if _, _, _, ok := t.Background.RGB(); !ok && t.Background != "" {
		return Theme{}, fmt.Errorf("background %q is no #rrggbb in lower case", f.Background)
	}
	if err := fill(t.tokens(), f.Tokens); err != nil {
		return Theme{}, err
	}
	if err := fill(t.Syntax.tokens(), f.Syntax); err != nil {
		return Theme{}, fmt.Errorf("syntax: %w", err)
	}
	return t, nil
}

// parseStyle reads "#d7dae0", "#ffffff on #b3261e bold", "on #12301d",
// "underline" or "plain", which changes nothing.
func parseStyle(text string) (Style, error) {
	var s Style
	words := strings.Fields(text)
	if len(words) == 0 {
		return s, errors.New(`empty: write "plain"`)
	}
	under := false
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "#"):
			c := Colour(word)
			if _, _, _, ok := c.RGB(); !ok {
				return s, fmt.Errorf("%q is no #rrggbb in lower case", word)
			}
			at := &s.FG
			if under {
				at, under = &s.BG, false
			}
			if *at != "" {
				return s, fmt.Errorf("%q is one colour too many", word)
			}
			*at = c
		case under:
			return s, errors.New(`"on" wants a colour after it`)
		case word == "on":
			under = true
		case word == "plain":
		case !s.attribute(word):
			return s, fmt.Errorf("unknown word %q", word)
		}
	}
	if under {
		return s, errors.New(`"on" wants a colour after it`)
	}
	return s, nil
}

func (s *Style) attribute(word string) bool {
	switch word {
	case "bold":
		s.Bold = true
	case "faint":
		s.Faint = true
	case "italic":
		s.Italic = true
	case "underline":
		s.Underline = true
	case "reverse":
		s.Reverse = true
	case "strike":
		s.Strike = true
	default:
		return false
	}
	return true
}
