package term

import (
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Bounds of characters made of several code points.
const (
	maxClusterRunes = 12
	maxClusters     = 1 << 15 // different ones at a time
)

const (
	zwj  = 0x200d
	vs16 = 0xfe0f
)

// text prints ASCII.
func (s *Screen) text(p []byte) {
	s.dirty = true
	if s.g0() != 'B' || s.once != 0 || s.insert {
		for _, b := range p {
			s.print(s.translate(rune(b)), 1)
		}
		return
	}
	s.chained = false
	s.last = rune(p[len(p)-1])
	style := s.pen.attr
	for len(p) > 0 {
		if s.wrapNext {
			s.wrap()
		}
		l := s.g.row(s.y)
		n := min(len(p), s.cols-s.x)
		end := s.x + n
		l.split(s.x)
		l.split(end)
		cells := l.cells[s.x:end]
		for i, b := range p[:n] {
			cells[i] = cell{uint32(b), s.pen.fg, s.pen.bg, style}
		}
		l.used = max(l.used, end)
		p = p[n:]
		if s.x = end; end == s.cols {
			s.x = s.cols - 1
			s.wrapNext = s.autowrap
			if !s.autowrap && len(p) > 0 {
				p = p[len(p)-1:] // the rest overprints the last column
			}
		}
	}
}

func (s *Screen) g0() byte { return s.charsets.g[s.shift] }

// translate maps an ASCII character through the character set in use.
func (s *Screen) translate(r rune) rune {
	set := s.g0()
	if s.once != 0 {
		set, s.once = s.charsets.g[s.once], 0
	}
	switch {
	case set == '0' && r >= 0x5f && r <= 0x7e:
		return drawing[r-0x5f]
	case set == 'A' && r == '#':
		return '£'
	}
	return r
}

// drawing is the DEC special graphics set from 0x5f on.
var drawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// char prints one character beyond ASCII.
func (s *Screen) char(r rune) {
	s.dirty = true
	s.once = 0
	w := runeWidth(r)
	switch {
	case w == 0:
		s.combine(r)
	case s.chained || isFlag(r):
		if !s.join(r) {
			s.print(visible(r), w)
		}
	default:
		s.print(visible(r), w)
	}
}

// wrap goes to the start of the next row, as part of the same text.
func (s *Screen) wrap() {
	s.g.at(s.y).wrapped = true
	s.lineFeed()
	s.x = 0
}

// print puts a character of one or two cells at the cursor.
func (s *Screen) print(r rune, w int) {
	s.last, s.chained = r, false
	if w > s.cols {
		r, w = replacement, 1
	}
	if s.wrapNext {
		s.wrap()
	}
	if s.x+w > s.cols {
		if s.autowrap {
			s.wrap()
		} else {
			s.x = s.cols - w
		}
	}
	if s.insert {
		s.g.insert(s.y, s.x, w, s.pen.bg)
	}
	l := s.g.row(s.y)
	end := s.x + w
	l.split(s.x)
	l.split(end)
	c := cell{uint32(r), s.pen.fg, s.pen.bg, s.pen.attr}
	if w == 2 {
		c.attr |= attrWide
		l.cells[s.x+1] = cell{0, s.pen.fg, s.pen.bg, s.pen.attr | attrTail}
	}
	l.cells[s.x] = c
	l.used = max(l.used, end)
	if s.x = end; end >= s.cols {
		s.x = s.cols - 1
		s.wrapNext = s.autowrap
	}
}

// previous is the cell that the last printed character stands in, or nil.
func (s *Screen) previous() (*line, int) {
	l := s.g.at(s.y)
	x := s.x - 1
	if s.wrapNext {
		x = s.x
	}
	if x < 0 || x >= l.used {
		return nil, 0
	}
	if l.cells[x].attr&attrTail != 0 {
		x--
	}
	return l, x
}

// combine adds a character without a width of its own to the one before it.
// Formatting characters that would change or hide other text are left out.
func (s *Screen) combine(r rune) {
	if hidden(r) {
		return
	}
	l, x := s.previous()
	if l == nil {
		return
	}
	c := &l.cells[x]
	if c.ch == 0 {
		c.ch = ' '
	}
	text := s.cellText(*c)
	if utf8.RuneCountInString(text) >= maxClusterRunes {
		return
	}
	s.chained = r == zwj
	s.setCluster(c, text+string(r))
	if r == vs16 && c.attr&attrWide == 0 && widensTo2(text) {
		s.widen(l, x)
	}
}

// join adds a character to the one before it when both are one sign: after a
// zero-width joiner, or the second half of a flag.
func (s *Screen) join(r rune) bool {
	chained := s.chained
	s.chained = false
	l, x := s.previous()
	if l == nil {
		return false
	}
	c := &l.cells[x]
	text := s.cellText(*c)
	first, n := utf8.DecodeRuneInString(text)
	half := isFlag(r) && isFlag(first) && n == len(text)
	if !half && (!chained || c.attr&attrWide == 0 || displaywidth.String(text+string(r)) != 2) {
		return false
	}
	if utf8.RuneCountInString(text) >= maxClusterRunes {
		return false
	}
	if half && c.attr&attrWide == 0 && !s.widen(l, x) {
		return false
	}
	s.setCluster(c, text+string(r))
	s.last = r
	return true
}

// widen makes the character just before the cursor two cells wide.
func (s *Screen) widen(l *line, x int) bool {
	if x+1 >= s.cols || s.wrapNext {
		return false
	}
	l.split(x + 2)
	c := &l.cells[x]
	c.attr |= attrWide
	l.cells[x+1] = cell{0, c.fg, c.bg, c.attr&penMask | attrTail}
	l.used = max(l.used, x+2)
	if s.x = x + 2; s.x >= s.cols {
		s.x = s.cols - 1
		s.wrapNext = s.autowrap
	}
	return true
}

// cellText is what a cell shows.
func (s *Screen) cellText(c cell) string {
	switch {
	case c.ch == 0:
		return " "
	case c.ch&clusterBit != 0:
		return s.clusters[c.ch&^clusterBit]
	}
	return string(rune(c.ch))
}

func (s *Screen) setCluster(c *cell, text string) {
	id, ok := s.clusterID[text]
	if !ok {
		if len(s.clusters) >= maxClusters {
			s.sweepClusters()
		}
		if len(s.clusters) >= maxClusters {
			return
		}
		if s.clusterID == nil {
			s.clusterID = map[string]uint32{}
		}
		id = uint32(len(s.clusters))
		s.clusters = append(s.clusters, text)
		s.clusterID[text] = id
	}
	c.ch = clusterBit | id
}

// sweepClusters drops the composed characters that no cell shows any more. When
// nearly all are still shown, those above the screen lose their marks.
func (s *Screen) sweepClusters() {
	old := s.clusters
	s.clusters, s.clusterID = nil, map[string]uint32{}
	visit := func(l *line, plain bool) {
		for i := range l.cells[:l.used] {
			c := &l.cells[i]
			if c.ch&clusterBit == 0 {
				continue
			}
			text := old[c.ch&^clusterBit]
			r, _ := utf8.DecodeRuneInString(text)
			if c.ch = uint32(r); plain {
				continue
			}
			id, ok := s.clusterID[text]
			if !ok {
				id = uint32(len(s.clusters))
				s.clusters = append(s.clusters, text)
				s.clusterID[text] = id
			}
			c.ch = clusterBit | id
		}
	}
	for _, g := range []*grid{s.main, s.alt} {
		for y := g.rows - 1; y >= -g.hist; y-- {
			visit(g.at(y), y < 0 && len(s.clusters) >= maxClusters/2 || len(s.clusters) >= maxClusters*3/4)
		}
	}
}
