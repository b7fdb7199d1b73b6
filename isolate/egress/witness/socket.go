package witness

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// accept is what RFC 6455 (1.3) has every server append.
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// echo is a websocket: it says first what it was sent, then repeats one message.
func echo(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, "no websocket", http.StatusBadRequest)
		return
	}
	key := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + acceptSuffix))
	nonce := r.Header.Get(NonceHeader)
	first := Mark + nonce + "\n" + strings.Join(sent(r), "\n")
	c, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // it has gone
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patient))
	if _, err := fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(key[:])); err != nil {
		return // it has gone
	}
	if _, err := c.Write(Frame([]byte(first), false)); err != nil {
		return // it has gone
	}
	message, err := ReadFrame(buf.Reader)
	if err != nil {
		return // no message
	}
	_, _ = c.Write(Frame(message, false)) // the end either way
}

// Frame is one final text message (RFC 6455, 5.2), masked as a client's must be.
func Frame(b []byte, client bool) []byte {
	out := []byte{0x81}
	mask := byte(0)
	if client {
		mask = 0x80
	}
	switch n := len(b); {
	case n < 126:
		out = append(out, mask|byte(n))
	default:
		out = binary.BigEndian.AppendUint16(append(out, mask|126), uint16(min(n, 1<<16-1)))
		b = b[:min(n, 1<<16-1)]
	}
	if !client {
		return append(out, b...)
	}
	key := [4]byte{1, 2, 3, 4}
	out = append(out, key[:]...)
	for i, c := range b {
		out = append(out, c^key[i%4])
	}
	return out
}

// ReadFrame reads one of at most 64 KiB.
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read a websocket's message: %w", err)
	}
	n := int(head[1] & 0x7f)
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, fmt.Errorf("read a websocket's message: %w", err)
		}
		n = int(binary.BigEndian.Uint16(b[:]))
	case 127:
		return nil, fmt.Errorf("read a websocket's message: over %d bytes", 1<<16-1)
	}
	var key [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(r, key[:]); err != nil {
			return nil, fmt.Errorf("read a websocket's message: %w", err)
		}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read a websocket's message: %w", err)
	}
	for i := range b {
		b[i] ^= key[i%4]
	}
	return b, nil
}
