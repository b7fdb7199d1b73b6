package term

import "bytes"

// Draft tells whether a person typed something to the program that was not
// entered yet. It goes by the last bytes alone: what was typed and deleted again
// still counts until the next Enter, and keys that come as escape sequences do
// not count.
func (t *Terminal) Draft() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.draft
}

// typed notes what a person sent; t.mu is held.
func (t *Terminal) typed(p []byte) {
	if len(p) == 0 || p[0] == esc && !bytes.HasPrefix(p, pasteStart) {
		return // a focus, the mouse, an answer of the outer terminal, an arrow
	}
	switch p[len(p)-1] {
	case '\r', '\n', 0x03, 0x04, 0x15: // Enter, and what drops a line: ctrl+c, ctrl+d, ctrl+u
		t.draft = false
	default:
		t.draft = true
	}
}

// Pastes tells whether the program asked for bracketed pastes.
func (s *Screen) Pastes() bool { return s.paste }
