package themes

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// backgrounds are those that a theme must be readable on: the one that it is
// made for and common ones of the same kind.
func backgrounds(t Theme) []Colour {
	if t.Dark {
		return []Colour{t.Background, "#000000", "#1e1e1e", "#282c34", "#002b36"}
	}
	return []Colour{t.Background, "#ffffff", "#fdf6e3", "#eff1f5"}
}

func load(t *testing.T, name string) Theme {
	t.Helper()
	theme, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return theme
}

// TestTokensListEveryStyle keeps a new token from being left out of the table,
// and so of every file.
func TestTokensListEveryStyle(t *testing.T) {
	var theme Theme
	listed := map[*Style]bool{}
	for _, tok := range append(theme.tokens(), theme.Syntax.tokens()...) {
		if listed[tok.at] {
			t.Errorf("token %q stands twice", tok.key)
		}
		listed[tok.at] = true
	}
	fields := 0
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i); f.Type() {
			case reflect.TypeFor[Style]():
				fields++
				if !listed[f.Addr().Interface().(*Style)] {
					t.Errorf("%s.%s is in no row of the table", v.Type(), v.Type().Field(i).Name)
				}
			case reflect.TypeFor[Syntax]():
				walk(f)
			}
		}
	}
	walk(reflect.ValueOf(&theme).Elem())
	if fields != len(listed) {
		t.Errorf("got %d fields and %d rows, want as many", fields, len(listed))
	}
}

func TestEveryThemeLoads(t *testing.T) {
	for _, name := range []string{"dark", "light", "contrast", "colourblind", "mono"} {
		if !strings.Contains(" "+strings.Join(Names(), " ")+" ", " "+name+" ") {
			t.Errorf("there is no theme %q in %v", name, Names())
		}
	}
	for _, name := range Names() {
		if theme := load(t, name); theme.Name != name {
			t.Errorf("got name %q, want %q", theme.Name, name)
		}
	}
	if _, err := Load("../themes/dark"); err == nil {
		t.Error("a path was taken for a name")
	}
}

func TestMonoHasNoColour(t *testing.T) {
	theme := load(t, "mono")
	if theme.Background != "" {
		t.Errorf("got background %q, want none", theme.Background)
	}
	for _, tok := range append(theme.tokens(), theme.Syntax.tokens()...) {
		s := *tok.at
		if s.FG != "" || s.BG != "" || s.Faint || s.Italic || s.Strike {
			t.Errorf("%s: got %+v, want bold, underline and reverse at most", tok.key, s)
		}
	}
}

func TestTextIsReadable(t *testing.T) {
	for _, name := range Names() {
		theme := load(t, name)
		if name == "mono" {
			continue
		}
		want := 4.5 // WCAG 2 AA for text
		if strings.HasPrefix(name, "contrast") {
			want = 7 // AAA
		}
		for _, tok := range theme.tokens() {
			least := want
			if tok.key == "border" {
				least = 2 // not text
			}
			checkOn(t, name, tok, backgrounds(theme), least)
			if tok.key != "border" && tok.at.FG == "" {
				t.Errorf("%s: %s: no colour of its own, so its contrast is not known", name, tok.key)
			}
			if tok.at.Faint {
				t.Errorf("%s: %s is faint: terminals differ in what that leaves of the contrast", name, tok.key)
			}
		}
		lines := append(backgrounds(theme), theme.AddedLine.BG, theme.RemovedLine.BG)
		for _, tok := range theme.Syntax.tokens() {
			checkOn(t, name, tok, lines, want)
			if tok.at.BG != "" || tok.at.FG == "" {
				t.Errorf("%s: syntax %s: got %+v, want a colour and no background", name, tok.key, *tok.at)
			}
		}
	}
}

// checkOn measures a token on its own background, or on each of those given.
func checkOn(t *testing.T, theme string, tok token, on []Colour, want float64) {
	t.Helper()
	if tok.at.BG != "" {
		on = []Colour{tok.at.BG}
	}
	for _, bg := range on {
		if tok.at.FG == "" {
			continue
		}
		if got := contrast(tok.at.FG, bg); got < want {
			t.Errorf("%s: %s: %s on %s: got contrast %.2f, want at least %.1f", theme, tok.key, tok.at.FG, bg, got, want)
		}
	}
}

