package baseline

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fumehood/diffreview"
)

// RefKind says where a baseline file's content is found.
type RefKind uint8

// The kinds of reference. With RefSum the bytes are known by hash only: that
// is kept for files that git ignores, whose content returns only on request.
const (
	RefNone   RefKind = iota
	RefSHA1           // a git object of the store, in a SHA-1 repository
	RefSHA256         // a git object of the store, in a SHA-256 repository
	RefBlob           // a blob of the store, by SHA-256 of the raw bytes
	RefSum            // SHA-256 of the raw bytes, which are not kept
)

// Ref names the content of one baseline file.
type Ref struct {
	Kind RefKind
	Sum  [32]byte // the first 20 bytes for RefSHA1
}

func (k RefKind) size() int {
	switch k {
	case RefNone:
		return 0
	case RefSHA1:
		return 20
	case RefSHA256, RefBlob, RefSum:
		return 32
	}
	return -1
}

// Entry is one file or link of the workspace as it was recorded.
type Entry struct {
	Path    string // raw bytes, relative, clean
	Kind    diffreview.Kind
	Mode    uint32 // permission bits, 0777
	Size    int64
	Ino     uint64
	Mtime   int64 // nanoseconds
	Ctime   int64 // nanoseconds
	Ref     Ref
	Target  string // of a link
	Ignored bool   // git ignores it; it was brought in all the same
}

func (e *Entry) dir() string {
	if i := strings.LastIndexByte(e.Path, '/'); i >= 0 {
		return e.Path[:i]
	}
	return ""
}

func (e *Entry) name() string { return e.Path[strings.LastIndexByte(e.Path, '/')+1:] }

// Manifest is the baseline: every path of the workspace with its stat and the
// name of its content, the ignore rules, and what was left out at copy-in.
type Manifest struct {
	RecordedAt int64 // nanoseconds since 1970, by the clock that stamps ctime
	Entries    []Entry
	Rules      Rules
	LeftOut    []diffreview.LeftOut

	groups map[string]group // by folder
}

type group struct{ lo, hi int32 }

// order sorts by folder, then name, so that a folder's entries are together.
func (m *Manifest) order() {
	cmp := func(a, b Entry) int {
		if c := strings.Compare(a.dir(), b.dir()); c != 0 {
			return c
		}
		return strings.Compare(a.name(), b.name())
	}
	if !slices.IsSortedFunc(m.Entries, cmp) {
		slices.SortFunc(m.Entries, cmp)
	}
	m.index()
}

func (m *Manifest) index() {
	m.groups = make(map[string]group, len(m.Entries)/8+1)
	for i := 0; i < len(m.Entries); {
		dir, j := m.Entries[i].dir(), i+1
		for j < len(m.Entries) && m.Entries[j].dir() == dir {
			j++
		}
		m.groups[dir] = group{int32(i), int32(j)}
		i = j
	}
}

// in finds a name in a folder's group; -1 when it is not there.
func (m *Manifest) in(g group, name string) int {
	part := m.Entries[g.lo:g.hi]
	i, found := slices.BinarySearchFunc(part, name, func(e Entry, n string) int {
		return strings.Compare(e.name(), n)
	})
	if !found {
		return -1
	}
	return int(g.lo) + i
}

// Lookup gives the entry of a path, or nil.
func (m *Manifest) Lookup(path string) *Entry {
	e := Entry{Path: path}
	g, ok := m.groups[e.dir()]
	if !ok {
		return nil
	}
	if i := m.in(g, e.name()); i >= 0 {
		return &m.Entries[i]
	}
	return nil
}

// The format: a first line with its version, then numbers as varints and
// strings with their length before them, then SHA-256 of all that.
const manifestMagic = "fumehood manifest 1\n"

// ErrDamaged is a file of the store that is not what was written.
var ErrDamaged = errors.New("damaged or half-written")

