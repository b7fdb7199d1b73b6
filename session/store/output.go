package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Stream says which of a command's outputs a record of the log belongs to.
type Stream byte

// The streams.
const (
	Stdout Stream = 'o'
	Stderr Stream = 'e'
	Screen Stream = 'r' // bytes of the pty
)

const (
	segHeader = 8 // the absolute offset of the segment's first payload byte
	recHeader = 5 // stream, length
	segParts  = 16
	minSeg    = 64 << 10
)

// Output is the stored log of a session's output: the first half of the cap is
// kept for good, the rest is a ring of segments of which the oldest go. One
// process appends; any may read.
type Output struct {
	mu    sync.Mutex
	dir   string
	cap   int64 // bytes of payload kept; 0 is no bound
	f     *os.File
	segs  []segment // oldest first; the last one is open
	total int64     // payload bytes ever appended
}

type segment struct {
	n    int
	size int64 // payload bytes
}

// OpenOutput continues the log in d with a new segment.
func (d Dir) OpenOutput(capBytes int64) (*Output, error) {
	o := &Output{dir: d.Output(), cap: capBytes}
	names, err := segmentNames(o.dir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		start, size, err := o.measure(n)
		if err != nil {
			return nil, err
		}
		o.segs = append(o.segs, segment{n, size})
		o.total = start + size
	}
	return o, o.next()
}

// measure reads a segment's offset and counts its payload.
func (o *Output) measure(n int) (start, size int64, err error) {
	err = readSegment(segPath(o.dir, n), func(off int64) { start = off }, func(_ Stream, p []byte) error {
		size += int64(len(p))
		return nil
	})
	return start, size, err
}

// Append stores p. An error means that the log is incomplete from here on; the
// caller says so and goes on.
func (o *Output) Append(s Stream, p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(p) > 0 {
		part := p[:min(len(p), 64<<10)]
		p = p[len(part):]
		rec := make([]byte, recHeader, recHeader+len(part))
		rec[0] = byte(s)
		binary.BigEndian.PutUint32(rec[1:], uint32(len(part)))
		if _, err := o.f.Write(append(rec, part...)); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
		o.total += int64(len(part))
		cur := &o.segs[len(o.segs)-1]
		cur.size += int64(len(part))
		if o.cap > 0 && cur.size >= max(o.cap/segParts, minSeg) {
			if err := o.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Total is how many bytes were ever appended, kept or not.
func (o *Output) Total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Close ends the log.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.f.Close()
}

// next opens a new segment and drops the oldest of the tail while the log is
// over its cap. The head is what lies in the first half of the cap.
func (o *Output) next() error {
	n := 1
	if len(o.segs) > 0 {
		n = o.segs[len(o.segs)-1].n + 1
	}
	f, err := os.OpenFile(segPath(o.dir, n), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("store output: %w", err)
	}
	var head [segHeader]byte
	binary.BigEndian.PutUint64(head[:], uint64(o.total))
	if _, err := f.Write(head[:]); err != nil {
		_ = f.Close() // the first error is the one to tell
		return fmt.Errorf("store output: %w", err)
	}
	if o.f != nil {
		_ = o.f.Close() // each write to it was checked
	}
	o.f = f
	o.segs = append(o.segs, segment{n: n})
	if o.cap <= 0 {
		return nil
	}
	kept, headEnd := int64(0), 0
	for i, s := range o.segs {
		if kept < o.cap/2 {
			headEnd = i + 1
		}
		kept += s.size
	}
	for kept > o.cap && headEnd < len(o.segs)-1 {
		if err := os.Remove(segPath(o.dir, o.segs[headEnd].n)); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
		kept -= o.segs[headEnd].size
		o.segs = append(o.segs[:headEnd], o.segs[headEnd+1:]...)
	}
	return nil
}

// ReadOutput gives the stored log in order. gap is called with the number of
// bytes that are missing before what follows.
func (d Dir) ReadOutput(each func(Stream, []byte) error, gap func(int64) error) error {
	names, err := segmentNames(d.Output())
	if err != nil {
		return err
	}
	at := int64(0)
	for _, n := range names {
		var gapErr error
		err := readSegment(segPath(d.Output(), n), func(off int64) {
			if off > at {
				gapErr = gap(off - at)
			}
			at = off
		}, func(s Stream, p []byte) error {
			if gapErr != nil {
				return gapErr
			}
			at += int64(len(p))
			return each(s, p)
		})
		if err == nil {
			err = gapErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readSegment(path string, offset func(int64), each func(Stream, []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [segHeader]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return nil // the writer was killed before its first record
	}
	offset(int64(binary.BigEndian.Uint64(head[:])))
	buf := make([]byte, 0, 64<<10)
	for {
		var rec [recHeader]byte
		if _, err := io.ReadFull(f, rec[:]); err != nil {
			return nil // the end, or a record cut short by a kill
		}
		n := binary.BigEndian.Uint32(rec[1:])
		if n > 64<<10 {
			return fmt.Errorf("%s is damaged: a record of %d bytes, the limit is %d", path, n, 64<<10)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(f, buf); err != nil {
			return nil
		}
		if err := each(Stream(rec[0]), buf); err != nil {
			return err
		}
	}
}

func segPath(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("%06d.log", n)) }

func segmentNames(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	var out []int
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ".log")); err == nil {
			out = append(out, n)
		}
	}
	sort.Ints(out)
	return out, nil
}
