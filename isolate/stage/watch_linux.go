package stage

import (
	"bytes"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
	"fumehood/isolate/wire"
)

const (
	watchEvery = time.Second
	// beatsMissing is how long the starter may be silent. It sends every 5 s.
	beatsMissing = 30 * time.Second
)

// first is PID 1 once the walls are closed.
type first struct {
	ctl     *wire.Conn
	spawner int
	pause   pause
}

// watch reaps, answers and ends. It returns when the session has to end, and
// the end of PID 1 is the end of every process in its namespace.
func (s *first) watch() int {
	if null, err := openNull(); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0) // at worst the starter keeps reading an open pipe
		}
	}
	end := make(chan struct{}, 3)
	msgs := make(chan plan.ToStage)
	go func() { s.reap(); end <- struct{}{} }()
	go func() { s.receive(msgs); end <- struct{}{} }()

	tick := time.NewTicker(watchEvery)
	beat, suspect := time.Now(), false
	for {
		select {
		case <-end:
			return s.killAll()
		case m := <-msgs:
			beat = time.Now()
			if !s.answer(m) {
				return s.killAll()
			}
		case <-tick.C:
			if leftOut == plan.WatchStarter {
				continue
			}
			stopped := starterStopped()
			// Twice in a row: a starter that is being traced stops for moments.
			if stopped && suspect || time.Since(beat) > beatsMissing {
				return s.killAll()
			}
			suspect = stopped
		}
	}
}

// reap collects orphans until the spawner ends, and with it the session.
func (s *first) reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid == s.spawner {
			return
		}
	}
}

// receive hands on what the starter says, until it is gone.
func (s *first) receive(to chan<- plan.ToStage) {
	for {
		var m plan.ToStage
		fds, err := s.ctl.Recv(&m)
		if err != nil || len(fds) > 0 {
			return
		}
		to <- m
	}
}

func (s *first) answer(m plan.ToStage) bool {
	switch {
	case m.Beat:
		return true
	case m.Pause > 0:
		return s.ctl.Send(plan.FromStage{Paused: told(m.Pause, s.pause.stop(s.spawner))}) == nil
	case m.Resume > 0:
		return s.ctl.Send(plan.FromStage{Resumed: told(m.Resume, s.pause.resume())}) == nil
	}
	return false // not of this version
}

func told(number int, err error) *plan.Answer {
	a := &plan.Answer{Number: number}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

// starterStopped reads the starter's state in the host's own /proc, through a
// descriptor that was opened there. A stopped starter watches no limit and
// answers nobody, so the session must not run on.
func starterStopped() bool {
	var buf [512]byte
	n, err := unix.Pread(plan.FDStat, buf[:], 0)
	if err != nil {
		return true // gone
	}
	// The name in front is in parentheses and may hold anything.
	i := bytes.LastIndexByte(buf[:n], ')')
	if i < 0 || i+2 >= n {
		return true
	}
	switch buf[i+2] {
	case 'T', 't', 'Z', 'X':
		return true
	}
	return false
}

// killAll ends what runs. The kernel does the same when PID 1 exits and waits
// for each, so the error of a kill that finds nobody says nothing.
func (s *first) killAll() int {
	_ = unix.Kill(-1, unix.SIGKILL)
	os.Exit(0)
	return 0
}
