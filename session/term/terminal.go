package term

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// Bounds of reading.
const (
	readSize   = 64 << 10
	earlyLimit = 64 << 10 // output kept for the first subscriber
	finalLimit = 4 << 20  // bytes read after Finish's grace, at most
)

// Options are a Terminal's settings; the zero value is usable.
type Options struct {
	Screen ScreenOptions
	// Stall is how long a subscriber that takes nothing may hold the output up
	// before it loses bytes; 0 means one second.
	Stall time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Terminal is a pty's outer end with its emulator. One goroutine reads the pty,
// one writes it; Close ends both and waits. All methods may be called from any
// goroutine.
type Terminal struct {
	dev  *device
	sink io.Writer
	opts Options
	in   *inputQueue
	wg   sync.WaitGroup
	done chan struct{} // closed when all output was taken
	quit chan struct{} // closed by Close

	mu      sync.Mutex // guards what follows
	screen  *Screen
	changed chan struct{} // closed at the next change; nil when nobody waits
	subs    map[*Subscription]struct{}
	early   []byte // all output so far, while nobody subscribed and it is short
	total   int64
	ended   bool
	closing bool
	readErr error
	sinkErr error
	lastOut time.Time
	lastIn  time.Time
	draft   bool // see Draft
}

// Start takes over a pty's outer end, sets its size (clamped as in NewScreen)
// and begins to read. Every byte read goes to sink first; nil keeps no log. pty
// is closed in any case.
func Start(pty *os.File, cols, rows int, sink io.Writer, opts Options) (*Terminal, error) {
	dev, err := openDevice(pty)
	if err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Screen.Now == nil {
		opts.Screen.Now = opts.Now
	}
	if opts.Stall == 0 {
		opts.Stall = time.Second
	}
	now := opts.Now()
	t := &Terminal{
		dev: dev, sink: sink, opts: opts, in: newInputQueue(),
		done: make(chan struct{}), quit: make(chan struct{}),
		screen:  NewScreen(cols, rows, opts.Screen),
		subs:    map[*Subscription]struct{}{},
		lastOut: now, lastIn: now,
	}
	if err := dev.resize(t.screen.Size()); err != nil {
		_ = dev.f.Close() // the first error is the one to report
		return nil, err
	}
	t.wg.Add(2)
	go func() {
		defer t.wg.Done()
		t.readAll()
	}()
	go func() {
		defer t.wg.Done()
		t.in.run(dev.f)
	}()
	return t, nil
}

// readAll reads to the end of the output.
func (t *Terminal) readAll() {
	buf := make([]byte, readSize)
	var err error
	for err == nil {
		var n int
		n, err = t.dev.read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = t.readRest(buf)
			break
		}
		if n > 0 {
			t.take(buf[:n])
		}
	}
	t.end(err)
}

// readRest takes, after Finish's grace, what is there already.
func (t *Terminal) readRest(buf []byte) error {
	for total := 0; total < finalLimit; {
		n, err := t.dev.readNow(buf)
		if n > 0 {
			t.take(buf[:n])
		}
		if err != nil || n == 0 {
			return err
		}
		total += n
	}
	return nil
}

// take hands one piece of output on.
func (t *Terminal) take(p []byte) {
	if t.sink != nil && t.sinkErr == nil {
		if _, err := t.sink.Write(p); err != nil {
			t.mu.Lock()
			t.sinkErr = err
			t.mu.Unlock()
		}
	}
	t.mu.Lock()
	t.lastOut = t.opts.Now()
	t.total += int64(len(p))
	before := t.screen.Gen()
	t.screen.Feed(p)
	answers := t.screen.Replies()
	t.keepEarly(p)
	var slow []*Subscription
	for u := range t.subs {
		if u.add(p) {
			slow = append(slow, u)
		}
	}
	if t.screen.Gen() != before {
		t.wake()
	}
	t.mu.Unlock()
	if len(answers) > 0 {
		t.in.answer(answers)
	}
	for _, u := range slow {
		t.waitFor(u)
	}
}

func (t *Terminal) keepEarly(p []byte) {
	switch {
	case int64(len(t.early)+len(p)) != t.total:
	case t.total > earlyLimit:
		t.early = nil
	default:
		t.early = append(t.early, p...)
	}
}

