package term

// esc handles ESC sequences.
func (s *Screen) esc(q *sequence) {
	s.dirty = true
	s.last = 0
	switch q.inter {
	case 0:
	case '(', ')', '*', '+':
		s.charsets.g[q.inter-'('] = charset(q.final)
		return
	case '#':
		if q.final == '8' {
			s.alignment()
		}
		return
	default:
		return
	}
	switch q.final {
	case '7':
		s.saveCursor(s.screenIndex())
	case '8':
		s.restoreCursor(s.screenIndex())
	case '=':
		s.appKeypad = true
	case '>':
		s.appKeypad = false
	case 'D':
		s.lineFeed()
	case 'E':
		s.lineFeed()
		s.x = 0
	case 'M':
		s.reverseIndex()
	case 'H':
		s.tabs[s.x] = true
	case 'N':
		s.once = 2
	case 'O':
		s.once = 3
	case 'n':
		s.shift = 2
	case 'o':
		s.shift = 3
	case 'c':
		s.reset()
	case 'Z':
		s.reply(da1)
	}
}

func charset(final byte) byte {
	if final == '0' || final == 'A' {
		return final
	}
	return 'B'
}

// alignment is DECALN.
func (s *Screen) alignment() {
	s.top, s.bot, s.origin = 0, s.rows-1, false
	s.moveTo(0, 0)
	for y := range s.rows {
		l := s.g.row(y)
		for x := range l.cells {
			l.cells[x] = cell{ch: 'E'}
		}
		l.used, l.wrapped = s.cols, false
	}
}

// csi handles CSI sequences. Counts are clamped to the screen, so that none
// costs more than redrawing it.
func (s *Screen) csi(q *sequence) {
	s.dirty = true
	last := s.last
	s.last = 0
	if q.sub != 0 && (q.final != 'm' || q.prefix != 0 || q.inter != 0) {
		return // only colours have parts
	}
	if q.inter != 0 {
		s.csiInter(q)
		return
	}
	if q.prefix != 0 {
		s.csiPrivate(q)
		return
	}
	n := q.param(0, 1)
	switch q.final {
	case '@':
		s.g.insert(s.y, s.x, n, s.pen.bg)
		s.wrapNext = false
	case 'A':
		s.moveBy(0, -n)
	case 'B', 'e':
		s.moveBy(0, n)
	case 'C', 'a':
		s.moveBy(n, 0)
	case 'D':
		s.moveBy(-n, 0)
	case 'E':
		s.moveBy(0, n)
		s.x = 0
	case 'F':
		s.moveBy(0, -n)
		s.x = 0
	case 'G', '`':
		s.x, s.wrapNext = min(n, s.cols)-1, false
	case 'H', 'f':
		s.moveTo(q.param(1, 1)-1, n-1)
	case 'I':
		s.tabForward(n)
	case 'J':
		s.eraseDisplay(q.raw(0))
	case 'K':
		s.eraseLine(q.raw(0))
	case 'L':
		s.insertLines(n)
	case 'M':
		s.deleteLines(n)
	case 'P':
		s.g.remove(s.y, s.x, n, s.pen.bg)
		s.wrapNext = false
	case 'S':
		s.g.scrollUp(s.top, s.bot, n, s.pen.bg)
	case 'T':
		if q.n <= 1 {
			s.g.scrollDown(s.top, s.bot, n, s.pen.bg)
		}
	case 'X':
		s.g.erase(s.y, s.x, s.x+n, s.pen.bg)
		s.wrapNext = false
	case 'Z':
		s.tabBack(n)
	case 'b':
		s.repeat(last, n)
	case 'c':
		if q.raw(0) == 0 {
			s.reply(da1)
		}
	case 'd':
		s.moveTo(s.x, n-1)
	case 'g':
		s.clearTabs(q.raw(0))
	case 'h', 'l':
		for i := range q.n {
			s.setMode(q.raw(i), q.final == 'h')
		}
	case 'm':
		s.pen.sgr(q)
	case 'n':
		s.status(q.raw(0))
	case 'r':
		s.region(q)
	case 's':
		s.saveCursor(s.screenIndex())
	case 't':
		s.window(q)
	case 'u':
		s.restoreCursor(s.screenIndex())
	}
}

