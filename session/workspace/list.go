package workspace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"fumehood/internal/beneath"
)

// indexEntry is one line of the host's index.
type indexEntry struct {
	path  string
	mode  uint32 // 0100644, 0100755, 0120000 or 0160000
	oid   [32]byte
	stage uint8
	flags uint32 // as git holds them in memory
	stat  indexStat
	clean bool // the work tree's stat is the index's, and not racy
}

// indexStat is what git remembers of a file, in 32 bits each.
type indexStat struct{ csec, cnsec, msec, mnsec, dev, ino, uid, gid, size uint32 }

// git's flags in memory, as "ls-files --debug" prints them.
const (
	flagValid        = 0x8000
	flagIntentToAdd  = 1 << 29
	flagSkipWorktree = 1 << 30
)

const (
	modeLink    = 0o120000
	modeGitlink = 0o160000
)

// parseIndex reads "git ls-files -z --cached --stage --debug": for each entry
// its line up to a NUL, then five lines of what stat said.
func parseIndex(raw []byte, hash int) ([]indexEntry, error) {
	var out []indexEntry
	var oid [64]byte
	for len(raw) > 0 {
		end := bytes.IndexByte(raw, 0)
		if end < 0 {
			return nil, fmt.Errorf("git ls-files: cut short at %q", clip(raw))
		}
		line := raw[:end]
		raw = raw[end+1:]
		tab := bytes.IndexByte(line, '\t')
		// "100644 OID S\tpath"
		if tab != 7+2*hash+2 {
			return nil, fmt.Errorf("git ls-files: not understood: %q", clip(line))
		}
		var e indexEntry
		mode, err := strconv.ParseUint(string(line[:6]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("git ls-files: not understood: %q", clip(line))
		}
		copy(oid[:], line[7:7+2*hash])
		if _, err := hex.Decode(e.oid[:], oid[:2*hash]); err != nil {
			return nil, fmt.Errorf("git ls-files: not understood: %q", clip(line))
		}
		e.mode, e.stage, e.path = uint32(mode), line[tab-1]-'0', string(line[tab+1:])
		if e.stage > 3 {
			return nil, fmt.Errorf("git ls-files: not understood: %q", clip(line))
		}
		n := &numbers{b: raw}
		s := &e.stat
		for _, to := range []*uint32{&s.csec, &s.cnsec, &s.msec, &s.mnsec, &s.dev, &s.ino, &s.uid, &s.gid, &s.size} {
			*to = n.next(10)
		}
		e.flags = n.next(16)
		if raw = n.line(); n.bad {
			return nil, fmt.Errorf("git ls-files: no stat of %q", e.path)
		}
		if err := beneath.Check(e.path); err != nil {
			return nil, fmt.Errorf("git ls-files: %w", err)
		}
		out = append(out, e)
	}
	return out, nil
}

func clip(b []byte) []byte { return b[:min(len(b), 80)] }

// numbers reads "name: number" fields one after the other.
type numbers struct {
	b   []byte
	bad bool
}

func (n *numbers) next(base uint32) uint32 {
	i := bytes.IndexByte(n.b, ':')
	if i < 0 {
		n.bad = true
		return 0
	}
	i++
	for i < len(n.b) && n.b[i] == ' ' {
		i++
	}
	start := i
	var v uint32
	for ; i < len(n.b); i++ {
		c, d := n.b[i], uint32(99)
		switch {
		case c >= '0' && c <= '9':
			d = uint32(c - '0')
		case c >= 'a' && c <= 'f':
			d = uint32(c-'a') + 10
		}
		if d >= base {
			break
		}
		v = v*base + d
	}
	n.bad = n.bad || i == start
	n.b = n.b[i:]
	return v
}

// line passes the end of the line.
func (n *numbers) line() []byte {
	if len(n.b) == 0 || n.b[0] != '\n' {
		n.bad = true
		return nil
	}
	return n.b[1:]
}

// parsePaths reads NUL-separated paths, those that end in a slash apart.
// Whatever has a .git component is dropped: git names none, a fault would.
func parsePaths(raw []byte) (files, dirs []string) {
	for _, p := range strings.Split(string(raw), "\x00") {
		dir := strings.HasSuffix(p, "/")
		p = strings.TrimSuffix(p, "/")
		if beneath.Check(p) != nil || hasGitPart(p) {
			continue
		}
		if dir {
			dirs = append(dirs, p)
		} else {
			files = append(files, p)
		}
	}
	return files, dirs
}

func hasGitPart(p string) bool {
	for rest := p; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if len(part) == 4 && strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

// matches says whether a file's stat is the index's, as git compares them.
// A racy entry, written in the same instant as the index, never is.
func (e *indexEntry) matches(i *beneath.Info, indexTime int64) bool {
	s := &e.stat
	if e.stage != 0 || e.flags&flagIntentToAdd != 0 || s.size == 0 && i.Size != 0 {
		return false
	}
	switch {
	case e.mode == modeLink && i.Kind != beneath.Symlink,
		e.mode != modeLink && i.Kind != beneath.Regular,
		e.mode == 0o100755 && i.Mode&0o100 == 0,
		e.mode == 0o100644 && i.Mode&0o100 != 0:
		return false
	}
	const second = 1_000_000_000
	return i.Mtime < indexTime &&
		uint32(i.Mtime/second) == s.msec && uint32(i.Mtime%second) == s.mnsec &&
		uint32(i.Ctime/second) == s.csec && uint32(i.Ctime%second) == s.cnsec &&
		uint32(i.Ino) == s.ino && i.UID == s.uid && i.GID == s.gid &&
		i.Size < 1<<32 && uint32(i.Size) == s.size
}
