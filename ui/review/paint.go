package review

import (
	"fmt"
	"strings"

	"fumehood/diffreview"
	"fumehood/diffreview/linediff"
	"fumehood/ui/kit"
	"fumehood/ui/style"
	"fumehood/ui/syntax"
)

// perCell bounds how many bytes of a long line are looked at for each cell of its
// place. Beyond it the line is cut, with a mark.
const perCell = 16

// What stands before a row.
const (
	noLead     = " "
	cursorLead = "▸"
	rangeLead  = "▪" // in the range that keys are for
)

// painter draws the rows of one file. Every byte of a line passes
// diffreview.Visible: nothing that a file contains acts on the terminal.
type painter struct {
	st           *style.Styles
	f            *diffreview.File
	fr           *fileRows
	w, left      int
	words, white bool
	lead         string          // of the row that is drawn next
	old, now     [][]syntax.Part // what the lines of the two texts consist of, as far as it is known
	marked       int32           // the hunk, from 1, whose lines show their verdicts; others do where they differ
}

// row draws a row of any kind but the head of a unit.
func (p *painter) row(r row) string {
	sel := p.lead == cursorLead
	switch r.kind {
	case rowLine:
		return p.line(r)
	case rowPair:
		return p.pair(r)
	case rowFinding:
		return p.finding(r, sel)
	case rowInfo:
		return p.info(p.fr.said(r), sel)
	case rowCut:
		return p.cut(r, sel)
	case rowGap:
		return p.gap(r, sel)
	case rowSame:
		return p.same(r)
	case rowUnit, rowComment, rowWritten:
	}
	return ""
}

// line draws a line of a hunk: numbers, verdict, sign, text. The sign says added
// or removed without any colour.
func (p *painter) line(r row) string {
	l := &p.f.Hunks[r.hunk].Lines[r.line]
	gutter := p.lead + p.number(l.Old) + " " + p.number(l.New)
	return p.coded(gutter, r.hunk, r.line, r.pair, p.w)
}

// pair draws old and new side by side.
func (p *painter) pair(r row) string {
	left, right := p.halves()
	return p.half(p.lead, r.hunk, r.line, r.pair, true, left) + p.st.Border.Render("│") + p.half(" ", r.hunk, r.pair, r.line, false, right)
}

func (p *painter) halves() (left, right int) {
	left = (p.w - 1) / 2
	return left, p.w - 1 - left
}

func (p *painter) half(lead string, hunk, line, partner int32, old bool, w int) string {
	if line < 0 {
		return p.leadStyle().Render(lead) + strings.Repeat(" ", max(0, w-1))
	}
	l := &p.f.Hunks[hunk].Lines[line]
	no := l.New
	if old {
		no = l.Old
	}
	if partner == line {
		partner = -1
	}
	return p.coded(lead+p.number(no), hunk, line, partner, w)
}

func (p *painter) number(n int) string {
	if n == 0 {
		return strings.Repeat(" ", p.fr.digits)
	}
	return fmt.Sprintf("%*d", p.fr.digits, n)
}

// verdict is the mark of one line, where its hunk's lines are decided apart.
func (p *painter) verdict(hunk, line int32) (string, style.Style) {
	h := &p.f.Hunks[hunk]
	if h.Lines[line].Op == ' ' || h.Part == nil && p.marked != hunk+1 {
		return " ", p.st.Muted
	}
	switch h.LineVerdict(int(line)) {
	case diffreview.Approved:
		return "✓", p.st.Held
	case diffreview.Rejected:
		return "✗", p.st.Refused
	case diffreview.Undecided, diffreview.Mixed:
	}
	return "·", p.st.Muted
}

func (p *painter) leadStyle() style.Style {
	if p.lead == noLead {
		return p.st.Muted
	}
	return p.st.Selection
}

// coded draws a gutter and behind it verdict, sign and text of a line, in w cells.
func (p *painter) coded(gutter string, hunk, line, partner int32, w int) string {
	l := &p.f.Hunks[hunk].Lines[line]
	sign := " "
	base, word, tone := p.st.Text, style.Style{}, p.st.Muted
	switch l.Op {
	case '+':
		sign, base, word, tone = "+", p.st.AddedLine, p.st.AddedWord, p.st.Added
	case '-':
		sign, base, word, tone = "−", p.st.RemovedLine, p.st.RemovedWord, p.st.Removed
	}
	verdict, vtone := p.verdict(hunk, line)
	switch risky := p.fr.risky[l.New]; {
	case risky && verdict == " ":
		gutter, verdict, tone, vtone = gutter+" ", "!", p.st.Danger, p.st.Danger
	case risky:
		gutter, tone = gutter+"!", p.st.Danger
	default:
		gutter += " "
	}
	room := w - kit.Width(gutter) - 3
	if room < 1 {
		return p.leadStyle().Render(kit.Fit(gutter, w))
	}
	return p.leadStyle().Render(gutter) + vtone.Render(verdict) + tone.Render(sign) + base.Render(" ") + p.text(l, hunk, line, partner, base, word, room)
}

