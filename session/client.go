package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/session/store"
	"fumehood/session/wire"
)

// ErrNotLive says that no supervisor runs for the session.
var ErrNotLive error = notLive{}

type notLive struct{}

func (notLive) Error() string { return "the session is not running" }

// Hint is how to make it run again.
func (notLive) Hint() string {
	return "\"fumehood resume ID -- CMD\" starts it again on the same workspace"
}

// dial connects to a live session's supervisor.
func dial(ctx context.Context, d store.Dir) (*wire.Conn, error) {
	// Through the folder's descriptor: its path may be longer than a socket's
	// name may be (108 bytes, unix(7)).
	fd, err := unix.Open(string(d), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open session folder: %w", err)
	}
	defer unix.Close(fd)
	var nd net.Dialer
	deadline := time.Now().Add(endingFor)
	for {
		c, err := nd.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/sock", fd))
		if err == nil {
			return wire.NewConn(c), nil
		}
		if !d.Live() {
			return nil, ErrNotLive
		}
		// Its socket is closed while it writes its last words.
		ending := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED)
		if !ending || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, fmt.Errorf("reach the session's supervisor: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// endingFor bounds the wait for a supervisor that is at its end: it ends what
// is inside, reads the workspace a last time and writes the record.
const endingFor = time.Minute

// ask sends one request and waits for its reply. A supervisor that is at its
// end breaks the connection off: what can be asked twice is asked again, until
// it is gone.
func ask(ctx context.Context, d store.Dir, q wire.Request) (*wire.Reply, error) {
	return askBy(ctx, d, q, askOnce)
}

func askBy(ctx context.Context, d store.Dir, q wire.Request, once asker) (*wire.Reply, error) {
	for deadline := time.Now().Add(endingFor); ; {
		r, err := once(ctx, d, q)
		if !broken(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return r, err
		}
		switch q.Op {
		case wire.OpStatus, wire.OpFrame, wire.OpSnapshot, wire.OpStop, wire.OpResize, wire.OpClip, wire.OpMessage, wire.OpGoneOn:
		case wire.OpKeys, wire.OpPaste, wire.OpMouse, wire.OpAttach, wire.OpExec, wire.OpAllow:
			if waitGone(ctx, d, 3*time.Second) == nil {
				return nil, ErrNotLive
			}
			return nil, err
		}
	}
}

type asker func(ctx context.Context, d store.Dir, q wire.Request) (*wire.Reply, error)

// broken tells a connection that the other end broke off.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func askOnce(ctx context.Context, d store.Dir, q wire.Request) (*wire.Reply, error) {
	c, err := dial(ctx, d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := request(c, q); err != nil {
		return nil, gone(ctx, d, err)
	}
	return readReply(ctx, d, c)
}

func request(c *wire.Conn, q wire.Request) error {
	q.Protocol = wire.Protocol
	return c.WriteJSON(wire.KindRequest, q)
}

func readReply(ctx context.Context, d store.Dir, c *wire.Conn) (*wire.Reply, error) {
	r, err := takeReply(ctx, d, c)
	if err != nil {
		return nil, err
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r, nil
}

// takeReply gives an answer as it is, one that says no among them.
func takeReply(ctx context.Context, d store.Dir, c *wire.Conn) (*wire.Reply, error) {
	k, b, err := c.Read()
	if err != nil {
		return nil, gone(ctx, d, err)
	}
	if k == wire.KindEnd {
		return nil, ErrNotLive
	}
	if k != wire.KindReply {
		return nil, fmt.Errorf("the supervisor answered with a frame of kind %q", byte(k))
	}
	var r wire.Reply
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("the supervisor's answer: %w", err)
	}
	return &r, nil
}

// gone turns a broken connection into what it means.
func gone(ctx context.Context, d store.Dir, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !d.Live() {
		return ErrNotLive
	}
	return fmt.Errorf("talk to the session's supervisor: %w", err)
}

// Streams are what an attached or captured command is connected to.
type Streams struct {
	In     io.Reader
	Out    io.Writer // stdout, or the pty's bytes as they are (to be filtered by the caller)
	Err    io.Writer
	Notice func(string)        // one line for the user
	Clip   func(wire.Clip)     // what the inside wanted in the clipboard; never while Out is written
	Size   *isolate.Size       // for a terminal
	Sizes  <-chan isolate.Size // later sizes
	Sigs   <-chan unix.Signal  // passed on to the command
	Detach <-chan struct{}     // closed: leave, the session goes on
	OnTTY  func(tty bool)      // told once, before the first byte
}

// ErrDetached says that the user left and the command goes on.
var ErrDetached = errors.New("detached")

// Attach connects to the session's own command until its end.
func Attach(ctx context.Context, d store.Dir, st Streams) (*wire.End, error) {
	end, err := follow(ctx, d, wire.Request{Op: wire.OpAttach, Size: st.Size}, st)
	if err == nil {
		// The last frame comes moments before the supervisor is gone. What the
		// caller does next (resume, prune) must not take it for running; one
		// that hangs is theirs to find.
		_ = waitGone(ctx, d, lastMoments)
	}
	return end, err
}

// lastMoments bounds the wait between a supervisor's last frame and its end: it
// gives its other clients two seconds to read theirs.
const lastMoments = 3 * time.Second

// Execed is a command for a live session.
type Execed struct {
	Argv   []string
	Folder string // to start in, as StartFolder gives it
	TTY    bool
	Term   string // TERM of the client's terminal
}

// Exec runs another command in a live session and connects to it.
func Exec(ctx context.Context, d store.Dir, x Execed, st Streams) (*wire.End, error) {
	return follow(ctx, d, wire.Request{Op: wire.OpExec, Argv: x.Argv, Folder: x.Folder, TTY: x.TTY, Term: x.Term, Size: st.Size}, st)
}

func follow(ctx context.Context, d store.Dir, q wire.Request, st Streams) (*wire.End, error) {
	c, err := dial(ctx, d)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if err := request(c, q); err != nil {
		return nil, gone(ctx, d, err)
	}
	rep, err := readReply(ctx, d, c)
	if err != nil {
		return nil, err
	}
	if st.OnTTY != nil {
		st.OnTTY(rep.TTY)
	}
	left := make(chan struct{})
	done := make(chan struct{})
	defer close(done)
	go sendInput(c, st.In, done)
	go sendEvents(c, st, done, left)
	for {
		k, b, err := c.Read()
		if err != nil {
			select {
			case <-left:
				return nil, ErrDetached
			default:
			}
			return nil, gone(ctx, d, err)
		}
		switch k {
		case wire.KindStdout, wire.KindScreen:
			_, err = st.Out.Write(b)
		case wire.KindStderr:
			_, err = st.Err.Write(b)
		case wire.KindNotice:
			if st.Notice != nil {
				st.Notice(string(b))
			}
		case wire.KindClip:
			var clip wire.Clip
			if err := json.Unmarshal(b, &clip); err != nil {
				return nil, fmt.Errorf("the supervisor's frame about the clipboard: %w", err)
			}
			if st.Clip != nil {
				st.Clip(clip)
			}
		case wire.KindEnd:
			var e wire.End
			if err := json.Unmarshal(b, &e); err != nil {
				return nil, fmt.Errorf("the supervisor's last frame: %w", err)
			}
			return &e, nil
		default:
			return nil, fmt.Errorf("the supervisor sent a frame of kind %q", byte(k))
		}
		if err != nil {
			return nil, fmt.Errorf("pass output on: %w", err)
		}
	}
}

func sendInput(c *wire.Conn, in io.Reader, done <-chan struct{}) {
	if in == nil {
		_ = c.Write(wire.KindEOF, nil) // a broken connection shows on the reading side
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && c.Write(wire.KindInput, buf[:n]) != nil {
			return
		}
		if err != nil {
			select {
			case <-done:
			default:
				_ = c.Write(wire.KindEOF, nil)
			}
			return
		}
	}
}

func sendEvents(c *wire.Conn, st Streams, done <-chan struct{}, left chan struct{}) {
	for {
		select {
		case z := <-st.Sizes:
			_ = c.WriteJSON(wire.KindSize, z)
		case s := <-st.Sigs:
			_ = c.Write(wire.KindSignal, []byte{byte(s)})
		case <-st.Detach:
			close(left)
			_ = c.Close() // leaving; what is unread is not wanted
			return
		case <-done:
			return
		}
	}
}

// waitGone waits until no supervisor holds the session.
func waitGone(ctx context.Context, d store.Dir, within time.Duration) error {
	deadline := time.Now().Add(within)
	for d.Live() {
		if time.Now().After(deadline) {
			return fmt.Errorf("session %s still runs after %v", d.ID(), within)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
