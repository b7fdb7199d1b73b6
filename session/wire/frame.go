package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Kind is what a frame carries.
type Kind byte

// The kinds. Data flows as raw bytes, everything else as JSON.
const (
	KindRequest Kind = 'Q' // client: Request
	KindReply   Kind = 'A' // server: Reply
	KindInput   Kind = 'i' // client: bytes for stdin or the pty
	KindEOF     Kind = 'c' // client: stdin is at its end
	KindSize    Kind = 'z' // client: isolate.Size
	KindSignal  Kind = 's' // client: one byte, a signal number
	KindStdout  Kind = 'o' // server: bytes of stdout
	KindStderr  Kind = 'e' // server: bytes of stderr
	KindScreen  Kind = 'r' // server: bytes of the pty, to be filtered by the client
	KindNotice  Kind = 'n' // server: one line for the user, such as a limit's warning
	KindClip    Kind = 'b' // server: Clip
	KindEnd     Kind = 'x' // server: End
)

// MaxFrame bounds one frame's payload, in bytes.
const MaxFrame = 4 << 20

// Conn frames messages over a stream. Write may be called from several
// goroutines; Read from one.
type Conn struct {
	rw io.ReadWriteCloser
	in *bufio.Reader // a short frame is one read
	mu sync.Mutex    // orders whole frames
}

// NewConn wraps a stream.
func NewConn(rw io.ReadWriteCloser) *Conn { return &Conn{rw: rw, in: bufio.NewReader(rw)} }

// Close closes the stream.
func (c *Conn) Close() error { return c.rw.Close() }

// Write sends one frame. It blocks while the other end does not read.
func (c *Conn) Write(k Kind, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("frame of %d bytes, the limit is %d", len(payload), MaxFrame)
	}
	// A short frame is one write, so that the other end wakes once.
	head := make([]byte, 5, 5+min(len(payload), oneWrite))
	binary.BigEndian.PutUint32(head, uint32(len(payload)))
	head[4] = byte(k)
	if len(payload) <= oneWrite {
		head, payload = append(head, payload...), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.rw.Write(head); err != nil || payload == nil {
		return err
	}
	_, err := c.rw.Write(payload)
	return err
}

// oneWrite is up to how many bytes a payload is copied behind its head.
const oneWrite = 32 << 10

// WriteJSON sends v as one frame of kind k.
func (c *Conn) WriteJSON(k Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return c.Write(k, b)
}

// Read gives the next frame. A frame over MaxFrame or of no known kind is an
// error, after which the connection is of no use.
func (c *Conn) Read() (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes, the limit is %d", n, MaxFrame)
	}
	k := Kind(head[4])
	switch k {
	case KindRequest, KindReply, KindInput, KindEOF, KindSize, KindSignal, KindStdout, KindStderr, KindScreen, KindNotice, KindClip, KindEnd:
	default:
		return 0, nil, fmt.Errorf("frame of unknown kind %q", head[4])
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return 0, nil, err
	}
	return k, b, nil
}
