// Package wire is what passes between a supervisor and its clients over the
// session's socket: the messages, their framing and the types in them. It is a
// leaf. Both ends treat what arrives as hostile: every length is bounded.
package wire

// State is where a session is in its life.
type State string

// The states of a session.
const (
	StatePreparing State = "preparing"
	StateRunning   State = "running"
	StateWaiting   State = "waiting" // the agent said that it waits for the person
	StateExited    State = "exited"
	StateStopped   State = "stopped"
	StateLimit     State = "limit"
	StateFailed    State = "failed"
)

// Limit says which limit ended a run, its value and what was used.
type Limit struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Used  string `json:"used"`
}

// Frame is one picture of a session's terminal, made by the supervisor's
// emulator. Lines hold printable text and SGR sequences only, nothing else.
type Frame struct {
	Gen        uint64   `json:"gen"`
	Cols       int      `json:"cols"`
	Rows       int      `json:"rows"`
	Lines      []string `json:"lines"`
	CursorX    int      `json:"x"`
	CursorY    int      `json:"y"`
	CursorOn   bool     `json:"on"`
	Title      string   `json:"title"`      // cleaned
	Scrollback int      `json:"scrollback"` // lines above the screen
	Offset     int      `json:"offset"`     // lines scrolled back in this frame
	Mouse      bool     `json:"mouse"`      // the program wants mouse events
	Dropped    int      `json:"dropped"`    // replies dropped so far
	Ended      bool     `json:"ended"`
	State      State    `json:"state"`
	Requests   []string `json:"requests"` // what the inside asked of the outer terminal
	Clips      int      `json:"clips"`    // how often it wanted something in the clipboard, which the policy asks about or allows
	ClipBytes  int      `json:"clip_bytes"`
	ClipAllow  bool     `json:"clip_allow"` // the policy allows it
}

// Key is one key press for a session's terminal.
type Key struct {
	Code rune   `json:"code"` // as in ultraviolet's Key
	Mod  int    `json:"mod"`
	Text string `json:"text"`
}

// Mouse is one mouse event in a session's terminal, in cells from 0.
type Mouse struct {
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Button int    `json:"button"` // as in ultraviolet's MouseButton
	Kind   string `json:"kind"`   // "click", "release", "motion" or "wheel"
	Mod    int    `json:"mod"`
}
