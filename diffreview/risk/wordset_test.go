package risk

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestAWordSetFindsWhatIsThere: at every place of a text, and nothing that only
// begins or ends like one of its words.
func TestAWordSetFindsWhatIsThere(t *testing.T) {
	for _, words := range [][]string{fetchWords, programWords, runWords, {"sum", "verif", "--", "-V"}, {"ab", "abab", "ba"}} {
		w := newWordSet(words)
		texts := []string{"", "-", "aab", "su", "um", "versum", "-\x00V", "ſum", strings.Repeat("-x", 50)}
		for _, s := range words {
			texts = append(texts, s, s[1:], s[:len(s)-1], "x"+s, "."+s[:1]+s+"x", strings.Repeat(" ", 40)+s, s[:1]+s[:1]+s[1:], strings.ToUpper(s))
		}
		for _, text := range texts {
			want := slices.ContainsFunc(words, func(s string) bool { return bytes.Contains([]byte(text), []byte(s)) })
			if got := w.in([]byte(text)); got != want {
				t.Errorf("%q in %q: got %v, want %v", words, text, got, want)
			}
		}
	}
}

// TestShortWordsAreLookedForLast: they stand in most lines of some language, and
// the one pass over a text would stop at each. The line must hold them all the
// same.
func TestShortWordsAreLookedForLast(t *testing.T) {
	x := newExpression(`secret.*=>.*\bOn`, nil)
	if got := x.alts[0]; len(got.needs) != 3 || got.strong() != 1 {
		t.Fatalf("got %q, %d of them strong, want three clauses and one", got.needs, got.strong())
	}
	words := newLexicon([]*expression{x})
	var lines []line
	want := []string{"secret => on", "ON => SECRET", "secret=>=>=>ON"}
	for _, text := range slices.Concat(want, []string{"secret => o n", "secret = > on", "=> on", "secret", "secre => on", "=", ""}) {
		lines = append(lines, line{len(lines) + 1, []byte(text)})
	}
	m := words.marks()
	words.scan(lines, m)
	var got []string
	for _, c := range x.candidates(m) {
		got = append(got, string(lines[c.at].text))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if words.class['>'] != 0 {
		t.Error("got a word of one letter in the lexicon, want it left for later")
	}
	short := newExpression(`\bnc\b.*\s-`, nil).alts[0]
	if short.strong() != len(short.needs) {
		t.Errorf("got %q without a long word, want all in the lexicon", short.needs)
	}
}
