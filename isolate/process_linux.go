package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
)

const (
	startFor    = 30 * time.Second // for a command to be started, on a loaded machine
	devptsMagic = 0x1cd1
)

// Process is a command inside a sandbox. Its methods may be called from several
// goroutines.
type Process struct {
	sandbox *Sandbox
	id      uint64
	tty     bool
	pid     int
	pty     *os.File

	started chan struct{} // closed when pid and pty are set, or the end is known
	done    chan struct{} // closed when status is set
	once    sync.Once
	status  Status
}

// ErrEnded says that the sandbox ended before a command could be started.
var ErrEnded = errors.New("the sandbox has ended")

// Spawn starts a command, after the end of a pause that lasts. A command that can't be executed is no error of
// Spawn's: Wait tells it, by StartErr. The files of c stay the caller's, which
// closes them; a nil one is /dev/null.
func (s *Sandbox) Spawn(c Command) (*Process, error) {
	req := plan.Spawn{Argv: c.Argv, Env: c.Env, Dir: c.Dir}
	if len(c.Argv) == 0 {
		return nil, errors.New("spawn: no command")
	}
	for _, word := range append(append([]string{c.Dir}, c.Argv...), c.Env...) {
		for i := range len(word) {
			if word[i] == 0 {
				return nil, fmt.Errorf("spawn: a zero byte in %q", word)
			}
		}
	}
	var fds []int
	if c.TTY != nil {
		if c.Stdin != nil || c.Stdout != nil || c.Stderr != nil {
			return nil, errors.New("spawn: a command on a pty takes no files")
		}
		req.TTY, req.Cols, req.Rows = true, c.TTY.Cols, c.TTY.Rows
	} else {
		files := [3]*os.File{c.Stdin, c.Stdout, c.Stderr}
		for i, f := range files {
			if f == nil {
				files[i] = s.null
			}
		}
		for _, f := range files {
			fd, err := s.give(f)
			if err != nil {
				return nil, err
			}
			fds = append(fds, fd)
		}
	}
	p, err := s.request(req, fds)
	runtime.KeepAlive(c) // its files are in use by their numbers until here
	return p, err
}

// give prepares a file for the other side. Fd makes it blocking, as programs
// expect; a pipe of Go's is not. A command may open its own output again by
// /dev/stdout; a pipe of root's would refuse that to the session's id.
func (s *Sandbox) give(f *os.File) (int, error) {
	fd := int(f.Fd())
	if os.Getuid() != 0 {
		return fd, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, fmt.Errorf("spawn: look at %q: %w", f.Name(), err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return fd, nil
	}
	var fsInfo unix.Statfs_t
	if err := unix.Fstatfs(fd, &fsInfo); err != nil {
		return -1, fmt.Errorf("spawn: look at %q: %w", f.Name(), err)
	}
	if fsInfo.Type == unix.PIPEFS_MAGIC {
		if err := unix.Fchown(fd, s.spec.UID, s.spec.GID); err != nil {
			return -1, fmt.Errorf("spawn: give %q to the session: %w", f.Name(), err)
		}
	}
	return fd, nil
}

func (s *Sandbox) request(req plan.Spawn, fds []int) (*Process, error) {
	if err := s.enterGate(context.Background()); err != nil {
		return nil, fmt.Errorf("spawn: %w", err)
	}
	defer s.leaveGate()
	p := &Process{sandbox: s, tty: req.TTY, started: make(chan struct{}), done: make(chan struct{})}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, fmt.Errorf("spawn: %w", ErrEnded)
	}
	s.nextID++
	p.id = s.nextID
	s.procs[p.id] = p
	s.mu.Unlock()

	if err := s.spawn.Send(plan.ToSpawner{ID: p.id, Spawn: &req}, fds...); err != nil {
		s.forget(p)
		return nil, fmt.Errorf("spawn: %w", err)
	}
	t := time.NewTimer(startFor)
	defer t.Stop()
	select {
	case <-p.started:
	case <-p.done:
		if p.status.StartErr == "" && p.pid == 0 {
			return nil, fmt.Errorf("spawn: %w", ErrEnded)
		}
	case <-t.C:
		// What it may still start could not be told from another command.
		return nil, errors.Join(fmt.Errorf("spawn: no answer from inside within %v", startFor), s.Kill())
	}
	return p, nil
}

