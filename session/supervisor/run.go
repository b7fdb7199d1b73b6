package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/session/store"
	"fumehood/session/term"
	"fumehood/session/wire"
)

// run is one command in the sandbox: the session's own, or an exec. Its output
// goes to the log and to the clients that watch it.
type run struct {
	s       *supervisor
	cmd     isolate.Command
	own     bool // the session's own command
	tty     bool
	size    isolate.Size
	proc    *isolate.Process
	term    *term.Terminal // nil without tty, and for a command that never began
	started time.Time
	last    atomic.Int64 // of a captured run: last output or input, Unix nanoseconds
	status  isolate.Status
	exited  chan struct{} // closed after status is set
	drained chan struct{} // closed when every byte of output has been passed on

	mu       sync.Mutex
	stdin    *os.File
	client   *wire.Conn          // of a captured run: at most one
	watchers map[*wire.Conn]bool // every client, for notices
	ended    *wire.End           // set by tell
	told     chan struct{}
}

func newRun(s *supervisor, cmd isolate.Command, tty bool, size isolate.Size, own bool) *run {
	return &run{
		s: s, cmd: cmd, own: own, tty: tty, size: size,
		exited: make(chan struct{}), drained: make(chan struct{}), told: make(chan struct{}), watchers: map[*wire.Conn]bool{},
	}
}

// begin starts the command.
func (r *run) begin() error {
	r.started = time.Now()
	if r.tty {
		return r.beginTTY()
	}
	return r.beginCaptured()
}

func (r *run) beginTTY() error {
	r.cmd.TTY = &isolate.Size{Cols: max(r.size.Cols, 1), Rows: max(r.size.Rows, 1)}
	proc, err := r.s.sb.Spawn(r.cmd)
	if err != nil {
		return fmt.Errorf("start %q: %w", r.cmd.Argv[0], err)
	}
	if proc.PTY() == nil { // it can't be executed, so it never had one
		r.proc, r.status = proc, proc.Wait()
		close(r.exited)
		close(r.drained)
		return nil
	}
	t, err := term.Start(proc.PTY(), int(r.cmd.TTY.Cols), int(r.cmd.TTY.Rows), logWriter{r.s, store.Screen},
		term.Options{Screen: term.ScreenOptions{Clipboard: r.s.pol.Terminal.Clipboard, Signals: r.signals(), Now: time.Now}})
	if err != nil {
		_ = proc.Signal(unix.SIGKILL) // it can't be shown, so it must not run
		return fmt.Errorf("terminal of %q: %w", r.cmd.Argv[0], err)
	}
	r.proc, r.term = proc, t
	go func() {
		r.status = proc.Wait()
		_ = t.Finish(drainFor) // what it left behind may hold the pty open
		close(r.exited)
	}()
	go func() {
		<-r.term.Done()
		close(r.drained)
	}()
	return nil
}

func (r *run) beginCaptured() error {
	var ends [6]*os.File
	for i := 0; i < len(ends); i += 2 {
		var err error
		if ends[i], ends[i+1], err = blockingPipe(i == 0); err != nil {
			for _, f := range ends[:i] {
				_ = f.Close() // empty
			}
			return fmt.Errorf("pipe for %q: %w", r.cmd.Argv[0], err)
		}
	}
	inR, inW, outR, outW, errR, errW := ends[0], ends[1], ends[2], ends[3], ends[4], ends[5]
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = inR, outW, errW
	proc, err := r.s.sb.Spawn(r.cmd)
	for _, f := range []*os.File{inR, outW, errW} {
		_ = f.Close() // the command has its own copies
	}
	if err != nil {
		for _, f := range []*os.File{inW, outR, errR} {
			_ = f.Close() // empty
		}
		return fmt.Errorf("start %q: %w", r.cmd.Argv[0], err)
	}
	r.proc = proc
	r.stdin = inW
	if r.client == nil {
		r.closeStdin() // nobody will ever type
	}
	var pumps sync.WaitGroup
	pumps.Add(2)
	go r.pump(&pumps, outR, store.Stdout, wire.KindStdout)
	go r.pump(&pumps, errR, store.Stderr, wire.KindStderr)
	go func() {
		r.status = proc.Wait()
		close(r.exited)
	}()
	go func() {
		pumps.Wait()
		close(r.drained)
	}()
	return nil
}

// pump passes one stream on until its end. A client that does not read holds
// the command up, as a pipe would; one that has gone no longer does.
func (r *run) pump(done *sync.WaitGroup, f *os.File, st store.Stream, k wire.Kind) {
	defer done.Done()
	defer f.Close()
	log := logWriter{r.s, st}
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			r.last.Store(time.Now().UnixNano())
			_, _ = log.Write(buf[:n]) // logWriter reports its own errors
			r.mu.Lock()
			c := r.client
			r.mu.Unlock()
			if c != nil && c.Write(k, buf[:n]) != nil {
				r.mu.Lock()
				r.client = nil
				r.mu.Unlock()
			}
		}
		if err != nil {
			return
		}
	}
}

// input gives bytes to the command's stdin.
func (r *run) input(p []byte) error {
	if r.tty {
		if r.term == nil {
			return io.ErrClosedPipe // what is typed to a command that never began
		}
		_, err := r.term.Write(p)
		return err
	}
	r.last.Store(time.Now().UnixNano())
	r.mu.Lock()
	f := r.stdin
	r.mu.Unlock()
	if f == nil {
		return io.ErrClosedPipe
	}
	_, err := f.Write(p)
	return err
}

func (r *run) closeStdin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stdin != nil {
		_ = r.stdin.Close() // a pipe: what was written is in it
		r.stdin = nil
	}
}

// alive is 1 while the command itself runs.
func (r *run) alive() int {
	if r == nil || r.proc == nil {
		return 0
	}
	select {
	case <-r.exited:
		return 0
	default:
		return 1
	}
}

// drainFor bounds the wait for output after everything inside was killed: the
// pipes are at their end then, so it only ever matters if the kernel is slow.
const drainFor = 3 * time.Second

// drain waits until every byte that the command wrote was passed on.
func (r *run) drain() {
	if r.proc == nil {
		return
	}
	r.closeStdin()
	select {
	case <-r.drained:
	case <-time.After(drainFor):
		r.s.log.Printf("output of %q was not at its end %v after the kill", r.cmd.Argv[0], drainFor)
	}
	if r.term != nil {
		_ = r.term.Close() // the screen stays readable
	}
}

// activity is when the run was last heard from or spoken to.
func (r *run) activity() time.Time {
	if r.term != nil {
		out, in := r.term.Activity()
		return later(out, in)
	}
	return time.Unix(0, r.last.Load())
}

// watch makes a client hear notices.
func (r *run) watch(c *wire.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[c] = true
}

func (r *run) unwatch(c *wire.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watchers, c)
}

// tell lets the clients of the run know how it ended.
func (r *run) tell(e wire.End) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = &e
		close(r.told)
	}
}

// signal passes a signal on to the command.
func (r *run) signal(sig unix.Signal) {
	if r.proc != nil {
		_ = r.proc.Signal(sig) // it may be gone already
	}
}

// logWriter appends to the session's stored output.
type logWriter struct {
	s      *supervisor
	stream store.Stream
}

func (w logWriter) Write(p []byte) (int, error) {
	if err := w.s.out.Append(w.stream, p); err != nil && !errors.Is(err, os.ErrClosed) {
		w.s.warnOnce("output", "the stored output is incomplete: "+err.Error())
	}
	return len(p), nil
}
