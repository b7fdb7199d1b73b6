package credential

import "time"

// setup is the first message to a keeper.
type setup struct {
	Sources  map[string]string `json:"sources"`
	Env      map[string]string `json:"env"`
	Home     string            `json:"home"`
	Never    []string          `json:"never"`
	Path     string            `json:"path"`
	Deadline time.Duration     `json:"deadline"` // of a command
	Keep     time.Duration     `json:"keep"`     // of a command's result
}

// ask is every further one.
type ask struct {
	ID    uint64 `json:"id"`
	Name  string `json:"name"`
	Stale bool   `json:"stale,omitempty"` // forget what a command said; there is no answer
}

// answer is what a keeper sends: one with ID 0 when it is ready, then one for
// each question.
type answer struct {
	ID     uint64 `json:"id"`
	Secret string `json:"secret,omitempty"`
	Err    string `json:"err,omitempty"`
}

const (
	maxSetup  = 4 << 20   // bytes; variables are up to 128 KiB each
	maxAnswer = 128 << 10 // a secret of 16 KiB with every byte escaped
	maxName   = 256       // of an account

	// maxAsks is how many questions may be unanswered, so that neither side
	// waits for room in the socket.
	maxAsks = 256
	// maxReads is how many files of up to 1 MiB are read at a time.
	maxReads = 16
)
