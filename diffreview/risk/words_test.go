package risk

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// TestIndexAgreesWithPatterns: the index leaves out no rule and adds none.
func TestIndexAgreesWithPatterns(t *testing.T) {
	b := rules()
	var paths []string
	for _, r := range b.rules {
		for _, p := range slices.Concat(r.Paths, r.Plain) {
			sample := strings.NewReplacer("**", "a", "*", "a", "?", "a").Replace(strings.TrimPrefix(p, "/"))
			paths = append(paths, []string{sample, "x/" + sample, sample + ".go", sample + "/b"}[len(paths)%4])
		}
	}
	for _, p := range paths {
		s := &subject{lower: p, segs: strings.Split(p, "/")}
		s.base = s.segs[len(s.segs)-1]
		if s.base == "" {
			continue
		}
		var want, got []string
		for _, r := range b.rules {
			if r.covers(s) {
				want = append(want, r.Name)
			}
		}
		for _, r := range b.index.covering(s) {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", p, got, want)
		}
	}
	if len(paths) < 1500 {
		t.Errorf("got %d paths, want them for every pattern", len(paths))
	}
}

// TestEveryExpressionHasWords: one that is tried on each line of each file would
// make a large review slow.
func TestEveryExpressionHasWords(t *testing.T) {
	alternatives := 0
	for _, r := range rules().rules {
		if r.Line != "" {
			regexp.MustCompile(r.Line)
		}
		if r.line == nil {
			continue
		}
		for _, a := range r.line.alts {
			alternatives++
			if len(a.needs) == 0 {
				t.Errorf("%s: got no words for %v", r.Name, a.re())
			} else if common(a.needs[0]) {
				t.Errorf("%s: got words %q of every line for %v", r.Name, a.needs, a.re())
			}
		}
	}
	t.Logf("%d alternatives, %d states", alternatives, len(rules().words.owners))
}

// TestAlternativesSayTheSame: on the lines of all fixtures and sources here, what
// is cut up and filtered by words matches where the whole does.
func TestAlternativesSayTheSame(t *testing.T) {
	var lines []line
	for _, dir := range []string{"testdata/*.txtar", "testdata/traps/*.txtar", "*.go", "../*.go", "../../isolate/*/*.go"} {
		files, err := filepath.Glob(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(string(b)) {
				lines = append(lines, line{len(lines) + 1, []byte(strings.TrimSuffix(l, "\n"))})
			}
		}
	}
	few := lines[:0]
	for i := 0; i < len(lines); i += len(lines)/1200 + 1 { // the whole expressions are slow
		few = append(few, lines[i])
	}
	lines = few
	b := rules()
	m := b.words.marks()
	b.words.scan(lines, m)
	for _, r := range b.rules {
		if r.line == nil || r.Line == "" {
			continue
		}
		got := map[int32]bool{}
		for _, c := range r.line.candidates(m) {
			if !got[c.at] && c.alt.re().Match(clip(lines[c.at].text)) {
				got[c.at] = true
			}
		}
		whole := regexp.MustCompile(r.Line)
		n := 0
		for i, l := range lines {
			if len(l.text) > 400 {
				continue // the tables themselves
			}
			want := whole.Match(clip(l.text))
			if want {
				n++
			}
			if want != got[int32(i)] {
				t.Errorf("%s: got %v, want %v on %s", r.Name, got[int32(i)], want, l.text)
			}
		}
		t.Logf("%s: %d lines", r.Name, n)
	}
}

func TestNeededWords(t *testing.T) {
	for source, want := range map[string]string{
		`abc`:                      "abc",
		`(?i)AbC`:                  "abc",
		`\bkey\s*=`:                "key",
		`(foo|bar)x`:               "foox|barx",
		`(git|hg)\+https?:`:        "git+http:|git+https:|hg+http:|hg+https:",
		`a?bcd`:                    "bcd",
		`x*yz`:                     "yz",
		`(?:abc)+d`:                "abc",
		`[0-9a-f]{32}`:             "",
		`.*`:                       "",
		`(one|two\w+|three).*four`: "four&one|wo|hree",
		`(abc|)`:                   "",
		`\bsk-(ant-|proj-)?[A-Z]`:  "sk-",
	} {
		re, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range needed(re) {
			got = append(got, strings.Join(c, "|"))
		}
		slices.Sort(got)
		var wanted []string
		if want != "" {
			wanted = strings.Split(want, "&")
		}
		sorted := func(l []string) string {
			out := make([]string, len(l))
			for i, c := range l {
				w := strings.Split(c, "|")
				slices.Sort(w)
				out[i] = strings.Join(w, "|")
			}
			slices.Sort(out)
			return strings.Join(out, "&")
		}
		if sorted(got) != sorted(wanted) {
			t.Errorf("%s: got %v, want %q", source, got, want)
		}
	}
}

// BenchmarkTables is what the first review of a process pays.
func BenchmarkTables(b *testing.B) {
	for b.Loop() {
		makeBook()
	}
}

func TestOddLooksAtEveryByte(t *testing.T) {
	for at := range 20 {
		for c := range 256 {
			for _, rest := range []byte{'x', '\t', ' ', '~'} {
				b := bytes.Repeat([]byte{rest}, 20)
				b[at] = byte(c)
				if got, want := odd(b), c < ' ' && c != '\t' || c >= 0x7f; got != want {
					t.Fatalf("byte %#x at %d of %q: got %v, want %v", c, at, b, got, want)
				}
			}
		}
	}
}
