package term

import (
	"bytes"
	"unicode"
)

// ReservedKey is ctrl+\, the one key of an attached terminal that is ours.
const ReservedKey = 0x1c

// Event is a piece of the user's raw input: bytes for the program, or a command
// key pressed after the reserved key.
type Event struct {
	Bytes   []byte // to be sent as they are; nil when Command is set
	Command rune   // what was pressed after the reserved key; KeyEscape for any key without a character
}

// Scanner finds the reserved key in raw input. After it, the next key is a
// command; the reserved key again sends itself. Everything else comes out byte
// for byte and in order, and nothing inside a bracketed paste is a key. The key
// is known in its plain form and in those of the kitty keyboard protocol and
// modifyOtherKeys. The zero value scans for ReservedKey.
type Scanner struct {
	held    []byte // the beginning of what may be a key's sequence
	open    bool   // the reserved key was pressed
	pasting bool
	release bool // the reserved key's release is to be swallowed
}

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// Open says that the reserved key was pressed and a command key is awaited.
func (s *Scanner) Open() bool { return s.open }

// Pending says that the input ended within what may be a key's sequence, or in
// an Escape that may begin one. Unless more comes within some 20 ms it is to be
// flushed.
func (s *Scanner) Pending() bool { return len(s.held) > 0 }

// Flush gives up waiting for the rest of a sequence.
func (s *Scanner) Flush() []Event {
	p := s.held
	s.held = nil
	if len(p) == 0 {
		return nil
	}
	if s.open {
		s.open = false
		return []Event{{Command: KeyEscape}}
	}
	return []Event{{Bytes: p}}
}

// Scan takes input as it was read.
func (s *Scanner) Scan(p []byte) []Event {
	p = append(s.held, p...)
	s.held = nil
	var events []Event
	var plain []byte
	flush := func() {
		if len(plain) > 0 {
			events = append(events, Event{Bytes: plain})
			plain = nil
		}
	}
	for len(p) > 0 {
		n, key := s.next(p)
		if n == 0 {
			s.held = bytes.Clone(p)
			break
		}
		raw := p[:n]
		p = p[n:]
		switch {
		case key.reserved && key.release && s.release:
			s.release = false
		case key.reserved && !key.release && !s.open:
			s.open, s.release = true, key.sequence
		case key.reserved && !key.release:
			s.open = false
			plain = append(plain, raw...)
		case s.open && !key.release && !key.modifier && !key.report:
			s.open = false
			flush()
			events = append(events, Event{Command: key.code})
		default:
			plain = append(plain, raw...)
		}
	}
	flush()
	return events
}

// pressed is one key as found in the input.
type pressed struct {
	code     rune
	reserved bool
	release  bool
	modifier bool // a shift, ctrl or the like by itself
	report   bool // no key: the mouse, the focus, an answer of the terminal
	sequence bool // came as an escape sequence
}

// next finds the first key of p and its length in bytes; 0 when the rest of its
// sequence is still to come.
func (s *Scanner) next(p []byte) (int, pressed) {
	if s.pasting {
		return s.nextPasted(p)
	}
	switch {
	case p[0] == ReservedKey:
		return 1, pressed{reserved: true}
	case p[0] != esc:
		return s.nextPlain(p)
	case len(p) == 1:
		return 0, pressed{}
	case p[1] == esc || p[1] == ReservedKey:
		return 1, pressed{code: KeyEscape}
	case p[1] == 'O' && len(p) > 2:
		return 3, pressed{code: KeyEscape}
	case p[1] != '[':
		return 2, pressed{code: KeyEscape} // alt and a key
	}
	i := 2
	for i < len(p) && p[i] >= 0x20 && p[i] < 0x40 && i < 64 {
		i++
	}
	if i == len(p) {
		return 0, pressed{}
	}
	i++
	if bytes.Equal(p[:i], pasteStart) {
		s.pasting, s.open = true, false
		return i, pressed{}
	}
	return i, keySequence(p[2:i])
}

// nextPlain takes one character, or all bytes up to the next Escape or reserved
// key when no command is awaited.
func (s *Scanner) nextPlain(p []byte) (int, pressed) {
	if s.open {
		return 1, pressed{code: rune(p[0])}
	}
	i := 1
	for i < len(p) && p[i] != esc && p[i] != ReservedKey {
		i++
	}
	return i, pressed{}
}

func (s *Scanner) nextPasted(p []byte) (int, pressed) {
	if i := bytes.Index(p, pasteEnd); i >= 0 {
		s.pasting = false
		return i + len(pasteEnd), pressed{}
	}
	for k := min(len(pasteEnd)-1, len(p)); k > 0; k-- {
		if bytes.HasSuffix(p, pasteEnd[:k]) {
			return len(p) - k, pressed{}
		}
	}
	return len(p), pressed{}
}

// keySequence reads a key in the form CSI code:alternates ; mods:event ; text u
// or CSI 27 ; mods ; code ~.
func keySequence(body []byte) pressed {
	var ps parser
	var k keyReader
	ps.feed(append([]byte("\x1b["), body...), &k)
	return k.key
}

// keyReader is a parser's handler that keeps one key.
type keyReader struct{ key pressed }

func (k *keyReader) text([]byte)           {}
func (k *keyReader) char(rune)             {}
func (k *keyReader) control(byte)          {}
func (k *keyReader) esc(*sequence)         {}
func (k *keyReader) str(byte, []byte, int) {}

func (k *keyReader) csi(q *sequence) {
	k.key.sequence, k.key.code = true, KeyEscape
	if q.prefix != 0 || q.inter != 0 {
		k.key.report = true
		return
	}
	switch q.final {
	case 'M', 'I', 'O', 'c', 'n', 't':
		k.key.report = true
	case 'R':
		k.key.report = q.n == 2 && q.raw(0) != 1 // else it may be F3
	case 'u':
		k.kitty(q)
	case '~':
		if q.n == 3 && q.raw(0) == 27 {
			k.set(rune(q.raw(2)), q.param(1, 1)-1)
		}
	}
}

func (k *keyReader) kitty(q *sequence) {
	i := 0
	for i < q.n-1 && q.sub&(1<<i) != 0 {
		i++ // alternates of the code
	}
	mods := q.param(i+1, 1) - 1
	if i+1 < q.n && q.sub&(1<<(i+1)) != 0 {
		k.key.release = q.param(i+2, 1) == 3
	}
	k.set(rune(q.raw(0)), mods)
}

// set decides what a code with these modifier bits is: shift 1, alt 2, ctrl 4,
// and locks from 64 on, which make no difference.
func (k *keyReader) set(code rune, mods int) {
	k.key.code = code
	k.key.modifier = code >= 57358 && code <= 57360 || code >= 57441 && code <= 57454
	if mods &= 63; mods == 4 && unicode.ToLower(code) == ReservedKey|0x40 {
		k.key.reserved = true
	}
}
