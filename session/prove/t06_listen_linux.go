package prove

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// listener is a target on the host that writes down all that arrives. The host
// itself reaches it before and after each pass: what has come in between, and
// is not the host's own, came from inside.
type listener struct {
	at    sock
	close func()

	mu       sync.Mutex
	log      []*arrival
	open     int // connections whose end was not seen yet
	controls []string
	broken   error // why it is no witness
	settled  bool  // the host was through after the attempts

	changed chan struct{} // something was noted
}

// sock is a socket's address with what is needed to reach it.
type sock struct {
	domain, kind, proto int
	addr                unix.Sockaddr
	name                string // as a person writes it
}

// arrival is one connection, or one datagram.
type arrival struct {
	at     time.Time
	from   string
	data   []byte
	rights bool // descriptors came along
}

// maxArrival bounds what is kept of one arrival.
const maxArrival = 512

// openListener makes the listener of a place; a port of 0 is filled in. Only
// addresses of this machine may be given.
func openListener(p sock) (*listener, error) {
	fd, err := unix.Socket(p.domain, p.kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, p.proto)
	if err != nil {
		return nil, fmt.Errorf("listener on %s: %w", p.name, err)
	}
	f := os.NewFile(uintptr(fd), p.name)
	defer f.Close() // what serves has a copy
	if err = unix.Bind(fd, p.addr); err == nil && p.kind != unix.SOCK_DGRAM {
		err = unix.Listen(fd, 64)
	}
	if err == nil {
		p.addr, err = unix.Getsockname(fd)
	}
	path := unixPath(p)
	if err == nil && path != "" {
		err = unix.Chmod(path, 0o666) // bound just now in a folder of the run's own: a session of root's runs as somebody else
	}
	if err != nil {
		return nil, fmt.Errorf("listener on %s: %w", p.name, err)
	}
	p.name = sockName(p)
	l := &listener{at: p, changed: make(chan struct{}, 1)}
	var stop io.Closer
	var served sync.WaitGroup
	if p.kind == unix.SOCK_DGRAM {
		c, err := net.FilePacketConn(f)
		if err != nil {
			return nil, fmt.Errorf("listener on %s: %w", p.name, err)
		}
		stop = c
		served.Go(func() { l.datagrams(c) })
	} else {
		a, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("listener on %s: %w", p.name, err)
		}
		stop = a
		served.Go(func() { l.streams(a, &served) })
	}
	l.close = func() {
		_ = stop.Close() // only reads end by it
		served.Wait()
		if path != "" {
			_ = os.Remove(path) // its folder goes as a whole besides
		}
	}
	return l, nil
}

func (l *listener) datagrams(c net.PacketConn) {
	buf, oob := make([]byte, maxArrival), make([]byte, 256)
	for {
		a := &arrival{}
		var n int
		var from net.Addr
		var err error
		if u, ok := c.(*net.UnixConn); ok {
			var rights int
			n, rights, _, from, err = u.ReadMsgUnix(buf, oob)
			a.rights = dropRights(oob[:rights])
		} else {
			n, from, err = c.ReadFrom(buf)
		}
		if err != nil {
			l.down(err)
			return
		}
		a.at, a.data, a.from = time.Now(), bytes.Clone(buf[:n]), fmt.Sprint(from)
		l.note(a, 0)
	}
}

func (l *listener) streams(a net.Listener, served *sync.WaitGroup) {
	for {
		c, err := a.Accept()
		if err != nil {
			l.down(err)
			return
		}
		in := &arrival{at: time.Now(), from: fmt.Sprint(c.RemoteAddr())}
		l.note(in, 1)
		served.Go(func() {
			defer c.Close()
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Second)) // what has come by then counts
			l.read(c, in)
			l.note(nil, -1)
		})
	}
}

