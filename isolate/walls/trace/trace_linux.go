package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/walls/calls"
)

// Tracer is attached to one probe and whatever that starts.
type Tracer struct {
	done chan struct{}
	log  *Log
}

// Attach seizes every thread of the process pid and lets it go on. The process
// should be waiting, as a probe does for its job. The caller owns CAP_SYS_PTRACE
// over it, or is its user where nothing else forbids it.
//
// Whatever the kernel hands to it by a call that reads is searched for the texts
// of seek.
func Attach(pid int, seek ...string) (*Tracer, error) {
	t := &Tracer{done: make(chan struct{}), log: &Log{Segments: map[int]*Segment{}}}
	attached := make(chan error)
	go ownThread(func() {
		l := &loop{log: t.log, seek: seek, first: pid, tasks: map[int]*task{}}
		err := l.seize(pid)
		attached <- err
		if err == nil {
			t.log.Err = l.run()
		}
		close(t.done)
	})
	if err := <-attached; err != nil {
		return nil, fmt.Errorf("trace process %d: %w", pid, err)
	}
	return t, nil
}

// ownThread runs f on a thread that has started no process: the tracer waits for
// whatever its thread is told of, and would take the end of another's child from
// who waits for that.
func ownThread(f func()) {
	runtime.LockOSThread()
	children, err := os.ReadFile("/proc/thread-self/children")
	if err == nil && len(children) > 0 {
		begun := make(chan struct{})
		go ownThread(func() { close(begun); f() })
		<-begun // held till then, so that the other one gets another thread
		runtime.UnlockOSThread()
		return
	}
	// Never unlocked: the thread ends with the goroutine, and with it, by
	// PTRACE_O_EXITKILL, whatever it still traces.
	f()
}

// Wait waits until the probe has ended. What it started and left is ended then.
// The log is the caller's afterwards.
func (t *Tracer) Wait() *Log {
	<-t.done
	return t.log
}

// Done is closed when the probe has ended.
func (t *Tracer) Done() <-chan struct{} { return t.done }

type task struct {
	tgid  int
	entry *Call // the call that it is in
}

type loop struct {
	log   *Log
	seek  []string
	first int
	tasks map[int]*task
	cur   *Segment
	owner int // the thread that made the mark
}

const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// seize attaches to all threads. One that is started meanwhile is found in the
// next round; those of threads already seized come by themselves.
func (l *loop) seize(pid int) error {
	for range 100 {
		dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			return os.ErrProcessDone
		}
		fresh := false
		for _, d := range dirs {
			tid, err := strconv.Atoi(filepath.Base(d))
			if err != nil || l.tasks[tid] != nil {
				continue
			}
			if err := ptrace(unix.PTRACE_SEIZE, tid, 0, options); err != nil {
				if errors.Is(err, unix.ESRCH) {
					continue
				}
				if traced(tid, pid) {
					l.tasks[tid] = &task{tgid: pid} // came by PTRACE_O_TRACECLONE
					continue
				}
				return err
			}
			fresh = true
			l.tasks[tid] = &task{tgid: pid}
			if err := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if !fresh {
			return nil
		}
	}
	return errors.New("it makes threads faster than they can be seized")
}

// traced says whether a thread's tracer is this thread.
func traced(tid, pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", pid, tid))
	if err != nil {
		return false
	}
	return statusField(b, "TracerPid") == strconv.Itoa(os.Getpid()) || statusField(b, "TracerPid") == strconv.Itoa(unix.Gettid())
}

func (l *loop) run() error {
	for l.tasks[l.first] != nil {
		var ws unix.WaitStatus
		// WNOTHREAD: only what this thread traces, never another's children.
		tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ECHILD) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for the traced: %w", err)
		}
		if err := l.event(tid, ws); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

func (l *loop) event(tid int, ws unix.WaitStatus) error {
	t := l.tasks[tid]
	if t == nil {
		t = &task{tgid: tgidOf(tid)}
		l.tasks[tid] = t
	}
	if ws.Exited() || ws.Signaled() {
		l.gone(tid, t, ws)
		return nil
	}
	sig, event := ws.StopSignal(), int(ws>>16)&0xff
	switch {
	case sig == unix.SIGTRAP|0x80:
		l.syscall(tid, t)
		return ptrace(unix.PTRACE_SYSCALL, tid, 0, 0)
	case event == unix.PTRACE_EVENT_STOP && (sig == unix.SIGSTOP || sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU):
		return ptrace(unix.PTRACE_LISTEN, tid, 0, 0) // stays stopped, as it would untraced
	case event == unix.PTRACE_EVENT_EXEC:
		t.tgid = tid
		return ptrace(unix.PTRACE_SYSCALL, tid, 0, 0)
	case event != 0:
		return ptrace(unix.PTRACE_SYSCALL, tid, 0, 0)
	}
	return ptrace(unix.PTRACE_SYSCALL, tid, 0, uintptr(sig))
}

func (l *loop) gone(tid int, t *task, ws unix.WaitStatus) {
	if t.entry != nil && l.cur != nil {
		l.log.add(l.cur, *t.entry)
	}
	delete(l.tasks, tid)
	// A filter may end the calling thread alone (SECCOMP_RET_KILL_THREAD).
	if ws.Signaled() && (tid == l.first || tid == l.owner) && l.cur != nil {
		l.cur.Signal = ws.Signal()
	}
}

