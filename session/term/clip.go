package term

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip is what the inside last wanted in the user's clipboard, when the options
// allow or ask, and how many times it wanted something there; a request is named
// by that number. The text is clean (ClipText).
func (s *Screen) Clip() (n int, text string) { return s.clips, s.clip }

// ClipText makes what the inside wants in a clipboard fit for one, from which it
// may be pasted anywhere: lines and tabs stay; every other control, and what
// reorders or hides text, is dropped. At most 100 KiB.
func ClipText(p []byte) string {
	var b strings.Builder
	for _, r := range string(p) {
		switch {
		case r == '\n', r == '\t', r == '\u200d': // the last joins emoji
		case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp):
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxClip {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// SetClipboard is the sequence that puts a text into a terminal's clipboard
// (OSC 52), made anew of clean text.
func SetClipboard(text string) []byte {
	text = ClipText([]byte(text))
	return []byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")
}

// NextClip waits until the inside wanted something in the clipboard after
// request since, and gives the newest. At the terminal's end it returns io.EOF.
func (t *Terminal) NextClip(ctx context.Context, since int) (n int, text string, err error) {
	for {
		t.mu.Lock()
		n, text = t.screen.Clip()
		if n > since {
			t.mu.Unlock()
			return n, text, nil
		}
		if t.ended {
			t.mu.Unlock()
			return n, "", io.EOF
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, "", ctx.Err()
		}
	}
}
