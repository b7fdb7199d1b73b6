package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// MaxFDs is how many descriptors may travel beside one message.
const MaxFDs = 3

const header = 4

// Conn is one end of a stream socket between two of fumehood's processes.
type Conn struct {
	file *os.File
	raw  syscall.RawConn
	max  int // bytes of one received message

	mu sync.Mutex // one message at a time
}

// Pair makes two connected sockets, both close-on-exec and non-blocking.
func Pair() (a, b int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	return fds[0], fds[1], nil
}

// New takes over the socket fd. A received message longer than limit bytes is
// an error.
func New(fd int, name string, limit int) (*Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("socket %s: %w", name, err)
	}
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), name)
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", name, err)
	}
	return &Conn{file: file, raw: raw, max: limit}, nil
}

// Close closes the socket; a blocked Recv returns.
func (c *Conn) Close() error { return c.file.Close() }

// SetReadDeadline bounds the next Recv; the zero time removes the bound.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.file.SetReadDeadline(t) }

// Send writes one message with fds beside it. The caller keeps its fds.
func (c *Conn) Send(v any, fds ...int) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(fds) > MaxFDs {
		return fmt.Errorf("send message: %d descriptors, at most %d", len(fds), MaxFDs)
	}
	msg := make([]byte, header, header+len(body))
	binary.BigEndian.PutUint32(msg, uint32(len(body)))
	msg = append(msg, body...)
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(msg) > 0 {
		var n int
		var sendErr error
		err := c.raw.Write(func(fd uintptr) bool {
			n, sendErr = unix.SendmsgN(int(fd), msg, rights, nil, unix.MSG_NOSIGNAL)
			return sendErr != unix.EAGAIN && sendErr != unix.EINTR
		})
		if err == nil {
			err = sendErr
		}
		if err != nil {
			return fmt.Errorf("send message: %w", err)
		}
		// The descriptors travel with the first byte.
		msg, rights = msg[n:], nil
	}
	return nil
}

// Recv reads one message into v and returns the descriptors beside it,
// close-on-exec, which the caller then owns. It returns io.EOF when the other
// end closed between messages.
func (c *Conn) Recv(v any) (fds []int, err error) {
	defer func() {
		if err != nil {
			closeAll(fds)
			fds = nil
		}
	}()
	var head [header]byte
	fds, err = c.recvHeader(head[:])
	if err != nil {
		return fds, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if uint64(size) > uint64(c.max) {
		return fds, fmt.Errorf("message of %d bytes, at most %d", size, c.max)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.file, body); err != nil {
		return fds, fmt.Errorf("read message: %w", noEOF(err))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fds, fmt.Errorf("decode message: %w", err)
	}
	return fds, nil
}

func (c *Conn) recvHeader(head []byte) (fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(MaxFDs*4))
	got := 0
	for got < len(head) {
		var n, oobn, flags int
		var recvErr error
		err := c.raw.Read(func(fd uintptr) bool {
			n, oobn, flags, _, recvErr = unix.Recvmsg(int(fd), head[got:], oob, unix.MSG_CMSG_CLOEXEC)
			return recvErr != unix.EAGAIN && recvErr != unix.EINTR
		})
		if err == nil {
			err = recvErr
		}
		if err != nil {
			return fds, fmt.Errorf("read message: %w", err)
		}
		more, err := rights(oob[:oobn])
		fds = append(fds, more...)
		switch {
		case err != nil:
			return fds, err
		case flags&unix.MSG_CTRUNC != 0, len(fds) > MaxFDs:
			return fds, fmt.Errorf("message with more than %d descriptors", MaxFDs)
		case n == 0 && got == 0:
			return fds, io.EOF
		case n == 0:
			return fds, io.ErrUnexpectedEOF
		}
		got += n
	}
	return fds, nil
}

func rights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("control message: %w", err)
	}
	var fds []int
	for _, m := range msgs {
		got, err := unix.ParseUnixRights(&m)
		if err != nil {
			closeAll(fds)
			return nil, fmt.Errorf("control message: %w", err)
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // ours, unused: nothing to lose
	}
}

// noEOF keeps an end of file in the middle of a message from being taken for
// an orderly end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
