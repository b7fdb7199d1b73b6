package review

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
	"fumehood/ui/style"
)

// maxPainted bounds how much of one line is looked at, in bytes. Beyond it the
// line is cut, with a mark; no screen is that wide.
const maxPainted = 16 << 10

// maxWordLine is the longest line, in bytes, that is compared word by word.
const maxWordLine = 2000

// painter draws the rows of one file. Every byte of a line passes
// diffreview.Visible: nothing that a file contains acts on the terminal.
type painter struct {
	st           *style.Styles
	f            *diffreview.File
	fr           *fileRows
	w, left      int
	words, white bool
}

// line draws a line of a hunk: numbers, sign, text. The sign says added or
// removed without any colour.
func (p *painter) line(r row, sel, risky bool) string {
	h := &p.f.Hunks[r.hunk]
	l := &h.Lines[r.line]
	d := p.fr.digits
	num := func(n int) string {
		if n == 0 {
			return strings.Repeat(" ", d)
		}
		return fmt.Sprintf("%*d", d, n)
	}
	lead, sign := " ", " "
	base, word, tone := p.st.Text, style.Style{}, p.st.Muted
	switch l.Op {
	case '+':
		sign, base, word, tone = "+", p.st.AddedLine, p.st.AddedWord, p.st.Added
	case '-':
		sign, base, word, tone = "−", p.st.RemovedLine, p.st.RemovedWord, p.st.Removed
	}
	if sel {
		lead = "▸"
	}
	if risky {
		sign = "!" + sign
	} else {
		sign = " " + sign
	}
	gutter := lead + num(l.Old) + " " + num(l.New) + " "
	if sel {
		gutter = p.st.Selection.Render(gutter)
	} else {
		gutter = p.st.Muted.Render(gutter)
	}
	if risky {
		tone = p.st.Danger
	}
	room := p.w - (2*d + 3) - 3
	if room < 1 {
		return kit.Cut(gutter, p.w)
	}
	return gutter + tone.Render(sign) + base.Render(" ") + p.text(l, r, h, base, word, room)
}

// text draws the bytes of a line in exactly w cells.
func (p *painter) text(l *diffreview.Line, r row, h *diffreview.Hunk, base, word style.Style, w int) string {
	raw := l.Text
	cut := false
	if len(raw) > maxPainted {
		raw, cut = raw[:maxPainted], true
	}
	var changed []linediff.Range
	if p.words && r.pair >= 0 && len(l.Text) <= maxWordLine && len(h.Lines[r.pair].Text) <= maxWordLine {
		other := h.Lines[r.pair].Text
		if l.Op == '-' {
			changed, _ = linediff.Words(l.Text, other)
		} else {
			_, changed = linediff.Words(other, l.Text)
		}
	}
	c := canvas{w: w, skip: p.left}
	if p.left > 0 {
		// The first cell says that there is something to the left of it.
		c.b.WriteString(p.st.Control.Render("‹"))
		c.w--
	}
	at := 0
	marks := p.white || l.Op != ' '
	for _, s := range diffreview.Visible(raw) {
		st := base
		switch s.Kind {
		case diffreview.Plain:
			p.plain(&c, s, at, changed, base, word)
			at += len(s.Raw)
			continue
		case diffreview.Tab:
			n := 4 - (c.x % 4)
			text := strings.Repeat(" ", n)
			if p.white {
				text, st = "→"+text[1:], p.st.Muted.On(base)
			}
			if in(changed, at) {
				st = base.On(word)
			}
			c.put(text, st)
		case diffreview.Trailing:
			text := s.Text
			if !marks {
				text = strings.Repeat(" ", len(s.Raw))
			} else {
				st = base.On(p.st.Control)
			}
			c.put(text, st)
		case diffreview.CR:
			if marks {
				c.put(s.Text, base.On(p.st.Control))
			}
		case diffreview.Control, diffreview.Bidi, diffreview.Invisible, diffreview.Invalid:
			c.put(s.Text, base.On(p.st.Control))
		}
		at += len(s.Raw)
	}
	if l.NoEOL {
		c.put("  (no newline at the end)", base.On(p.st.Muted))
	}
	c.over = c.over || cut
	return c.done(base, p.st.Control)
}

// plain draws printable text, with the words in it that changed.
func (p *painter) plain(c *canvas, s diffreview.Span, at int, changed []linediff.Range, base, word style.Style) {
	text := s.Text
	end := at + len(text)
	pos := at
	for _, r := range changed {
		from, to := max(r.Start, pos), min(r.End, end)
		if from >= to {
			continue
		}
		c.put(text[pos-at:from-at], base)
		c.put(text[from-at:to-at], base.On(word))
		pos = to
	}
	c.put(text[pos-at:], base)
}

func in(rs []linediff.Range, at int) bool {
	for _, r := range rs {
		if at >= r.Start && at < r.End {
			return true
		}
	}
	return false
}

// canvas is one line of w cells, beginning skip cells into what is put. Its
// last cell is held back, since it may have to say that there is more.
type canvas struct {
	b     strings.Builder
	w     int
	skip  int
	x     int // cells put so far, skipped ones included
	drawn int
	last  string // what the last cell has, unless there is more
	lastW int
	over  bool
}

func (c *canvas) put(s string, st style.Style) {
	if s == "" {
		return
	}
	if c.over {
		c.x += len(s)
		return
	}
	width := kit.Width(s)
	if c.x >= c.skip && c.lastW == 0 && c.drawn+width < c.w {
		c.b.WriteString(st.Render(s))
		c.x += width
		c.drawn += width
		return
	}
	var part strings.Builder
	for len(s) > 0 {
		g, n := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(g):]
		from := c.x
		c.x += n
		if from < c.skip {
			// Not on the screen; of a wide character that straddles the edge, what
			// would be seen of it is left blank.
			if n = c.x - c.skip; n <= 0 {
				continue
			}
			g = strings.Repeat(" ", n)
		}
		switch {
		case n > 0 && (c.lastW > 0 || c.drawn+n > c.w):
			c.over = true
			c.b.WriteString(st.Render(part.String()))
			return
		case c.lastW > 0 || n > 0 && c.drawn+n == c.w:
			c.last += st.Render(g)
			c.lastW += n
		default:
			part.WriteString(g)
			c.drawn += n
		}
	}
	c.b.WriteString(st.Render(part.String()))
}

// done fills the line up and marks what is beyond its ends.
func (c *canvas) done(base, mark style.Style) string {
	if c.over {
		c.b.WriteString(mark.Render(strings.Repeat(" ", max(0, c.w-1-c.drawn)) + "›"))
		return c.b.String()
	}
	c.b.WriteString(c.last)
	c.b.WriteString(base.Render(strings.Repeat(" ", max(0, c.w-c.drawn-c.lastW))))
	return c.b.String()
}

// finding is what would happen on this machine, in one sentence.
func (p *painter) finding(r row, sel bool) string {
	if sel {
		return p.st.Selection.Render(kit.Fit("▸   "+r.text, p.w))
	}
	text := kit.Fit("    "+r.text, p.w)
	switch p.f.Findings[r.finding].Severity {
	case diffreview.Danger:
		return p.st.Refused.Render(text)
	case diffreview.Warn:
		return p.st.Warn.Render(text)
	case diffreview.Note:
	}
	return p.st.Muted.Render(text)
}

func (p *painter) info(s string, sel bool) string {
	if sel {
		return p.st.Selection.Render(kit.Fit("▸  "+s, p.w))
	}
	return p.st.Strong.Render(kit.Cut("   "+s, p.w))
}
