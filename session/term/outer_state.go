package term

// maxPushed bounds the keyboard entries that the inside may have on the user's
// terminal at a time: its stack is short, and what it pushes beyond would drop
// the user's own.
const maxPushed = 6

// outerState is what was changed on the user's terminal and has to be undone.
// Its zero value, with ASCII character sets, is a terminal in its normal state.
type outerState struct {
	charsets
	on        [len(outerModes)]bool // differs from normal
	first     [len(outerModes)]int8 // what it was first set to: 0 never, 1 on, -1 off
	alt       int                   // the mode that entered the alternate screen, or 0
	ansi4     bool
	ansi20    bool
	keypad    bool
	region    bool
	coloured  bool
	shaped    bool
	tabsMoved bool
	unsure    bool // which character sets are in use
	modify    bool
	pushed    [2]int // keyboard entries on main and alternate screen
	refused   [2]int // pushes beyond maxPushed, for which pops are still to come
	ever      outerEver
}

// outerEver is what was changed at any time: a restored cursor may bring it
// back, and terminals differ in when it does.
type outerEver struct{ saved, coloured, sets, origin bool }

// How a mode is normally.
const (
	normallyOff = iota
	normallyOn
	unknown // differs between terminals: undone to the opposite of the first change
)

// outerModes are the modes that the inside may set on the user's terminal,
// besides those of the alternate screen.
var outerModes = [...]struct{ n, normal int }{
	{1, normallyOff},    // cursor keys
	{5, normallyOff},    // reverse video
	{6, normallyOff},    // origin
	{7, normallyOn},     // wrap
	{9, normallyOff},    // mouse
	{12, unknown},       // blinking cursor
	{25, normallyOn},    // cursor
	{45, normallyOff},   // reverse wrap
	{66, normallyOff},   // keypad
	{1000, normallyOff}, // mouse
	{1002, normallyOff},
	{1003, normallyOff},
	{1004, normallyOff}, // focus
	{1005, normallyOff}, // mouse encodings
	{1006, normallyOff},
	{1007, unknown}, // wheel as cursor keys
	{1015, normallyOff},
	{1016, normallyOff},
	{2004, normallyOff}, // bracketed paste
	{2026, normallyOff}, // synchronised update
}

// originMode is the index of the one mode that a saved cursor holds.
const originMode = 2

func (f *Filter) appendMode(b []byte, n int, on bool) []byte {
	return append(appendInt(append(b, "\x1b[?"...), n), onOff(on))
}

func (f *Filter) privateMode(n int, on bool) {
	switch n {
	case 47, 1047, 1048, 1049:
		f.screenMode(n, on)
		f.out = f.appendMode(f.out, n, on)
		return
	}
	for i, m := range outerModes {
		if m.n != n {
			continue
		}
		if f.first[i] == 0 {
			if f.first[i] = -1; on {
				f.first[i] = 1
			}
		}
		switch m.normal {
		case normallyOff:
			f.on[i] = on
		case normallyOn:
			f.on[i] = !on
		default:
			f.on[i] = on == (f.first[i] == 1)
		}
		f.ever.origin = f.ever.origin || f.on[originMode]
		f.out = f.appendMode(f.out, n, on)
	}
}

// screenMode follows a switch of screens, and 1048, which only saves or restores
// the cursor.
func (f *Filter) screenMode(n int, on bool) {
	if on && n >= 1048 {
		f.saveCursor()
	}
	if n != 1048 {
		if f.alt = 0; on {
			f.alt = n
		}
	}
	if !on && n >= 1048 {
		f.restoreCursor() // even if nothing was saved: some terminals go to their defaults
	}
}

func (f *Filter) saveCursor() { f.ever.saved = true }

func (f *Filter) restoreCursor() {
	f.coloured = f.coloured || f.ever.coloured
	f.unsure = f.unsure || f.ever.sets
	f.on[originMode] = f.on[originMode] || f.ever.origin
}

func (f *Filter) ansiMode(n int, on bool) {
	switch n {
	case 4:
		f.ansi4 = on
	case 20:
		f.ansi20 = on
	default:
		return
	}
	f.out = append(appendInt(append(f.out, "\x1b["...), n), onOff(on))
}

func (f *Filter) index() int {
	if f.alt != 0 {
		return 1
	}
	return 0
}

