package cgroup

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dialFor = 500 * time.Millisecond // the kernel connects at once, or the manager's queue is full
	// askFor is what a manager that does not answer costs a start at most; one
	// on a loaded machine may take as long.
	askFor = 2 * time.Second
	// maxOthers is how many messages may come before an answer: signals that
	// the manager sends to everybody.
	maxOthers = 256

	unitsPath      = "/org/freedesktop/systemd1"
	unitsName      = "org.freedesktop.systemd1"
	unitsInterface = "org.freedesktop.systemd1.Manager"
	propsInterface = "org.freedesktop.DBus.Properties"
)

// conn is a connection to the account's service manager, used by one goroutine.
type conn struct {
	net    *net.UnixConn
	in     *bufio.Reader
	serial uint32
	ended  map[string]string // results of jobs, by the unit's name
}

// endpoint is a socket of a manager's. A bus wants to be greeted first; on its
// private socket the manager itself listens.
type endpoint struct {
	path string
	bus  bool
}

// endpoints lists the sockets of uid's manager. The folder is the system's to
// make, and the account's alone; no variable of the environment and nothing of
// a repository has a say in it.
func endpoints(uid int) []endpoint {
	dir := "/run/user/" + strconv.Itoa(uid)
	return []endpoint{{path: dir + "/systemd/private"}, {path: dir + "/bus", bus: true}}
}

// there says whether a socket of this account's own is at e.
func (e endpoint) there() error {
	var st unix.Stat_t
	if err := unix.Lstat(e.path, &st); err != nil {
		return &fs.PathError{Op: "look at", Path: e.path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is no socket of this account's", e.path)
	}
	return nil
}

// dial connects, and speaks until the other side takes messages.
func (e endpoint) dial() (*conn, error) {
	dialed, err := (&net.Dialer{Timeout: dialFor}).Dial("unix", e.path)
	if err != nil {
		return nil, fmt.Errorf("connect to the service manager: %w", err)
	}
	nc, ok := dialed.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errMessage, dialed.Close())
	}
	c := &conn{net: nc, in: bufio.NewReaderSize(nc, 4<<10), ended: map[string]string{}}
	if err := c.open(e.bus); err != nil {
		return nil, errors.Join(fmt.Errorf("talk to the service manager at %s: %w", e.path, err), nc.Close())
	}
	return c, nil
}

func (c *conn) close() error { return c.net.Close() }

func (c *conn) open(bus bool) error {
	if err := c.peer(); err != nil {
		return err
	}
	if err := c.net.SetDeadline(time.Now().Add(askFor)); err != nil {
		return err
	}
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	// In one piece, and no message before the answer: sd-bus leaves a message
	// lying that it read together with BEGIN, until another byte comes.
	if _, err := io.WriteString(c.net, "\x00AUTH EXTERNAL "+uid+"\r\nBEGIN\r\n"); err != nil {
		return err
	}
	line, err := c.in.ReadSlice('\n') // no longer than the reader's room
	if err != nil {
		return fmt.Errorf("read its answer to the greeting: %w", err)
	}
	if !strings.HasPrefix(string(line), "OK ") {
		return fmt.Errorf("it does not take this account: %.60q", line)
	}
	if !bus {
		return nil
	}
	_, err = c.call(call{dest: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", iface: "org.freedesktop.DBus", member: "Hello"}, "s")
	return err
}

// peer sees to it that this account itself is at the other end, and counts
// processes from where this process does: numbers of another process namespace
// would be those of strangers.
func (c *conn) peer() error {
	raw, err := c.net.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return err
	}
	if credErr != nil {
		return fmt.Errorf("who is there: %w", credErr)
	}
	if int(cred.Uid) != os.Getuid() || cred.Pid <= 0 {
		return fmt.Errorf("user %d, process %d is there, want this account in this process namespace", cred.Uid, cred.Pid)
	}
	return nil
}

// refusal is what the manager said instead of doing it.
type refusal struct{ name, text string }

func (r *refusal) Error() string { return fmt.Sprintf("%.100q: %.200q", r.name, r.text) }

// call sends one call and gives the reply's arguments, which must be of type
// signature. A refusal comes as such.
func (c *conn) call(m call, signature string) ([]string, error) {
	if err := c.net.SetDeadline(time.Now().Add(askFor)); err != nil {
		return nil, err
	}
	c.serial++
	m.serial = c.serial
	if _, err := c.net.Write(m.encode()); err != nil {
		return nil, fmt.Errorf("ask %s: %w", m.member, err)
	}
	for range maxOthers {
		got, err := c.read()
		if err != nil {
			return nil, fmt.Errorf("answer to %s: %w", m.member, err)
		}
		switch {
		case got.kind == kindReply && got.replyTo == m.serial:
			out, err := got.texts(signature)
			if err != nil {
				return nil, fmt.Errorf("answer to %s: %w", m.member, err)
			}
			return out, nil
		case got.kind == kindError && got.replyTo == m.serial:
			r := &refusal{name: got.errorName}
			if args, err := got.texts("s"); err == nil { // without a text the name says it
				r.text = args[0]
			}
			return nil, r
		case got.kind != kindSignal:
			return nil, fmt.Errorf("answer to %s: %w", m.member, errMessage)
		}
	}
	return nil, fmt.Errorf("answer to %s: not among %d messages", m.member, maxOthers)
}

// read is one message. What a signal says of the end of a job is kept.
func (c *conn) read() (message, error) {
	head := make([]byte, fixedHeader)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return message{}, err
	}
	rest, err := sizes(head)
	if err != nil {
		return message{}, err
	}
	b := append(head, make([]byte, rest)...)
	if _, err := io.ReadFull(c.in, b[fixedHeader:]); err != nil {
		return message{}, err
	}
	m, err := parseMessage(b)
	if err == nil && m.kind == kindSignal && m.member == "JobRemoved" {
		if args, err := m.texts("uoss"); err == nil { // another signal of that name is none of ours
			if len(c.ended) < maxOthers {
				c.ended[args[2]] = args[3]
			}
		}
	}
	return m, err
}

// jobEnded reads what has come and says how the job of a unit ended; "" while
// nothing was said. It waits no longer than within.
func (c *conn) jobEnded(unit string, within time.Duration) (string, error) {
	if result, ok := c.ended[unit]; ok {
		return result, nil
	}
	if err := c.net.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	if _, err := c.in.Peek(1); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "", nil
		}
		return "", err
	}
	if err := c.net.SetReadDeadline(time.Now().Add(askFor)); err != nil {
		return "", err
	}
	_, err := c.read()
	return c.ended[unit], err
}
