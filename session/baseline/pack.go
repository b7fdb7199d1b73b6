package baseline

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNoObject is a git object that a pack does not have.
var ErrNoObject = errors.New("no such object in the store")

// Pack reads blobs out of one git pack of ours with a version 2 index. The
// pack was written by git at copy-in and never touched since, yet each object
// is checked against its name: a wrong byte is an error, not wrong content.
// Reading in-process, not through git, lets a confined process read too. Not
// for several goroutines at once.
type Pack struct {
	idx, pack io.ReaderAt
	size      int64 // of the pack
	hash      int   // bytes of an object name: 20 or 32
	n         int64 // objects
	fan       [256]uint32
	close     func()
}

// Close releases the files.
func (p *Pack) Close() { p.close() }

const (
	idxHead  = 8
	idxNames = idxHead + 256*4

	// maxDeltas bounds a chain of deltas; git makes at most 4095.
	maxDeltas = 4096

	// maxBase bounds what a chain goes through on its way: a base may be much
	// larger than what is made of it.
	maxBase = 1 << 30
)

func newPack(idx, pack io.ReaderAt, size int64, hash int) (*Pack, error) {
	p := &Pack{idx: idx, pack: pack, size: size, hash: hash, close: func() {}}
	var head [idxNames]byte
	if _, err := idx.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("pack index: %w", ErrDamaged)
	}
	if !bytes.Equal(head[:idxHead], []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}) {
		return nil, errors.New("pack index of another version than 2")
	}
	var before uint32
	for i := range p.fan {
		p.fan[i] = binary.BigEndian.Uint32(head[idxHead+4*i:])
		if p.fan[i] < before {
			return nil, fmt.Errorf("pack index: %w", ErrDamaged)
		}
		before = p.fan[i]
	}
	p.n = int64(before)
	return p, nil
}

// Len is the number of objects.
func (p *Pack) Len() int { return int(p.n) }

// Names lists the raw names of all objects in the pack.
func (p *Pack) Names() ([]string, error) {
	raw := make([]byte, p.n*int64(p.hash))
	if _, err := p.idx.ReadAt(raw, idxNames); err != nil {
		return nil, fmt.Errorf("pack index: %w", ErrDamaged)
	}
	all := string(raw)
	out := make([]string, p.n)
	for i := range out {
		out[i] = all[i*p.hash : (i+1)*p.hash]
	}
	return out, nil
}

// Has says whether an object is in the pack.
func (p *Pack) Has(oid []byte) bool {
	_, err := p.find(oid)
	return err == nil
}

