package account

// What a stream holds back until more of it is there must not tell anything of
// the secret: whoever chooses bytes that come back, as of an echo, would ask "is
// this how it begins?" and see by what is late, or by how long the pieces are.
// So the secret has no part in it. Held back is the end of what was read as far
// as it could be in a form of any secret: from the last byte on that is in none,
// at most as much as the longest form, rounded up.

// minHold is the least that may be held back, in bytes, so that it tells nothing
// of how long an ordinary secret is.
const minHold = 1 << 10

// holdOf is that length.
func holdOf(forms [][]byte) int {
	n := minHold
	for _, f := range forms {
		for n < len(f) {
			n *= 2
		}
	}
	return n
}

// breakClasses are bytes that end what could be a secret, if no form has any of
// their class: all that shows of a secret is whether it has, say, a brace. Line
// ends are in no form ever (see distinct). With the others messages that end in
// no line, such as JSON in a websocket, are not late.
var breakClasses = []func(byte) bool{
	func(c byte) bool { return c == '\r' || c == '\n' },
	func(c byte) bool { return c == ' ' },
	func(c byte) bool { return c == '"' },
	func(c byte) bool { return c == '}' },
	func(c byte) bool { return c == ']' },
	func(c byte) bool { return c == '>' },
	func(c byte) bool { return c > 0 && c < ' ' && c != '\r' && c != '\n' || c == 0x7f }, // 0 is in UTF-16
	func(c byte) bool { return c >= 0x80 },
}

func breaksOf(forms [][]byte) (out [256]bool) {
	for _, class := range breakClasses {
		used := false
		for _, f := range forms {
			used = used || hasAny(f, class)
		}
		for i := range out {
			out[i] = out[i] || !used && class(byte(i))
		}
	}
	return out
}

func hasAny(f []byte, class func(byte) bool) bool {
	for _, c := range f {
		if class(c) {
			return true
		}
	}
	return false
}

// held is how many bytes at the end of b are to be held back.
func (c *Cutter) held(b []byte) int {
	n := 0
	for n < len(b) && n < c.hold && !c.breaks[b[len(b)-1-n]] {
		n++
	}
	return n
}
