package term

// paragraph is text that was wrapped over several rows, as one row of any
// length.
type paragraph struct{ cells []cell }

// reflowed is the grid's content wrapped anew for another width, as rows from
// the oldest kept on, and where the cursor and the screen's first row came to
// lie. Rows below the cursor that show nothing are left out.
func (g *grid) reflowed(cols, cx, cy int) (rows []line, x, y, top int) {
	last := g.rows - 1
	for last > cy && g.at(last).used == 0 && !g.at(last-1).wrapped {
		last--
	}
	var par paragraph
	cursor, first := -1, -1 // positions within the paragraph
	for r := -g.hist; r <= last; r++ {
		l := g.at(r)
		if r == cy {
			cursor = len(par.cells) + cx
		}
		if r == 0 {
			first = len(par.cells)
		}
		more := l.wrapped && r < last
		par.add(g, l, more)
		if more {
			if end := len(par.cells) - 1; wideFirst(g.at(r+1)) && par.cells[end].ch == 0 && par.cells[end].attr&attrTail == 0 {
				par.cells = par.cells[:end] // stood empty since a wide character did not fit
			}
			continue
		}
		rows, x, y, top = par.place(rows, cols, cursor, first, x, y, top)
		par.cells, cursor, first = par.cells[:0], -1, -1
	}
	return rows, x, y, top
}

func wideFirst(l *line) bool { return l.used > 0 && l.cells[0].attr&attrWide != 0 }

// add appends a row: whole when the text goes on, else what is used of it.
func (p *paragraph) add(g *grid, l *line, whole bool) {
	if l.cells != nil {
		p.cells = append(p.cells, l.cells[:l.used]...)
	}
	if whole {
		p.cells = append(p.cells, make([]cell, g.cols-l.used)...)
	}
}

// place wraps the paragraph into rows of that width.
func (p *paragraph) place(rows []line, cols, cursor, first, x, y, top int) ([]line, int, int, int) {
	cells := p.cells
	for end := len(cells); end > 0 && cells[end-1] == (cell{}); end-- {
		cells = cells[:end-1]
	}
	base := len(rows)
	starts := []int{0}
	for at := 0; len(cells)-at > cols; {
		n := cols
		if cols > 1 && cells[at+n].attr&attrTail != 0 {
			n-- // a wide character stays whole
		}
		at += n
		starts = append(starts, at)
	}
	for i, from := range starts {
		to := len(cells)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		l := line{wrapped: i+1 < len(starts)}
		if to > from {
			l.cells = make([]cell, cols)
			l.used = copy(l.cells, cells[from:to])
			if l.cells[0].attr&attrTail != 0 { // only in one column
				l.cells[0] = cell{}
			}
			if c := &l.cells[l.used-1]; c.attr&attrWide != 0 {
				c.ch, c.attr = uint32(replacement), c.attr&^attrWide
			}
		}
		rows = append(rows, l)
	}
	row := func(pos int) int {
		i := 0
		for i+1 < len(starts) && starts[i+1] <= pos {
			i++
		}
		return i
	}
	if first >= 0 {
		top = base + row(first)
	}
	if cursor >= 0 {
		i := row(cursor)
		x, y = cursor-starts[i], base+i
		if x > cols || x == cols && cursor > len(cells) {
			x = cols - 1
		}
	}
	return rows, x, y, top
}

// reflow is resized for a change of width: text is wrapped anew. The cursor
// stays on its character, and on the screen; x is cols when it stands behind a
// row's last character.
func (g *grid) reflow(cols, rows, cx, cy int) (n *grid, x, y int) {
	full := g.at(g.rows-1).used > 0 || cy == g.rows-1
	all, x, y, top := g.reflowed(cols, cx, cy)
	if rows > g.rows {
		top -= min(top, rows-g.rows)
	}
	if full {
		top = max(0, min(top, len(all)-rows))
	}
	if y >= top+rows {
		top = y - rows + 1
	}
	top = min(top, y)
	n = newGrid(cols, rows, true)
	n.hist = min(top, n.maxHist)
	for r := -n.hist; r < rows && top+r < len(all); r++ {
		*n.at(r) = all[top+r]
	}
	return n, x, y - top
}
