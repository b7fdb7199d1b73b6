package term

import "fmt"

// Repaint is a byte stream that brings another terminal of this size into this
// screen's state: text, colours, cursor, modes, and the beginning of whatever
// sequence is unfinished. Bytes fed after this call follow it without a gap. It
// holds what the screen holds, so it passes through the same Filter as the raw
// stream.
func (s *Screen) Repaint() []byte {
	b := []byte("\x1b[?2026h\x1b[0m\x1b(B\x0f\x1b[r\x1b[?6l\x1b[4l\x1b[?7h\x1b[?25l")
	if s.Alt() {
		b = append(b, "\x1b[?1049h"...)
	} else {
		b = append(b, "\x1b[?1049l"...)
	}
	b = append(b, "\x1b[H\x1b[2J"...)
	reverse := s.reverse
	s.reverse = false // the mode goes over by itself
	for y := range s.rows {
		b = fmt.Appendf(b, "\x1b[%d;1H", y+1)
		b = s.appendLine(b, s.g.at(y))
	}
	s.reverse = reverse
	b = s.appendModes(b)
	b = fmt.Appendf(b, "\x1b[%d;%dr", s.top+1, s.bot+1)
	y := s.y
	if s.origin {
		b = append(b, "\x1b[?6h"...)
		y -= s.top
	}
	b = fmt.Appendf(b, "\x1b[%d;%dH", y+1, s.x+1)
	if s.wrapNext {
		b = s.repaintPending(b)
	}
	b = s.pen.appendSGR(b)
	if !s.autowrap {
		b = append(b, "\x1b[?7l"...)
	}
	if s.insert {
		b = append(b, "\x1b[4h"...)
	}
	if !s.hidden {
		b = append(b, "\x1b[?25h"...)
	}
	b = append(b, "\x1b[?2026l"...)
	if s.sync {
		b = append(b, "\x1b[?2026h"...)
	}
	return append(b, s.ps.unfinished()...)
}

// repaintPending prints the last cell once more, so that the other cursor too
// stands past the last column.
func (s *Screen) repaintPending(b []byte) []byte {
	l := s.g.row(s.y)
	x, w := s.cols-1, 1
	if l.cells[x].attr&attrTail != 0 && x > 0 {
		x, w = x-1, 2
		b = append(b, '\b')
	}
	c := l.cells[x]
	b = pen{c.fg, c.bg, c.attr & penMask}.appendSGR(b)
	if c.ch == 0 {
		return append(b, ' ')
	}
	return append(b, s.shown(c, w)...)
}

func (s *Screen) appendModes(b []byte) []byte {
	set := func(n int, on bool) {
		b = fmt.Appendf(b, "\x1b[?%d%c", n, onOff(on))
	}
	set(1, s.appCursor)
	set(5, s.reverse)
	set(1004, s.focus)
	set(1007, s.altScroll)
	set(2004, s.paste)
	for _, n := range [...]int{9, 1000, 1002, 1003} {
		if s.mouse != n {
			set(n, false)
		}
	}
	if s.mouse != 0 {
		set(s.mouse, true)
	}
	for _, n := range [...]int{1005, 1006, 1015} {
		set(n, s.mouseCode == n)
	}
	if s.appKeypad {
		b = append(b, "\x1b="...)
	} else {
		b = append(b, "\x1b>"...)
	}
	b = fmt.Appendf(b, "\x1b[%d q", s.shape)
	b = fmt.Appendf(b, "\x1b[>4;%dm", s.modifyKeys)
	b = append(b, "\x1b[<99u"...) // the filter pops only what was pushed through it
	for _, flags := range s.kitty().stack {
		b = fmt.Appendf(b, "\x1b[>%du", flags)
	}
	for i, set := range s.charsets.g {
		if set != 'B' {
			b = append(b, esc, "()*+"[i], set)
		}
	}
	if s.shift == 1 {
		b = append(b, 0x0e)
	}
	return b
}

func onOff(on bool) byte {
	if on {
		return 'h'
	}
	return 'l'
}
