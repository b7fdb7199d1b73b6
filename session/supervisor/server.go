package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/session/term"
	"fumehood/session/wire"
)

const socketName = "sock"

// maxClients bounds the connections served at once.
const maxClients = 64

// acceptAgain is the pause after a connection could not be taken.
const acceptAgain = 100 * time.Millisecond

func (s *supervisor) serve(l *net.UnixListener) {
	slots := make(chan struct{}, maxClients)
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor left, say: the session must stay reachable
			s.log.Printf("accept: %v", err)
			time.Sleep(acceptAgain)
			continue
		}
		if err := checkPeer(c); err != nil {
			s.log.Printf("refused a connection: %v", err)
			_ = c.Close() // nothing was written
			continue
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = c.Close() // nothing was written
			continue
		}
		s.conns.Add(1)
		go func() {
			defer s.conns.Done()
			defer func() { <-slots }()
			defer c.Close()
			if err := s.converse(wire.NewConn(c)); err != nil {
				s.log.Printf("connection: %v", err)
			}
		}()
	}
}

// idlers are the connections on which nothing is under way, which clients keep for
// their next request.
type idlers struct {
	mu    sync.Mutex
	over  bool
	conns map[*wire.Conn]bool
}

// add says whether another request may come.
func (i *idlers) add(c *wire.Conn) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conns == nil {
		i.conns = map[*wire.Conn]bool{}
	}
	i.conns[c] = true
	return !i.over
}

func (i *idlers) remove(c *wire.Conn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.conns, c)
}

// end closes them, and has no other request wait.
func (i *idlers) end() {
	i.mu.Lock()
	i.over = true
	all := slices.Collect(maps.Keys(i.conns))
	i.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // nothing was asked
	}
}

// converse answers requests until the client goes or the connection becomes a
// command's terminal or streams.
func (s *supervisor) converse(c *wire.Conn) error {
	for {
		if !s.idle.add(c) {
			return nil
		}
		k, b, err := c.Read()
		s.idle.remove(c)
		if err != nil {
			return nil //nolint:nilerr // it has gone, and that is no fault
		}
		if k != wire.KindRequest {
			return fmt.Errorf("frame of kind %q where a request was due", k)
		}
		var q wire.Request
		if err := json.Unmarshal(b, &q); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		if q.Protocol != wire.Protocol {
			return c.WriteJSON(wire.KindReply, wire.Reply{Error: fmt.Sprintf("this session was started by another build of fumehood (its protocol is %d, yours %d); stop it with that build, or end process %d", wire.Protocol, q.Protocol, os.Getpid())})
		}
		switch q.Op {
		case wire.OpAttach:
			return s.attach(c, q)
		case wire.OpExec:
			return s.exec(c, q)
		default: // one answer, and the connection goes on
		}
		rep, err := s.answer(q)
		if err != nil {
			rep.Error = err.Error()
		}
		if err := c.WriteJSON(wire.KindReply, rep); err != nil {
			return nil //nolint:nilerr // it went before it had its answer
		}
	}
}

func (s *supervisor) answer(q wire.Request) (wire.Reply, error) {
	switch q.Op {
	case wire.OpStatus:
		return wire.Reply{Status: s.status()}, nil
	case wire.OpStop:
		s.end(wire.End{State: wire.StateStopped, Began: true})
		return wire.Reply{}, nil
	case wire.OpSnapshot:
		return wire.Reply{}, s.snapshotLive(q.Ignored)
	case wire.OpAllow:
		return wire.Reply{}, s.allow(q)
	case wire.OpMessage:
		return s.message()
	case wire.OpGoneOn:
		return wire.Reply{GoneOn: s.goneOn(q.At)}, nil
	default: // for the terminal; input refuses what it does not know
	}
	t := s.screen()
	if t == nil && s.start.TTY {
		return wire.Reply{}, errors.New("the command has not begun")
	}
	if t == nil {
		return wire.Reply{}, errors.New("this session's command has no terminal")
	}
	if q.Op == wire.OpFrame {
		f, err := s.frame(t, q.Since, q.Offset)
		return wire.Reply{Frame: f}, err
	}
	if q.Op == wire.OpClip {
		text, err := clipOf(t, q.Since)
		return wire.Reply{Text: text}, err
	}
	return wire.Reply{}, s.input(t, q)
}

