package syntax

import (
	"context"
	"embed"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
)

//go:embed lexers/*.xml
var files embed.FS

// The bounds of a lexer's work on one text.
const (
	// matchTime is for one expression at one place; chroma's own is 250 ms. The
	// clock behind it ticks ten times a second.
	matchTime = 50 * time.Millisecond
	// maxSilent is how many rules may apply before the next part of the text is
	// there. It ends a lexer that turns in a circle, or calls itself on the same
	// text until the stack is full, which no recover would survive.
	maxSilent = 500
)

// lexer is a language's expressions, and those of the languages within it. It is
// used by one text at a time, since the rules look at one ctx.
type lexer struct {
	sync.Mutex
	root   chroma.Lexer
	ctx    context.Context //nolint:containedctx // the rules are called by chroma, which hands none through
	silent int
	armed  map[*chroma.RegexLexer]bool // those whose expressions have matchTime
}

var loaded struct {
	sync.Mutex
	lexers map[string]*lexer
}

// load gives a language's lexer. Its expressions are compiled when first used.
func load(name string) (*lexer, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.lexers[name]; l != nil {
		return l, nil
	}
	l := &lexer{armed: map[*chroma.RegexLexer]bool{}}
	registry := chroma.NewLexerRegistry()
	for _, row := range languages {
		if row.lexer != name {
			continue
		}
		for used := range strings.FieldsSeq(row.uses) {
			x, err := l.read(used)
			if err != nil {
				return nil, err
			}
			registry.Register(x)
		}
	}
	root, err := l.read(name)
	if err != nil {
		return nil, err
	}
	l.root = registry.Register(root)
	if loaded.lexers == nil {
		loaded.lexers = map[string]*lexer{}
	}
	loaded.lexers[name] = l
	return l, nil
}

// read reads one lexer's file and puts a guard on each of its rules.
func (l *lexer) read(name string) (*chroma.RegexLexer, error) {
	src, err := files.ReadFile("lexers/" + name + ".xml")
	if err != nil {
		return nil, fmt.Errorf("no lexer %q", name)
	}
	var form struct {
		Config chroma.Config `xml:"config"`
		Rules  chroma.Rules  `xml:"rules"`
	}
	if err := xml.Unmarshal(src, &form); err != nil {
		return nil, fmt.Errorf("lexer %s: %w", name, err)
	}
	return l.guarded(&form.Config, form.Rules)
}

func (l *lexer) guarded(c *chroma.Config, rules chroma.Rules) (*chroma.RegexLexer, error) {
	for _, state := range rules {
		for i := range state {
			if _, compiles := state[i].Mutator.(chroma.LexerMutator); !compiles {
				state[i].Mutator = guard{l, state[i].Mutator}
			}
		}
	}
	return chroma.NewLexer(c, func() chroma.Rules { return rules })
}

// guard stands before what a rule does when it applies.
type guard struct {
	l    *lexer
	then chroma.Mutator
}

var errTurns = errors.New("no part of the text after many rules")

// Mutate is called by chroma, which turns an error into a panic.
func (g guard) Mutate(s *chroma.LexerState) error {
	if g.l.silent++; g.l.silent > maxSilent {
		return errTurns
	}
	if err := g.l.ctx.Err(); err != nil {
		return err
	}
	if !g.l.armed[s.Lexer] {
		g.l.armed[s.Lexer] = true
		for _, rules := range s.Rules {
			for _, r := range rules {
				r.Regexp.MatchTimeout = matchTime
			}
		}
	}
	if g.then == nil {
		return nil
	}
	return g.then.Mutate(s)
}

// next gives the next part of a text. The text's lexer is locked.
func (l *lexer) next(ctx context.Context, it chroma.Iterator) (part chroma.Token, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("lexer: %v", r)
		}
	}()
	l.ctx, l.silent = ctx, 0
	return it(), nil
}
