package term

import (
	"bytes"
	"fmt"
	"strconv"
)

// Fixed answers. They hold nothing that the inside chose, so that an answer
// can't type a command of its own into the next shell.
const (
	da1       = "\x1b[?62;22c"
	da2       = "\x1b[>0;277;0c"
	da3       = "\x1bP!|00000000\x1b\\"
	xtversion = "\x1bP>|fumehood\x1b\\"
)

// maxReplies bounds the answers that wait to be collected, in bytes.
const maxReplies = 16 << 10

// A cell's size in pixels, for programs that ask; there are no real ones.
const (
	cellWidth  = 8
	cellHeight = 16
)

func (s *Screen) reply(text string) {
	if len(s.replies)+len(text) > maxReplies {
		s.dropped++
		return
	}
	s.replies = append(s.replies, text...)
}

func (s *Screen) replyf(format string, args ...any) { s.reply(fmt.Sprintf(format, args...)) }

// Replies are the answers to the program's queries since the last call, to be
// written to it.
func (s *Screen) Replies() []byte {
	if len(s.replies) == 0 {
		return nil
	}
	out := bytes.Clone(s.replies)
	s.replies = s.replies[:0]
	return out
}

// Dropped counts the answers given up because nobody collected them.
func (s *Screen) Dropped() int { return s.dropped }

func (s *Screen) status(n int) {
	switch n {
	case 5:
		s.reply("\x1b[0n")
	case 6:
		y := s.y
		if s.origin {
			y -= s.top
		}
		s.replyf("\x1b[%d;%dR", y+1, s.x+1)
	}
}

func (s *Screen) privateStatus(n int) {
	switch n {
	case 6:
		s.replyf("\x1b[?%d;%d;1R", s.y+1, s.x+1)
	case 15:
		s.reply("\x1b[?13n") // no printer
	case 25:
		s.reply("\x1b[?21n") // no user-defined keys
	case 26:
		s.reply("\x1b[?27;1;0;0n")
	case 996:
		s.reply("\x1b[?997;" + s.schemeDigit() + "n")
	}
}

func (s *Screen) schemeDigit() string {
	c := s.opts.Background
	if c>>16&0xff+c>>8&0xff+c&0xff > 3*0x80 {
		return "2"
	}
	return "1"
}

func (s *Screen) reportMode(n int, private bool) {
	mark := ""
	if private {
		mark = "?"
	}
	s.replyf("\x1b[%s%d;%d$y", mark, n, s.modeState(n, private))
}

// window answers the size reports and keeps the title stack. Everything else
// would move the user's window, and reports of the title would type it.
func (s *Screen) window(q *sequence) {
	switch q.raw(0) {
	case 11:
		s.reply("\x1b[1t")
	case 14:
		s.replyf("\x1b[4;%d;%dt", s.rows*cellHeight, s.cols*cellWidth)
	case 16:
		s.replyf("\x1b[6;%d;%dt", cellHeight, cellWidth)
	case 18:
		s.replyf("\x1b[8;%d;%dt", s.rows, s.cols)
	case 19:
		s.replyf("\x1b[9;%d;%dt", s.rows, s.cols)
	case 22:
		if len(s.titles) < 8 {
			s.titles = append(s.titles, s.title)
		}
	case 23:
		if n := len(s.titles); n > 0 {
			s.title, s.titles = s.titles[n-1], s.titles[:n-1]
		}
	}
}

// colourQuery answers OSC 10, 11 and 12.
func (s *Screen) colourQuery(n int, args []byte) {
	for _, a := range bytes.Split(args, []byte{';'}) {
		if len(a) == 1 && a[0] == '?' {
			c := s.opts.Foreground
			if n == 11 {
				c = s.opts.Background
			}
			s.replyf("\x1b]%d;%s\x1b\\", n, rgb(c))
		}
		if n++; n > 12 {
			return
		}
	}
}

// paletteQuery answers OSC 4, of at most 256 entries in one go.
func (s *Screen) paletteQuery(args []byte) {
	parts := bytes.Split(args, []byte{';'})
	for i := 0; i+1 < len(parts) && i < 512; i += 2 {
		n, err := strconv.Atoi(string(parts[i]))
		if err != nil || n < 0 || n > 255 || string(parts[i+1]) != "?" {
			continue
		}
		s.replyf("\x1b]4;%d;%s\x1b\\", n, rgb(palette(n)))
	}
}

func rgb(c uint32) string {
	r, g, b := c>>16&0xff, c>>8&0xff, c&0xff
	return fmt.Sprintf("rgb:%02x%02x/%02x%02x/%02x%02x", r, r, g, g, b, b)
}

// palette is xterm's default palette.
func palette(n int) uint32 {
	base := [16]uint32{
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
	}
	switch {
	case n < 16:
		return base[n]
	case n < 232:
		level := func(k int) uint32 {
			if k == 0 {
				return 0
			}
			return uint32(55 + 40*k)
		}
		n -= 16
		return level(n/36)<<16 | level(n/6%6)<<8 | level(n%6)
	}
	grey := uint32(8 + 10*(n-232))
	return grey<<16 | grey<<8 | grey
}

// settingQuery answers DECRQSS for what the screen knows.
func (s *Screen) settingQuery(what string) {
	switch what {
	case "m":
		b := s.pen.appendSGR(nil)
		s.replyf("\x1bP1$r%s\x1b\\", b[2:])
	case "r":
		s.replyf("\x1bP1$r%d;%dr\x1b\\", s.top+1, s.bot+1)
	case " q":
		s.replyf("\x1bP1$r%d q\x1b\\", max(1, s.shape))
	default:
		s.reply("\x1bP0$r\x1b\\")
	}
}
