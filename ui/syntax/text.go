package syntax

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
)

// The bounds of a text.
const (
	// MaxText is the size from which a text has no parts.
	MaxText = 512 << 10
	// maxLine is the length from which a line has none.
	maxLine = 1000
	// maxEmpty is how many parts without text may follow one another.
	maxEmpty = 100
)

// Part is a part of a line, from the end of the one before it.
type Part struct {
	End  uint16 // bytes into the line
	Kind Kind
}

// Text is a text of which more and more is known. It is used by one goroutine
// at a time; what Lines gave stays as it is.
type Text struct {
	lex   *lexer
	src   string // as lexers get it; each byte stands where it stood in the text
	it    chroma.Iterator
	at    int    // in src
	line  []Part // what is known of the line that at is in
	begin int    // where that line begins
	lines [][]Part
	done  bool
}

// New prepares a text of a language. Nothing is looked at yet.
func New(language string, text []byte) *Text {
	t := &Text{}
	lex, err := load(language)
	if err != nil || len(text) > MaxText {
		t.done = true
		return t
	}
	t.lex = lex
	t.clean(text)
	return t
}

// clean makes of a text what lexers can be given: valid UTF-8 without control
// characters, in which long lines are empty.
func (t *Text) clean(text []byte) {
	var b strings.Builder
	b.Grow(len(text))
	for no := 0; len(text) > 0; no++ {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line = text[:i]
		}
		text = text[min(len(text), len(line)+1):]
		if len(line) > maxLine {
			line = nil
		}
		for i := 0; i < len(line); {
			r, n := utf8.DecodeRune(line[i:])
			switch {
			case r == utf8.RuneError && n <= 1, r < ' ' && r != '\t', r == 0x7f:
				b.WriteByte(' ')
			default:
				b.Write(line[i : i+n])
			}
			i += n
		}
		b.WriteByte('\n')
	}
	t.src = b.String()
}

// Done says that no more will be known.
func (t *Text) Done() bool { return t.done }

// Size is what the text takes while it is not done, in bytes.
func (t *Text) Size() int { return len(t.src) }

// Lines gives the parts of the lines that are known, from the first. The parts
// of a line end where it ends; a line that is not known has none.
func (t *Text) Lines() [][]Part { return t.lines }

// Upto works until the first n lines are known, ctx ends or a bound is hit. A
// text that ctx has ended within an expression is done for.
func (t *Text) Upto(ctx context.Context, n int) {
	if t.done || len(t.lines) >= n {
		return
	}
	t.lex.Lock()
	defer t.lex.Unlock()
	if t.it == nil {
		it, err := t.lex.root.Tokenise(&chroma.TokeniseOptions{State: "root"}, t.src)
		if err != nil {
			t.end()
			return
		}
		t.it = it
	}
	for empty := 0; len(t.lines) < n; {
		if ctx.Err() != nil {
			return
		}
		part, err := t.lex.next(ctx, t.it)
		if err != nil || part.Type == chroma.EOFType || empty > maxEmpty || !strings.HasPrefix(t.src[t.at:], part.Value) {
			t.end()
			return
		}
		if empty++; part.Value != "" {
			empty = 0
			t.take(part)
		}
	}
}

// end leaves what is known and lets go of the rest.
func (t *Text) end() { t.done, t.it, t.src, t.line = true, nil, "", nil }

// take adds a part, which may go on over lines.
func (t *Text) take(part chroma.Token) {
	kind := kindOf(part.Type)
	for rest := part.Value; rest != ""; {
		i := strings.IndexByte(rest, '\n')
		n := i
		if i < 0 {
			n = len(rest)
		}
		if n > 0 {
			t.at += n
			t.add(kind)
		}
		if i < 0 {
			return
		}
		t.lines = append(t.lines, t.line)
		t.line, t.at = nil, t.at+1
		t.begin = t.at
		rest = rest[n+1:]
	}
}

// add ends a part of the line at t.at.
func (t *Text) add(kind Kind) {
	end := uint16(t.at - t.begin)
	if n := len(t.line); n > 0 && t.line[n-1].Kind == kind {
		t.line[n-1].End = end
		return
	}
	t.line = append(t.line, Part{End: end, Kind: kind})
}
