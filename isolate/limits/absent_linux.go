package limits

import (
	"bytes"
	"fmt"
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
// time to read, too, and while a look lasts nothing is bounded: beyond
// maxMappings, thousands of processes of a large build each with a thousand, a
// tree is not looked into.
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
// no name, into what is held.
func (j *Judge) addAbsent(s *Sample, now time.Time) error {
	fresh := make(map[int]seenMaps, len(s.each))
	ends := map[[2]uint64]int64{}
	mappings := 0
	for _, u := range s.each {
		if u.virtual < absentFrom {
			continue
		}
		m, ok := j.maps[u.pid]
		if !ok || m.virtual != u.virtual || now.After(m.until) {
			text, err := readFile(fmt.Sprintf("/proc/%d/maps", u.pid))
			if gone(err) || isPermission(err) {
				continue // ended, or counted as blind already
			}
			if err != nil {
				return err
			}
			pieces, err := parsePieces(text)
			if err != nil {
				return err
			}
			m = seenMaps{virtual: u.virtual, until: now.Add(absentFor), pieces: pieces, mappings: bytes.Count(text, []byte{'\n'})}
		}
		fresh[u.pid] = m
		s.Held += int64(m.mappings) * mappingBytes
		if mappings += m.mappings; mappings > maxMappings {
			return errMappings
		}
		for _, p := range m.pieces {
			key := [2]uint64{p.dev, p.ino}
			ends[key] = max(ends[key], p.end)
		}
	}
	j.maps = fresh
	for key, end := range ends {
		if !s.memfds[key] { // an open one was counted by its blocks
			s.memfds[key] = true
			s.Held += end
		}
	}
	return nil
}

// parsePieces reads the shared mappings without a name of a maps file (proc(5)).
func parsePieces(text []byte) ([]piece, error) {
	var out []piece
	for line := range bytes.Lines(text) {
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
