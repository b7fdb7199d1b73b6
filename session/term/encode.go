package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is the bytes that this key sends to the program, in the modes that it has
// set; nil for a key that sends nothing.
func (s *Screen) Key(k Key) []byte {
	k.Mod &= ModShift | ModAlt | ModCtrl | ModMeta | ModHyper | ModSuper
	s.answered()
	if app, plain := keypad(k.Code); plain != 0 {
		if app != 0 && s.appKeypad && k.Mod == 0 {
			return []byte{esc, 'O', app}
		}
		k.Code = plain
		if k.Text == "" && plain > ' ' && plain < 0x7f && k.Mod&^ModShift == 0 {
			k.Text = string(plain)
		}
	}
	if k.Code > unicode.MaxRune+1 {
		return s.functionKey(k)
	}
	if flags := s.kitty().flags(); flags != 0 {
		if b := kittyKey(k, flags); b != nil {
			return b
		}
	}
	if s.modifyKeys > 0 {
		if b := s.modified(k); b != nil {
			return b
		}
	}
	return legacyKey(k)
}

// answered ends an agent's waiting: the person typed something.
func (s *Screen) answered() {
	if s.state == AgentWaiting {
		s.state = AgentUnknown
	}
}

// modParam is the modifier's number in a sequence: a bit mask plus one.
func modParam(mod int) int {
	n := 0
	for i, m := range [...]int{ModShift, ModAlt, ModCtrl, ModSuper, ModHyper, ModMeta} {
		if mod&m != 0 {
			n |= 1 << i
		}
	}
	return n + 1
}

func (s *Screen) functionKey(k Key) []byte {
	b := []byte{esc}
	if letter := csiKey(k.Code); letter != 0 {
		switch {
		case k.Mod != 0:
			b = append(appendInt(append(b, "[1;"...), modParam(k.Mod)), letter)
		case letter >= 'P' || s.appCursor:
			if s.kitty().flags() != 0 && letter >= 'P' && letter != 'R' {
				return append(b, '[', letter)
			}
			b = append(b, 'O', letter)
		default:
			b = append(b, '[', letter)
		}
		return b
	}
	n := tildeKey(k.Code)
	if n == 0 {
		return nil
	}
	b = appendInt(append(b, '['), n)
	if k.Mod != 0 {
		b = appendInt(append(b, ';'), modParam(k.Mod))
	}
	return append(b, '~')
}

// kittyKey encodes by the kitty keyboard protocol, or returns nil where that
// leaves the key as it is.
func kittyKey(k Key, flags int) []byte {
	code := k.Code
	if code == unicode.MaxRune+1 || code == 0 {
		return nil // several characters at once
	}
	all := flags&kittyAllKeys != 0
	switch code {
	case KeyEnter, KeyTab, KeyBackspace:
		if !all && k.Mod == 0 {
			return nil
		}
	case KeyEscape:
	default:
		if !all && k.Mod&^ModShift == 0 {
			return nil
		}
		code = unicode.ToLower(code)
	}
	b := appendInt([]byte{esc, '['}, int(code))
	text := flags&kittyText != 0 && all && k.Text != "" && k.Mod&^ModShift == 0
	if k.Mod != 0 || text {
		b = append(b, ';')
		if k.Mod != 0 {
			b = appendInt(b, modParam(k.Mod))
		}
	}
	if text {
		sep := byte(';')
		for _, r := range k.Text {
			if unicode.IsControl(r) {
				continue
			}
			b = appendInt(append(b, sep), int(r))
			sep = ':'
		}
	}
	return append(b, 'u')
}

// modified encodes by xterm's modifyOtherKeys, or returns nil where that leaves
// the key as it is: level 1 keeps the keys that have a byte of their own.
func (s *Screen) modified(k Key) []byte {
	if k.Mod == 0 || k.Code == 0 || k.Code > unicode.MaxRune {
		return nil
	}
	special := k.Code == KeyEnter || k.Code == KeyTab || k.Code == KeyEscape
	switch {
	case k.Code == KeyTab && k.Mod == ModShift, k.Code == KeyBackspace && k.Mod&^(ModAlt|ModCtrl) == 0:
		return nil
	case k.Mod == ModShift && !special && k.Code != KeySpace:
		return nil
	case s.modifyKeys == 1 && k.Mod == ModAlt:
		return nil
	case s.modifyKeys == 1 && k.Mod&^(ModCtrl|ModAlt) == 0 && !special:
		if _, ok := controlByte(k.Code); ok {
			return nil
		}
	}
	code := k.Code
	if k.Mod&ModShift != 0 && k.Mod&ModCtrl != 0 {
		code = unicode.ToUpper(code)
	}
	b := appendInt([]byte("\x1b[27;"), modParam(k.Mod))
	b = appendInt(append(b, ';'), int(code))
	return append(b, '~')
}

// controlByte is what ctrl makes of a key.
func controlByte(code rune) (byte, bool) {
	switch {
	case code >= 'a' && code <= 'z':
		return byte(code) - 'a' + 1, true
	case code >= '@' && code <= '_':
		return byte(code) - '@', true
	case code == ' ' || code == '2' || code == '`':
		return 0, true
	case code >= '3' && code <= '7':
		return byte(code) - '3' + 0x1b, true
	case code == '8' || code == '?':
		return 0x7f, true
	case code == '/' || code == '-':
		return 0x1f, true
	case code == '~':
		return 0x1e, true
	}
	return 0, false
}

