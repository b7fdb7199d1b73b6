package term

// modes are the switches that a program can set.
type modes struct {
	insert, newline               bool
	autowrap, origin, hidden      bool
	appCursor, appKeypad          bool
	reverse                       bool
	blink                         bool
	shape                         int // DECSCUSR, 0 to 6
	mouse                         int // 0, 9, 1000, 1002 or 1003
	mouseCode                     int // 0, 1005, 1006 or 1015
	focus, paste, altScroll, sync bool
	scheme                        bool // 2031: wants to hear of light and dark
	modifyKeys                    int  // modifyOtherKeys, 0 to 2
	keys                          [2]kittyStack
}

func defaultModes() modes { return modes{autowrap: true, altScroll: true} }

// kittyStack is the keyboard protocol's flags of one screen.
type kittyStack struct {
	stack []int
}

// Flags of the kitty keyboard protocol that Key can honour. Releases and
// alternate codes are not among them: no such thing reaches Key.
const (
	kittyDisambiguate = 1
	kittyAllKeys      = 8
	kittyText         = 16
	kittySupported    = kittyDisambiguate | kittyAllKeys | kittyText
	kittyDepth        = 16
)

func (s *Screen) kitty() *kittyStack { return &s.keys[s.screenIndex()] }

func (k *kittyStack) flags() int {
	if len(k.stack) == 0 {
		return 0
	}
	return k.stack[len(k.stack)-1]
}

func (k *kittyStack) push(flags int) {
	if len(k.stack) == kittyDepth {
		k.stack = append(k.stack[:0], k.stack[1:]...)
	}
	k.stack = append(k.stack, flags&kittySupported)
}

func (k *kittyStack) pop(n int) { k.stack = k.stack[:max(0, len(k.stack)-n)] }

func (k *kittyStack) set(flags, how int) {
	flags &= kittySupported
	if len(k.stack) == 0 {
		k.stack = append(k.stack, 0)
	}
	top := &k.stack[len(k.stack)-1]
	switch how {
	case 1:
		*top = flags
	case 2:
		*top |= flags
	case 3:
		*top &^= flags
	}
}

func (s *Screen) setMode(n int, on bool) {
	switch n {
	case 4:
		s.insert = on
	case 20:
		s.newline = on
	}
}

func (s *Screen) setPrivateMode(n int, on bool) {
	switch n {
	case 1:
		s.appCursor = on
	case 5:
		s.reverse = on
	case 6:
		s.origin = on
		s.moveTo(0, 0)
	case 7:
		if s.autowrap = on; !on {
			s.wrapNext = false
		}
	case 12:
		s.blink = on
	case 25:
		s.hidden = !on
	case 9, 1000, 1002, 1003:
		if s.mouse = 0; on {
			s.mouse = n
		}
	case 1005, 1006, 1015:
		if on {
			s.mouseCode = n
		} else if s.mouseCode == n {
			s.mouseCode = 0
		}
	case 1004:
		s.focus = on
	case 1007:
		s.altScroll = on
	case 47:
		s.useScreen(on, false)
	case 1047:
		if !on && s.Alt() {
			s.eraseRows(0, s.rows)
		}
		s.useScreen(on, false)
	case 1048:
		if on {
			s.saveCursor(0)
		} else {
			s.restoreCursor(0)
		}
	case 1049:
		s.altScreen(on)
	case 2004:
		s.paste = on
	case 2026:
		s.synchronise(on)
	case 2031:
		s.scheme = on
	case 66:
		s.appKeypad = on
	}
}

// altScreen is 1049: the main screen's cursor is kept in its own slot.
func (s *Screen) altScreen(on bool) {
	if on == s.Alt() {
		return
	}
	if on {
		s.saveCursor(0)
		s.useScreen(true, true)
		return
	}
	s.useScreen(false, false)
	s.restoreCursor(0)
}

// synchronise begins or ends an update that is to be seen at once.
func (s *Screen) synchronise(on bool) {
	if on && !s.sync && s.opts.Now != nil {
		s.gen++ // the picture may differ from the one last drawn
		f := s.frame(0)
		s.held, s.syncFrom = &f, s.opts.Now()
	}
	if s.sync = on; !on {
		s.held = nil
	}
}

func (s *Screen) setShape(n int) {
	if n <= 6 {
		s.shape = n
	}
}

// modeState is the answer to DECRQM: 0 unknown, 1 set, 2 reset.
func (s *Screen) modeState(n int, private bool) int {
	state := func(on bool) int {
		if on {
			return 1
		}
		return 2
	}
	if !private {
		switch n {
		case 4:
			return state(s.insert)
		case 20:
			return state(s.newline)
		}
		return 0
	}
	switch n {
	case 1:
		return state(s.appCursor)
	case 5:
		return state(s.reverse)
	case 6:
		return state(s.origin)
	case 7:
		return state(s.autowrap)
	case 12:
		return state(s.blink)
	case 25:
		return state(!s.hidden)
	case 66:
		return state(s.appKeypad)
	case 9, 1000, 1002, 1003:
		return state(s.mouse == n)
	case 1005, 1006, 1015:
		return state(s.mouseCode == n)
	case 1004:
		return state(s.focus)
	case 1007:
		return state(s.altScroll)
	case 47, 1047, 1049:
		return state(s.Alt())
	case 2004:
		return state(s.paste)
	case 2026:
		return state(s.sync)
	case 2031:
		return state(s.scheme)
	}
	return 0
}