// kittyKeys passes the keyboard protocol's changes so that the entries that
// the user's terminal had before are never touched.
func (f *Filter) kittyKeys(q *sequence) {
	pushed, refused := &f.pushed[f.index()], &f.refused[f.index()]
	switch q.prefix {
	case '>':
		f.push(q.raw(0))
	case '<':
		n := q.param(0, 1)
		k := min(n, *refused)
		*refused -= k
		if n = min(n-k, *pushed); n > 0 {
			*pushed -= n
			f.out = append(appendInt(append(f.out, "\x1b[<"...), n), 'u')
		}
	case '=':
		flags, how := q.raw(0), q.param(1, 1)
		switch {
		case flags > 31 || how > 3:
		case *pushed == 0 && how != 3:
			f.push(flags)
		case *pushed > 0:
			f.out = appendInt(append(f.out, "\x1b[="...), flags)
			f.out = append(appendInt(append(f.out, ';'), how), 'u')
		}
	}
}

func (f *Filter) push(flags int) {
	i := f.index()
	switch {
	case flags > 31:
	case f.pushed[i] == maxPushed:
		f.refused[i] = min(f.refused[i]+1, maxValue)
	default:
		f.pushed[i]++
		f.out = append(appendInt(append(f.out, "\x1b[>"...), flags), 'u')
	}
}

func (f *Filter) modifyOtherKeys(q *sequence) {
	if q.raw(0) != 4 {
		return
	}
	if q.final == 'n' || q.n < 2 || q.raw(1) > 2 {
		f.modify = false
		f.out = append(f.out, "\x1b[>4m"...)
		return
	}
	f.modify = true
	f.out = append(appendInt(append(f.out, "\x1b[>4;"...), q.raw(1)), 'm')
}

// softReset is DECSTR, in the parts that can be undone.
func (f *Filter) softReset() {
	f.ansiMode(4, false)
	f.privateMode(6, false)
	f.privateMode(7, true)
	f.privateMode(1, false)
	f.privateMode(25, true)
	f.out = f.appendSmall(f.out)
}

// appendSmall undoes keypad, colours, character sets and scroll region.
func (f *Filter) appendSmall(b []byte) []byte {
	if f.keypad {
		b = append(b, "\x1b>"...)
	}
	if f.coloured {
		b = append(b, "\x1b[0m"...)
	}
	for i, set := range f.g {
		if set != 'B' || f.unsure {
			b = append(b, esc, "()*+"[i], 'B')
		}
	}
	if f.shift != 0 || f.unsure {
		b = append(b, 0x0f)
	}
	if f.region {
		b = append(b, "\x1b7\x1b[r\x1b8"...) // resetting the region moves the cursor
	}
	f.keypad, f.coloured, f.region, f.unsure = false, false, false, false
	f.charsets = newCharsets()
	return b
}

// Restore is what brings the user's terminal back to how it was, for what the
// output changed there and no more; empty when nothing is left to undo. The
// filter then starts afresh: an unfinished sequence is forgotten.
func (f *Filter) Restore() []byte {
	f.ps = parser{}
	return f.appendRestore(nil)
}

func (f *Filter) appendRestore(b []byte) []byte {
	if n := f.alt; n != 0 { // first, since it may bring a saved cursor back
		b = f.appendPops(b)
		b = f.appendMode(b, n, false)
		f.screenMode(n, false)
	}
	origin := false
	for i, m := range outerModes {
		if !f.on[i] {
			continue
		}
		on := m.normal == normallyOn
		if m.normal == unknown {
			on = f.first[i] == -1
		}
		origin = origin || m.n == 6
		b = f.appendMode(b, m.n, on)
	}
	if f.modify {
		b = append(b, "\x1b[>4m"...)
	}
	if f.ansi4 {
		b = append(b, "\x1b[4l"...)
	}
	if f.ansi20 {
		b = append(b, "\x1b[20l"...)
	}
	if f.tabsMoved {
		b = append(b, "\x1b[?5W"...)
	}
	if f.shaped {
		b = append(b, "\x1b[0 q"...)
	}
	b = f.appendSmall(b)
	b = f.appendPops(b)
	if origin {
		b = append(b, "\x1b[9999;1H"...) // leaving origin mode moved the cursor to the top
	}
	if e := f.ever; e.saved && (e.coloured || e.sets || e.origin) {
		b = append(b, "\x1b7"...) // or the next program would restore the inside's colours
	}
	pushed := f.pushed
	f.outerState = outerState{charsets: newCharsets(), pushed: pushed}
	return b
}

// appendPops takes the keyboard entries of the screen in use away.
func (f *Filter) appendPops(b []byte) []byte {
	if n := f.pushed[f.index()]; n > 0 {
		b = append(appendInt(append(b, "\x1b[<"...), n), 'u')
		f.pushed[f.index()] = 0
	}
	return b
}
