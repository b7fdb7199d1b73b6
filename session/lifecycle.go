package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/session/store"
	"fumehood/session/wire"
	"fumehood/session/workspace"
)

// superviseArg is the first argument that makes the binary a supervisor.
const superviseArg = "__supervise"

// readyWithin bounds the wait for closed walls. They close in some ten
// milliseconds; a minute means that the machine is in trouble.
const readyWithin = time.Minute

// StartError is what a supervisor said when it refused to start.
type StartError struct{ Msg, Advice string }

func (e *StartError) Error() string { return e.Msg }

// Hint is what to do about it.
func (e *StartError) Hint() string { return e.Advice }

// launch starts the session's supervisor, detached from this process and its
// terminal, and waits until the walls are closed or refused. The supervisor
// gets an empty environment: what this process holds in its own must not be
// readable from inside.
func (h *Host) launch(ctx context.Context, d store.Dir, g *Given) error {
	logFile, err := os.OpenFile(d.Log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open supervisor log: %w", err)
	}
	defer logFile.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	memory, err := json.Marshal(g)
	if err != nil {
		return errors.Join(fmt.Errorf("encode what the supervisor is given: %w", err), w.Close())
	}
	given, err := pipeOf(memory)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	defer given.Close()
	cmd := exec.Command("/proc/self/exe", superviseArg, string(d))
	cmd.Args[0] = "fumehood"
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.Stderr = logFile
	cmd.ExtraFiles = []*os.File{w, given}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close() // the supervisor's end is its own copy
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	// It outlives this process as a rule; when it does not, it is reaped here.
	go func() { _ = cmd.Wait() }()
	if err := r.SetReadDeadline(time.Now().Add(readyWithin)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) })
	defer stop()
	br := bufio.NewReader(io.LimitReader(r, 64<<10))
	line, err := br.ReadString('\n')
	line = strings.TrimSuffix(line, "\n")
	switch {
	case line == "ready":
		return nil
	case ctx.Err() != nil:
		_ = cmd.Process.Kill() // what it started goes with it
		return ctx.Err()
	case line == "" && err != nil:
		_ = cmd.Process.Kill()
		return fmt.Errorf("the supervisor ended or hung before the walls were closed (%v); its log is %s", err, d.Log())
	}
	rest, _ := io.ReadAll(br)
	return &StartError{Msg: line, Advice: strings.TrimSpace(strings.TrimPrefix(string(rest), "hint: "))}
}

// launchWith gathers what the supervisor is given, and launches it. pol is the
// session's policy, nil to read it from its folder.
func (h *Host) launchWith(ctx context.Context, d store.Dir, pol *policy.Policy, stand *StandIn) error {
	rec, err := d.LoadRecord()
	if err != nil {
		return err
	}
	if pol == nil {
		src, err := os.ReadFile(d.Policy())
		if err != nil {
			return err
		}
		if pol, err = policy.Parse(d.Policy(), src); err != nil {
			return err
		}
	}
	g, err := h.given(pol, rec.Mark, stand)
	if err != nil {
		return err
	}
	return h.launch(ctx, d, g)
}

// Stop ends everything inside a live session and waits until it is gone. The
// workspace stays.
func (h *Host) Stop(ctx context.Context, d store.Dir) error {
	if _, err := ask(ctx, d, wire.Request{Op: wire.OpStop}); err != nil {
		return err
	}
	return waitGone(ctx, d, 20*time.Second) // longer than the walls wait for their last process
}

// Resume starts new processes and walls on the same workspace, home and
// baseline. An empty command is the one before.
func (h *Host) Resume(ctx context.Context, d store.Dir, req Request) error {
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	err = h.prepareResume(d, req)
	unlock()
	if err != nil {
		return err
	}
	return h.launchWith(ctx, d, nil, req.Stand)
}

