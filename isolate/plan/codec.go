package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A plan goes to the stage in a form of its own. As JSON it took a millisecond
// of the ten that a start has, for building the decoder alone.

// maxSteps bounds what a decoder makes room for.
const maxSteps = 10_000

// Encode is the plan in bytes, for Decode.
func (p *Plan) Encode() []byte {
	e := encoder{buf: make([]byte, 0, 16<<10)}
	e.num(uint64(p.Version))
	e.str(p.Hostname)
	e.num(uint64(p.UID))
	e.num(uint64(p.GID))
	e.num(uint64(len(p.Steps)))
	for _, s := range p.Steps {
		e.str(string(s.Do))
		e.str(s.Target)
		e.str(s.Source)
		e.num(uint64(s.FD))
		e.num(s.Dev)
		e.num(s.Ino)
		e.num(uint64(s.Mode))
		e.num(s.Size)
		e.str(s.Text)
		e.str(s.Upper.Path)
		e.num(uint64(s.Upper.FD))
		e.num(s.Upper.Dev)
		e.num(s.Upper.Ino)
		e.flag(s.Host)
	}
	e.num(p.Limits.Processes)
	e.num(p.Limits.Data)
	e.num(p.Limits.OpenFiles)
	e.num(p.Limits.FileSize)
	e.num(uint64(p.Landlock.ABI))
	e.num(p.Landlock.FS)
	e.num(p.Landlock.Scoped)
	e.flag(p.Landlock.Log)
	e.num(uint64(len(p.Landlock.Rules)))
	for _, r := range p.Landlock.Rules {
		e.str(r.Path)
		e.num(r.Access)
	}
	e.flag(p.Egress)
	e.str(p.Nonce)
	e.str(string(p.Omit))
	e.str(p.Group)
	return e.buf
}

// Decode reads what Encode wrote. Another version, anything cut, and anything
// that is left over is an error.
func Decode(b []byte) (*Plan, error) {
	d := decoder{buf: b}
	p := &Plan{Version: int(d.num())}
	if d.err == nil && p.Version != Version {
		return nil, fmt.Errorf("plan of version %d, want %d: fumehood was replaced while it ran", p.Version, Version)
	}
	p.Hostname = d.str()
	p.UID, p.GID = int(d.num()), int(d.num())
	for range d.count() {
		p.Steps = append(p.Steps, Step{
			Do: Action(d.str()), Target: d.str(), Source: d.str(), FD: int(d.num()),
			Dev: d.num(), Ino: d.num(), Mode: uint32(d.num()), Size: d.num(), Text: d.str(),
			Upper: Folder{Path: d.str(), FD: int(d.num()), Dev: d.num(), Ino: d.num()}, Host: d.flag(),
		})
	}
	p.Limits = Limits{Processes: d.num(), Data: d.num(), OpenFiles: d.num(), FileSize: d.num()}
	p.Landlock = Landlock{ABI: int(d.num()), FS: d.num(), Scoped: d.num(), Log: d.flag()}
	for range d.count() {
		p.Landlock.Rules = append(p.Landlock.Rules, Rule{Path: d.str(), Access: d.num()})
	}
	p.Egress = d.flag()
	p.Nonce = d.str()
	p.Omit, p.Group = Omit(d.str()), d.str()
	if d.err == nil && len(d.buf) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.buf))
	}
	if d.err != nil {
		return nil, fmt.Errorf("decode plan: %w", d.err)
	}
	return p, nil
}

type encoder struct{ buf []byte }

func (e *encoder) num(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

func (e *encoder) str(s string) {
	e.num(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) flag(b bool) {
	if b {
		e.num(1)
		return
	}
	e.num(0)
}

// decoder gives zero values after its first error.
type decoder struct {
	buf []byte
	err error
}

var errCut = errors.New("it ends in the middle")

func (d *decoder) num() uint64 {
	if d.err != nil {
		return 0
	}
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		d.err = errCut
		return 0
	}
	d.buf = d.buf[size:]
	return n
}

func (d *decoder) str() string {
	n := d.num()
	if d.err != nil {
		return ""
	}
	if n > uint64(len(d.buf)) {
		d.err = errCut
		return ""
	}
	s := string(d.buf[:n])
	d.buf = d.buf[n:]
	return s
}

func (d *decoder) flag() bool {
	n := d.num()
	if n > 1 && d.err == nil {
		d.err = fmt.Errorf("%d is neither yes nor no", n)
	}
	return n == 1
}

func (d *decoder) count() int {
	n := d.num()
	if d.err != nil {
		return 0
	}
	if n > maxSteps || n > uint64(len(d.buf)) {
		d.err = fmt.Errorf("a list of %d, at most %d", n, maxSteps)
		return 0
	}
	return int(n)
}
