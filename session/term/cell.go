package term

// cell is one character position: sixteen bytes, so that a row is copied and
// cleared by the word.
type cell struct {
	ch   uint32 // 0: never written; a rune; or clusterBit and an index
	fg   uint32 // colour, see below
	bg   uint32
	attr uint32
}

const clusterBit = 1 << 31

// Colours: 0 is the default, else a kind in the top byte.
const (
	colourIndex = 1 << 24
	colourRGB   = 2 << 24
)

// Attributes. Three bits from underShift hold the underline style; the palette
// index of the underline's colour is in the top byte when underColoured is set.
const (
	attrBold = 1 << iota
	attrFaint
	attrItalic
	attrBlink
	attrReverse
	attrConceal
	attrStrike
	attrOverline
	attrWide // first half of a character of two cells
	attrTail // second half
	underColoured

	underShift       = 12
	underMask        = 7 << underShift
	underColourShift = 24
	penMask          = ^uint32(attrWide | attrTail)
)

// pen is the style that new text gets.
type pen struct{ fg, bg, attr uint32 }

// sgr applies a colour sequence to a pen. Unknown numbers are skipped.
func (p *pen) sgr(q *sequence) {
	if q.n == 0 {
		*p = pen{}
		return
	}
	for i := 0; i < q.n; i++ {
		first := i
		for i < q.n-1 && q.sub&(1<<i) != 0 {
			i++ // the colon-separated rest belongs to the first
		}
		v := q.raw(first)
		switch {
		case v == 38 || v == 48 || v == 58:
			c, last, ok := q.colour(first, i)
			i = last
			if ok {
				p.set(v, c)
			}
		case v == 4 && i > first:
			p.under(q.raw(first + 1))
		case i > first:
			// no other number takes parts
		default:
			p.simple(v)
		}
	}
}

// colour reads an extended colour whose introducer is parameter i and whose
// colon parts, if any, reach up to last.
func (q *sequence) colour(i, last int) (c uint32, end int, ok bool) {
	colon := last > i
	at := func(k int) int { return q.raw(i + k) }
	switch at(1) {
	case 5:
		if !colon {
			last = i + 2
		}
		return colourIndex | uint32(at(2)&0xff), min(last, q.n-1), i+2 < q.n && at(2) < 256
	case 2:
		k := 2
		if colon && last-i >= 5 {
			k = 3 // 38:2:space:r:g:b
		}
		if !colon {
			last = i + 4
		}
		r, g, b := at(k), at(k+1), at(k+2)
		return colourRGB | uint32(r&0xff)<<16 | uint32(g&0xff)<<8 | uint32(b&0xff), min(last, q.n-1),
			i+k+2 < q.n && r < 256 && g < 256 && b < 256
	}
	if !colon {
		last = i + 1
	}
	return 0, min(last, q.n-1), false
}

func (p *pen) set(which int, c uint32) {
	switch which {
	case 38:
		p.fg = c
	case 48:
		p.bg = c
	case 58:
		if c&colourRGB != 0 {
			c = nearest(c)
		}
		p.attr = p.attr&^(0xff<<underColourShift) | underColoured | c&0xff<<underColourShift
	}
}

// nearest is the entry of the 6x6x6 colour cube closest to a 24-bit colour.
func nearest(c uint32) uint32 {
	step := func(v uint32) uint32 {
		v &= 0xff
		if v < 48 {
			return 0
		}
		return min((v-35)/40, 5)
	}
	return 16 + 36*step(c>>16) + 6*step(c>>8) + step(c)
}

func (p *pen) under(style int) {
	if style > 5 {
		return
	}
	p.attr = p.attr&^underMask | uint32(style)<<underShift
}

func (p *pen) simple(v int) {
	switch {
	case v == 0:
		*p = pen{}
	case v == 1:
		p.attr |= attrBold
	case v == 2:
		p.attr |= attrFaint
	case v == 3:
		p.attr |= attrItalic
	case v == 4:
		p.under(1)
	case v == 5 || v == 6:
		p.attr |= attrBlink
	case v == 7:
		p.attr |= attrReverse
	case v == 8:
		p.attr |= attrConceal
	case v == 9:
		p.attr |= attrStrike
	case v == 21:
		p.under(2)
	case v == 22:
		p.attr &^= attrBold | attrFaint
	case v == 23:
		p.attr &^= attrItalic
	case v == 24:
		p.under(0)
	case v == 25:
		p.attr &^= attrBlink
	case v == 27:
		p.attr &^= attrReverse
	case v == 28:
		p.attr &^= attrConceal
	case v == 29:
		p.attr &^= attrStrike
	case v >= 30 && v <= 37:
		p.fg = colourIndex | uint32(v-30)
	case v == 39:
		p.fg = 0
	case v >= 40 && v <= 47:
		p.bg = colourIndex | uint32(v-40)
	case v == 49:
		p.bg = 0
	case v == 53:
		p.attr |= attrOverline
	case v == 55:
		p.attr &^= attrOverline
	case v == 59:
		p.attr &^= underColoured | 0xff<<underColourShift
	case v >= 90 && v <= 97:
		p.fg = colourIndex | uint32(v-90+8)
	case v >= 100 && v <= 107:
		p.bg = colourIndex | uint32(v-100+8)
	}
}

// appendSGR writes the sequence that sets exactly this pen.
func (p pen) appendSGR(b []byte) []byte {
	b = append(b, "\x1b[0"...)
	for bit, n := range [...]int{1, 2, 3, 5, 7, 8, 9, 53} {
		if p.attr&(1<<bit) != 0 {
			b = appendInt(append(b, ';'), n)
		}
	}
	switch u := int(p.attr&underMask) >> underShift; {
	case u == 1:
		b = append(b, ";4"...)
	case u > 1:
		b = appendInt(append(b, ";4:"...), u)
	}
	b = appendColour(b, p.fg, 38, 30, 90)
	b = appendColour(b, p.bg, 48, 40, 100)
	if p.attr&underColoured != 0 {
		b = appendInt(append(b, ";58:5:"...), int(p.attr>>underColourShift))
	}
	return append(b, 'm')
}

func appendColour(b []byte, c uint32, ext, low, high int) []byte {
	switch n := int(c & 0xff); {
	case c&colourRGB != 0:
		b = appendInt(append(b, ';'), ext)
		b = appendInt(append(b, ";2;"...), int(c>>16&0xff))
		b = appendInt(append(b, ';'), int(c>>8&0xff))
		return appendInt(append(b, ';'), n)
	case c&colourIndex == 0:
		return b
	case n < 8:
		return appendInt(append(b, ';'), low+n)
	case n < 16:
		return appendInt(append(b, ';'), high+n-8)
	default:
		b = appendInt(append(b, ';'), ext)
		return appendInt(append(b, ";5;"...), n)
	}
}

func appendInt(b []byte, n int) []byte {
	if n >= 10 {
		b = appendInt(b, n/10)
	}
	return append(b, byte('0'+n%10))
}