// state is the session's state and whether it has ended.
func (s *supervisor) state() (wire.State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending != nil {
		return s.ending.State, true
	}
	st := s.rec.State
	if st == wire.StateRunning && s.main != nil && s.main.term != nil && waits(s.main.term) {
		st = wire.StateWaiting
	}
	return st, false
}

func (s *supervisor) status() *wire.Status {
	st, _ := s.state()
	out := &wire.Status{State: st, Layers: s.sb.Layers()}
	if u, err := s.sb.Usage(); err == nil {
		out.Usage = u
	}
	if t := s.screen(); t != nil {
		out.LastLine = lastLine(t)
	}
	return out
}

// attach makes the connection the session's terminal or streams. A client that
// came for a held start lets it go on.
func (s *supervisor) attach(c *wire.Conn, q wire.Request) error {
	held := false
	select {
	case <-s.began:
	default:
		held = true
	}
	if held {
		if q.Size != nil && q.Size.Cols > 0 && q.Size.Rows > 0 {
			s.start.Cols, s.start.Rows = q.Size.Cols, q.Size.Rows
		}
		if err := c.WriteJSON(wire.KindReply, wire.Reply{TTY: s.start.TTY}); err != nil {
			return err
		}
		s.release(c)
	} else if err := c.WriteJSON(wire.KindReply, wire.Reply{TTY: s.start.TTY}); err != nil {
		return err
	}
	s.mu.Lock()
	r := s.main
	s.mu.Unlock()
	if r.tty {
		if !held && q.Size != nil && r.term != nil {
			_, _, _ = r.term.Resize(int(q.Size.Cols), int(q.Size.Rows)) // it may have ended just now
		}
		since := 0
		if !held {
			since = clipsOf(r.term)
		}
		return s.follow(c, r, since)
	}
	if !held {
		r.mu.Lock()
		busy := r.client != nil
		if !busy {
			r.client = c
		}
		r.mu.Unlock()
		if busy {
			return c.WriteJSON(wire.KindEnd, wire.End{State: wire.StateFailed, Error: "another client follows this command's output already"})
		}
	}
	return s.follow(c, r, 0)
}

// exec starts another command in the sandbox for this connection.
func (s *supervisor) exec(c *wire.Conn, q wire.Request) error {
	size := isolate.Size{Cols: 80, Rows: 24}
	if q.Size != nil {
		size = *q.Size
	}
	if len(q.Argv) == 0 {
		return c.WriteJSON(wire.KindReply, wire.Reply{Error: "no command given"})
	}
	select {
	case <-s.endOnce:
		return c.WriteJSON(wire.KindReply, wire.Reply{Error: "the session is ending"})
	default:
	}
	env := s.start.Env
	if q.Term != "" {
		env = append(withoutVar(env, "TERM"), "TERM="+q.Term)
	}
	r := newRun(s, isolate.Command{Argv: q.Argv, Env: env, Dir: filepath.Join(s.rec.Repo, q.Folder)}, q.TTY, size, false)
	if !q.TTY {
		r.client = c
	}
	if err := c.WriteJSON(wire.KindReply, wire.Reply{TTY: q.TTY}); err != nil {
		return err
	}
	// Not under mu: it waits for an answer from inside, and for the end of a
	// snapshot, and the limits must not wait meanwhile.
	if err := r.begin(); err != nil {
		return c.WriteJSON(wire.KindEnd, wire.End{State: wire.StateFailed, Error: err.Error()})
	}
	s.mu.Lock()
	s.runs[r] = true // when the session ended just now, reportExec tells it
	s.execs++
	s.mu.Unlock()
	_ = s.event("exec", strings.Join(q.Argv, " "), nil)
	stop := s.clockRun(r)
	defer stop()
	go s.reportExec(r)
	return s.follow(c, r, 0)
}

