package wire

import (
	"time"

	"fumehood/isolate"
	"fumehood/isolate/layer"
)

// Protocol is the version of the messages. A client of another version is
// refused with a sentence that says so.
const Protocol = 1

// Op is what a client asks.
type Op string

// The operations.
const (
	OpStatus   Op = "status"   // -> Reply.Status
	OpAttach   Op = "attach"   // the connection becomes the session's terminal or streams
	OpExec     Op = "exec"     // the connection becomes a new command's terminal or streams
	OpFrame    Op = "frame"    // -> Reply.Frame, newer than Since, within about ten seconds
	OpKeys     Op = "keys"     // key presses for the emulator to encode
	OpPaste    Op = "paste"    // text, framed if the program asked for bracketed paste
	OpMouse    Op = "mouse"    // a mouse event
	OpResize   Op = "resize"   // the terminal's size
	OpSnapshot Op = "snapshot" // stop everything inside, read the workspace, go on
	OpStop     Op = "stop"     // end everything inside
	OpClip     Op = "clip"     // -> Reply.Text: what the inside wants in the clipboard by request Since
	OpAllow    Op = "allow"    // add the egress entry in Text, as a policy file writes it
	OpMessage  Op = "message"  // hand the kept message to the agent -> Reply.Text: what became of it
	OpGoneOn   Op = "gone-on"  // -> Reply.GoneOn: whether anything went on since the snapshot at At
)

// Request is the first frame of a connection; ops other than attach and exec
// may follow one another on the same connection.
type Request struct {
	Protocol int           `json:"protocol"`
	Op       Op            `json:"op"`
	Since    uint64        `json:"since,omitempty"`
	Offset   int           `json:"offset,omitempty"`
	Keys     []Key         `json:"keys,omitempty"`
	Text     string        `json:"text,omitempty"`
	Mouse    *Mouse        `json:"mouse,omitempty"`
	Size     *isolate.Size `json:"size,omitempty"`
	Argv     []string      `json:"argv,omitempty"`
	Folder   string        `json:"folder,omitempty"` // exec: to start in, below the workspace's top
	TTY      bool          `json:"tty,omitempty"`
	Term     string        `json:"term,omitempty"`    // TERM of the client, for exec
	By       string        `json:"by,omitempty"`      // allow: the account's name
	From     string        `json:"from,omitempty"`    // allow: its terminal
	Ignored  []string      `json:"ignored,omitempty"` // snapshot: pathspecs of ignored paths to bring in
	At       time.Time     `json:"at,omitzero"`       // gone-on: a snapshot's time
}

// Reply answers a request. Error is a whole sentence, or empty.
type Reply struct {
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
	Frame  *Frame  `json:"frame,omitempty"`
	TTY    bool    `json:"tty,omitempty"` // attach: a terminal, not streams
	Text   string  `json:"text,omitempty"`
	GoneOn bool    `json:"gone_on,omitempty"`
}

// Clip is what the inside wanted in the clipboard while a client was attached.
// Text is there when the policy allows it, clean; it asks only on a screen that
// can show a question.
type Clip struct {
	Bytes int    `json:"bytes"`
	Text  string `json:"text,omitempty"`
	Allow bool   `json:"allow"`
}

// Status is how a live session stands.
type Status struct {
	State    State         `json:"state"`
	Layers   []layer.Fact  `json:"layers"`
	Usage    isolate.Usage `json:"usage"`
	LastLine string        `json:"last_line"`
}

// End is the last frame of an attach or exec connection.
type End struct {
	State  State  `json:"state"`
	Began  bool   `json:"began"` // the command itself ran
	Code   int    `json:"exit_code"`
	Signal int    `json:"signal"`
	Limit  *Limit `json:"limit"`
	Error  string `json:"error,omitempty"`
	Usage  Used   `json:"usage"`
}

// Used is what a run used in all.
type Used struct {
	WallMS   int64 `json:"wall_ms"`
	CPUMS    int64 `json:"cpu_ms"`
	PeakRSS  int64 `json:"peak_memory"` // bytes: the largest sample
	Procs    int   `json:"peak_processes"`
	Leftover int   `json:"leftover_processes"` // ended by the end of the session
}
