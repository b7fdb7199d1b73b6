package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lifeActions are those of test 11: lifecycle.
var lifeActions = map[string]action{"daemon": startDaemon}

// lifeChildren is what the probe starts again for them.
var lifeChildren = map[string]func([]string) int{
	"daemon-fork": forkDaemon, "daemon-tick": tickOn, "daemon-stand": standStill, "client": hangOn,
}

// readyFor bounds the wait for what was started.
const readyFor = 5 * time.Second

// startDaemon leaves two processes behind that nobody waits for: one that ticks and
// heeds no signal, and one that is stopped. Both carry the word among their
// arguments, and both end by themselves after "lives".
func startDaemon(args map[string]string) Said {
	linger, err := time.ParseDuration(args["linger"])
	if err != nil {
		return Said{Err: err.Error()}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Said{Err: err.Error()}
	}
	defer r.Close()
	cmd := exec.Command(os.Args[0], "daemon-fork", args["word"], args["lives"], args["file"])
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Run()
	_ = w.Close() // the children have theirs
	if err != nil {
		return Said{Err: "start a daemon: " + err.Error()}
	}
	if err := r.SetReadDeadline(time.Now().Add(readyFor)); err != nil {
		return Said{Err: err.Error()}
	}
	said, err := io.ReadAll(r)
	if n := strings.Count(string(said), "\n"); n != 2 {
		return Said{Err: fmt.Sprintf("%d of 2 daemons began: %q, %v", n, said, err)}
	}
	time.Sleep(linger) // until the host has looked
	return Said{Text: strings.ReplaceAll(strings.TrimSpace(string(said)), "\n", ", ")}
}

// forkDaemon is the process between, which ends at once: what it started has no
// parent in the probe's tree.
func forkDaemon(args []string) int {
	for _, name := range []string{"daemon-tick", "daemon-stand"} {
		cmd := exec.Command(os.Args[0], append([]string{name}, args...)...)
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "ready")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 4
		}
	}
	return 0
}

func began(name string) {
	ready := os.NewFile(3, "ready")
	_, _ = fmt.Fprintf(ready, "%s %d\n", name, os.Getpid()) // nobody hears: then it was not seen
	_ = ready.Close()
}

const tickEvery = 20 * time.Millisecond

// tickOn heeds no signal, holds a lock on its file where it can make one, and
// writes a number into it over and over.
func tickOn(args []string) int {
	if len(args) != 3 {
		return 2
	}
	lives, err := time.ParseDuration(args[1])
	if err != nil {
		return 2
	}
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if sig != unix.SIGURG && sig != unix.SIGSEGV && sig != unix.SIGBUS && sig != unix.SIGFPE { // the runtime's
			signal.Ignore(sig)
		}
	}
	f, err := os.OpenFile(args[2], os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err == nil {
		_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // the host sees whether it is held
		defer f.Close()
	}
	began("daemon-tick")
	every := time.NewTicker(tickEvery)
	for n, end := 0, time.After(lives); ; n++ {
		select {
		case <-end:
			return 0
		case <-every.C:
			if f != nil {
				_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", n), 0) // where it can't, it ticks on
			}
		}
	}
}

// standStill stops itself. Since nothing but SIGKILL wakes a stopped process to its
// end, a timer sends it one.
func standStill(args []string) int {
	if len(args) != 3 {
		return 2
	}
	lives, err := time.ParseDuration(args[1])
	if err != nil {
		return 2
	}
	if err := killLater(lives); err != nil {
		fmt.Fprintln(os.Stderr, "timer:", err)
		return 5
	}
	began("daemon-stand")
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	// Another thread may take the signal, and this one go on for a moment.
	for {
		_ = unix.Pause()
	}
}

// killLater has the kernel end this process (timer_create(2)).
func killLater(after time.Duration) error {
	event := memory(64) // struct sigevent; its kind 0 is SIGEV_SIGNAL
	binary.NativeEndian.PutUint32(event[8:], uint32(unix.SIGKILL))
	id := memory(4)
	if _, e := call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, address(event), address(id)); e != 0 {
		return e
	}
	when := memory(32) // struct itimerspec: how often, never; and when
	binary.NativeEndian.PutUint64(when[16:], uint64(after/time.Second))
	binary.NativeEndian.PutUint64(when[24:], uint64(after%time.Second))
	_, e := call(unix.SYS_TIMER_SETTIME, uintptr(binary.NativeEndian.Uint32(id)), 0, address(when), 0)
	runtime.KeepAlive(event)
	runtime.KeepAlive(when)
	if e != 0 {
		return e
	}
	return nil
}

// hangOn connects to the socket "sock" of its folder, says what it was told to
// and listens until the other end closes. It runs on the host.
func hangOn(args []string) int {
	if len(args) != 1 {
		return 2
	}
	say, err := hex.DecodeString(args[0])
	if err != nil {
		return 2
	}
	c, err := net.Dial("unix", "sock")
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	defer c.Close()
	if _, err := c.Write(say); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, c) // whatever comes
	return 0
}