func (h *Host) prepareResume(d store.Dir, req Request) error {
	if d.Live() {
		return fmt.Errorf("session %s is running; attach to it with \"fumehood attach %s\"", d.ID(), d.ID())
	}
	rec, err := d.LoadRecord()
	if err != nil {
		return err
	}
	if rec.TryOf != "" {
		return errIsTry(d, rec)
	}
	st, err := d.LoadStart()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(d.Workspace()); err != nil {
		return fmt.Errorf("the workspace of session %s is gone: %w", d.ID(), err)
	}
	if !req.Proving {
		if err := h.stillProven(d); err != nil {
			return err
		}
	}
	if len(req.Command) > 0 {
		st.Command, st.TTY = req.Command, req.TTY
	}
	st.Folder = req.startFolder(d, rec.Repo, st.Folder)
	st.Cols, st.Rows, st.Hold, st.Bound, st.RunTime = req.Size.Cols, req.Size.Rows, req.Hold, req.Bound, req.Timeout
	rec.Command, rec.TTY = st.Command, st.TTY
	rec.State, rec.Code, rec.Signal, rec.Limit, rec.Error = StatePreparing, nil, 0, nil, ""
	rec.Began, rec.Started, rec.Ended = false, time.Time{}, time.Time{}
	if err := d.SaveStart(st); err != nil {
		return err
	}
	if err := d.SaveRecord(rec); err != nil {
		return err
	}
	return d.AppendEvent(time.Now(), "resumed", strings.Join(st.Command, " "), map[string]any{"by": h.User, "tty": h.TTY})
}

// UndecidedError says that a removal would lose what nobody has decided on.
type UndecidedError struct {
	ID    string
	Files int
}

func (e *UndecidedError) Error() string {
	files := fmt.Sprintf("%d changed files", e.Files)
	if e.Files == 1 {
		files = "1 changed file"
	}
	return fmt.Sprintf("session %s has %s neither rejected nor in the repository; nothing was removed", e.ID, files)
}

// Hint says how to remove it all the same.
func (e *UndecidedError) Hint() string {
	return fmt.Sprintf("\"fumehood review %s\" shows them; \"fumehood rm --force %s\" throws them away", e.ID, e.ID)
}

// Remove deletes a session with its workspace. A live one is stopped first.
// Unless force is set it refuses while undecided changes exist.
func (h *Host) Remove(ctx context.Context, d store.Dir, force bool) error {
	if rec, err := d.LoadRecord(); err == nil && rec.TryOf != "" {
		force = true // there is nothing in it to decide on
	}
	if !force {
		n, err := h.undecided(ctx, d)
		if err != nil {
			return fmt.Errorf("see what is undecided: %w", err)
		}
		if n > 0 {
			return &UndecidedError{ID: d.ID(), Files: n}
		}
	}
	if d.Live() {
		if err := h.Stop(ctx, d); err != nil && !errors.Is(err, ErrNotLive) {
			return err
		}
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if d.Live() {
		return fmt.Errorf("session %s was started again meanwhile; nothing was removed", d.ID())
	}
	return workspace.Remove(string(d))
}

func writePrivate(path string, b []byte) error { return atomicfile.Write(path, b, 0o600) }

// Frame gives the newest picture of a session's terminal: of a live one once it
// is newer than since, or after some ten seconds; of an ended one its last.
func (h *Host) Frame(ctx context.Context, d store.Dir, since uint64, offset int) (Frame, error) {
	r, err := askBy(ctx, d, wire.Request{Op: wire.OpFrame, Since: since, Offset: offset}, h.conns.ask)
	if errors.Is(err, ErrNotLive) {
		return lastFrame(d, offset)
	}
	if err != nil {
		return Frame{}, err
	}
	if r.Frame == nil {
		return Frame{}, errors.New("the supervisor sent no picture")
	}
	return *r.Frame, nil
}

// lastFrame is the last picture that the supervisor kept of an ended session's
// terminal, scrolled back by offset lines; ErrNotLive when there is none.
func lastFrame(d store.Dir, offset int) (Frame, error) {
	f, err := d.LoadFrame()
	if err != nil {
		return Frame{}, ErrNotLive
	}
	f.Ended = true
	f.Scrollback = min(max(f.Scrollback, 0), len(f.Lines))
	f.Offset = min(max(offset, 0), f.Scrollback)
	top := f.Scrollback - f.Offset
	f.Lines = f.Lines[top:min(len(f.Lines), top+max(f.Rows, 1))]
	return *f, nil
}

// Input passes key presses, pasted text, a mouse event or a new size on to a
// live session's terminal.
func (h *Host) Input(ctx context.Context, d store.Dir, keys []Key, paste string, mouse *Mouse, size *isolate.Size) error {
	var q wire.Request
	switch {
	case mouse != nil:
		q = wire.Request{Op: wire.OpMouse, Mouse: mouse}
	case size != nil:
		q = wire.Request{Op: wire.OpResize, Size: size}
	case paste != "":
		q = wire.Request{Op: wire.OpPaste, Text: paste}
	default:
		q = wire.Request{Op: wire.OpKeys, Keys: keys}
	}
	_, err := askBy(ctx, d, q, h.conns.ask)
	return err
}
