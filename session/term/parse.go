package term

import "unicode/utf8"

// Limits of one control sequence. What is longer is parsed to its end, so that
// its rest is not printed, and cut or dropped.
const (
	maxParams   = 32
	maxValue    = 65535     // of one parameter; larger ones are clamped
	maxString   = 192 << 10 // bytes kept of an OSC, DCS, APC, PM or SOS string
	keepString  = 4 << 10   // capacity kept between strings
	maxPartial  = 48        // bytes kept of an unfinished sequence, for a repaint
	missing     = -1
	esc         = 0x1b
	bel         = 0x07
	replacement = utf8.RuneError
)

// sequence is a parsed ESC or CSI sequence.
type sequence struct {
	prefix byte // '<', '=', '>', '?' or 0
	inter  byte // the one intermediate byte, or 0
	final  byte
	n      int              // parameters in use
	params [maxParams]int32 // missing is -1
	sub    uint32           // bit i: parameter i is followed by a colon, not a semicolon
}

// param is parameter i, or def when it is missing or zero.
func (q *sequence) param(i, def int) int {
	if i >= q.n || q.params[i] <= 0 {
		return def
	}
	return int(q.params[i])
}

// raw is parameter i, or 0 when it is missing.
func (q *sequence) raw(i int) int {
	if i >= q.n || q.params[i] < 0 {
		return 0
	}
	return int(q.params[i])
}

// handler takes what a parser finds. Slices are valid during the call only.
type handler interface {
	text(p []byte)                         // printable ASCII
	char(r rune)                           // any other scalar value, never a control
	control(b byte)                        // C0, without ESC
	esc(q *sequence)                       // ESC intermediate? final
	csi(q *sequence)                       // CSI
	str(kind byte, data []byte, total int) // OSC ']', DCS 'P', APC '_', PM '^', SOS 'X'
}

type state uint8

const (
	stGround state = iota
	stEsc
	stEscInter
	stCSI
	stCSIInter
	stIgnore
	stString
	stStringEsc
)

// parser splits a byte stream into text and control sequences. What it reports
// does not depend on how the stream is cut into writes. C1 controls are dropped
// in either form: in a UTF-8 stream nobody sends them but to deceive.
type parser struct {
	state   state
	kind    byte // of the string
	over    bool // too many intermediates: drop the sequence
	nu8     int
	u8      [4]byte
	seq     sequence
	data    []byte
	total   int // bytes of the string so far, kept or not
	npart   int
	partial [maxPartial]byte
}

func (ps *parser) feed(p []byte, h handler) {
	for len(p) > 0 {
		switch ps.state {
		case stGround:
			p = ps.ground(p, h)
		case stString:
			p = ps.str(p, h)
		default:
			if ps.step(p[0], h) {
				p = p[1:]
			}
		}
	}
}

// unfinished is what would bring a fresh parser into this one's state: for a
// string only its introducer, so that its rest is swallowed there too.
func (ps *parser) unfinished() []byte {
	switch ps.state {
	case stGround:
		return ps.u8[:ps.nu8]
	case stString:
		return []byte{esc, ps.kind}
	case stStringEsc:
		return []byte{esc, ps.kind, esc}
	default:
		return ps.partial[:ps.npart]
	}
}

// ground consumes text, and at most one control or the start of a sequence.
func (ps *parser) ground(p []byte, h handler) []byte {
	if ps.nu8 > 0 {
		return ps.continueRune(p, h)
	}
	i := 0
	for i < len(p) && p[i]-0x20 < 0x5f {
		i++
	}
	if i > 0 {
		h.text(p[:i])
		if p = p[i:]; len(p) == 0 {
			return nil
		}
	}
	switch b := p[0]; {
	case b == esc:
		ps.begin()
		return p[1:]
	case b < 0x20:
		h.control(b)
		return p[1:]
	case b == 0x7f:
		return p[1:]
	case !utf8.FullRune(p):
		ps.nu8 = copy(ps.u8[:], p)
		return nil
	}
	r, n := utf8.DecodeRune(p)
	ps.rune(r, n, p[0], h)
	return p[n:]
}

// continueRune adds one byte to an unfinished rune. A byte that can't belong to
// it is left for the next round.
func (ps *parser) continueRune(p []byte, h handler) []byte {
	if p[0] < 0x80 {
		for _, b := range ps.u8[:ps.nu8] {
			ps.rune(replacement, 1, b, h)
		}
		ps.nu8 = 0
		return p
	}
	ps.u8[ps.nu8] = p[0]
	ps.nu8++
	for ps.nu8 > 0 && utf8.FullRune(ps.u8[:ps.nu8]) {
		r, n := utf8.DecodeRune(ps.u8[:ps.nu8])
		ps.rune(r, n, ps.u8[0], h)
		ps.nu8 = copy(ps.u8[:], ps.u8[n:ps.nu8])
	}
	return p[1:]
}

