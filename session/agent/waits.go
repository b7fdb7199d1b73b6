package agent

import "unicode/utf8"

// Signals by which an agent tells what it is at.
const (
	SignalOSC7501      = "osc7501"      // "state=idle", Codex's
	SignalTitle        = "title"        // a glyph in front of the window's title
	SignalNotification = "notification" // OSC 9 or 777
)

// Waits is how to tell that an agent waits for the person. All of it is what the
// inside says of itself: a hint, never a reason to let something through.
type Waits struct {
	Signals []string `json:"signals"`
	// TitleWaiting and TitleWorking are the glyphs, one after the other; two with
	// a "-" between are a range.
	TitleWaiting string `json:"title_waiting"`
	TitleWorking string `json:"title_working"`
}

// Counts tells whether a signal is one of the agent's.
func (w Waits) Counts(signal string) bool {
	for _, s := range w.Signals {
		if s == signal {
			return true
		}
	}
	return false
}

// OfTitle reads what a title says: that the agent waits, that it works, or
// neither.
func (w Waits) OfTitle(title string) (waits, works bool) {
	r, _ := utf8.DecodeRuneInString(title)
	return r != utf8.RuneError && holds(w.TitleWaiting, r), r != utf8.RuneError && holds(w.TitleWorking, r)
}

// holds tells whether a set of glyphs has r.
func holds(set string, r rune) bool {
	all := []rune(set)
	for i := 0; i < len(all); i++ {
		if i+2 < len(all) && all[i+1] == '-' {
			if all[i] <= r && r <= all[i+2] {
				return true
			}
			i += 2
			continue
		}
		if all[i] == r {
			return true
		}
	}
	return false
}