func (s *Screen) csiInter(q *sequence) {
	switch {
	case q.inter == ' ' && q.final == 'q' && q.prefix == 0:
		s.setShape(q.raw(0))
	case q.inter == ' ' && q.final == '@' && q.prefix == 0:
		for y := s.top; y <= s.bot; y++ {
			s.g.remove(y, 0, q.param(0, 1), s.pen.bg)
		}
	case q.inter == ' ' && q.final == 'A' && q.prefix == 0:
		for y := s.top; y <= s.bot; y++ {
			s.g.insert(y, 0, q.param(0, 1), s.pen.bg)
		}
	case q.inter == '!' && q.final == 'p' && q.prefix == 0:
		s.softReset()
	case q.inter == '$' && q.final == 'p' && (q.prefix == 0 || q.prefix == '?'):
		s.reportMode(q.raw(0), q.prefix == '?')
	}
}

func (s *Screen) csiPrivate(q *sequence) {
	switch string([]byte{q.prefix, q.final}) {
	case "?h", "?l":
		for i := range q.n {
			s.setPrivateMode(q.raw(i), q.final == 'h')
		}
	case "?J":
		s.eraseDisplay(q.raw(0))
	case "?K":
		s.eraseLine(q.raw(0))
	case "?W":
		if q.raw(0) == 5 {
			s.tabs = nil
			s.growTabs()
		}
	case "?n":
		s.privateStatus(q.raw(0))
	case "?m":
		if q.raw(0) == 4 {
			s.replyf("\x1b[>4;%dm", s.modifyKeys)
		}
	case ">m":
		if q.raw(0) == 4 || q.n == 0 {
			s.modifyKeys = min(q.raw(1), 2)
		}
	case ">n":
		if q.raw(0) == 4 {
			s.modifyKeys = 0
		}
	case ">c":
		if q.raw(0) == 0 {
			s.reply(da2)
		}
	case "=c":
		if q.raw(0) == 0 {
			s.reply(da3)
		}
	case ">q":
		if q.raw(0) == 0 {
			s.reply(xtversion)
		}
	case "?u":
		s.replyf("\x1b[?%du", s.kitty().flags())
	case ">u":
		s.kitty().push(q.raw(0))
	case "<u":
		s.kitty().pop(q.param(0, 1))
	case "=u":
		s.kitty().set(q.raw(0), q.param(1, 1))
	}
}

func (s *Screen) eraseDisplay(how int) {
	switch how {
	case 0:
		s.eraseLine(0)
		s.eraseRows(s.y+1, s.rows)
	case 1:
		s.eraseRows(0, s.y)
		s.eraseLine(1)
	case 2:
		s.eraseRows(0, s.rows)
	case 3:
		s.main.dropHistory()
	}
	s.wrapNext = false
}

func (s *Screen) eraseRows(from, to int) {
	for y := from; y < to; y++ {
		s.g.clearLine(s.g.at(y), s.pen.bg)
	}
}

func (s *Screen) eraseLine(how int) {
	switch how {
	case 0:
		s.g.erase(s.y, s.x, s.cols, s.pen.bg)
		s.g.at(s.y).wrapped = false
	case 1:
		s.g.erase(s.y, 0, s.x+1, s.pen.bg)
	case 2:
		s.g.clearLine(s.g.at(s.y), s.pen.bg)
	}
	s.wrapNext = false
}

func (s *Screen) insertLines(n int) {
	if s.y < s.top || s.y > s.bot {
		return
	}
	s.g.scrollDown(s.y, s.bot, n, s.pen.bg)
	s.x, s.wrapNext = 0, false
}

func (s *Screen) deleteLines(n int) {
	if s.y < s.top || s.y > s.bot {
		return
	}
	s.g.rotate(s.y, s.bot, min(n, s.bot-s.y+1), s.pen.bg)
	s.x, s.wrapNext = 0, false
}

// repeat is REP, of at most one screen's worth.
func (s *Screen) repeat(r rune, n int) {
	w := runeWidth(r)
	if r == 0 || w == 0 {
		return
	}
	for range min(n, s.cols*s.rows) {
		s.print(r, w)
	}
}

func (s *Screen) clearTabs(how int) {
	switch how {
	case 0:
		s.tabs[s.x] = false
	case 3:
		clear(s.tabs)
	}
}

// region is DECSTBM.
func (s *Screen) region(q *sequence) {
	top, bot := q.param(0, 1)-1, min(q.param(1, s.rows), s.rows)-1
	if top >= bot {
		return
	}
	s.top, s.bot = top, bot
	s.moveTo(0, 0)
}
