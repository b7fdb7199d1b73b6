package review

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
	"fumehood/ui/style"
	"fumehood/ui/syntax"
)

// plain draws printable text: in the colours of its parts, but for the words in it
// that changed, which have their own.
func (p *painter) plain(c *canvas, s diffreview.Span, at int, parts []syntax.Part, changed []linediff.Range, base, word style.Style) {
	text := s.Text
	for pos := 0; pos < len(text) && !c.over; {
		for len(changed) > 0 && changed[0].End <= at+pos {
			changed = changed[1:]
		}
		st, end := p.partAt(parts, at+pos, base)
		if len(changed) > 0 && changed[0].Start <= at+pos {
			st, end = base.On(word), changed[0].End
		} else if len(changed) > 0 {
			end = min(end, changed[0].Start)
		}
		cut := whole(text, pos, end-at)
		c.put(text[pos:cut], st)
		pos = cut
	}
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