// same draws an unchanged line out of a gap.
func (p *painter) same(r row) string {
	g := p.fr.gaps[r.hunk]
	old := int(r.line) + 1
	l := &diffreview.Line{Op: ' ', Old: old, Text: p.fr.old.lines[r.line]}
	draw := func(gutter string, w int) string {
		room := w - kit.Width(gutter) - 3
		if room < 1 {
			return p.leadStyle().Render(kit.Fit(gutter, w))
		}
		return p.leadStyle().Render(gutter) + "   " + p.raw(l, l.Text, nil, min(p.left, len(l.Text)), false, p.st.Text, style.Style{}, room)
	}
	if !p.fr.side {
		return draw(p.lead+p.number(old)+" "+p.number(old-g.old+g.new)+" ", p.w)
	}
	left, right := p.halves()
	return draw(p.lead+p.number(old)+" ", left) + p.st.Border.Render("│") + draw(" "+p.number(old-g.old+g.new)+" ", right)
}

// gap says how much is folded.
func (p *painter) gap(r row, sel bool) string {
	text := p.fr.gapText(int(r.hunk))
	if sel {
		return p.st.Selection.Render(kit.Fit("▸    "+text+"   + opens", p.w))
	}
	return p.st.Muted.Render(kit.Fit("     "+text, p.w))
}

// cut says what of the long line above is drawn; side by side, of each.
func (p *painter) cut(r row, sel bool) string {
	say := func(line, partner int32, gutter, w int, lead string) string {
		st := p.st.Warn
		if sel {
			st = p.st.Selection
		}
		if line < 0 || len(p.f.Hunks[r.hunk].Lines[line].Text) <= longLine {
			return st.Render(kit.Fit(lead, w))
		}
		text := p.f.Hunks[r.hunk].Lines[line].Text
		room := max(1, w-gutter-3)
		at := begin(text, p.fr.regionOf(p.f, r.hunk, line, partner), room, p.left)
		return st.Render(kit.Fit(lead+"   "+cutSaid(text, at), w))
	}
	if !p.fr.side {
		return say(r.line, r.pair, 2*p.fr.digits+3, p.w, p.lead)
	}
	left, right := p.halves()
	return say(r.line, r.pair, p.fr.digits+2, left, p.lead) + p.st.Border.Render("│") + say(r.pair, r.line, p.fr.digits+2, right, " ")
}

// text draws the bytes of a hunk's line in exactly w cells, with the words that
// changed. Of a long line it draws what is around the change.
func (p *painter) text(l *diffreview.Line, hunk, line, partner int32, base, word style.Style, w int) string {
	if len(l.Text) > longLine {
		part := p.fr.regionOf(p.f, hunk, line, partner)
		at := begin(l.Text, part, w, p.left)
		end := min(len(l.Text), at+perCell*w)
		var changed []linediff.Range
		if p.words && partner >= 0 && part.to > at && part.from < end {
			changed = []linediff.Range{{Start: max(0, part.from-at), End: part.to - at}}
		}
		cut := *l
		cut.NoEOL = l.NoEOL && end == len(l.Text)
		return p.raw(&cut, l.Text[at:end], changed, at, true, base, word, w)
	}
	var changed []linediff.Range
	if p.words && partner >= 0 && len(p.f.Hunks[hunk].Lines[partner].Text) <= longLine {
		other := p.f.Hunks[hunk].Lines[partner].Text
		if l.Op == '-' {
			changed, _ = linediff.Words(l.Text, other)
		} else {
			_, changed = linediff.Words(other, l.Text)
		}
	}
	return p.raw(l, l.Text, changed, max(0, p.left), false, base, word, w)
}

// raw draws bytes, all of a line or a part of a long one, in exactly w cells. at
// is how many cells are to the left of it, or bytes for a part.
func (p *painter) raw(l *diffreview.Line, raw []byte, changed []linediff.Range, at int, part bool, base, word style.Style, w int) string {
	c := canvas{w: w, skip: max(0, at)}
	if part {
		c.skip = 0
	}
	cut := part && at+len(raw) < len(l.Text)
	if limit := perCell * (w + c.skip); len(raw) > limit {
		raw, cut = raw[:limit], true
	}
	if at > 0 {
		// The first cell says that there is something to the left of it.
		c.b.WriteString(p.st.Control.Render("‹"))
		c.w--
	}
	pos := 0
	marks := p.white || l.Op != ' '
	var parts []syntax.Part
	if !part {
		parts = p.parts(l)
	}
	for _, s := range diffreview.Visible(raw) {
		st := base
		switch s.Kind {
		case diffreview.Plain:
			p.plain(&c, s, pos, parts, changed, base, word)
			pos += len(s.Raw)
			continue
		case diffreview.Tab:
			n := 4 - (c.x % 4)
			text := strings.Repeat(" ", n)
			if p.white {
				text, st = "→"+text[1:], p.st.Muted.On(base)
			}
			if in(changed, pos) {
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
		pos += len(s.Raw)
		if c.over {
			break
		}
	}
	if l.NoEOL {
		c.put("  (no newline at the end)", base.On(p.st.Muted))
	}
	c.over = c.over || cut
	return c.done(base, p.st.Control)
}

// finding is what would happen on this machine, in one sentence.
func (p *painter) finding(r row, sel bool) string {
	if sel {
		return p.st.Selection.Render(kit.Fit("▸   "+p.fr.said(r), p.w))
	}
	text := kit.Fit("    "+p.fr.said(r), p.w)
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
