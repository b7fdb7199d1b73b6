package diffreview

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisibleMarksWhatATerminalWouldObeyOrHide(t *testing.T) {
	kinds := []string{"", "T", "S", "R", "C", "B", "I", "X"}
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"", ""},
		{"\tx", "T[→]x"},
		{"x  ", "xS[··]"},
		{"x \t ", "xS[·]T[→]S[·]"},
		{"a  b", "a  b"},
		{"hello\r", "helloR[␍]"},
		{"a\rb", "aR[␍]b"},
		{"\x1b[2J", "C[␛][2J"},
		{"a\x00\x7f\x08", "aC[␀]C[␡]C[␈]"},
		{"\u009b2J", "C[<U+009B>]2J"},
		{"a\u202eb\u2066", "aB[<U+202E>]bB[<U+2066>]"},
		{"a\u200bb\ufeff", "aI[<U+200B>]bI[<U+FEFF>]"},
		{"\u3164\u00a0\u2028", "I[<U+3164>]I[<U+00A0>]I[<U+2028>]"},
		{"\U000e0041", "I[<U+E0041>]"},
		{"\ue100", "I[<U+E100>]"},
		{"\xff\xc3(", "X[<FF>]X[<C3>]("},
		{"größe 漢字 👍", "größe 漢字 👍"},
		{"e\u0301", "e\u0301"},
		{"e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + "I[<U+0301>]I[<U+0301>]"},
		{"\u0301", "I[<U+0301>]"},
		{"\ufffd", "\ufffd"},
		{"adm\ufe0fin1\ufe0f", "admI[<U+FE0F>]in1I[<U+FE0F>]"},
		{"é\ufe0e", "éI[<U+FE0E>]"},
		{"1\ufe0f\u20e3 \u2764\ufe0f\ufe0f", "1\ufe0f\u20e3 \u2764\ufe0fI[<U+FE0F>]"},
		{"a\nb", "aC[␊]b"},
	} {
		got := ""
		for _, s := range Visible([]byte(c.in)) {
			if s.Kind == Plain {
				got += s.Text
			} else {
				got += kinds[s.Kind] + "[" + s.Text + "]"
			}
		}
		if got != c.want {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestSafeName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"src/main.go", "src/main.go"},
		{"with space/größe.md", "with space/größe.md"},
		{" lead", `" lead"`},
		{"trail ", `"trail "`},
		{"", `""`},
		{"a\nmain.go", `"a\nmain.go"`},
		{"q\"uote", `"q\"uote"`},
		{"back\\slash", `"back\\slash"`},
		{"\x1b[2J", `"\x1b[2J"`},
		{"\xff.md", `"\xff.md"`},
		{"main\u200b.go", `"main\u200b.go"`},
		{"x\u202egnp.exe", `"x\u202egnp.exe"`},
		{"c1\u009b", `"c1\u009b"`},
		{"tag\U000e0041", `"tag\U000e0041"`},
	} {
		if got := SafeName(c.in); got != c.want {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
	}
}

// printable says whether a terminal draws s and does nothing else.
func printable(s string) bool {
	for _, r := range s {
		if r != ' ' && !unicode.IsPrint(r) || IsBidi(r) || IsInvisible(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func FuzzVisible(f *testing.F) {
	f.Add([]byte("a\x1b\u202e\xff \t\r"))
	f.Add([]byte("e\u0301\u0301\u0301\u0301\u0301\u0301 "))
	f.Fuzz(func(t *testing.T, in []byte) {
		var raw []byte
		for _, s := range Visible(in) {
			raw = append(raw, s.Raw...)
			if !printable(s.Text) || s.Text == "" {
				t.Errorf("got %q for %q, want printable text", s.Text, s.Raw)
			}
			if s.Kind == Plain && s.Text != string(s.Raw) {
				t.Errorf("got %q for plain %q, want the same", s.Text, s.Raw)
			}
		}
		if !bytes.Equal(raw, in) {
			t.Errorf("got spans over %q, want %q", raw, in)
		}
		if name := SafeName(string(in)); !printable(name) {
			t.Errorf("got name %q, want printable text", name)
		}
	})
}

func TestSafeNamesOfDifferentPathsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, p := range []string{"a", `"a"`, `a\n`, "a\n", `"a\n"`, "a\xff", `a\xff`, "a\u200b", `a\u200b`, "\ufffd", "\xff", "\xef"} {
		n := SafeName(p)
		if old, ok := seen[n]; ok {
			t.Errorf("got %s for both %q and %q", n, old, p)
		}
		seen[n] = p
	}
}

// TestVisibleIsLinear: a line of some megabytes, as generated files have, in
// scripts that are no ASCII.
func TestVisibleIsLinear(t *testing.T) {
	for _, in := range []string{strings.Repeat("漢", 1<<20), strings.Repeat("a é", 1<<20), strings.Repeat(" ", 1<<21)} {
		spans := Visible([]byte(in))
		if len(spans) != 1 || len(spans[0].Raw) != len(in) {
			t.Errorf("got %d spans, want one of %d bytes", len(spans), len(in))
		}
	}
}
