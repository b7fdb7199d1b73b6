package credential

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxOutput = 16<<10 + 2 // a secret and its line's end
	// lastWords is how long a command's output may come after its end, from
	// what it has left behind.
	lastWords = 500 * time.Millisecond
)

// runner starts commands, and ends those that run when the keeper ends.
type runner struct {
	env      []string
	never    []string
	deadline time.Duration

	mu    sync.Mutex
	ended bool
	live  map[int]bool // process groups whose leader is not yet reaped
}

// program checks that a command can't have been put there by others.
func (r *runner) program(name string) (string, error) {
	p, err := find(name, r.never)
	switch {
	case err != nil:
		return "", err
	case p.stat.Mode&0o111 == 0:
		return "", errors.New("not a program")
	case p.stat.Mode&0o002 != 0, p.stat.Mode&0o020 != 0 && p.stat.Gid != 0 && int(p.stat.Gid) != os.Getegid():
		return "", errors.New("a program that others may write to")
	}
	return p.path, nil
}

// run gives what a command prints. The group that it leads is killed at its
// end, at the deadline, and when it prints too much.
func (r *runner) run(argv []string) ([]byte, error) {
	program, err := r.program(argv[0])
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, plain(err)
	}
	defer out.Close()
	cmd := &exec.Cmd{
		Path: program, Args: argv, Env: r.env, Dir: "/", Stdout: in,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	// To the kernel the parent is this thread, and the end of a thread that has
	// started a process with Pdeathsig would kill it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = r.start(cmd)
	_ = in.Close() // the command has its own
	if err != nil {
		return nil, err
	}
	text, err := r.follow(cmd.Process.Pid, out)
	r.reap(cmd)
	if err != nil {
		return nil, err
	}
	if code := cmd.ProcessState.ExitCode(); code > 0 {
		return nil, fmt.Errorf("it ended with status %d", code)
	} else if code < 0 {
		return nil, errors.New("it was ended by a signal")
	}
	return text, nil
}

func (r *runner) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return errors.New("the keeper ends")
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("it can't be started: %w", plain(err))
	}
	r.live[cmd.Process.Pid] = true
	return nil
}

// reap waits for a command that follow saw end.
func (r *runner) reap(cmd *exec.Cmd) {
	r.mu.Lock()
	delete(r.live, cmd.Process.Pid)
	r.mu.Unlock()
	_ = cmd.Wait() // its status is looked at by the caller
}

// end kills what runs and lets nothing start any more.
func (r *runner) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for group := range r.live {
		_ = unix.Kill(-group, unix.SIGKILL) // it may have ended
	}
}

// follow reads a command's output until that and the command have ended, or it
// is enough, and kills what is left of its group.
func (r *runner) follow(pid int, out *os.File) ([]byte, error) {
	type output struct {
		text []byte
		err  error
	}
	read := make(chan output, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(out, maxOutput+1))
		read <- output{text, err}
	}()
	exited := make(chan struct{})
	go func() {
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		close(exited)
	}()
	clock := time.NewTimer(r.deadline)
	defer clock.Stop()
	var got *output
	var err error
	for gone := exited; got == nil || gone != nil; {
		select {
		case o := <-read:
			got = &o
			switch {
			case len(o.text) > maxOutput:
				err = fmt.Errorf("it prints more than %d bytes", maxOutput)
			case errors.Is(o.err, os.ErrDeadlineExceeded):
				err = errors.New("it has ended, and what it left behind holds its output open")
			case o.err != nil:
				err = plain(o.err)
			}
		case <-gone:
			gone = nil
			_ = out.SetReadDeadline(time.Now().Add(lastWords)) // pipes have them
		case <-clock.C:
			err = fmt.Errorf("no answer within %v", r.deadline)
		}
		if err != nil {
			break
		}
	}
	// As long as the leader is not reaped, its group's number is nobody else's.
	_ = unix.Kill(-pid, unix.SIGKILL)
	<-exited
	_ = out.SetReadDeadline(time.Now()) // ends the reader, if it is still there
	if got == nil {
		o := <-read
		got = &o
	}
	return got.text, err
}
