package wire

import (
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
	TTY      bool          `json:"tty,omitempty"`
	Term     string        `json:"term,omitempty"` // TERM of the client, for exec
}

// Reply answers a request. Error is a whole sentence, or empty.
type Reply struct {
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
	Frame  *Frame  `json:"frame,omitempty"`
	TTY    bool    `json:"tty,omitempty"` // attach: a terminal, not streams
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