func (l *listener) read(c net.Conn, in *arrival) {
	buf, oob := make([]byte, maxArrival), make([]byte, 256)
	for {
		var n, rights int
		var err error
		if u, ok := c.(*net.UnixConn); ok {
			n, rights, _, _, err = u.ReadMsgUnix(buf, oob)
		} else {
			n, err = c.Read(buf)
		}
		passed := dropRights(oob[:max(rights, 0)])
		l.mu.Lock()
		in.rights = in.rights || passed
		if room := maxArrival - len(in.data); room > 0 {
			in.data = append(in.data, buf[:min(max(n, 0), room)]...)
		}
		l.mu.Unlock()
		if err != nil || n == 0 {
			return
		}
	}
}

// dropRights closes descriptors that came along.
func dropRights(oob []byte) bool {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return false
	}
	got := false
	for _, m := range msgs {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			_ = unix.Close(fd) // never used
			got = true
		}
	}
	return got
}

func (l *listener) note(a *arrival, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a != nil {
		l.log = append(l.log, a)
	}
	l.open += open
	select {
	case l.changed <- struct{}{}:
	default: // whoever waits looks at all of it
	}
}

func (l *listener) down(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken == nil {
		l.broken = fmt.Errorf("it went down: %w", err)
	}
}

// fresh forgets what was, and has the host reach it.
func (l *listener) fresh() {
	l.mu.Lock()
	l.log, l.controls, l.settled = nil, nil, false
	l.mu.Unlock()
	l.control()
}

// control has the host send a word and waits until it stands in the log. What
// was sent before it has been taken in by then, too.
func (l *listener) control() {
	_, word := nonce()
	l.mu.Lock()
	broken := l.broken
	l.controls = append(l.controls, word)
	l.mu.Unlock()
	if broken != nil {
		return
	}
	err := sendTo(l.at, []byte(word))
	for deadline := time.After(3 * time.Second); err == nil; {
		l.mu.Lock()
		done, lost := l.open == 0 && l.has(word), l.broken
		l.mu.Unlock()
		if done || lost != nil {
			return
		}
		select {
		case <-l.changed:
		case <-deadline:
			err = errors.New("the host's own word did not arrive within 3 s")
		}
	}
	l.down(fmt.Errorf("reached by the host itself: %w", err))
}

func (l *listener) has(word string) bool {
	for _, a := range l.log {
		if string(a.data) == word {
			return true
		}
	}
	return false
}

// heard is what a listener saw, for a judge.
type heard struct {
	name     string
	controls int       // the host's own, all arrived
	strays   []arrival // everything else
	broken   error
}

// heard waits until all that was sent is in, and gives what came from elsewhere.
func (l *listener) heard() heard {
	l.mu.Lock()
	settled := l.settled
	l.settled = true
	l.mu.Unlock()
	if !settled {
		l.control()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := heard{name: l.at.name, controls: len(l.controls), broken: l.broken}
	for _, a := range l.log {
		own := false
		for _, w := range l.controls {
			own = own || string(a.data) == w
		}
		if !own {
			out.strays = append(out.strays, *a)
		}
	}
	return out
}

func (a arrival) String() string {
	s := fmt.Sprintf("at %s from %q: %q", a.at.UTC().Format("15:04:05.000"), a.from, a.data)
	if a.rights {
		s += " and a descriptor"
	}
	return s
}

// sendTo is the host's own use of a place.
func sendTo(p sock, word []byte) error {
	fd, err := connectTo(p)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, word)
	return errors.Join(err, unix.Close(fd))
}

// connectTo connects from the host, with a deadline.
func connectTo(p sock) (fd int, err error) {
	if fd, err = unix.Socket(p.domain, p.kind|unix.SOCK_CLOEXEC, p.proto); err != nil {
		return -1, err
	}
	tv := unix.NsecToTimeval(time.Second.Nanoseconds())
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv); err == nil {
		err = unix.Connect(fd, p.addr)
	}
	if err != nil {
		_ = unix.Close(fd) // unused
		return -1, err
	}
	return fd, nil
}

// unixPath is the file of a unix socket, "" for any other.
func unixPath(p sock) string {
	if name := unixName(p.addr); !strings.HasPrefix(name, "@") {
		return name
	}
	return ""
}
