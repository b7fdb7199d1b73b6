package sessions

import (
	"testing"

	"fumehood/session"
)

// kit writes the states as plain words: each that there is has its own text.
func TestEveryStateIsWordedOnItsOwn(t *testing.T) {
	seen := map[string]session.State{}
	for _, s := range []session.State{session.StatePreparing, session.StateRunning, session.StateWaiting, session.StateExited, session.StateStopped, session.StateLimit, session.StateFailed, "bundle"} {
		text := Standing(session.Summary{State: s}).Text()
		if other, ok := seen[text]; ok || text[0] == '?' {
			t.Errorf("got %q for %s (and %s), want words of its own", text, s, other)
		}
		seen[text] = s
	}
	if got, want := Standing(session.Summary{State: "new\x1b[31m"}).Text(), "? new\ufffd[31m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
