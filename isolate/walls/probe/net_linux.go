package probe

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// netActions are those of test 6: the network.
var netActions = map[string]action{"reach": reach, "visit": visit, "ring": ring, "serve": serve}

// answerFor bounds each wait for a peer that does not answer.
const answerFor = 400 * time.Millisecond

// way is how to reach an address.
type way struct {
	domain, kind, proto int
	to                  []byte // a socket address as it lies in memory
	data                []byte // carries the attempt's word
	via                 string // the call that names the address: connect, sendto, sendmsg or sendmmsg
	flags               int    // of the sending call
	option              [3]int // level, name and value, set before; none when level is 0
	rights              bool   // a descriptor goes along
	own                 bool   // to is bound first, and reached then: a listener of the probe's own
	answer              bool   // wait for what comes back
}

func wayOf(args map[string]string) (w way, err error) {
	num := func(name string) (n int) {
		if args[name] == "" || err != nil {
			return 0
		}
		if n, err = strconv.Atoi(args[name]); err != nil {
			err = fmt.Errorf("argument %s: %w", name, err)
		}
		return n
	}
	w = way{
		domain: num("domain"), kind: num("type"), proto: num("proto"), via: args["via"], flags: num("flags"),
		option: [3]int{num("level"), num("name"), num("value")}, rights: args["rights"] != "", own: args["own"] != "", answer: args["answer"] != "",
	}
	for name, into := range map[string]*[]byte{"to": &w.to, "data": &w.data} {
		b, hexErr := hex.DecodeString(args[name])
		if hexErr != nil {
			return w, fmt.Errorf("argument %s: %w", name, hexErr)
		}
		*into = b
	}
	if len(w.to) == 0 || len(w.data) == 0 {
		return w, fmt.Errorf("there is no address or nothing to send")
	}
	return w, err
}

// reach sends a word to an address, in the way that its arguments say.
func reach(args map[string]string) Said {
	w, err := wayOf(args)
	if err != nil {
		return Said{Err: err.Error()}
	}
	defer remove(args["path"])
	if w.own {
		fd, at, said := w.listenOwn()
		if fd < 0 {
			return said
		}
		defer unix.Close(fd)
		w.to = at
	}
	return w.send()
}

// remove takes a socket's name away, where it has one.
func remove(path string) {
	if path != "" {
		_ = unix.Unlink(path) // it was not made, mostly: that is what was to be seen
	}
}

// visit connects to an address and leaves at once: nothing is sent.
func visit(args map[string]string) Said {
	w, err := wayOf(args)
	if err != nil {
		return Said{Err: err.Error()}
	}
	fd, e := call(unix.SYS_SOCKET, uintptr(w.domain), uintptr(w.kind|unix.SOCK_CLOEXEC), uintptr(w.proto))
	if e != 0 {
		return refusal(stepSocket, e)
	}
	defer unix.Close(int(fd))
	patience(int(fd))
	if _, e := call(unix.SYS_CONNECT, fd, address(w.to), uintptr(len(w.to))); e != 0 {
		return refusal(stepAddress, e)
	}
	return Said{}
}

// The steps of reach, for what the probe says.
const (
	stepSocket = 1 + iota
	stepOption
	stepAddress // the call that names the address
	stepData
	stepAnswer
)

func refusal(step int, e syscall.Errno) Said { return Said{Step: step, Errno: int(e)} }

func (w way) send() Said {
	fd, e := call(unix.SYS_SOCKET, uintptr(w.domain), uintptr(w.kind|unix.SOCK_CLOEXEC), uintptr(w.proto))
	if e != 0 {
		return refusal(stepSocket, e)
	}
	defer unix.Close(int(fd))
	patience(int(fd))
	if w.option[0] != 0 {
		value := memory(4)
		binary.NativeEndian.PutUint32(value, uint32(w.option[2]))
		_, e := call(unix.SYS_SETSOCKOPT, fd, uintptr(w.option[0]), uintptr(w.option[1]), address(value), 4)
		runtime.KeepAlive(value)
		if e != 0 {
			return refusal(stepOption, e)
		}
	}
	if w.via == "connect" {
		if _, e := call(unix.SYS_CONNECT, fd, address(w.to), uintptr(len(w.to))); e != 0 {
			return refusal(stepAddress, e)
		}
		if e := w.pass(fd, "sendto", nil); e != 0 {
			return refusal(stepData, e)
		}
	} else if e := w.pass(fd, w.via, w.to); e != 0 {
		return refusal(stepAddress, e)
	}
	if w.answer {
		buf := memory(256)
		_, e := call(unix.SYS_RECVFROM, fd, address(buf), uintptr(len(buf)), 0, 0, 0)
		runtime.KeepAlive(buf)
		if e != 0 {
			return refusal(stepAnswer, e)
		}
	}
	return Said{}
}