// find gives an object's place in the pack.
func (p *Pack) find(oid []byte) (int64, error) {
	if len(oid) != p.hash {
		return 0, ErrNoObject
	}
	lo, hi := int64(0), int64(p.fan[oid[0]])
	if oid[0] > 0 {
		lo = int64(p.fan[oid[0]-1])
	}
	name := make([]byte, p.hash)
	for lo < hi {
		mid := (lo + hi) / 2
		if _, err := p.idx.ReadAt(name, idxNames+mid*int64(p.hash)); err != nil {
			return 0, fmt.Errorf("pack index: %w", ErrDamaged)
		}
		switch bytes.Compare(name, oid) {
		case 0:
			return p.offset(mid)
		case -1:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return 0, ErrNoObject
}

func (p *Pack) offset(i int64) (int64, error) {
	var b [8]byte
	at := idxNames + p.n*int64(p.hash+4) // after the names and their checksums
	if _, err := p.idx.ReadAt(b[:4], at+4*i); err != nil {
		return 0, fmt.Errorf("pack index: %w", ErrDamaged)
	}
	off := int64(binary.BigEndian.Uint32(b[:4]))
	if off&0x80000000 == 0 {
		return off, nil
	}
	at += 4*p.n + 8*(off&0x7fffffff)
	if _, err := p.idx.ReadAt(b[:], at); err != nil {
		return 0, fmt.Errorf("pack index: %w", ErrDamaged)
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil
}

// The types of objects in a pack.
const (
	objBlob     = 3
	objOfsDelta = 6
	objRefDelta = 7
)

// Blob reads one blob, at most limit bytes, and checks that it has that name.
func (p *Pack) Blob(oid []byte, limit int64) ([]byte, error) {
	off, err := p.find(oid)
	if err != nil {
		return nil, err
	}
	typ, data, err := p.object(off, max(limit, maxBase))
	if err != nil {
		return nil, fmt.Errorf("read git object %x: %w", oid, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read git object %x: %d bytes, more than the limit of %d", oid, len(data), limit)
	}
	if typ != objBlob {
		return nil, fmt.Errorf("read git object %x: not a blob", oid)
	}
	if !bytes.Equal(BlobName(data, p.hash), oid) {
		return nil, fmt.Errorf("read git object %x: %w", oid, ErrDamaged)
	}
	return data, nil
}

// BlobName is what git calls a file with this content; size is 20 for SHA-1
// and 32 for SHA-256 repositories.
func BlobName(data []byte, size int) []byte {
	head := append(strconv.AppendInt([]byte("blob "), int64(len(data)), 10), 0)
	if size == sha256.Size {
		h := sha256.New()
		h.Write(head)
		h.Write(data)
		return h.Sum(nil)
	}
	h := sha1.New()
	h.Write(head)
	h.Write(data)
	return h.Sum(nil)
}

// object reads the object at off: the base of its chain of deltas, then each
// delta applied, innermost first.
func (p *Pack) object(off, limit int64) (int, []byte, error) {
	var deltas [][]byte
	for len(deltas) <= maxDeltas {
		typ, size, r, at, err := p.header(off)
		if err != nil {
			return 0, nil, err
		}
		switch typ {
		case objOfsDelta:
			back, n, err := ofs(r)
			if err != nil {
				return 0, nil, err
			}
			if back <= 0 || back >= off {
				return 0, nil, ErrDamaged
			}
			d, err := p.inflate(at+n, size, limit)
			if err != nil {
				return 0, nil, err
			}
			deltas = append(deltas, d)
			off -= back
		case objRefDelta:
			base := make([]byte, p.hash)
			if _, err := io.ReadFull(r, base); err != nil {
				return 0, nil, ErrDamaged
			}
			d, err := p.inflate(at+int64(p.hash), size, limit)
			if err != nil {
				return 0, nil, err
			}
			deltas = append(deltas, d)
			if off, err = p.find(base); err != nil {
				return 0, nil, err
			}
		default:
			data, err := p.inflate(at, size, limit)
			if err != nil {
				return 0, nil, err
			}
			for i := len(deltas) - 1; i >= 0; i-- {
				if data, err = patch(data, deltas[i], limit); err != nil {
					return 0, nil, err
				}
			}
			return typ, data, nil
		}
	}
	return 0, nil, fmt.Errorf("more than %d deltas: %w", maxDeltas, ErrDamaged)
}

// header reads an object's type and size; r stands after them, at the place at.
func (p *Pack) header(off int64) (typ int, size int64, r *bufio.Reader, at int64, err error) {
	if off < 12 || off >= p.size {
		return 0, 0, nil, 0, ErrDamaged
	}
	r = bufio.NewReaderSize(io.NewSectionReader(p.pack, off, p.size-off), 64)
	c, err := r.ReadByte()
	if err != nil {
		return 0, 0, nil, 0, ErrDamaged
	}
	at = off + 1
	typ, size = int(c>>4&7), int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = r.ReadByte(); err != nil || shift > 56 {
			return 0, 0, nil, 0, ErrDamaged
		}
		at++
		size |= int64(c&0x7f) << shift
	}
	if size < 0 {
		return 0, 0, nil, 0, ErrDamaged
	}
	return typ, size, r, at, nil
}

// ofs reads the distance of a delta's base and the bytes that it took.
func ofs(r *bufio.Reader) (back, n int64, err error) {
	for {
		c, err := r.ReadByte()
		if err != nil || n > 8 {
			return 0, 0, ErrDamaged
		}
		n++
		back |= int64(c & 0x7f)
		if c&0x80 == 0 {
			return back, n, nil
		}
		back = (back + 1) << 7
	}
}

func (p *Pack) inflate(at, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", size, limit)
	}
	z, err := zlib.NewReader(bufio.NewReaderSize(io.NewSectionReader(p.pack, at, p.size-at), 16<<10))
	if err != nil {
		return nil, ErrDamaged
	}
	defer z.Close() // holds nothing
	data := make([]byte, size)
	if _, err := io.ReadFull(z, data); err != nil {
		return nil, ErrDamaged
	}
	var one [1]byte
	if n, err := z.Read(one[:]); n != 0 || err != io.EOF {
		return nil, ErrDamaged // longer than it said, or a wrong checksum
	}
	return data, nil
}

// patch applies a git delta: copies from base and literal bytes.
func patch(base, delta []byte, limit int64) ([]byte, error) {
	from, delta, ok1 := deltaSize(delta)
	to, delta, ok2 := deltaSize(delta)
	if !ok1 || !ok2 || from != int64(len(base)) {
		return nil, ErrDamaged
	}
	if to > limit {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", to, limit)
	}
	out := make([]byte, 0, to)
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op&0x80 == 0 { // literal; 0 is reserved
			n := int(op)
			if n == 0 || n > len(delta) || int64(len(out)+n) > to {
				return nil, ErrDamaged
			}
			out = append(out, delta[:n]...)
			delta = delta[n:]
			continue
		}
		var off, n int
		for i := range 7 {
			if op&(1<<i) == 0 {
				continue
			}
			if len(delta) == 0 {
				return nil, ErrDamaged
			}
			if i < 4 {
				off |= int(delta[0]) << (8 * i)
			} else {
				n |= int(delta[0]) << (8 * (i - 4))
			}
			delta = delta[1:]
		}
		if n == 0 {
			n = 0x10000
		}
		if off+n > len(base) || int64(len(out)+n) > to {
			return nil, ErrDamaged
		}
		out = append(out, base[off:off+n]...)
	}
	if int64(len(out)) != to {
		return nil, ErrDamaged
	}
	return out, nil
}

func deltaSize(b []byte) (int64, []byte, bool) {
	var v int64
	for i, c := range b {
		if i > 8 {
			break
		}
		v |= int64(c&0x7f) << (7 * i)
		if c&0x80 == 0 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}
