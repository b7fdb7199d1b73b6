package bundle

import (
	"bytes"
	"fmt"
	"io"
)

// The container is tar as POSIX has it (ustar), uncompressed: any tar lists it, a
// blob can be read where it lies, and nothing swells when it is read. A header is
// made of name and size alone, so that the reader can compare all of it with what
// it must be: there is no byte in which something could be changed or hidden.
const block = 512

// header gives the header of a member. name has at most 100 bytes, and a size of
// at most MaxBytes has the eleven octal digits that tar gives it.
func header(name string, size int64) [block]byte {
	var h [block]byte
	put := func(at int, s string) { copy(h[at:], s) }
	put(0, name)
	put(100, "0000644\x00")
	put(108, "0000000\x00")
	put(116, "0000000\x00")
	put(124, fmt.Sprintf("%011o\x00", size))
	put(136, "00000000000\x00")
	put(148, "        ")
	put(156, "0")
	put(257, "ustar\x0000")
	put(329, "0000000\x00")
	put(337, "0000000\x00")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	put(148, fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// padding is how many zeros follow size bytes.
func padding(size int64) int64 { return (block - size%block) % block }

// writeMember writes one member; fill gives its size bytes.
func writeMember(w io.Writer, name string, size int64, fill func(io.Writer) error) error {
	h := header(name, size)
	if _, err := w.Write(h[:]); err != nil {
		return err
	}
	c := &counter{w: w}
	if err := fill(c); err != nil {
		return err
	}
	if c.n != size {
		return fmt.Errorf("member %s: %d bytes came, %d were said", name, c.n, size)
	}
	_, err := w.Write(make([]byte, padding(size)))
	return err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// readHeader reads the header of the member that must be next.
func readHeader(r io.Reader, name string, size int64) error {
	var got [block]byte
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return damaged("it ends before member %s", name)
	}
	if want := header(name, size); got != want {
		return damaged("the header of member %s is not what it must be", name)
	}
	return nil
}

// firstSize reads the header of the first member, whose size nothing else says.
func firstSize(r io.Reader) (int64, error) {
	var got [block]byte
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return 0, damaged("it is shorter than a header")
	}
	var size int64
	for _, c := range got[124:135] {
		if c < '0' || c > '7' {
			return 0, damaged("it does not begin with %s", manifestName)
		}
		size = size<<3 | int64(c-'0')
	}
	if want := header(manifestName, size); got != want {
		return 0, damaged("it does not begin with %s", manifestName)
	}
	if size > maxPart {
		return 0, fmt.Errorf("a manifest of %d bytes: the limit is %d", size, maxPart)
	}
	return size, nil
}

// readBody copies a member's bytes and checks the zeros behind them.
func readBody(r io.Reader, w io.Writer, name string, size int64) error {
	if n, err := io.CopyN(w, r, size); err != nil {
		return damaged("member %s: %d of %d bytes are there", name, n, size)
	}
	return readZeros(r, padding(size), name)
}

func readZeros(r io.Reader, n int64, name string) error {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return damaged("it ends behind member %s", name)
	}
	if bytes.Count(b, []byte{0}) != len(b) {
		return damaged("something stands behind member %s", name)
	}
	return nil
}
