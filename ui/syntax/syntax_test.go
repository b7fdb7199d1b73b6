package syntax

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// parts is what is known of a text, a line a row: "func:Keyword".
func parts(src string, lines [][]Part) []string {
	names := [Kinds]string{"", "Keyword", "String", "Comment", "Number", "Type", "Function", "Builtin", "Operator", "Punctuation", "Preproc"}
	var out []string
	for i, text := range strings.Split(src, "\n") {
		if i >= len(lines) {
			break
		}
		from, row := 0, ""
		for _, p := range lines[i] {
			if p.Kind != None {
				row += " " + text[from:p.End] + ":" + names[p.Kind]
			}
			from = int(p.End)
		}
		out = append(out, strings.TrimSpace(row))
	}
	return out
}

func all(language, src string) *Text {
	t := New(language, []byte(src))
	t.Upto(context.Background(), math.MaxInt)
	return t
}

func TestPartsOfLanguages(t *testing.T) {
	tests := []struct{ file, src, want string }{
		{"a/main.go", "package p // x\nfunc (f *T) Read(n int) { return `a\nb`[0x1F] }\n", `package:Keyword // x:Comment
func:Keyword (:Punctuation *:Operator ):Punctuation Read:Function (:Punctuation int:Type ):Punctuation {:Punctuation return:Keyword ` + "`a:String\nb`:String [:Punctuation 0x1F:Number ]:Punctuation }:Punctuation"},
		{"go.go", "/* a\nreturn */ if x\n", "/* a:Comment\nreturn */:Comment if:Keyword"},
		{"x.py", "def f():\n    \"\"\"for\n    x\"\"\"\n    return 1\n", "def:Keyword f:Function ()::Punctuation\n\"\"\"for:String\nx\"\"\":String\nreturn:Keyword 1:Number"},
		{"README.md", "# Head\ntext `code`\n- item\n```go\nfunc\n```\nmore\n", "# Head:Keyword\n`code`:String\n-:Keyword\n```go:String\nfunc:String\n```:String\n"},
		{"a.diff", "+added\n-removed\n", "\n"},
	}
	for _, tt := range tests {
		got := strings.Split(strings.Join(parts(tt.src, all(Language(tt.file), tt.src).Lines()), "\n"), "\n")
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if g := strings.Join(got[:min(len(got), strings.Count(tt.src, "\n"))], "\n"); g != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.file, g, tt.want)
		}
	}
}

// Every lexer has a row and compiles, and what it says of a text of all that is
// printable covers each line to its end, or nothing of it.
func TestEveryLexerCoversWhatItIsGiven(t *testing.T) {
	found, err := filepath.Glob("lexers/*.xml")
	if err != nil || len(found) != len(languages) {
		t.Fatalf("got %d lexers and %v, want %d", len(found), err, len(languages))
	}
	src := "if (a == 'b') { return \"c\" + 1.5; } // d\n# e\n<a href=\"x\">é世</a>\r\n\tkey: value = [1, 2]\n\xff\x00\x1b[0m bad\n\n/* never\nclosed"
	for _, l := range languages {
		text := all(l.lexer, src)
		if !text.Done() && len(text.Lines()) == 0 {
			t.Errorf("%s: got nothing", l.lexer)
		}
		if len(text.Lines()) < 3 {
			t.Errorf("%s: got %d lines known, want more", l.lexer, len(text.Lines()))
		}
		for i, line := range strings.Split(src, "\n") {
			if i < len(text.Lines()) && len(text.Lines()[i]) > 0 {
				ps := text.Lines()[i]
				if got := int(ps[len(ps)-1].End); got != len(line) {
					t.Errorf("%s: line %d: got parts up to byte %d, want %d", l.lexer, i+1, got, len(line))
				}
			}
		}
	}
}

func TestLanguageByName(t *testing.T) {
	tests := map[string]string{
		"a/b.GO": "go", "Dockerfile": "docker", "x/Makefile": "makefile", ".bashrc": "bash", "a.tsx": "typescript", "Cargo.lock": "toml",
		"noext": "", "a.unknown": "", ".go": "go", "": "", "a .go": "", "dir.go/x": "", strings.Repeat("a", 300) + ".go": "",
	}
	for file, want := range tests {
		if got := Language(file); got != want {
			t.Errorf("%q: got %q, want %q", file, got, want)
		}
	}
}

// Long lines and large texts have no parts; what follows a long line has.
func TestWhatIsTooLargeIsPlain(t *testing.T) {
	lines := all("go", "x := 1\nvar a = \""+strings.Repeat("y", maxLine)+"\"\nfunc f()\n").Lines()
	if len(lines) != 3 || len(lines[0]) == 0 || len(lines[1]) != 0 || len(lines[2]) == 0 {
		t.Errorf("got %v, want parts of the first and third line", lines)
	}
	if text := all("go", strings.Repeat("var x int\n", MaxText/10+1)); len(text.Lines()) != 0 || !text.Done() {
		t.Errorf("got %d lines of a large text, want none", len(text.Lines()))
	}
	if text := all("no such", "x\n"); !text.Done() {
		t.Error("got a text of an unknown language that goes on")
	}
}

