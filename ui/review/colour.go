package review

import (
	"context"
	"math"
	"sort"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/ui/style"
	"fumehood/ui/syntax"
)

// The bounds of what is spent on colours.
const (
	colourPass   = 200 * time.Millisecond // one look at a text, beside the program's loop
	colourPasses = 10                     // looks at one text; what they don't reach is plain
	colourAhead  = 100                    // lines below the screen
	colourTexts  = 24                     // texts that are kept,
	colourBytes  = 2 << 20                // and their size
)

// colours are the parts of the texts that were on the screen. One text is
// worked on at a time, and no further than the screen shows.
type colours struct {
	texts []*coloured // the one used last stands last
	now   *coloured   // worked on
	stop  context.CancelFunc
}

type coloured struct {
	blob     diffreview.Blob
	language string
	size     int64
	text     *syntax.Text // nil before the first look and while there is one
	lines    [][]syntax.Part
	passes   int
	done     bool
}

func (c *colours) find(b diffreview.Blob, language string) *coloured {
	for i, t := range c.texts {
		if t.blob == b && t.language == language {
			copy(c.texts[i:], c.texts[i+1:])
			c.texts[len(c.texts)-1] = t
			return t
		}
	}
	return nil
}

// add notes a text and forgets those that were not used for long.
func (c *colours) add(e diffreview.Entry, language string) *coloured {
	t := &coloured{blob: e.Blob, language: language, size: e.Size}
	c.texts = append(c.texts, t)
	sum := int64(0)
	for i := len(c.texts) - 1; i >= 0; i-- {
		if sum += c.texts[i].size; i < len(c.texts)-1 && (sum > colourBytes || len(c.texts)-i > colourTexts) {
			c.texts = append([]*coloured(nil), c.texts[i+1:]...)
			break
		}
	}
	return t
}

func (c *colours) forget(t *coloured) {
	for i := range c.texts {
		if c.texts[i] == t {
			c.texts = append(c.texts[:i], c.texts[i+1:]...)
			return
		}
	}
}

// language is that of one side of a file, "" where it has no colours.
func language(e diffreview.Entry, path string) string {
	if e.Kind != diffreview.KindFile || e.Blob == "" || e.Size > syntax.MaxText {
		return ""
	}
	return syntax.Language(path)
}

func oldPath(f *diffreview.File) string {
	if f.OldPath != "" {
		return f.OldPath
	}
	return f.Path
}

// colour looks at the texts on the screen, as far as it is not known what they
// consist of. It is asked after every message; a look at a text that is no longer
// on the screen ends early.
func (m *Model) colour() tea.Cmd {
	f := m.fileNow()
	if !m.active || f == nil || len(f.Hunks) == 0 || !m.ctx.Styles.HasSyntax || m.inListOnly() || m.inList && m.row().kind != entryFile {
		return nil
	}
	old, now := m.shownLines(f)
	for _, side := range [2]struct {
		e    diffreview.Entry
		path string
		need int
	}{{f.New, f.Path, now}, {f.Old, oldPath(f), old}} {
		lang := language(side.e, side.path)
		if lang == "" || side.need == 0 {
			continue
		}
		c := m.colours.find(side.e.Blob, lang)
		if c != nil && (c.done || len(c.lines) >= side.need) {
			continue
		}
		if m.colours.now != nil {
			if m.colours.now != c {
				m.colours.stop()
			}
			return nil // its answer leads here again
		}
		if c == nil {
			c = m.colours.add(side.e, lang)
		}
		return m.lookAt(c, side.need+colourAhead)
	}
	return nil
}