// syscallInfo is struct ptrace_syscall_info (ptrace(2), Linux 5.3).
type syscallInfo struct {
	op, _, _, _ uint8
	arch        uint32
	ip, sp      uint64
	data        [8]uint64
}

func (l *loop) syscall(tid int, t *task) {
	var info syscallInfo
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return // ended meanwhile
	}
	switch info.op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		c := Call{TID: tid, Arch: info.arch, Nr: info.data[0]}
		copy(c.Args[:], info.data[1:7])
		c.Name = nameOf(info.arch, c.Nr)
		if info.arch == seccomp.Native().Audit && c.Name == "prctl" && uint32(c.Args[0]) == Mark {
			l.mark(tid, c)
			t.entry = nil
			return
		}
		if l.wanted(tid, t, c.Name) {
			decode(tid, &c)
			t.entry = &c
		}
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		if t.entry == nil {
			return
		}
		c := *t.entry
		t.entry = nil
		c.Ret, c.Returned, c.At = int64(info.data[0]), true, time.Now()
		if arg, ok := reads[c.Name]; ok && c.Errno() == 0 {
			n := uint64(c.Ret)
			if c.Name == "uname" {
				n = utsBytes
			}
			l.handed(tid, &c, arg, n)
		}
		l.log.add(l.cur, c)
	}
}

// maxSeek bounds how much of one call's answer is searched.
const maxSeek = 4 << 20

// handed keeps the beginning of what a call wrote and searches all of it.
func (l *loop) handed(tid int, c *Call, arg int, n uint64) {
	most := uint64(MaxData)
	if len(l.seek) > 0 {
		most = maxSeek
	}
	b, ok := readBytes(tid, c.Args[arg], min(n, most))
	if !ok {
		return
	}
	for _, text := range l.seek {
		if bytes.Contains(b, []byte(text)) {
			c.Found = append(c.Found, text)
		}
	}
	c.Data = bytes.Clone(b[:min(len(b), MaxData)])
}

func (l *loop) wanted(tid int, t *task, name string) bool {
	if l.cur == nil {
		return false
	}
	return tid == l.owner || t.tgid != l.first || !noise[name]
}

func (l *loop) mark(tid int, c Call) {
	switch c.Args[1] {
	case Begin:
		l.cur = &Segment{Seq: int(int32(c.Args[2])), Nonce: c.Args[3]}
		l.owner = tid
		l.log.Segments[l.cur.Seq] = l.cur
	case End:
		if l.cur != nil && l.cur.Nonce == c.Args[3] {
			l.cur.Ended = true
			l.cur = nil
		}
	}
}

func nameOf(arch uint32, nr uint64) string {
	if arch != seccomp.Native().Audit {
		return fmt.Sprintf("call %d of arch %#x", nr, arch)
	}
	if name, ok := calls.Name(nr); ok {
		return name
	}
	return fmt.Sprintf("call %d", nr)
}

// decode reads the paths and addresses among a call's arguments, at its entry.
func decode(tid int, c *Call) {
	for i, kind := range shapes[c.Name].text {
		switch kind {
		case 'p':
			if s, ok := readString(tid, c.Args[i]); ok {
				c.Text[i] = strconv.Quote(s)
			}
		case 'a':
			if b, ok := readBytes(tid, c.Args[i], min(c.Args[i+1], 128)); ok && len(b) > 0 {
				c.Text[i] = Address(b)
			}
		}
	}
}

const maxString = 4096

func readString(tid int, addr uint64) (string, bool) {
	var out []byte
	for len(out) < maxString {
		// Up to the next page, which may not be there.
		n := 4096 - (addr+uint64(len(out)))%4096
		b, ok := readBytes(tid, addr+uint64(len(out)), n)
		if !ok {
			return "", false
		}
		for i, c := range b {
			if c == 0 {
				return string(append(out, b[:i]...)), true
			}
		}
		out = append(out, b...)
	}
	return string(out[:maxString]), true
}

func readBytes(tid int, addr, n uint64) ([]byte, bool) {
	if n == 0 || addr == 0 {
		return nil, n == 0
	}
	b := make([]byte, n)
	got, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &b[0], Len: n}}, []unix.RemoteIovec{{Base: uintptr(addr), Len: int(n)}}, 0)
	if err != nil || got <= 0 {
		return nil, false
	}
	return b[:got], true
}

// Address prints a socket address as it lies in memory.
func Address(b []byte) string {
	if len(b) < 2 {
		return fmt.Sprintf("%x", b)
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_UNIX:
		path := b[2:]
		if len(path) > 0 && path[0] == 0 {
			return fmt.Sprintf("unix:@%q", string(path[1:]))
		}
		for i, c := range path {
			if c == 0 {
				path = path[:i]
				break
			}
		}
		return fmt.Sprintf("unix:%q", string(path))
	case family == unix.AF_INET && len(b) >= 8:
		return fmt.Sprintf("%d.%d.%d.%d:%d", b[4], b[5], b[6], b[7], binary.BigEndian.Uint16(b[2:]))
	case family == unix.AF_INET6 && len(b) >= 24:
		return fmt.Sprintf("[%x]:%d", b[8:24], binary.BigEndian.Uint16(b[2:]))
	default:
		return fmt.Sprintf("family %d %x", family, b[2:])
	}
}

func ptrace(request, pid int, addr, data uintptr) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

func tgidOf(tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return tid
	}
	n, err := strconv.Atoi(statusField(b, "Tgid"))
	if err != nil {
		return tid
	}
	return n
}
