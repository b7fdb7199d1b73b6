package kit

import "time"

const (
	toastFor = 5 * time.Second
	// maxLog bounds the log of messages.
	maxLog = 500
)

// Message is one message and when it came.
type Message struct {
	At    time.Time
	Text  string
	Error bool
}

// Toasts is the line of messages and their log.
type Toasts struct {
	Log  []Message
	open bool // the newest still stands
}

// Add puts a message up and into the log. One that is said again and again, as of a
// key that is held down, is there once.
func (t *Toasts) Add(now time.Time, text string, isErr bool) {
	if n := len(t.Log); n > 0 && t.Log[n-1].Error == isErr && t.Log[n-1].Text == Safe(text) {
		t.Log = t.Log[:n-1]
	}
	if len(t.Log) >= maxLog {
		t.Log = append(t.Log[:0], t.Log[1:]...)
	}
	t.Log = append(t.Log, Message{At: now, Text: Safe(text), Error: isErr})
	t.open = true
}

// Key is any key: an error has then been seen.
func (t *Toasts) Key() {
	if n := len(t.Log); n > 0 && t.Log[n-1].Error {
		t.open = false
	}
}

// Line is the message that stands now, if any.
func (t *Toasts) Line(now time.Time) (Message, bool) {
	n := len(t.Log)
	if n == 0 || !t.open {
		return Message{}, false
	}
	m := t.Log[n-1]
	if !m.Error && now.Sub(m.At) >= toastFor {
		return Message{}, false
	}
	return m, true
}

// ToastFor is how long an ordinary message stands.
func ToastFor() time.Duration { return toastFor }
