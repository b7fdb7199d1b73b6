package term

// Key is one key press. Code is a character, or one of the Key constants; Mod
// is a sum of the Mod constants; Text is what the key types, when it types
// something. The numbers are those that ultraviolet's and bubbletea's keys use.
type Key struct {
	Code rune
	Mod  int
	Text string
}

// Modifiers.
const (
	ModShift = 1 << iota
	ModAlt
	ModCtrl
	ModMeta
	ModHyper
	ModSuper
	ModCapsLock
	ModNumLock
	ModScrollLock
)

// Keys that are no character.
const (
	KeyUp rune = 0x110001 + iota
	KeyDown
	KeyRight
	KeyLeft
	KeyBegin
	KeyFind
	KeyInsert
	KeyDelete
	KeySelect
	KeyPgUp
	KeyPgDown
	KeyHome
	KeyEnd
	KeyKpEnter
	KeyKpEqual
	KeyKpMultiply
	KeyKpPlus
	KeyKpComma
	KeyKpMinus
	KeyKpDecimal
	KeyKpDivide
	KeyKp0
	KeyKp1
	KeyKp2
	KeyKp3
	KeyKp4
	KeyKp5
	KeyKp6
	KeyKp7
	KeyKp8
	KeyKp9
	KeyKpSep
	KeyKpUp
	KeyKpDown
	KeyKpLeft
	KeyKpRight
	KeyKpPgUp
	KeyKpPgDown
	KeyKpHome
	KeyKpEnd
	KeyKpInsert
	KeyKpDelete
	KeyKpBegin
	KeyF1 // F2 to F24 follow
)

// Keys with a code of their own in ASCII.
const (
	KeyBackspace rune = 0x7f
	KeyTab       rune = '\t'
	KeyEnter     rune = '\r'
	KeyEscape    rune = 0x1b
	KeySpace     rune = ' '
)

// csiKeys are the keys whose sequence ends in a letter: CSI A, SS3 A in
// application mode, CSI 1;m A with modifiers.
func csiKey(code rune) byte {
	switch code {
	case KeyUp:
		return 'A'
	case KeyDown:
		return 'B'
	case KeyRight:
		return 'C'
	case KeyLeft:
		return 'D'
	case KeyBegin:
		return 'E'
	case KeyEnd:
		return 'F'
	case KeyHome:
		return 'H'
	case KeyF1:
		return 'P'
	case KeyF1 + 1:
		return 'Q'
	case KeyF1 + 2:
		return 'R'
	case KeyF1 + 3:
		return 'S'
	}
	return 0
}

// tildeKey is the number of the keys whose sequence ends in a tilde, or 0.
func tildeKey(code rune) int {
	switch code {
	case KeyFind:
		return 1
	case KeyInsert:
		return 2
	case KeyDelete:
		return 3
	case KeySelect:
		return 4
	case KeyPgUp:
		return 5
	case KeyPgDown:
		return 6
	}
	if n := int(code - KeyF1); n >= 4 && n < 20 {
		return [...]int{15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34}[n-4]
	}
	return 0
}

// keypad is a keypad key's letter after SS3 in application mode, and what it
// is otherwise.
func keypad(code rune) (app byte, plain rune) {
	switch {
	case code >= KeyKp0 && code <= KeyKp9:
		n := byte(code - KeyKp0)
		return 'p' + n, rune('0' + n)
	case code >= KeyKpUp && code <= KeyKpBegin:
		return 0, [...]rune{
			KeyUp, KeyDown, KeyLeft, KeyRight, KeyPgUp, KeyPgDown, KeyHome, KeyEnd,
			KeyInsert, KeyDelete, KeyBegin,
		}[code-KeyKpUp]
	}
	switch code {
	case KeyKpEnter:
		return 'M', KeyEnter
	case KeyKpEqual:
		return 'X', '='
	case KeyKpMultiply:
		return 'j', '*'
	case KeyKpPlus:
		return 'k', '+'
	case KeyKpComma, KeyKpSep:
		return 'l', ','
	case KeyKpMinus:
		return 'm', '-'
	case KeyKpDecimal:
		return 'n', '.'
	case KeyKpDivide:
		return 'o', '/'
	}
	return 0, 0
}