// rune reports a decoded rune, or a bad byte as a replacement mark.
func (ps *parser) rune(r rune, n int, first byte, h handler) {
	if r == replacement && n == 1 && first < 0xa0 {
		return // a C1 control as a byte, or a stray continuation that looks like one
	}
	if r >= 0x80 && r < 0xa0 {
		return
	}
	h.char(r)
}

func (ps *parser) begin() {
	ps.state = stEsc
	ps.over = false
	ps.seq.prefix, ps.seq.inter, ps.seq.final = 0, 0, 0
	ps.seq.n, ps.seq.sub = 0, 0
	ps.partial[0], ps.npart = esc, 1
}

// step takes one byte inside a sequence and says whether it was consumed.
func (ps *parser) step(b byte, h handler) bool {
	if ps.state == stStringEsc {
		return ps.stringEsc(b, h)
	}
	switch {
	case b == esc:
		ps.begin()
		return true
	case b == 0x18 || b == 0x1a: // CAN and SUB abort
		ps.state = stGround
		return true
	case b < 0x20:
		h.control(b)
		return true
	case b == 0x7f:
		return true
	case b >= 0x80:
		ps.state = stGround // no part of any sequence: text again
		return false
	}
	if ps.npart < maxPartial {
		ps.partial[ps.npart] = b
		ps.npart++
	}
	switch ps.state {
	case stEsc:
		ps.stepEsc(b, h)
	case stEscInter:
		if b < 0x30 {
			ps.collect(b)
			return true
		}
		ps.state = stGround
		if ps.seq.final = b; !ps.over {
			h.esc(&ps.seq)
		}
	case stCSI, stCSIInter:
		ps.stepCSI(b, h)
	case stIgnore:
		if b >= 0x40 {
			ps.state = stGround
		}
	case stGround, stString, stStringEsc: // not in a sequence: the caller's
	}
	return true
}

func (ps *parser) stepEsc(b byte, h handler) {
	switch {
	case b < 0x30:
		ps.collect(b)
		ps.state = stEscInter
	case b == '[':
		ps.state = stCSI
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X':
		ps.state, ps.kind, ps.total = stString, b, 0
		if cap(ps.data) > keepString {
			ps.data = nil
		}
		ps.data = ps.data[:0]
	default:
		ps.state = stGround
		ps.seq.final = b
		h.esc(&ps.seq)
	}
}

func (ps *parser) stepCSI(b byte, h handler) {
	q := &ps.seq
	switch {
	case b >= 0x40:
		ps.state = stGround
		if q.final = b; !ps.over {
			h.csi(q)
		}
	case b < 0x30:
		ps.collect(b)
		ps.state = stCSIInter
	case ps.state == stCSIInter: // a parameter after an intermediate
		ps.state = stIgnore
	case b <= '9':
		if q.n == 0 {
			q.n, q.params[0] = 1, missing
		}
		if q.n <= maxParams {
			v := &q.params[q.n-1]
			*v = min(max(*v, 0)*10+int32(b-'0'), maxValue)
		}
	case b == ';' || b == ':':
		if q.n == 0 {
			q.n, q.params[0] = 1, missing
		}
		if b == ':' && q.n <= maxParams {
			q.sub |= 1 << (q.n - 1)
		}
		if q.n == maxParams {
			ps.state = stIgnore // longer than any real sequence
			return
		}
		q.params[q.n] = missing
		q.n++
	default: // one of < = > ?
		if q.n > 0 || q.prefix != 0 {
			ps.state = stIgnore
			return
		}
		q.prefix = b
	}
}

func (ps *parser) collect(b byte) {
	if ps.seq.inter != 0 {
		ps.over = true
	}
	ps.seq.inter = b
}

// str takes string bytes up to the terminator or the end of the write.
func (ps *parser) str(p []byte, h handler) []byte {
	i := 0
	for i < len(p) && p[i] != esc && p[i] != 0x18 && p[i] != 0x1a && (p[i] != bel || ps.kind != ']') {
		i++
	}
	ps.total += i
	if room := maxString - len(ps.data); room > 0 {
		ps.data = append(ps.data, p[:min(i, room)]...)
	}
	if i == len(p) {
		return nil
	}
	switch p[i] {
	case esc:
		ps.state = stStringEsc
	case bel:
		ps.state = stGround
		h.str(ps.kind, ps.data, ps.total)
	default:
		ps.state = stGround
	}
	return p[i+1:]
}

// stringEsc decides on the byte after ESC in a string: only a backslash ends it
// properly, anything else drops it and starts a sequence of its own.
func (ps *parser) stringEsc(b byte, h handler) bool {
	if b == '\\' {
		ps.state = stGround
		h.str(ps.kind, ps.data, ps.total)
		return true
	}
	ps.begin()
	return false
}