func (s *Sandbox) forget(p *Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.procs, p.id)
}

// readSpawner hands on what the spawner reports. A command might have taken it
// over, so only what was asked for is taken; anything else ends the sandbox.
func (s *Sandbox) readSpawner() {
	for {
		var m plan.FromSpawner
		fds, err := s.spawn.Recv(&m)
		if err == nil {
			err = s.report(m, fds)
		}
		if err != nil {
			_ = s.cmd.Process.Kill() // gone already, mostly
			return
		}
	}
}

// report takes one message. It owns fds.
func (s *Sandbox) report(m plan.FromSpawner, fds []int) error {
	keep := false
	defer func() {
		if !keep {
			closeFDs(fds...)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.procs[m.ID]
	switch {
	case !ok:
		return fmt.Errorf("a report of process %d, which is not awaited", m.ID)
	case m.Started != nil && m.Ended == nil && p.pid == 0:
		if m.Started.PID <= 0 {
			if m.Started.Code != 126 && m.Started.Code != 127 || m.Started.Err == "" {
				return errors.New("a refusal without code or reason")
			}
			delete(s.procs, m.ID)
			p.end(Status{Code: m.Started.Code, StartErr: m.Started.Err})
			return nil
		}
		if p.tty {
			if len(fds) != 1 {
				return fmt.Errorf("%d descriptors, want a pty's", len(fds))
			}
			if err := isMaster(fds[0]); err != nil {
				return err
			}
			p.pty = os.NewFile(uintptr(fds[0]), "pty")
			keep = true
		} else if len(fds) > 0 {
			return errors.New("descriptors that were not asked for")
		}
		p.pid = m.Started.PID
		close(p.started)
		return nil
	case m.Ended != nil && m.Started == nil && p.pid != 0 && len(fds) == 0:
		if m.Ended.Code < 0 || m.Ended.Code > 255 || m.Ended.Signal < 0 || m.Ended.Signal > 64 {
			return errors.New("an end that can't be")
		}
		delete(s.procs, m.ID)
		p.end(Status{Code: m.Ended.Code, Signal: m.Ended.Signal})
		return nil
	}
	return errors.New("a message out of order")
}

// isMaster makes sure that a descriptor from inside is what it is used as.
func isMaster(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at pty: %w", err)
	}
	var fsInfo unix.Statfs_t
	if err := unix.Fstatfs(fd, &fsInfo); err != nil {
		return fmt.Errorf("look at pty: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(st.Rdev) != 5 || unix.Minor(st.Rdev) != 2 || fsInfo.Type != devptsMagic {
		return errors.New("the descriptor from inside is no pty's master")
	}
	// Non-blocking, so that closing it ends a read of it.
	return unix.SetNonblock(fd, true)
}

func (p *Process) end(st Status) {
	p.once.Do(func() {
		p.status = st
		close(p.done)
	})
}

// PTY is the master of the command's terminal, nil when it has none. The caller
// closes it.
func (p *Process) PTY() *os.File { return p.pty }

// PID is the command's number inside; 0 when it never ran.
func (p *Process) PID() int { return p.pid }

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the command's end and says how it was. A command that was
// running when its sandbox ended, ended by SIGKILL.
func (p *Process) Wait() Status {
	<-p.done
	return p.status
}

// Signal sends sig to the command's own process group. It is no error when the
// command has ended.
func (p *Process) Signal(sig syscall.Signal) error {
	if sig <= 0 || sig > 64 {
		return fmt.Errorf("signal %d: want 1 to 64", sig)
	}
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.sandbox.spawn.Send(plan.ToSpawner{ID: p.id, Signal: int(sig)}); err != nil {
		return fmt.Errorf("signal: %w", err)
	}
	return nil
}