func (m *Manifest) encode() []byte {
	b := make([]byte, 0, 128*len(m.Entries)+4096)
	b = append(b, manifestMagic...)
	b = binary.AppendVarint(b, m.RecordedAt)
	b = binary.AppendUvarint(b, uint64(len(m.Entries)))
	for i := range m.Entries {
		b = appendEntry(b, &m.Entries[i])
	}
	b = m.Rules.append(b)
	b = binary.AppendUvarint(b, uint64(len(m.LeftOut)))
	for _, l := range m.LeftOut {
		b = appendString(b, l.Path)
		b = appendString(b, l.Reason)
		b = binary.AppendVarint(b, l.Size)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

const (
	flagLink    = 1
	flagIgnored = 2
)

func appendEntry(b []byte, e *Entry) []byte {
	b = appendString(b, e.Path)
	var flags byte
	if e.Kind == diffreview.KindSymlink {
		flags |= flagLink
	}
	if e.Ignored {
		flags |= flagIgnored
	}
	b = append(b, flags, byte(e.Ref.Kind))
	b = append(b, e.Ref.Sum[:e.Ref.Kind.size()]...)
	b = binary.AppendUvarint(b, uint64(e.Mode))
	b = binary.AppendUvarint(b, uint64(e.Size))
	b = binary.AppendUvarint(b, e.Ino)
	b = binary.AppendVarint(b, e.Mtime)
	b = binary.AppendVarint(b, e.Ctime)
	if flags&flagLink != 0 {
		b = appendString(b, e.Target)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// decode takes a manifest apart. Its strings share one copy of the file.
func decode(raw []byte) (*Manifest, error) {
	if !bytes.HasPrefix(raw, []byte(manifestMagic)) {
		line, _, _ := bytes.Cut(raw[:min(len(raw), 64)], []byte("\n"))
		return nil, fmt.Errorf("not a manifest of this version: %q", line)
	}
	if len(raw) < len(manifestMagic)+sha256.Size {
		return nil, ErrDamaged
	}
	body := raw[:len(raw)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], raw[len(body):]) {
		return nil, ErrDamaged
	}
	r := &reader{s: string(body[len(manifestMagic):])}
	m := &Manifest{RecordedAt: r.varint()}
	n := r.count(8)
	m.Entries = make([]Entry, n)
	for i := range m.Entries {
		r.entry(&m.Entries[i])
	}
	m.Rules = r.rules()
	for range r.count(3) {
		m.LeftOut = append(m.LeftOut, diffreview.LeftOut{Path: r.str(), Reason: r.str(), Size: r.varint()})
	}
	if r.bad || r.s != "" {
		return nil, ErrDamaged
	}
	m.index()
	return m, nil
}

// reader reads the varints and strings of a manifest. After the first fault
// it gives zeros and bad stays set.
type reader struct {
	s   string
	bad bool
}

func (r *reader) fail() { r.s, r.bad = "", true }

func (r *reader) uvarint() uint64 {
	var v uint64
	for i := range 10 {
		if i >= len(r.s) {
			break
		}
		c := r.s[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.s = r.s[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

// count reads a number of items of at least size bytes each, and so never
// makes the caller allocate more than the file could hold.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.s)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *reader) str() string {
	n := r.uvarint()
	if n > uint64(len(r.s)) {
		r.fail()
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

func (r *reader) byte() byte {
	if r.s == "" {
		r.fail()
		return 0
	}
	c := r.s[0]
	r.s = r.s[1:]
	return c
}

func (r *reader) entry(e *Entry) {
	e.Path = r.str()
	flags := r.byte()
	e.Ref.Kind = RefKind(r.byte())
	n := e.Ref.Kind.size()
	if n < 0 || n > len(r.s) {
		r.fail()
		return
	}
	copy(e.Ref.Sum[:], r.s[:n])
	r.s = r.s[n:]
	e.Mode = uint32(r.uvarint())
	e.Size = int64(r.uvarint())
	e.Ino = r.uvarint()
	e.Mtime = r.varint()
	e.Ctime = r.varint()
	e.Kind = diffreview.KindFile
	if flags&flagLink != 0 {
		e.Kind = diffreview.KindSymlink
		e.Target = r.str()
	}
	e.Ignored = flags&flagIgnored != 0
}