// lookAt works on a text until n of its lines are known.
func (m *Model) lookAt(c *coloured, n int) tea.Cmd {
	base, stop := context.WithCancel(m.ctx.Base)
	text, b, id := c.text, m.backend, m.id
	c.text, m.colours.now, m.colours.stop = nil, c, stop
	c.passes++
	return m.askNow(func(context.Context) func() tea.Cmd {
		defer stop()
		if text == nil {
			raw, err := b.Text(base, id, c.blob)
			if err != nil {
				// Whoever needs the text itself says why it can't be read.
				gone := base.Err() != nil
				return func() tea.Cmd { return m.coloured(c, nil, gone) }
			}
			text = syntax.New(c.language, raw)
		}
		ctx, end := context.WithTimeout(base, colourPass)
		text.Upto(ctx, n)
		end()
		gone := base.Err() != nil
		return func() tea.Cmd { return m.coloured(c, text, gone) }
	})
}

// coloured takes what a look at a text found; gone is one that was ended since the
// text was no longer shown.
func (m *Model) coloured(c *coloured, text *syntax.Text, gone bool) tea.Cmd {
	m.colours.now, m.colours.stop = nil, nil
	switch {
	case gone && (text == nil || text.Done()):
		m.colours.forget(c) // it may have been ended in the middle of an expression
	case text == nil:
		c.done = true
	default:
		c.text, c.lines = text, text.Lines()
		if c.done = text.Done() || c.passes >= colourPasses; c.done {
			c.text = nil
		}
	}
	return nil
}

// shownLines gives the last old and new line on the screen, by their numbers.
func (m *Model) shownLines(f *diffreview.File) (old, now int) {
	fr := m.laid()
	from, to := m.cur.Window(len(fr.rows), m.h-headLines-1)
	line := func(h, l int32) {
		if l >= 0 {
			x := &f.Hunks[h].Lines[l]
			if x.Op == '-' {
				old = max(old, x.Old)
			} else {
				now = max(now, x.New)
			}
		}
	}
	for _, r := range fr.rows[from:to] {
		switch r.kind {
		case rowLine:
			line(r.hunk, r.line)
		case rowPair:
			line(r.hunk, r.line)
			line(r.hunk, r.pair)
		case rowSame:
			old = max(old, int(r.line)+1)
		case rowInfo, rowUnit, rowFinding, rowCut, rowGap, rowComment, rowWritten:
		}
	}
	return old, now
}

// colourLines gives the painter what is known of a file's two texts.
func (m *Model) colourLines(p *painter, f *diffreview.File) {
	if !p.st.HasSyntax {
		return
	}
	if c := m.colours.find(f.New.Blob, language(f.New, f.Path)); c != nil {
		p.now = c.lines
	}
	if c := m.colours.find(f.Old.Blob, language(f.Old, oldPath(f))); c != nil {
		p.old = c.lines
	}
}

// parts are those of a line, none when they are not known, or when they are not
// those of its bytes. Where the line endings changed a line may be without its CR.
func (p *painter) parts(l *diffreview.Line) []syntax.Part {
	lines, no := p.now, l.New
	if l.Op == '-' || no == 0 {
		lines, no = p.old, l.Old
	}
	if no < 1 || no > len(lines) {
		return nil
	}
	ps := lines[no-1]
	if n := len(ps); n > 0 {
		if end := int(ps[n-1].End); end == len(l.Text) || end == len(l.Text)+1 {
			return ps
		}
	}
	return nil
}

// partAt gives the style of what stands at a byte of a line, and where that ends.
func (p *painter) partAt(parts []syntax.Part, at int, base style.Style) (style.Style, int) {
	i := sort.Search(len(parts), func(i int) bool { return at < int(parts[i].End) })
	if i == len(parts) {
		return base, math.MaxInt
	}
	return base.On(p.st.Syntax[parts[i].Kind]), int(parts[i].End)
}

// whole moves a cut behind what it would take apart: a character of several code
// points is as wide as it is only when it is written in one go.
func whole(text string, from, cut int) int {
	if cut >= len(text) {
		return len(text)
	}
	if text[cut] < utf8.RuneSelf && text[cut-1] < utf8.RuneSelf {
		return cut
	}
	for at := from; ; {
		g, _ := ansi.FirstGraphemeCluster(text[at:], ansi.GraphemeWidth)
		if at += max(1, len(g)); at >= cut {
			return at
		}
	}
}