func legacyKey(k Key) []byte {
	var b []byte
	if k.Mod&(ModAlt|ModMeta) != 0 {
		b = append(b, esc)
	}
	switch {
	case k.Code == KeyTab && k.Mod&ModShift != 0:
		return append(b, "\x1b[Z"...)
	case k.Code == KeyBackspace && k.Mod&ModCtrl != 0:
		return append(b, '\b')
	case k.Code == KeyEnter || k.Code == KeyTab || k.Code == KeyBackspace || k.Code == KeyEscape:
		return append(b, byte(k.Code))
	case k.Mod&ModCtrl != 0:
		if c, ok := controlByte(unicode.ToLower(k.Code)); ok {
			return append(b, c)
		}
	}
	if k.Text != "" {
		return append(b, k.Text...)
	}
	if k.Code == 0 || k.Code > unicode.MaxRune || !utf8.ValidRune(k.Code) {
		return nil
	}
	if k.Mod&ModShift != 0 {
		k.Code = unicode.ToUpper(k.Code)
	}
	return utf8.AppendRune(b, k.Code)
}

// Paste is the bytes that pasting this text sends: line ends as the Enter key
// sends them, control characters left out, so that the text can neither leave
// its brackets nor press keys; in brackets when the program asked for them.
func (s *Screen) Paste(text string) []byte {
	var b strings.Builder
	b.Grow(len(text) + 12)
	if s.paste {
		b.WriteString("\x1b[200~")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteByte('\r')
		case r == '\t' || r == '\r' || r >= 0x20 && r != 0x7f && (r < 0x80 || r >= 0xa0):
			b.WriteRune(r)
		}
	}
	if s.paste {
		b.WriteString("\x1b[201~")
	}
	return []byte(b.String())
}

// Focus is the bytes that gaining or losing the focus sends, if the program
// asked for it.
func (s *Screen) Focus(gained bool) []byte {
	switch {
	case !s.focus:
		return nil
	case gained:
		return []byte("\x1b[I")
	}
	return []byte("\x1b[O")
}

// MouseKind is what a mouse event is.
type MouseKind int

// The kinds of mouse events. A wheel step is a press of MouseWheelUp and the like.
const (
	MousePress MouseKind = iota
	MouseRelease
	MouseMotion
)

// Mouse buttons, numbered as ultraviolet does.
const (
	MouseNone = iota
	MouseLeft
	MouseMiddle
	MouseRight
	MouseWheelUp
	MouseWheelDown
	MouseWheelLeft
	MouseWheelRight
	MouseBackward
	MouseForward
)

// Mouse is one mouse event, at a cell counted from 0.
type Mouse struct {
	Kind   MouseKind
	Button int
	X, Y   int
	Mod    int
}

// wheelLines is how many cursor keys a step of the wheel stands for in a
// full-screen program that did not ask for the mouse.
const wheelLines = 3

// Mouse is the bytes that this event sends; nil when the program did not ask
// for it, or the place is off the screen.
func (s *Screen) Mouse(m Mouse) []byte {
	if m.X < 0 || m.Y < 0 || m.X >= s.cols || m.Y >= s.rows {
		return nil
	}
	wheel := m.Button >= MouseWheelUp && m.Button <= MouseWheelRight
	switch s.mouse {
	case 0:
		if m.Kind == MousePress && s.Alt() && s.altScroll && (m.Button == MouseWheelUp || m.Button == MouseWheelDown) {
			key := s.functionKey(Key{Code: KeyUp + rune(m.Button-MouseWheelUp)})
			return []byte(strings.Repeat(string(key), wheelLines))
		}
		return nil
	case 9:
		if m.Kind != MousePress {
			return nil
		}
		m.Mod = 0
	case 1000:
		if m.Kind == MouseMotion {
			return nil
		}
	case 1002:
		if m.Kind == MouseMotion && m.Button == MouseNone {
			return nil
		}
	}
	if wheel && m.Kind == MouseRelease {
		return nil
	}
	return s.mouseBytes(m)
}

func (s *Screen) mouseBytes(m Mouse) []byte {
	code := 3 // none
	switch {
	case m.Button >= MouseLeft && m.Button <= MouseRight:
		code = m.Button - MouseLeft
	case m.Button >= MouseWheelUp && m.Button <= MouseWheelRight:
		code = 64 + m.Button - MouseWheelUp
	case m.Button == MouseBackward || m.Button == MouseForward:
		code = 128 + m.Button - MouseBackward
	}
	if m.Kind == MouseRelease && s.mouseCode != 1006 {
		code = 3
	}
	if m.Kind == MouseMotion {
		code += 32
	}
	for mod, bit := range map[int]int{ModShift: 4, ModAlt: 8, ModCtrl: 16} {
		if m.Mod&mod != 0 {
			code += bit
		}
	}
	b := []byte{esc, '['}
	switch s.mouseCode {
	case 1006:
		b = appendInt(append(b, '<'), code)
		b = appendInt(append(b, ';'), m.X+1)
		b = appendInt(append(b, ';'), m.Y+1)
		if m.Kind == MouseRelease {
			return append(b, 'm')
		}
		return append(b, 'M')
	case 1015:
		b = appendInt(b, code+32)
		b = appendInt(append(b, ';'), m.X+1)
		b = appendInt(append(b, ';'), m.Y+1)
		return append(b, 'M')
	case 1005:
		b = append(b, 'M')
		for _, n := range [...]int{code, m.X + 1, m.Y + 1} {
			b = utf8.AppendRune(b, rune(n+32))
		}
		return b
	}
	if m.X > 222 || m.Y > 222 {
		return nil // can't be said in this encoding
	}
	return append(b, 'M', byte(code+32), byte(m.X+33), byte(m.Y+33))
}
