package stage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
)

// errNotFound is the shell's 127; every other refusal to start is its 126.
var errNotFound = errors.New("command not found")

const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

func startCode(err error) (int, string) {
	if errors.Is(err, errNotFound) {
		return codeNotFound, err.Error()
	}
	return codeNotExecutable, err.Error()
}

// startTTY starts a command on a new pty of the session's own devpts, so that
// its name exists inside, and returns the master.
func startTTY(c plan.Spawn) (master, pid int, err error) {
	master, err = unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("open pty: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(master) // unused
		}
	}()
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return -1, 0, fmt.Errorf("unlock pty: %w", err)
	}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Col: c.Cols, Row: c.Rows}); err != nil {
		return -1, 0, fmt.Errorf("size of pty: %w", err)
	}
	// By the master and not by name: no path is looked up.
	slave, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		return -1, 0, fmt.Errorf("open pty's other end: %w", e)
	}
	defer unix.Close(int(slave))
	pid, err = start(c, [3]int{int(slave), int(slave), int(slave)}, true)
	return master, pid, err
}

// start resolves and starts one command in a session (as in setsid) of its own.
func start(c plan.Spawn, fds [3]int, tty bool) (int, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return 0, fmt.Errorf("%w: empty command", errNotFound)
	}
	if err := unix.Access(c.Dir, unix.X_OK); err != nil {
		return 0, fmt.Errorf("folder %q: %w", c.Dir, err)
	}
	paths, err := candidates(c.Argv[0], c.Dir, c.Env)
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env,
		Files: []uintptr{uintptr(fds[0]), uintptr(fds[1]), uintptr(fds[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: tty, Ctty: 0},
	}
	var first error
	for _, p := range paths {
		pid, err := fork(p, c.Argv, attr)
		if err == nil {
			return pid, nil
		}
		if first == nil || errors.Is(first, unix.ENOENT) {
			first = fmt.Errorf("%q: %w", c.Argv[0], err)
		}
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOTDIR) {
			break
		}
	}
	if errors.Is(first, unix.ENOENT) || errors.Is(first, unix.ENOTDIR) {
		if anyThere(paths, c.Dir) {
			return 0, fmt.Errorf("%q: %w: it is there, but not what it leads to or what its first line names to run it", c.Argv[0], errNotFound)
		}
		return 0, fmt.Errorf("%q: %w", c.Argv[0], errNotFound)
	}
	return 0, first
}

// anyThere tells a command that is not there from one that lacks something.
func anyThere(paths []string, dir string) bool {
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			p = dir + "/" + p
		}
		var st unix.Stat_t
		if unix.Lstat(p, &st) == nil {
			return true
		}
	}
	return false
}

// fork starts argv from a thread without blocked signals, since a command
// inherits that mask. A file that has no format the kernel knows is given to
// the shell, as execvp does.
func fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &old); err != nil {
		return 0, err
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }() // it was valid before
	pid, err := syscall.ForkExec(path, argv, attr)
	if errors.Is(err, unix.ENOEXEC) {
		return syscall.ForkExec("/bin/sh", append([]string{argv[0], path}, argv[1:]...), attr)
	}
	return pid, err
}

// candidates is where a command may be: the name itself when it has a slash,
// else each folder of the given environment's PATH.
func candidates(name, dir string, env []string) ([]string, error) {
	if strings.Contains(name, "/") {
		return []string{name}, nil
	}
	search := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	var out []string
	for d := range strings.SplitSeq(search, ":") {
		if d == "" {
			d = "."
		}
		p := d + "/" + name
		if !strings.HasPrefix(p, "/") {
			p = dir + "/" + p
		}
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q: %w", name, errNotFound)
	}
	return out, nil
}

// waitChild waits for the end of pid without a thread of its own, calls gone
// while the number still belongs to it, and reaps it.
func waitChild(pid int, gone func()) (*plan.Ended, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var waitErr error
	err = raw.Read(func(fd uintptr) bool {
		var info unix.Siginfo
		waitErr = unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return waitErr != unix.EAGAIN && (waitErr != nil || info.Signo != 0)
	})
	if err := errors.Join(err, waitErr); err != nil {
		return nil, err
	}
	gone()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, 0, nil); err != nil {
		return nil, err
	}
	if ws.Signaled() {
		return &plan.Ended{Signal: int(ws.Signal())}, nil
	}
	return &plan.Ended{Code: ws.ExitStatus()}, nil
}
