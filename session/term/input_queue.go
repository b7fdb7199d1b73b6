package term

import (
	"errors"
	"io"
	"sync"
)

// Bounds of what waits to be written to a program that does not read, in bytes.
const (
	maxKeys    = 4 << 20   // keys and pastes: beyond, they are refused with an error
	softInput  = 256 << 10 // a raw stream: beyond, its sender waits
	maxAnswers = 16 << 10
	writeSize  = 4 << 10 // of one write to the pty
)

// ErrInputFull is returned for input that can't be taken because the program
// has not read what was sent before.
var ErrInputFull = errors.New("the program is not reading its input: 4 MiB are waiting")

// ErrEnded is returned for input after the terminal's end.
var ErrEnded = errors.New("the program has ended")

// inputQueue orders everything that goes to the program: keys are never dropped
// nor reordered, answers beyond their bound are dropped and counted, since a
// hostile program can ask without ever reading.
type inputQueue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	buf     []byte
	answers int // bytes of answers in buf, at most
	dropped int
	closed  bool
}

func newInputQueue() *inputQueue {
	q := &inputQueue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// put adds keys.
func (q *inputQueue) put(p []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return ErrEnded
	case len(p) == 0:
		return nil
	case len(q.buf)+len(p) > maxKeys:
		return ErrInputFull
	}
	q.buf = append(q.buf, p...)
	q.cond.Broadcast()
	return nil
}

// wait adds a stream's bytes, and blocks while much is waiting already.
func (q *inputQueue) wait(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := 0
	for len(p) > 0 {
		for !q.closed && len(q.buf) >= softInput {
			q.cond.Wait()
		}
		if q.closed {
			return done, ErrEnded
		}
		n := min(len(p), softInput-len(q.buf))
		q.buf = append(q.buf, p[:n]...)
		p, done = p[n:], done+n
		q.cond.Broadcast()
	}
	return done, nil
}

// answer adds an answer of the emulator, or drops it.
func (q *inputQueue) answer(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.answers+len(p) > maxAnswers || len(q.buf) >= maxKeys {
		q.dropped++
		return
	}
	q.answers += len(p)
	q.buf = append(q.buf, p...)
	q.cond.Broadcast()
}

func (q *inputQueue) droppedCount() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

func (q *inputQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Broadcast()
}

// run writes to w until the queue is closed or w fails.
func (q *inputQueue) run(w io.Writer) {
	var chunk []byte
	for {
		q.mu.Lock()
		for len(q.buf) == 0 && !q.closed {
			q.cond.Wait()
		}
		if q.closed {
			q.mu.Unlock()
			return
		}
		n := min(len(q.buf), writeSize)
		chunk = append(chunk[:0], q.buf[:n]...)
		if q.buf = q.buf[n:]; len(q.buf) == 0 {
			q.buf = nil
		}
		q.answers = min(q.answers, len(q.buf))
		q.cond.Broadcast()
		q.mu.Unlock()
		if _, err := w.Write(chunk); err != nil {
			q.close() // the pty is gone
			return
		}
	}
}
