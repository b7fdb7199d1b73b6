package limits

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Shared memory stays when it is taken out of the page tables: a mapping that
// madvise(2) has emptied shows in no count of what is resident, and its memory
// can't be asked for by an ordinary account. What counts is therefore the size
// of each shared mapping without a name, each piece of memory once. One that was
// only reserved counts in full: none of the usual runtimes reserves shared memory.

// absentFor is how long what was found of a process stands while its address
// space keeps its size; it could swap one mapping for another.
const absentFor = time.Second

// absentFrom is the least address space worth a look: a process without any
// library has less.
const absentFrom = 1 << 20

// A mapping is memory of the kernel's that shows in no count of its process:
// mappingBytes is one with its place in the process's tree of them. They take
// time to read, too, and while a look lasts nothing is bounded: what is known
// ends it as soon as that is over the limit, and beyond maxMappings, thousands of
// processes of a large build each with a thousand, a tree is not looked into.
const (
	mappingBytes = 256
	maxMappings  = 2_000_000
)

var errMappings = fmt.Errorf("the processes have more than %d mappings", maxMappings)

// seenMaps is what was found of one process.
type seenMaps struct {
	virtual  int64
	until    time.Time
	pieces   []piece
	mappings int
}

// piece is part of a piece of shared memory: up to where it is mapped.
type piece struct {
	dev, ino uint64
	end      int64
}

// addAbsent counts mappings, and what is behind those that are shared and have
// no name, into what is held. It stops where that alone is over the limit.
func (j *Judge) addAbsent(s *Sample, limit int64, now time.Time) error {
	fresh := make(map[int]seenMaps, len(s.each))
	ends := map[[2]uint64]int64{}
	defer func() {
		j.maps = fresh
		for key := range ends {
			s.memfds[key] = true
		}
	}()
	mappings := 0
	for _, u := range s.each {
		if u.virtual < absentFrom {
			continue
		}
		m, ok := j.maps[u.pid]
		if !ok || m.virtual != u.virtual || now.After(m.until) {
			var err error
			m, err = readMaps(u.pid)
			if gone(err) || isPermission(err) {
				continue // ended, or counted as blind already
			}
			if err != nil {
				return err
			}
			m.virtual, m.until = u.virtual, now.Add(absentFor)
		}
		fresh[u.pid] = m
		s.Held += int64(m.mappings) * mappingBytes
		for _, p := range m.pieces {
			key := [2]uint64{p.dev, p.ino}
			if s.memfds[key] { // an open one was counted by its blocks
				continue
			}
			if more := p.end - ends[key]; more > 0 {
				ends[key] = p.end
				s.Held += more
			}
		}
		if s.Held > limit {
			break
		}
		if mappings += m.mappings; mappings > maxMappings {
			return errMappings
		}
	}
	return nil
}

// readMaps reads a process's maps (proc(5)) in pieces: there can be a hundred
// thousand lines.
func readMaps(pid int) (seenMaps, error) {
	path := fmt.Sprintf("/proc/%d/maps", pid)
	fd, err := open(path, 0)
	if err != nil {
		return seenMaps{}, err
	}
	defer unix.Close(fd) // only read from
	var m seenMaps
	buf := make([]byte, 16<<10) // more than a line can have: the kernel bounds a name by a page
	kept := 0
	for {
		n, err := unix.Read(fd, buf[kept:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return seenMaps{}, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		text := buf[:kept+n]
		whole := bytes.LastIndexByte(text, '\n') + 1
		if n == 0 {
			whole = len(text)
		} else if whole == 0 && len(text) == len(buf) {
			return seenMaps{}, &fs.PathError{Op: "read", Path: path, Err: errLongLine}
		}
		m.mappings += bytes.Count(text[:whole], []byte{'\n'})
		pieces, bad := appendPieces(m.pieces, text[:whole])
		if bad != nil {
			return seenMaps{}, bad
		}
		m.pieces = pieces
		if n == 0 {
			return m, nil
		}
		kept = copy(buf, text[whole:])
	}
}

var errLongLine = errors.New("a line is longer than the kernel makes one")

// appendPieces reads the shared mappings without a name of lines of a maps file.
func appendPieces(out []piece, text []byte) ([]piece, error) {
	for line := range bytes.Lines(text) {
		if mode := bytes.IndexByte(line, ' ') + 1; len(line) < mode+4 || line[mode+3] != 's' {
			continue // as nearly all
		}
		f := bytes.Fields(line)
		if len(f) < 6 || len(f[1]) != 4 || f[1][3] != 's' {
			continue
		}
		name := f[5]
		if !bytes.HasPrefix(name, []byte("/dev/zero")) && !bytes.HasPrefix(name, []byte("/memfd:")) && !bytes.HasPrefix(name, []byte("/SYSV")) {
			continue // a file of a tmpfs or a disk, which is counted there
		}
		from, to, ok := bytes.Cut(f[0], []byte("-"))
		major, minor, ok2 := bytes.Cut(f[3], []byte(":"))
		if !ok || !ok2 {
			return nil, fmt.Errorf("maps of a process: line %q is not understood", line)
		}
		var n [6]uint64
		for i, t := range []struct {
			text []byte
			base int
		}{{from, 16}, {to, 16}, {f[2], 16}, {major, 16}, {minor, 16}, {f[4], 10}} {
			v, err := strconv.ParseUint(string(t.text), t.base, 64)
			if err != nil {
				return nil, fmt.Errorf("maps of a process: line %q: %w", line, err)
			}
			n[i] = v
		}
		out = append(out, piece{dev: unix.Mkdev(uint32(n[3]), uint32(n[4])), ino: n[5], end: int64(n[2] + n[1] - n[0])})
	}
	return out, nil
}
