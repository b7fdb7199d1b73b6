package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nameActions are those of test 3 and 12: other names, and what is left for another.
var nameActions = map[string]action{
	"swap-race":    swapRace,
	"through-proc": throughProc,
	"descriptors":  descriptors,
	"ring-open":    ringOpen,
	"hold":         holdFile,
	"leave-alive":  leaveAlive,
}

// The length of a race, and the fewest swaps and opens that are one.
const (
	leastRace  = 50
	raceFor    = 100 * time.Millisecond
	raceAtMost = 10 * time.Second
)

// swapRace swaps the folder "dir" for the link "link", which points to "to",
// and back in a loop, and opens "name" below it meanwhile.
func swapRace(args map[string]string) Said {
	defer func() {
		// Whichever is which by then; what stays lies in the workspace.
		_, _ = os.RemoveAll(args["dir"]), os.RemoveAll(args["link"])
	}()
	err := os.Mkdir(args["dir"], 0o700)
	if err == nil {
		var own *os.File
		if own, err = os.OpenFile(filepath.Join(args["dir"], args["name"]), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			err = own.Close() // empty
		}
	}
	if err == nil {
		err = os.Symlink(args["to"], args["link"])
	}
	if err != nil {
		return said(err)
	}
	var stop atomic.Bool
	var swaps atomic.Int64
	done := make(chan error)
	go func() {
		var err error
		for !stop.Load() && err == nil {
			err = unix.Renameat2(unix.AT_FDCWD, args["dir"], unix.AT_FDCWD, args["link"], unix.RENAME_EXCHANGE)
			swaps.Add(1)
		}
		done <- err
	}()
	path := filepath.Join(args["dir"], args["name"])
	var opened, refused int
	// Long enough for a race, and on a busy machine until there was one.
	enough := func() bool { return opened+refused >= leastRace && swaps.Load() >= leastRace }
	began := time.Now()
	for opened+refused < 4000 && (time.Since(began) < raceFor || !enough() && time.Since(began) < raceAtMost) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			refused++
			continue
		}
		opened++
		_ = unix.Close(fd)
	}
	stop.Store(true)
	if err := <-done; err != nil {
		return said(err)
	}
	return Said{Text: fmt.Sprintf("%d opened, %d refused", opened, refused)}
}

// throughProc opens "path" through the root, the working folder and the open
// files of every process that there is to be seen.
func throughProc(args map[string]string) Said {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return said(err)
	}
	var s Said
	self := strconv.Itoa(os.Getpid())
	for _, d := range append(dirs, "/proc/self", "/proc/thread-self") {
		var up string
		for range 12 {
			up += "/.."
		}
		for _, via := range []string{"/root", "/cwd" + up} {
			fd, err := unix.Open(d+via+args["path"], unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err == nil {
				s.Text += " " + d + via
				_ = unix.Close(fd)
			}
		}
		if filepath.Base(d) == self {
			continue // its own descriptors are another attempt
		}
	}
	return s
}

// descriptors tries every descriptor above the streams: "name" below each, and
// that one which was left open outside.
func descriptors(args map[string]string) Said {
	left, err := strconv.Atoi(args["fd"])
	if err != nil {
		return Said{Err: err.Error()}
	}
	_, err = unix.FcntlInt(uintptr(left), unix.F_GETFD, 0)
	s := said(err)
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return said(err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n < 3 {
			continue
		}
		fd, err := unix.Openat(n, args["name"], unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			s.Text += " " + e.Name()
			_ = unix.Close(fd)
		}
	}
	return s
}

// The parts of io_uring's interface that one opening needs (io_uring(7)).
const (
	ringParams  = 120
	ringEnter   = 1  // IORING_ENTER_GETEVENTS
	ringOpenat  = 18 // IORING_OP_OPENAT
	ringSQEs    = 0x10000000
	ringCQ      = 0x8000000
	sqeBytes    = 64
	cqeBytes    = 16
	ringMapping = 4096
)

