package account

import (
	"errors"
	"io"
)

// Reader gives what r gives, with the secrets written over. It holds back the
// end of what it read as held says. seen is called once for each secret that was
// cut, in the goroutine that reads.
func (c *Cutter) Reader(r io.Reader, seen func()) io.Reader {
	return NewReader(r, func() *Cutter { return c }, seen)
}

// NewReader is a Reader whose cutter may change while it reads: what is attached
// to another request now may come back in an answer that began before. current
// is asked after each piece that came.
func NewReader(r io.Reader, current func() *Cutter, seen func()) io.Reader {
	return &cutReader{stream: stream{c: current()}, r: r, current: current, seen: seen}
}

// chunk is how much is read at once.
const chunk = 32 << 10

type cutReader struct {
	stream
	r       io.Reader
	current func() *Cutter
	seen    func()
	buf     []byte // room for a chunk and what is held back
	at      int    // given up to here
	safe    int    // may be given up to here
	end     int    // read up to here
	err     error
}

// idleReads is how many reads without a byte are borne, as many as of bufio.
const idleReads = 100

func (r *cutReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for idle := 0; r.at == r.safe; {
		if r.err != nil {
			return 0, r.err
		}
		n, done := r.more(p)
		if done {
			return n, nil
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle > idleReads {
			return 0, io.ErrNoProgress
		}
	}
	n := copy(p, r.buf[r.at:r.safe])
	r.at += n
	return n, nil
}

// more reads on. As long as there is nothing to search for, it reads into p, and
// done says that what is there can be given as it is.
func (r *cutReader) more(p []byte) (n int, done bool) {
	if r.c.Empty() {
		p = p[:min(len(p), chunk)]
		n, r.err = r.r.Read(p)
		now := r.current()
		if now.Empty() {
			return n, n > 0
		}
		r.room(now.hold)
		r.at, r.end = 0, copy(r.buf, p[:n])
		r.search(now, 0)
		return n, false
	}
	r.room(r.c.hold)
	r.low, r.past = r.low-r.at, r.past-r.at
	r.end = copy(r.buf, r.buf[r.at:r.end])
	r.at = 0
	n, r.err = r.r.Read(r.buf[r.end:min(len(r.buf), r.end+chunk)])
	from := r.end
	r.end += n
	now := r.current()
	if now != r.c { // what was held back may have the beginning of a new one in it
		from = 0
	}
	r.search(now, from)
	return n, false
}

// search looks through what was read from a place on, and says how much of it
// may be given. When it broke off, the rest is not: it may be half a secret.
func (r *cutReader) search(now *Cutter, from int) {
	if now != r.c {
		r.stream = stream{c: now}
		r.room(now.hold)
	}
	r.over(r.buf[:r.end], from, r.seen)
	r.safe = r.end
	if !errors.Is(r.err, io.EOF) {
		r.safe -= now.held(r.buf[:r.end])
	}
}

// room makes it for a chunk and what is held back, keeping what is there.
func (r *cutReader) room(hold int) {
	if len(r.buf) >= chunk+hold {
		return
	}
	buf := make([]byte, chunk+hold)
	copy(buf, r.buf[:r.end])
	r.buf = buf
}