// What was given out stays as it is while more becomes known.
func TestTextsGoOnWhereTheyStopped(t *testing.T) {
	src := strings.Repeat("func f() { /* a\nb */ return 1 }\n", 100)
	text := New("go", []byte(src))
	text.Upto(context.Background(), 11)
	first := text.Lines()
	if len(first) < 11 || len(first) > 20 {
		t.Fatalf("got %d lines known, want little more than 11", len(first))
	}
	was := fmt.Sprint(first)
	text.Upto(context.Background(), math.MaxInt)
	if fmt.Sprint(first) != was || fmt.Sprint(text.Lines()) != fmt.Sprint(all("go", src).Lines()) {
		t.Error("got other parts than those of the text in one go")
	}
	ended, end := context.WithCancel(context.Background())
	end()
	text = New("go", []byte(src))
	if text.Upto(ended, 10); len(text.Lines()) != 0 {
		t.Errorf("got %d lines after the context ended, want none", len(text.Lines()))
	}
}

// A lexer that turns in a circle ends, and so does one that calls itself with
// the same text: a stack that is full can't be recovered from.
func TestLexersThatNeverEndAreEnded(t *testing.T) {
	for name, rules := range map[string]chroma.Rules{
		"between two states": {
			"root":  {{Pattern: ``, Mutator: chroma.Push("other")}},
			"other": {{Pattern: ``, Mutator: chroma.Pop(1)}},
		},
		"without a state": {"root": {{Pattern: ``}}},
		"empty parts":     {"root": {{Pattern: ``, Type: chroma.Keyword}}},
		"into itself":     {"root": {{Pattern: `(.+)`, Type: chroma.ByGroups(chroma.UsingSelf("root"))}}},
		"below the stack": {"root": {{Pattern: `x`, Type: chroma.Keyword, Mutator: chroma.Pop(3)}}},
		"no such state":   {"root": {{Pattern: `x`, Mutator: chroma.Push("missing")}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lexer{armed: map[*chroma.RegexLexer]bool{}}
			root, err := l.guarded(&chroma.Config{Name: "x"}, rules)
			if err != nil {
				t.Fatal(err)
			}
			l.root = root
			text := &Text{lex: l, src: "xyz\n"}
			text.Upto(context.Background(), 10)
			if !text.Done() {
				t.Error("got a text that goes on, want its end")
			}
		})
	}
}

// Texts that are made to send expressions back and forth: the caller's time is
// kept, but for one place's expressions.
func TestHostileTextsKeepToTheirTime(t *testing.T) {
	hostile := map[string]string{
		"open comments": "/*", "open tags": "<a ", "open braces": "{{(", "quotes": `"\`, "spaces": " \t", "letters": "a", "numbers": "1e1", "here": "<<A\n",
		"triples": `"""'''`, "stars": "*_", "mixed": "${`\\'\"#{", "lines": "a\\\n",
	}
	per := 20 * time.Millisecond
	for _, l := range languages {
		for name, piece := range hostile {
			var src strings.Builder
			for src.Len() < 64<<10 {
				src.WriteString(strings.Repeat(piece, 900/len(piece)) + "\n")
			}
			text := New(l.lexer, []byte(src.String()))
			ctx, end := context.WithTimeout(context.Background(), per)
			begin := time.Now()
			text.Upto(ctx, math.MaxInt)
			end()
			if d := time.Since(begin); d > per+3*time.Second {
				t.Errorf("%s, %s: got %v, want %v and a little more", l.lexer, name, d, per)
			}
		}
	}
}

func FuzzParts(f *testing.F) {
	f.Add(uint8(14), []byte("func f() {}\n"))
	f.Fuzz(func(t *testing.T, n uint8, src []byte) {
		text := New(languages[int(n)%len(languages)].lexer, src)
		ctx, end := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer end()
		begin := time.Now()
		text.Upto(ctx, math.MaxInt)
		if d := time.Since(begin); d > 3*time.Second {
			t.Fatalf("got %v, want 100 ms and a little more", d)
		}
		lines := strings.Split(string(src), "\n")
		for i, ps := range text.Lines() {
			from := uint16(0)
			for _, p := range ps {
				if p.End <= from || p.Kind >= Kinds {
					t.Fatalf("line %d: got part %v after %d", i+1, p, from)
				}
				from = p.End
			}
			if len(ps) > 0 && (i >= len(lines) || int(from) != len(lines[i])) {
				t.Fatalf("line %d: got parts up to %d, want the line's end", i+1, from)
			}
		}
	})
}

func BenchmarkFirstScreen(b *testing.B) {
	src, err := os.ReadFile("syntax_test.go")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		New("go", src).Upto(context.Background(), 60)
	}
}

func BenchmarkWholeFile(b *testing.B) {
	src, err := os.ReadFile("syntax_test.go")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		New("go", src).Upto(context.Background(), math.MaxInt)
	}
}