// reportExec tells an exec's client of its end, which is not the session's.
func (s *supervisor) reportExec(r *run) {
	select {
	case <-r.exited:
	case <-r.told:
		return // the session ended first, and says so
	}
	select {
	case <-r.drained:
	case <-time.After(drainFor): // something it left behind holds its output open
	}
	st := r.status
	if st.Signal == int(unix.SIGKILL) && s.isEnding() {
		// The session's end took it: that is told, with the limit, once all else
		// has ended. A run that finish no longer knew of is told below.
		select {
		case <-r.told:
			return
		case <-time.After(drainFor):
		}
	}
	r.tell(wire.End{
		State: wire.StateExited, Began: st.StartErr == "", Code: st.Code, Signal: st.Signal, Error: st.StartErr,
		Usage: wire.Used{WallMS: time.Since(r.started).Milliseconds()},
	})
	s.mu.Lock()
	delete(s.runs, r)
	s.mu.Unlock()
	if r.term != nil {
		_ = r.term.Close() // it has ended; nothing is left to lose
	}
}

func (s *supervisor) isEnding() bool {
	select {
	case <-s.endOnce:
		return true
	default:
		return false
	}
}

// follow passes input from the client and output to it until the run's end,
// then sends the last frame. Of a terminal's writes of the clipboard the client
// hears those after the first clips.
func (s *supervisor) follow(c *wire.Conn, r *run, clips int) error {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.clientInput(c, r)
	}()
	r.watch(c)
	defer r.unwatch(c)
	shown := make(chan struct{}) // closed when the terminal's last byte was sent
	if r.term != nil {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			defer close(shown)
			told := make(chan struct{})
			go func() {
				defer close(told)
				showClips(ctx, c, r.term, s.pol.Terminal.Clipboard, clips)
			}()
			show(ctx, c, r.term)
			<-told // the client has gone, or the terminal has ended
		}()
	} else {
		close(shown)
	}
	select {
	case <-gone:
		// A terminal is bound to its client only where the start says so.
		if r.own && s.start.Bound || !r.own && !r.tty {
			s.clientGone(r)
		}
		return nil
	case <-r.told:
	}
	select {
	case <-shown:
	case <-gone:
		return nil
	}
	return c.WriteJSON(wire.KindEnd, *r.ended)
}

// show sends a terminal's raw output until its end.
func show(ctx context.Context, c *wire.Conn, t *term.Terminal) {
	sub := t.Subscribe()
	defer sub.Close()
	for {
		p, _, err := sub.Next(ctx)
		for len(p) > 0 {
			part := p[:min(len(p), wire.MaxFrame)]
			p = p[len(part):]
			if c.Write(wire.KindScreen, part) != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// clientGone ends what a captured client alone wanted.
func (s *supervisor) clientGone(r *run) {
	select {
	case <-r.told:
		return
	default:
	}
	if r.own {
		s.end(wire.End{State: wire.StateStopped, Began: true, Error: "the process that ran it ended"})
		return
	}
	r.signal(unix.SIGKILL)
}

// clientInput reads what the client sends while it follows a run.
func (s *supervisor) clientInput(c *wire.Conn, r *run) {
	for {
		k, b, err := c.Read()
		if err != nil {
			return
		}
		switch k {
		case wire.KindInput:
			if r.input(b) != nil {
				r.closeStdin() // the command reads no more
			}
		case wire.KindEOF:
			r.closeStdin()
		case wire.KindSize:
			var z isolate.Size
			if json.Unmarshal(b, &z) == nil && r.term != nil {
				_, _, _ = r.term.Resize(int(z.Cols), int(z.Rows)) // it may have ended just now
			}
		case wire.KindSignal:
			if len(b) == 1 {
				r.signal(unix.Signal(b[0]))
			}
		default:
			return
		}
	}
}

func withoutVar(env []string, name string) []string {
	out := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, name+"=") {
			out = append(out, e)
		}
	}
	return out
}
