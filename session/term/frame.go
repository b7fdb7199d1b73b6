package term

import "time"

// syncLimit ends a synchronised update that its program does not end.
const syncLimit = 150 * time.Millisecond

// Frame is one picture of a screen.
type Frame struct {
	// Gen grows with every change that can be seen; frames of equal Gen and
	// Offset are equal.
	Gen        uint64
	Cols, Rows int
	// Lines has Rows lines of printable text and SGR sequences only. Blanks in
	// the default colours at the end of a line are left out, so a line takes at
	// most Cols cells; each ends in default colours.
	Lines            []string
	CursorX, CursorY int
	CursorOn         bool // false too when the frame is scrolled back
	CursorShape      int  // as DECSCUSR: 0 default, 1-2 block, 3-4 underline, 5-6 bar; odd ones blink
	Title            string
	Scrollback       int // lines kept above the screen
	Offset           int // lines scrolled back in this frame
	Mouse            bool
	Alt              bool
	Dropped          int // answers dropped so far
	Requests         []string
	Clips            int    // writes of the clipboard that the inside wanted; see Screen.Clip
	ClipBytes        int    // of the newest
	Asked            int    // requests so far, of which Requests are the newest
	Agent            string // see Screen.Agent
	Ended            bool   // the pty is at its end; set by Terminal
}

// Gen is the present generation: it grows with every change.
func (s *Screen) Gen() uint64 { return s.gen }

// Frame draws the screen, offset lines scrolled back (clamped). When nothing
// changed since the generation since, it draws nothing and returns false; since
// 0 always draws. During a synchronised update it returns the picture from
// before, for at most 150 ms.
func (s *Screen) Frame(since uint64, offset int) (Frame, bool) {
	if s.held != nil && offset == 0 {
		if s.opts.Now().Sub(s.syncFrom) < syncLimit {
			return *s.held, since == 0 || s.held.Gen != since
		}
		s.held = nil
		s.gen++
	}
	if since != 0 && since == s.gen {
		return Frame{Gen: s.gen}, false
	}
	return s.frame(offset), true
}

func (s *Screen) frame(offset int) Frame {
	offset = max(0, min(offset, s.g.hist))
	f := Frame{
		Gen: s.gen, Cols: s.cols, Rows: s.rows,
		CursorX: s.x, CursorY: s.y, CursorOn: !s.hidden && offset == 0, CursorShape: s.shape,
		Title: s.title, Scrollback: s.g.hist, Offset: offset,
		Mouse: s.mouse != 0, Alt: s.Alt(), Dropped: s.dropped, Agent: s.state,
		Lines: make([]string, s.rows),
	}
	f.Requests, f.Asked = s.Requests()
	f.Clips, f.ClipBytes = s.clips, len(s.clip)
	var buf []byte
	for y := range s.rows {
		buf = s.appendLine(buf[:0], s.g.at(y-offset))
		f.Lines[y] = string(buf)
	}
	return f
}

// appendLine draws one row: text and SGR, nothing else.
func (s *Screen) appendLine(b []byte, l *line) []byte {
	start := len(b)
	b, wide := s.appendCells(b, l, false)
	if !wide {
		return b
	}
	// Two characters that stand in neighbouring cells may be one sign to who
	// measures the line. A colour sequence between keeps them apart.
	if w, ok := lineWidth(b[start:]); !ok || w != s.drawnEnd(l) {
		b, _ = s.appendCells(b[:start], l, true)
	}
	return b
}

func (s *Screen) visibleEnd(l *line) int {
	end := min(l.used, s.cols)
	for end > 0 && s.blank(l.cells[end-1]) {
		end--
	}
	return end
}

// drawnEnd is how many cells of a line are drawn.
func (s *Screen) drawnEnd(l *line) int {
	if s.reverse {
		return s.cols
	}
	return s.visibleEnd(l)
}

// blank says that a cell shows nothing.
func (s *Screen) blank(c cell) bool {
	if c.bg != 0 || c.attr&(attrReverse|attrStrike|attrOverline|underMask) != 0 {
		return false
	}
	return c.attr&attrConceal != 0 || (c.ch == 0 || c.ch == ' ') && c.attr&attrTail == 0
}

func (s *Screen) appendCells(b []byte, l *line, apart bool) (out []byte, beyondASCII bool) {
	end := s.drawnEnd(l)
	now, after := pen{}, false
	for x := 0; x < end; x++ {
		var c cell
		if x < l.used {
			c = l.cells[x]
		}
		if c.attr&attrTail != 0 && x > 0 && l.cells[x-1].attr&attrWide != 0 {
			continue
		}
		p := pen{c.fg, c.bg, c.attr & penMask}
		if s.reverse {
			p.attr ^= attrReverse
		}
		special := c.ch >= 0x7f
		if p != now || apart && (special || after) {
			if p == (pen{}) {
				b = append(b, "\x1b[m"...)
			} else {
				b = p.appendSGR(b)
			}
			now = p
		}
		after = special
		switch {
		case c.ch == 0 || c.attr&attrTail != 0:
			b = append(b, ' ')
		case !special:
			b = append(b, byte(c.ch))
		default:
			beyondASCII = true
			w := 1
			if c.attr&attrWide != 0 {
				w = 2
			}
			b = append(b, s.shown(c, w)...)
		}
	}
	if now != (pen{}) {
		b = append(b, "\x1b[m"...)
	}
	return b, beyondASCII
}

// shown is a cell's text, cut to exactly w cells.
func (s *Screen) shown(c cell, w int) string {
	if c.attr&attrConceal != 0 {
		return "  "[:w]
	}
	if r := rune(c.ch); c.ch&clusterBit == 0 && (r >= 0x2500 && r < 0x2580 || r >= 0x4e00 && r < 0xa000) {
		return string(r) // measured the same everywhere
	}
	return fits(s.cellText(c), w)
}

// Text is row y of the screen as plain text, without blanks at its end; rows
// above the screen are negative.
func (s *Screen) Text(y int) string {
	if y < -s.g.hist || y >= s.rows {
		return ""
	}
	l := s.g.at(y)
	var b []byte
	for x := range s.visibleEnd(l) {
		c := l.cells[x]
		if c.attr&attrTail != 0 && x > 0 && l.cells[x-1].attr&attrWide != 0 {
			continue
		}
		b = append(b, s.cellText(c)...)
	}
	return trimRight(string(b))
}

func trimRight(t string) string {
	for len(t) > 0 && t[len(t)-1] == ' ' {
		t = t[:len(t)-1]
	}
	return t
}
