package stage

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
	"fumehood/isolate/wire"
)

// spawner starts commands inside the session's one Landlock domain: a domain
// of their own would keep them from signalling one another. It is as
// unprivileged as they are, and they could end it: then the session ends.
type spawner struct {
	conn *wire.Conn

	mu       sync.Mutex
	children map[uint64]int // PIDs of those not yet reaped, by their ID
}

func runSpawner() int {
	// Commands are of the same user; none may read or trace this process.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil || os.Getppid() != 1 {
		return exitRefused
	}
	nonce := os.Getenv(envNonce)
	os.Clearenv()
	conn, err := wire.New(3, "spawner", plan.MaxToSpawner)
	if err != nil {
		return exitRefused
	}
	knock(nonce)
	s := &spawner{conn: conn, children: map[uint64]int{}}
	if err := conn.Send(plan.FromSpawner{Canary: canary(nonce)}); err != nil {
		return exitRefused
	}
	runtime.UnlockOSThread()
	warmUp()
	for {
		var req plan.ToSpawner
		fds, err := conn.Recv(&req)
		if err != nil || !s.handle(req, fds) {
			return 0
		}
	}
}

// canary tries what Landlock grants and what it alone refuses: both folders
// are this user's, on one file system, with one mode. The starter looks on the
// host for what came of it.
func canary(nonce string) *plan.CanaryTold {
	try := func(dir string) int {
		fd, err := unix.Open(dir+"/"+nonce, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		var e syscall.Errno
		if errors.As(err, &e) {
			return int(e)
		}
		_ = unix.Close(fd) // written nothing
		return 0
	}
	return &plan.CanaryTold{Allowed: try(plan.CanaryAllowed), Denied: try(plan.CanaryDenied), Wait: int(canWait())}
}

// canWait says whether a command could be waited for. A kernel or a container's
// filter without these calls would show only when the first command runs.
func canWait() syscall.Errno {
	var e syscall.Errno
	fd, err := unix.PidfdOpen(os.Getpid(), unix.PIDFD_NONBLOCK)
	if errors.As(err, &e) {
		return e
	}
	defer unix.Close(fd)
	// No process is its own child: that answer says that it was understood.
	err = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.As(err, &e) && e != unix.ECHILD {
		return e
	}
	return 0
}

// warmUp makes the threads that the spawner may ever need. When commands have
// used up the session's processes, a new thread would be refused and the
// runtime end the spawner.
func warmUp() {
	const threads = 5
	var in, out sync.WaitGroup
	in.Add(threads)
	for range threads {
		out.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			in.Done()
			in.Wait() // until all have a thread
		})
	}
	out.Wait()
}

// handle answers one request; false means that the other end speaks another
// language and nothing may go on.
func (s *spawner) handle(req plan.ToSpawner, fds []int) bool {
	defer closeFDs(fds)
	switch {
	case req.Spawn != nil && req.Signal == 0:
		return s.spawn(req.ID, *req.Spawn, fds)
	case req.Signal > 0 && len(fds) == 0:
		s.signal(req.ID, syscall.Signal(req.Signal))
		return true
	}
	return false
}

// signal goes to the command's own process group, while it is not reaped: its
// number can't be another's before.
func (s *spawner) signal(id uint64, sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pid, ok := s.children[id]; ok {
		_ = unix.Kill(-pid, sig) // the group may have ended already
	}
}

func (s *spawner) spawn(id uint64, c plan.Spawn, fds []int) bool {
	var master int
	var pid int
	var err error
	if c.TTY {
		master, pid, err = startTTY(c)
	} else if len(fds) == 3 {
		pid, err = start(c, [3]int{fds[0], fds[1], fds[2]}, false)
	} else {
		return false
	}
	if err != nil {
		code, text := startCode(err)
		return s.conn.Send(plan.FromSpawner{ID: id, Started: &plan.Started{Code: code, Err: text}}) == nil
	}
	s.mu.Lock()
	s.children[id] = pid
	s.mu.Unlock()
	msg := plan.FromSpawner{ID: id, Started: &plan.Started{PID: pid}}
	if c.TTY {
		err = s.conn.Send(msg, master)
		_ = unix.Close(master) // the starter has it
	} else {
		err = s.conn.Send(msg)
	}
	if err != nil {
		return false
	}
	go s.wait(id, pid)
	return true
}

// wait reports the end of one command.
func (s *spawner) wait(id uint64, pid int) {
	end, err := waitChild(pid, func() {
		s.mu.Lock()
		delete(s.children, id)
		s.mu.Unlock()
	})
	if err != nil || s.conn.Send(plan.FromSpawner{ID: id, Ended: end}) != nil {
		os.Exit(exitRefused) // nobody could be told; PID 1 ends the session
	}
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // duplicates of the starter's
	}
}
