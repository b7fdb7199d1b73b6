package kit

// List is a cursor in a list of which only a window is drawn. The zero value
// is at the top. It holds no items: the caller has them.
type List struct {
	At  int // the item under the cursor
	Top int // the first item drawn
}

// Move goes by d items within n.
func (l *List) Move(d, n int) { l.Set(l.At+d, n) }

// Set goes to item at, within n.
func (l *List) Set(at, n int) { l.At = max(0, min(at, n-1)) }

// Window gives the items to draw in h lines, scrolled no further than needed.
func (l *List) Window(n, h int) (from, to int) {
	l.At = max(0, min(l.At, n-1))
	if h < 1 {
		return 0, 0
	}
	if l.At < l.Top {
		l.Top = l.At
	}
	if l.At >= l.Top+h {
		l.Top = l.At - h + 1
	}
	l.Top = max(0, min(l.Top, n-h))
	return l.Top, min(n, l.Top+h)
}
