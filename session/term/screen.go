package term

import "time"

// Limits of a screen's size, in cells.
const (
	MaxCols = 1000
	MaxRows = 500
)

// ScreenOptions are what a screen can't know by itself. The zero value is
// usable.
type ScreenOptions struct {
	// Foreground and Background, as 0xRRGGBB, are the answers to a program
	// that asks for the terminal's colours, to pick a light or dark theme.
	// Both zero means light grey on black.
	Foreground, Background uint32
	// Clipboard is "ask", "allow" or "deny" (also when empty): whether what
	// the inside wants in the clipboard is kept for Clip to hand out. Reading
	// the clipboard is never answered.
	Clipboard string
	// Signals are the words of the inside about itself that count for Agent; nil
	// is every one that is known.
	Signals *Signals
	// Now is the clock, for the limit of synchronised updates; nil ends them
	// by their own end only.
	Now func() time.Time
}

// Signals are what an agent says of itself by.
type Signals struct {
	OSC7501      bool
	Notification bool
	Title        func(title string) string // one of the Agent constants; nil when it says nothing
}

// Screen is a terminal emulator: bytes from a program in, frames and answers
// out. It never panics, blocks or grows without bound, whatever it is fed. It is
// not safe for concurrent use; Terminal guards one.
type Screen struct {
	opts       ScreenOptions
	ps         parser
	cols, rows int
	main, alt  *grid
	g          *grid // the one shown
	tabs       []bool
	modes

	pen      pen
	x, y     int
	wrapNext bool // the cursor stands past the last column
	top, bot int  // scroll region
	charsets
	saved   [2]savedCursor // of main and alternate screen
	last    rune           // printed just before, for REP; else 0
	chained bool           // the last printed cell ended in a joiner

	clusters  []string
	clusterID map[string]uint32

	title    string
	titles   []string
	state    string // the agent's, as it says
	requests requests
	clip     string
	clips    int

	replies  []byte
	dropped  int
	faults   int
	gen      uint64
	dirty    bool
	held     *Frame // shown while a synchronised update runs
	syncFrom time.Time
}

type savedCursor struct {
	x, y     int
	wrapNext bool
	origin   bool
	pen      pen
	charsets
}

// charsets are the four designated sets and which of them is in use.
type charsets struct {
	g     [4]byte // 'B' ASCII, '0' line drawing, 'A' with a pound sign
	shift uint8
	once  uint8 // 2 or 3 for one character after SS2 or SS3, else 0
}

// NewScreen is an empty screen of that size, clamped to 1..MaxCols and
// 1..MaxRows.
func NewScreen(cols, rows int, opts ScreenOptions) *Screen {
	s := &Screen{opts: opts}
	s.cols, s.rows = clampSize(cols, rows)
	if s.opts.Foreground == 0 && s.opts.Background == 0 {
		s.opts.Foreground = 0xcccccc
	}
	s.reset()
	return s
}

func clampSize(cols, rows int) (int, int) {
	return max(1, min(cols, MaxCols)), max(1, min(rows, MaxRows))
}

// reset is the state after power-on. Title, requests and counters stay.
func (s *Screen) reset() {
	s.main = newGrid(s.cols, s.rows, true)
	s.alt = newGrid(s.cols, s.rows, false)
	s.g = s.main
	s.tabs = nil
	s.growTabs()
	s.modes = defaultModes()
	s.softReset()
	s.x, s.y = 0, 0
	s.last, s.chained = 0, false
	s.clusters, s.clusterID = nil, nil
	s.held = nil
	s.dirty = true
}

// softReset is DECSTR: what a program may have left behind, not the text.
func (s *Screen) softReset() {
	s.insert, s.origin, s.autowrap = false, false, true
	s.hidden, s.appCursor, s.appKeypad = false, false, false
	s.pen = pen{}
	s.top, s.bot = 0, s.rows-1
	s.charsets = newCharsets()
	s.saved = [2]savedCursor{{charsets: newCharsets()}, {charsets: newCharsets()}}
	s.wrapNext = false
}

func newCharsets() charsets { return charsets{g: [4]byte{'B', 'B', 'B', 'B'}} }

// Size is the screen's size in cells.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Feed takes output of the program. Answers that it asked for are afterwards in
// Replies.
func (s *Screen) Feed(p []byte) {
	defer s.recover()
	s.ps.feed(p, s)
	if s.dirty {
		s.dirty = false
		s.gen++
	}
}

// recover keeps a fault of the emulator from ending the session: the screen
// starts afresh and the fault is counted.
func (s *Screen) recover() {
	if v := recover(); v != nil {
		s.faults++
		s.ps = parser{}
		s.reset()
		s.dirty = false
		s.gen++
	}
}

// Faults counts how often the emulator had to start afresh.
func (s *Screen) Faults() int { return s.faults }

