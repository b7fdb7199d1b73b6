package supervisor

import (
	"context"
	"errors"

	"fumehood/session/term"
	"fumehood/session/wire"
)

// showClips tells an attached client what the inside wants in the clipboard, but
// never what it wanted before the client came: its user did not see it happen. A
// client that reads slowly gets the newest only.
func showClips(ctx context.Context, c *wire.Conn, t *term.Terminal, mode string, last int) {
	if mode != "ask" && mode != "allow" {
		return
	}
	for {
		n, text, err := t.NextClip(ctx, last)
		if err != nil {
			return
		}
		last = n
		clip := wire.Clip{Bytes: len(text), Allow: mode == "allow"}
		if clip.Allow {
			clip.Text = text
		}
		if c.WriteJSON(wire.KindClip, clip) != nil {
			return
		}
	}
}

// clipsOf is how often the inside wanted something in the clipboard so far.
func clipsOf(t *term.Terminal) int {
	n := 0
	if t != nil {
		t.Look(func(sc *term.Screen) { n, _ = sc.Clip() })
	}
	return n
}

// clipOf gives what the inside wants by one request. Another one since then is
// not what the person was asked about.
func clipOf(t *term.Terminal, request uint64) (string, error) {
	n, text := 0, ""
	t.Look(func(sc *term.Screen) { n, text = sc.Clip() })
	if n == 0 || uint64(n) != request {
		return "", errors.New("the inside asks for something else in the clipboard by now")
	}
	return text, nil
}