// wake tells those who wait for a frame; t.mu is held.
func (t *Terminal) wake() {
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

func (t *Terminal) end(err error) {
	t.in.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if !errors.Is(err, io.EOF) && !t.closing {
		t.readErr = err
	}
	t.screen.gen++
	t.wake()
	for u := range t.subs {
		u.signal()
	}
	close(t.done)
}

// Done is closed when the output is at its end: every inner end of the pty was
// closed and all bytes were taken, or Finish's grace is over, or Close.
func (t *Terminal) Done() <-chan struct{} { return t.done }

// Err is why reading the pty or writing the log went wrong, or nil. The plain
// end of the output is no error.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return errors.Join(t.readErr, t.sinkErr)
}

// Finish is for when the program has ended: what is left of its output is read
// for at most grace, even if some process still holds the pty open, and then
// the terminal ends. It does not wait; Done says when.
func (t *Terminal) Finish(grace time.Duration) error {
	return t.dev.f.SetReadDeadline(time.Now().Add(grace))
}

// Close ends the terminal and waits for its goroutines. The screen can still be
// read.
func (t *Terminal) Close() error {
	t.mu.Lock()
	first := !t.closing
	if t.closing = true; first {
		close(t.quit)
	}
	t.mu.Unlock()
	t.in.close()
	var err error
	if first {
		err = t.dev.f.Close()
	}
	t.wg.Wait()
	return err
}

// Frame is Screen.Frame, with Dropped and Ended filled in.
func (t *Terminal) Frame(since uint64, offset int) (Frame, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frame(since, offset)
}

func (t *Terminal) frame(since uint64, offset int) (Frame, bool) {
	f, ok := t.screen.Frame(since, offset)
	f.Dropped += t.in.droppedCount()
	f.Ended = t.ended
	return f, ok
}

// NextFrame waits until something has changed since that generation, and draws
// it. At the terminal's end the last frame is returned again and again, each
// time with io.EOF.
func (t *Terminal) NextFrame(ctx context.Context, since uint64, offset int) (Frame, error) {
	for {
		t.mu.Lock()
		f, ok := t.frame(since, offset)
		if !ok && t.ended {
			f, _ = t.frame(0, offset)
			t.mu.Unlock()
			return f, io.EOF
		}
		if ok {
			t.mu.Unlock()
			return f, nil
		}
		if t.changed == nil {
			t.changed = make(chan struct{})
		}
		changed, held := t.changed, t.screen.held != nil
		t.mu.Unlock()
		if err := waitChange(ctx, changed, held); err != nil {
			return Frame{}, err
		}
	}
}

// waitChange waits for a change, or for the limit of a synchronised update.
func waitChange(ctx context.Context, changed <-chan struct{}, held bool) error {
	var limit <-chan time.Time
	if held {
		timer := time.NewTimer(syncLimit)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-changed:
	case <-limit:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Resize changes the size of screen and pty, clamped, and returns what it
// became. The program hears of it by SIGWINCH and never sees a zero.
func (t *Terminal) Resize(cols, rows int) (int, int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cols, rows = t.screen.Resize(cols, rows)
	t.early = nil // it was made for the old size
	t.wake()
	if t.closing {
		return cols, rows, ErrEnded
	}
	return cols, rows, t.dev.resize(cols, rows)
}

// send queues what the screen encoded for the program.
func (t *Terminal) send(encode func(*Screen) []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock() // held over put, so that two keys keep their order
	t.lastIn = t.opts.Now()
	p := encode(t.screen)
	t.typed(p)
	return t.in.put(p)
}

// Key sends a key press.
func (t *Terminal) Key(k Key) error {
	return t.send(func(s *Screen) []byte { return s.Key(k) })
}

// Paste sends a text as a paste; see Screen.Paste.
func (t *Terminal) Paste(text string) error {
	return t.send(func(s *Screen) []byte { return s.Paste(text) })
}

// Mouse sends a mouse event, if the program asked for it.
func (t *Terminal) Mouse(m Mouse) error {
	return t.send(func(s *Screen) []byte { return s.Mouse(m) })
}

// Focus tells the program of the focus, if it asked for that.
func (t *Terminal) Focus(gained bool) error {
	return t.send(func(s *Screen) []byte { return s.Focus(gained) })
}

// Write sends raw input, byte for byte, as an attached client has it. It blocks
// while the program does not read.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.lastIn = t.opts.Now()
	t.screen.answered()
	t.typed(p)
	t.mu.Unlock()
	return t.in.wait(p)
}

// Activity is when the program last wrote something and when it was last sent
// something; both begin with Start.
func (t *Terminal) Activity() (output, input time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lastOut, t.lastIn
}

// Total is how many bytes of output were taken so far.
func (t *Terminal) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// Look calls f with the screen locked, for what Frame does not show. f must not
// block nor keep the screen.
func (t *Terminal) Look(f func(*Screen)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.screen)
}
