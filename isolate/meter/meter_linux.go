// Package meter is the process of fumehood's own that looks at what a session
// uses. A supervisor that has confined itself by Landlock can't: the kernel
// lets such a one read neither the descriptors nor the shared memory of
// processes outside its domain, and memory in memfds and /dev/shm would go
// unseen. So it starts this one before, which can do nothing but answer one
// question, over a socket that the supervisor alone holds the other end of.
// It ends when that closes.
//
// It writes nothing and starts nothing. Its only input that someone hostile
// has a hand in is names in /proc, which it compares and never prints. Main
// calls it by stage.Dispatch.
package meter

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/wire"
)

// Arg is the word after the program's name that makes it a meter.
const Arg = "__meter"

// FD is its end of the socket.
const FD = 3

// Ask is the question.
type Ask struct {
	Root  int    `json:"root"`  // the sandbox's first process, on the host
	Limit int64  `json:"limit"` // of memory, in bytes; 0 is none
	Disk  uint64 `json:"disk"`  // the device whose deleted files are counted; 0 is none
}

// Answer is a sample, or why there is none.
type Answer struct {
	Verdict limits.Verdict `json:"verdict"`
	Err     string         `json:"err,omitempty"`
}

// MaxMessage is the longest message in either direction, in bytes.
const MaxMessage = 4 << 10

// Run answers until the other end closes.
func Run() int {
	const refused = 125
	// It looks into the session's processes; none may look into it.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil || noNewPrivs() != nil {
		return refused
	}
	conn, err := wire.New(FD, "meter", MaxMessage)
	if err != nil {
		return refused
	}
	var judge limits.Judge
	var parent watch
	for {
		var ask Ask
		_ = conn.SetReadDeadline(time.Now().Add(parent.every())) // a socket has them
		fds, err := conn.Recv(&ask)
		if errors.Is(err, os.ErrDeadlineExceeded) && !parent.stopped() {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			return 0
		}
		parent = watch{}
		if err != nil || len(fds) > 0 {
			fmt.Fprintln(os.Stderr, "fumehood: the meter was asked something else")
			return refused
		}
		var answer Answer
		if answer.Verdict, err = judge.Look(ask.Root, ask.Limit, ask.Disk); err != nil {
			answer.Err = err.Error()
		}
		if conn.Send(answer) != nil {
			return 0 // nobody is there any more
		}
	}
}

// noNewPrivs binds every thread, since the runtime has several by now.
func noNewPrivs() error {
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// watch looks whether the supervisor was stopped. Its session ends then, and
// nothing of it may stay.
type watch struct{ suspect bool }

// every is longer than a session at rest goes unsampled.
func (w watch) every() time.Duration {
	if w.suspect {
		return time.Second
	}
	return limits.RestEvery + 200*time.Millisecond
}

// stopped says that the parent was found stopped twice in a row.
func (w *watch) stopped() bool {
	st, err := limits.ReadStat(os.Getppid(), 0)
	now := err == nil && (st.State == 'T' || st.State == 't')
	was := w.suspect
	w.suspect = now
	return was && now
}