// TestMeaningsDiffer keeps apart what must not be mistaken for one another.
func TestMeaningsDiffer(t *testing.T) {
	for _, name := range Names() {
		theme := load(t, name)
		pairs := map[string][2]Style{
			"added, removed":     {theme.Added, theme.Removed},
			"held, refused":      {theme.Held, theme.Refused},
			"held, stale":        {theme.Held, theme.Stale},
			"warn, danger":       {theme.Warn, theme.Danger},
			"running, waiting":   {theme.Running, theme.Waiting},
			"text, selection":    {theme.Text, theme.Selection},
			"text, focus":        {theme.Text, theme.Focus},
			"text, control":      {theme.Text, theme.Control},
			"line, added word":   {theme.AddedLine, theme.AddedWord},
			"line, removed word": {theme.RemovedLine, theme.RemovedWord},
		}
		for what, pair := range pairs {
			if pair[0] == pair[1] {
				t.Errorf("%s: %s look the same: %+v", name, what, pair[0])
			}
		}
		if name != "mono" && theme.AddedLine.BG == theme.RemovedLine.BG {
			t.Errorf("%s: added and removed lines look the same", name)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	dark, err := files.ReadFile("dark.toml")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, from, to, want string }{
		{"a missing token", "held         =", "# held =", `"held" is missing`},
		{"an unknown token", "held         =", "heldd = \"plain\"\nheld =", `unknown token "heldd"`},
		{"an unknown table", "[syntax]", "[sintax]", "strict mode"},
		{"a colour that is none", `"#d7dae0"`, `"#d7dae"`, "no #rrggbb"},
		{"upper case", `"#d7dae0"`, `"#D7DAE0"`, "no #rrggbb"},
		{"two colours", `"#d7dae0"`, `"#d7dae0 #d7dae0"`, "too many"},
		{"an unknown attribute", `"#d7dae0"`, `"#d7dae0 blink"`, `unknown word "blink"`},
		{"nothing", `"#d7dae0"`, `""`, "plain"},
		{"on nothing", `"#d7dae0"`, `"#d7dae0 on"`, "wants a colour"},
		{"on an attribute", `"#d7dae0"`, `"on bold"`, "wants a colour"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.Replace(string(dark), tt.from, tt.to, 1)
			if src == string(dark) {
				t.Fatalf("%q is not in dark.toml", tt.from)
			}
			if _, err := parse([]byte(src)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestPickAndVariant(t *testing.T) {
	tests := []struct {
		dark, noColor bool
		want          string
	}{{true, false, "dark"}, {false, false, "light"}, {true, true, "mono"}, {false, true, "mono"}}
	for _, tt := range tests {
		if got := Pick(tt.dark, tt.noColor); got != tt.want {
			t.Errorf("Pick(%t, %t) = %q, want %q", tt.dark, tt.noColor, got, tt.want)
		}
		load(t, Pick(tt.dark, tt.noColor))
	}
	for _, name := range Names() {
		for _, dark := range []bool{true, false} {
			load(t, Variant(name, dark))
		}
	}
	if theme := load(t, Variant("colourblind", false)); theme.Dark {
		t.Error("the colour-blind safe theme for a light background is made for a dark one")
	}
}

// What can't be read on the terminal's background comes last, but it comes: the
// background may have been told wrong.
func TestOrderBeginsWithWhatCanBeRead(t *testing.T) {
	for dark, want := range map[bool]string{
		true:  "dark colourblind contrast mono colourblind-light contrast-light light",
		false: "light colourblind-light contrast-light mono colourblind contrast dark",
	} {
		if got := strings.Join(Order(dark), " "); got != want {
			t.Errorf("dark %t: got %s, want %s", dark, got, want)
		}
	}
}

// contrast is the ratio of WCAG 2: 1 is none, 21 is black on white.
func contrast(a, b Colour) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

func luminance(c Colour) float64 {
	r, g, b, _ := c.RGB()
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}
