package egress

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"
)

// tlsHandshake is the first byte of a TLS connection (RFC 8446, 5.1).
const tlsHandshake = 22

// maxHello bounds a ClientHello in all its records: more than any has, post-
// quantum shares included.
const maxHello = 64 << 10

var (
	errHello = errors.New("this is all that was wanted of the ClientHello")
	errLong  = errors.New("a ClientHello without an end")
)

// hello is how a connection begins.
type hello struct {
	read  []byte // what was read, which is to be sent on
	name  string // the TLS server name, if there is one
	odd   bool   // it begins as TLS does, but no ClientHello can be read
	ended bool   // nothing follows
}

// readHello reads the first bytes of a connection: when they begin a TLS
// handshake, the whole ClientHello, however it is cut into records and packets.
// deadline is set while it waits for the rest of one.
func readHello(r *bufio.Reader, deadline func(time.Duration)) hello {
	first, err := r.Peek(1)
	if err != nil {
		return hello{ended: true} // it only listens
	}
	if first[0] != tlsHandshake {
		return hello{}
	}
	deadline(headerTimeout)
	defer deadline(0)
	out := hello{odd: true}
	c := &helloConn{r: r}
	// crypto/tls reads it as the destination would: fragments, extensions, all.
	_ = tls.Server(c, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		out.name, out.odd = h.ServerName, false
		return nil, errHello
	}}).Handshake() // it always ends with an error
	out.read = c.read.Bytes()
	return out
}

// helloConn gives a handshake what comes in, keeps it, and answers nothing.
type helloConn struct {
	net.Conn // nil: a handshake that ends with the ClientHello only reads and writes
	r        io.Reader
	read     bytes.Buffer
}

func (c *helloConn) Read(b []byte) (int, error) {
	if c.read.Len() >= maxHello {
		return 0, errLong
	}
	n, err := c.r.Read(b)
	c.read.Write(b[:n])
	return n, err
}

func (c *helloConn) Write(b []byte) (int, error) { return len(b), nil }