// pass sends the data by one of the three calls; to is nil on a connected socket.
func (w way) pass(fd uintptr, via string, to []byte) syscall.Errno {
	var name uintptr
	if len(to) > 0 {
		name = address(to)
	}
	flags := uintptr(w.flags | unix.MSG_NOSIGNAL)
	m := newMessage(w.data, to)
	if w.rights {
		control := unix.UnixRights(int(fd))
		m.hdr.Control = &control[0]
		m.hdr.SetControllen(len(control))
	}
	e := syscall.Errno(unix.EINVAL)
	switch via {
	case "sendto":
		_, e = call(unix.SYS_SENDTO, fd, address(w.data), uintptr(len(w.data)), flags, name, uintptr(len(to)))
	case "sendmsg":
		_, e = call(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(m)), flags)
	case "sendmmsg":
		_, e = call(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(m)), 1, flags)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(to)
	return e
}

// message is struct mmsghdr: behind the header the kernel writes what it sent.
type message struct {
	hdr  unix.Msghdr
	sent uint32
	_    [4]byte
}

//go:noinline
func newMessage(data, to []byte) *message {
	m := &message{}
	if len(to) > 0 {
		m.hdr.Name, m.hdr.Namelen = &to[0], uint32(len(to))
	}
	iov := &unix.Iovec{Base: &data[0]}
	iov.SetLen(len(data))
	m.hdr.Iov = iov
	m.hdr.SetIovlen(1)
	return m
}

// listenOwn makes a listener of the probe's own at the way's address, and says
// where it came to lie.
func (w way) listenOwn() (fd int, at []byte, s Said) {
	got, e := call(unix.SYS_SOCKET, uintptr(w.domain), uintptr(w.kind|unix.SOCK_CLOEXEC), 0)
	if e != 0 {
		return -1, nil, refusal(stepSocket, e)
	}
	at, e = bindAt(int(got), w.to, w.kind)
	if e != 0 {
		_ = unix.Close(int(got)) // unused
		return -1, nil, refusal(stepSocket, e)
	}
	return int(got), at, Said{}
}

// bindAt binds, listens where the kind of socket can, and reads the name back.
func bindAt(fd int, to []byte, kind int) ([]byte, syscall.Errno) {
	if _, e := call(unix.SYS_BIND, uintptr(fd), address(to), uintptr(len(to))); e != 0 {
		return nil, e
	}
	if kind != unix.SOCK_DGRAM {
		if _, e := call(unix.SYS_LISTEN, uintptr(fd), 8); e != 0 {
			return nil, e
		}
	}
	at, size := memory(128), memory(4)
	binary.NativeEndian.PutUint32(size, 128)
	_, e := call(unix.SYS_GETSOCKNAME, uintptr(fd), address(at), address(size))
	runtime.KeepAlive(size)
	if e != 0 {
		return nil, e
	}
	return at[:min(binary.NativeEndian.Uint32(size), 128)], 0
}

// patience keeps a call on a socket from waiting for ever. Where it can't be
// set the probe's own deadline ends the attempt.
func patience(fd int) {
	for _, name := range []int{unix.SO_SNDTIMEO, unix.SO_RCVTIMEO} {
		tv := unix.NsecToTimeval(answerFor.Nanoseconds())
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, name, &tv) // said above
	}
}

func call(nr uintptr, args ...uintptr) (uintptr, syscall.Errno) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return r, e
}

// memory is zeroed, and on the heap, where it does not move between the moment
// that its address is taken and the call.
//
//go:noinline
func memory(n int) []byte { return make([]byte, n) }

// address is where bytes lie; they have to stay alive over the call.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// serve listens at an address for a while, reaches itself there once, and
// answers whoever else comes with its word.
func serve(args map[string]string) Said {
	w, err := wayOf(args)
	if err != nil {
		return Said{Err: err.Error()}
	}
	window, err := time.ParseDuration(args["window"])
	if err != nil {
		return Said{Err: err.Error()}
	}
	if dir := args["folder"]; dir != "" && unix.Mkdir(dir, 0o755) == nil {
		defer func() { _ = unix.Rmdir(dir) }() // only the one that was made here; it may have been filled
	}
	fd, at, said := w.listenOwn()
	if fd < 0 {
		return said
	}
	defer unix.Close(fd)
	defer remove(args["path"])
	own := w
	own.to, own.via = at, "connect"
	if s := own.send(); s.Step != 0 {
		return s
	}
	var served int
	for deadline := time.Now().Add(window); ; {
		rest := time.Until(deadline)
		if rest <= 0 {
			return Said{Text: fmt.Sprintf("answered %d", served)}
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(rest.Milliseconds())+1)
		if err != nil || n == 0 {
			continue // the window is over, or a signal came
		}
		c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
		if err != nil {
			continue // it left again
		}
		patience(c)
		_, _ = unix.Write(c, w.data) // whether it arrives, the host says
		_ = unix.Close(c)
		served++
	}
}
