package term

// Bounds of what is kept above the screen.
const (
	maxScrollback      = 2000
	maxScrollbackBytes = 5 << 20
	cellBytes          = 16
)

// line is one row. Cells from used on are blank in the default colours, so that
// clearing a short row costs little.
type line struct {
	cells   []cell // nil until first written
	used    int
	wrapped bool // its text goes on in the next row
}

// grid is a screen and the rows above it, as a ring: scrolling the whole screen
// moves one index, and the oldest row's memory becomes the new one's.
type grid struct {
	ring       []line
	top        int // ring index of the screen's first row
	hist       int // rows kept above it
	maxHist    int
	cols, rows int
	tmp        []line
}

func newGrid(cols, rows int, scrollback bool) *grid {
	g := &grid{cols: cols, rows: rows}
	if scrollback {
		g.maxHist = min(maxScrollback, maxScrollbackBytes/cellBytes/cols)
	}
	g.ring = make([]line, rows+g.maxHist)
	return g
}

// at is row y of the screen; rows above it are negative, down to -hist.
func (g *grid) at(y int) *line {
	i := g.top + y
	if i >= len(g.ring) {
		i -= len(g.ring)
	} else if i < 0 {
		i += len(g.ring)
	}
	return &g.ring[i]
}

// row is row y, ready to be written.
func (g *grid) row(y int) *line {
	l := g.at(y)
	if l.cells == nil {
		l.cells = make([]cell, g.cols)
	}
	return l
}

func (g *grid) clearLine(l *line, bg uint32) {
	l.wrapped = false
	if bg == 0 {
		clear(l.cells[:l.used])
		l.used = 0
		return
	}
	if l.cells == nil {
		l.cells = make([]cell, g.cols)
	}
	for i := range l.cells {
		l.cells[i] = cell{bg: bg}
	}
	l.used = g.cols
}

// split makes sure that no wide character lies across the edge before column x.
func (l *line) split(x int) {
	if x > 0 && x < len(l.cells) && l.cells[x].attr&attrTail != 0 {
		l.cells[x-1].ch, l.cells[x].ch = ' ', ' '
		l.cells[x-1].attr &^= attrWide
		l.cells[x].attr &^= attrTail
	}
}

// erase blanks columns x to end-1.
func (g *grid) erase(y, x, end int, bg uint32) {
	l := g.at(y)
	end = min(end, g.cols)
	if bg == 0 && x >= l.used || x >= end {
		return
	}
	if l.cells == nil {
		l.cells = make([]cell, g.cols)
	}
	l.split(x)
	l.split(end)
	if bg == 0 {
		clear(l.cells[x:end])
		if end >= l.used {
			l.used = x
		}
		return
	}
	for i := x; i < end; i++ {
		l.cells[i] = cell{bg: bg}
	}
	l.used = max(l.used, end)
}

// scrollUp moves rows top to bot up by n; blank ones come in below. Rows that
// leave at the screen's top are kept above it.
func (g *grid) scrollUp(top, bot, n int, bg uint32) {
	n = min(n, bot-top+1)
	if top != 0 {
		g.rotate(top, bot, n, bg)
		return
	}
	if bot < g.rows-1 && g.maxHist == 0 {
		g.rotate(top, bot, n, bg)
		return
	}
	for range n {
		g.top++
		if g.top == len(g.ring) {
			g.top = 0
		}
		g.hist = min(g.hist+1, g.maxHist)
		fresh := g.at(g.rows - 1)
		g.clearLine(fresh, bg)
		for y := g.rows - 1; y > bot; y-- { // rows under the region stay where they were
			a, b := g.at(y), g.at(y-1)
			*a, *b = *b, *a
		}
	}
}

// rotate moves rows up by n within the region, without keeping what leaves.
func (g *grid) rotate(top, bot, n int, bg uint32) {
	g.tmp = g.tmp[:0]
	for y := top; y < top+n; y++ {
		g.tmp = append(g.tmp, *g.at(y))
	}
	for y := top; y <= bot-n; y++ {
		*g.at(y) = *g.at(y + n)
	}
	for i := range g.tmp {
		l := g.at(bot - n + 1 + i)
		*l = g.tmp[i]
		g.clearLine(l, bg)
	}
}

// scrollDown moves rows top to bot down by n; blank ones come in above.
func (g *grid) scrollDown(top, bot, n int, bg uint32) {
	n = min(n, bot-top+1)
	g.tmp = g.tmp[:0]
	for y := bot - n + 1; y <= bot; y++ {
		g.tmp = append(g.tmp, *g.at(y))
	}
	for y := bot; y >= top+n; y-- {
		*g.at(y) = *g.at(y - n)
	}
	for i := range g.tmp {
		l := g.at(top + i)
		*l = g.tmp[i]
		g.clearLine(l, bg)
	}
}

// insert moves the cells of row y from x on to the right by n.
func (g *grid) insert(y, x, n int, bg uint32) {
	l := g.row(y)
	n = min(n, g.cols-x)
	l.split(x)
	l.split(g.cols - n)
	copy(l.cells[x+n:], l.cells[x:g.cols-n])
	l.used = min(g.cols, max(l.used, x)+n)
	for i := x; i < x+n; i++ {
		l.cells[i] = cell{bg: bg}
	}
}

// remove moves the cells of row y right of x+n to x.
func (g *grid) remove(y, x, n int, bg uint32) {
	l := g.row(y)
	n = min(n, g.cols-x)
	l.split(x)
	l.split(x + n)
	copy(l.cells[x:], l.cells[x+n:])
	for i := g.cols - n; i < g.cols; i++ {
		l.cells[i] = cell{bg: bg}
	}
	if bg != 0 {
		l.used = g.cols
	}
	l.wrapped = false
}

// dropHistory forgets the rows above the screen and their memory.
func (g *grid) dropHistory() {
	for y := -g.hist; y < 0; y++ {
		*g.at(y) = line{}
	}
	g.hist = 0
}

// resized is a grid of another size with the same content; cy is the cursor's
// row before and the result its row after. Rows below the cursor go first, then
// rows at the top, into what is kept above; growing brings those back.
func (g *grid) resized(cols, rows, cy int) (*grid, int) {
	n := newGrid(cols, rows, g.maxHist > 0)
	last := g.rows // rows of the screen that are kept, from its top
	if rows < g.rows {
		last -= min(g.rows-1-cy, g.rows-rows)
	}
	total := g.hist + last
	screen := min(rows, total) // rows that come from the old grid
	if n.maxHist == 0 {
		screen = min(rows, last)
	}
	if rows > g.rows {
		screen = min(rows, g.rows+g.hist)
	}
	first := last - screen // old row that becomes row 0
	n.hist = min(g.hist+first, n.maxHist)
	for y := -n.hist; y < screen; y++ {
		*n.at(y) = g.at(first + y).fit(cols)
	}
	return n, max(0, min(cy-first, rows-1))
}

// fit is the line at another width.
func (l *line) fit(cols int) line {
	if l.cells == nil || len(l.cells) == cols {
		return *l
	}
	out := line{used: min(l.used, cols), wrapped: l.wrapped && len(l.cells) == cols}
	if out.used > 0 || l.used > 0 {
		l.split(cols)
		out.cells = make([]cell, cols)
		copy(out.cells, l.cells)
	}
	return out
}