// ringOpen opens "path" by a request in a ring, which no filter of calls sees.
func ringOpen(args map[string]string) Said {
	var params [ringParams / 4]uint32
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if e != 0 {
		return said(e)
	}
	ring := int(fd)
	defer unix.Close(ring)
	sq, err1 := unix.Mmap(ring, 0, ringMapping, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	cq, err2 := unix.Mmap(ring, ringCQ, ringMapping, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	sqes, err3 := unix.Mmap(ring, ringSQEs, ringMapping, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err := errors.Join(err1, err2, err3); err != nil {
		return said(err)
	}
	path := append([]byte(args["path"]), 0)
	at := func(b []byte, off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&b[off])) }
	// params: entries and flags fill 10 words, then the offsets of both rings.
	const sqOff, cqOff = 10, 20
	sqTail, sqArray := params[sqOff+1], params[sqOff+6]
	cqTail, cqes := params[cqOff+1], params[cqOff+5]
	sqes[0] = ringOpenat
	*(*int32)(unsafe.Pointer(&sqes[4])) = unix.AT_FDCWD
	*(*uint64)(unsafe.Pointer(&sqes[16])) = uint64(uintptr(unsafe.Pointer(&path[0])))
	*at(sq, sqArray) = 0
	atomic.AddUint32(at(sq, sqTail), 1)
	if _, _, e := unix.Syscall6(unix.SYS_IO_URING_ENTER, fd, 1, 1, ringEnter, 0, 0); e != 0 {
		return said(e)
	}
	if atomic.LoadUint32(at(cq, cqTail)) == 0 {
		return Said{Err: "the ring gave no answer"}
	}
	res := *(*int32)(unsafe.Pointer(&cq[cqes+8]))
	if res < 0 {
		return Said{Errno: int(-res), Step: 1, Text: "the ring answers " + unix.ErrnoName(syscall.Errno(-res))}
	}
	_ = unix.Close(int(res))
	return Said{Text: "the ring opened it"}
}

// holdFile takes a lock, lease or watch on the file "path", says so by the file
// "mark" and keeps it until the file "go" is there, for two seconds at most.
func holdFile(args map[string]string) Said {
	fd, err := unix.Open(args["path"], unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return said(err)
	}
	defer unix.Close(fd)
	watch := -1
	switch args["how"] {
	case "flock":
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	case "ofd":
		err = unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK})
	case "lease":
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	case "watch":
		if watch, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
			defer unix.Close(watch)
			_, err = unix.InotifyAddWatch(watch, args["path"], unix.IN_ALL_EVENTS)
		}
	default:
		return Said{Err: "no such way to hold: " + args["how"]}
	}
	s := said(err)
	mark, err := os.OpenFile(args["mark"], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return said(err)
	}
	_ = mark.Close() // empty
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		if _, err := os.Lstat(args["go"]); err == nil {
			break
		}
		if time.Now().After(end) {
			return Said{Err: "nobody looked from outside"}
		}
	}
	if watch >= 0 {
		buf := make([]byte, 4096)
		n, err := unix.Read(watch, buf)
		if err == nil {
			s.Text = fmt.Sprintf("%d bytes of events", n)
		}
	}
	return s
}

// leaveAlive leaves a process behind, outside the terminal session, that holds an abstract
// socket and one with a path.
func leaveAlive(args map[string]string) Said {
	cmd := self("stay", args["abstract"], args["path"])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		return said(err)
	}
	defer r.Close()
	cmd.Stdout = w
	err = cmd.Start()
	_ = w.Close() // the child has its own
	if err != nil {
		return said(err)
	}
	word := make([]byte, 64)
	n, err := r.Read(word)
	if err != nil {
		return said(err)
	}
	return Said{Text: string(word[:n])}
}

// stay is what is left: it listens for at most ten seconds.
func stay(args []string) int {
	if len(args) != 2 {
		return 2
	}
	text := "listens"
	for _, name := range []string{"@" + args[0], args[1]} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
		}
		if err == nil {
			err = unix.Listen(fd, 16)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			text += fmt.Sprintf(" not at %s: %v", name, err)
		}
	}
	_, _ = fmt.Fprintln(os.Stdout, text) // nobody to tell
	_ = os.Stdout.Close()                // whoever started it goes on
	time.Sleep(10 * time.Second)
	return 0
}