// Resize changes the size, clamped as in NewScreen, and returns what it became.
func (s *Screen) Resize(cols, rows int) (int, int) {
	defer s.recover()
	cols, rows = clampSize(cols, rows)
	if cols == s.cols && rows == s.rows {
		return cols, rows
	}
	alt, same := s.g == s.alt, cols == s.cols
	saved := &s.saved[0]
	if alt { // the main screen's cursor is the saved one
		saved.x, saved.y = s.resizeMain(cols, rows, saved.x, saved.y)
		s.alt, s.y = s.alt.resized(cols, rows, s.y)
		s.g, s.x = s.alt, min(s.x, cols-1)
	} else {
		if s.wrapNext && !same {
			s.x++ // behind the last character, which may now have room
		}
		s.x, s.y = s.resizeMain(cols, rows, s.x, s.y)
		s.alt, _ = s.alt.resized(cols, rows, 0)
		s.g = s.main
	}
	s.cols, s.rows = cols, rows
	s.wrapNext = s.autowrap && (s.x == cols || s.wrapNext && same)
	s.x = min(s.x, cols-1)
	s.top, s.bot = 0, rows-1
	for i := range s.saved {
		c := &s.saved[i]
		c.x, c.y = min(c.x, cols-1), min(c.y, rows-1)
		c.wrapNext = false
	}
	s.growTabs()
	s.held = nil
	s.gen++
	return cols, rows
}

// resizeMain changes the main screen's size and follows a position on it.
func (s *Screen) resizeMain(cols, rows, x, y int) (int, int) {
	if cols != s.cols {
		s.main, x, y = s.main.reflow(cols, rows, x, y)
	} else {
		s.main, y = s.main.resized(cols, rows, y)
	}
	return x, y
}

func (s *Screen) growTabs() {
	for x := len(s.tabs); x < s.cols; x++ {
		s.tabs = append(s.tabs, x%8 == 0)
	}
}

// Alt says whether the program uses the alternate screen.
func (s *Screen) Alt() bool { return s.g == s.alt }

// screenIndex is 0 on the main screen and 1 on the alternate one.
func (s *Screen) screenIndex() int {
	if s.g == s.alt {
		return 1
	}
	return 0
}

// control handles C0. The bell is no call for the person: shells ring it on
// every typing error.
func (s *Screen) control(b byte) {
	s.dirty = true
	s.last = 0
	switch b {
	case '\b':
		if s.wrapNext {
			s.wrapNext = false
		}
		s.x = max(0, s.x-1)
	case '\t':
		s.tabForward(1)
	case '\n', '\v', '\f':
		s.lineFeed()
		if s.newline {
			s.x = 0
		}
	case '\r':
		s.x, s.wrapNext = 0, false
	case 0x0e:
		s.shift = 1
	case 0x0f:
		s.shift = 0
	}
}

// lineFeed goes down one row and scrolls at the bottom of the region.
func (s *Screen) lineFeed() {
	s.wrapNext = false
	switch {
	case s.y == s.bot:
		s.g.scrollUp(s.top, s.bot, 1, s.pen.bg)
	case s.y < s.rows-1:
		s.y++
	}
}

// reverseIndex goes up one row and scrolls at the top of the region.
func (s *Screen) reverseIndex() {
	s.wrapNext = false
	switch {
	case s.y == s.top:
		s.g.scrollDown(s.top, s.bot, 1, s.pen.bg)
	case s.y > 0:
		s.y--
	}
}

func (s *Screen) tabForward(n int) {
	s.wrapNext = false
	for n = min(n, s.cols); n > 0 && s.x < s.cols-1; n-- {
		s.x++
		for s.x < s.cols-1 && !s.tabs[s.x] {
			s.x++
		}
	}
}

func (s *Screen) tabBack(n int) {
	s.wrapNext = false
	for n = min(n, s.cols); n > 0 && s.x > 0; n-- {
		s.x--
		for s.x > 0 && !s.tabs[s.x] {
			s.x--
		}
	}
}

// moveTo places the cursor; y counts from the region's top in origin mode.
func (s *Screen) moveTo(x, y int) {
	lo, hi := 0, s.rows-1
	if s.origin {
		y += s.top
		lo, hi = s.top, s.bot
	}
	s.x = max(0, min(x, s.cols-1))
	s.y = max(lo, min(y, hi))
	s.wrapNext = false
}

// moveBy moves within the screen; vertically it stops at the region's edges
// when it starts inside them.
func (s *Screen) moveBy(dx, dy int) {
	lo, hi := 0, s.rows-1
	if s.y >= s.top {
		lo = s.top
	}
	if s.y <= s.bot {
		hi = s.bot
	}
	if dy == 0 {
		lo, hi = s.y, s.y
	}
	s.x = max(0, min(s.x+dx, s.cols-1))
	s.y = max(lo, min(s.y+dy, hi))
	s.wrapNext = false
}

func (s *Screen) saveCursor(i int) {
	s.saved[i] = savedCursor{s.x, s.y, s.wrapNext, s.origin, s.pen, s.charsets}
}

func (s *Screen) restoreCursor(i int) {
	c := s.saved[i]
	s.x, s.y, s.wrapNext, s.origin, s.pen, s.charsets = c.x, c.y, c.wrapNext, c.origin, c.pen, c.charsets
	if s.origin {
		s.y = max(s.top, min(s.y, s.bot))
	}
}

// useScreen switches between main and alternate screen.
func (s *Screen) useScreen(alt, clearIt bool) {
	if alt == (s.g == s.alt) {
		return
	}
	if alt {
		s.g = s.alt
	} else {
		s.g = s.main
	}
	if clearIt {
		for y := range s.rows {
			s.g.erase(y, 0, s.cols, s.pen.bg)
			s.g.at(y).wrapped = false
		}
	}
	s.wrapNext = s.wrapNext && s.x == s.cols-1
}
