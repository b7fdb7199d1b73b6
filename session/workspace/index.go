package workspace

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
	"strings"
)

// renderIndex writes git's index, version 3 where an entry needs it: the
// host's entries, with the stat of the workspace's own files where the host's
// index called them clean. So git inside finds nothing to look at again, and
// where it has to look it does so itself, inside.
//
// has says whether an object is in the workspace; the cached trees of the
// index are written only for those that are.
func renderIndex(entries []indexEntry, stats map[string]copiedStat, skipped map[string]bool, size int, has func(oid []byte) bool) []byte {
	version := uint32(2)
	for i := range entries {
		if e := &entries[i]; skipWorktree(e, skipped) || e.flags&flagIntentToAdd != 0 {
			version = 3
		}
	}
	b := make([]byte, 0, 100*len(entries)+4096)
	b = append(b, "DIRC"...)
	b = binary.BigEndian.AppendUint32(b, version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(entries)))
	for i := range entries {
		b = appendIndexEntry(b, &entries[i], stats, skipped, size)
	}
	if tree := cachedTrees(entries, size, has); tree != nil {
		b = append(b, "TREE"...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(tree)))
		b = append(b, tree...)
	}
	h := newHash(size)
	h.Write(b)
	return h.Sum(b)
}

func newHash(size int) hash.Hash {
	if size == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

func skipWorktree(e *indexEntry, skipped map[string]bool) bool {
	return e.stage == 0 && (e.flags&flagSkipWorktree != 0 || skipped[e.path])
}

func appendIndexEntry(b []byte, e *indexEntry, stats map[string]copiedStat, skipped map[string]bool, size int) []byte {
	const second = 1_000_000_000
	start := len(b)
	var nums [10]uint32
	if s, ok := stats[e.path]; ok && e.stage == 0 {
		nums = [10]uint32{
			uint32(s.ctime / second), uint32(s.ctime % second), uint32(s.mtime / second), uint32(s.mtime % second),
			uint32(s.dev), uint32(s.ino), 0, s.uid, s.gid, uint32(s.size),
		}
	}
	nums[6] = e.mode
	for _, n := range nums {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = append(b, e.oid[:size]...)
	flags := uint16(min(len(e.path), 0xfff)) | uint16(e.stage)<<12
	var extended uint16
	if skipWorktree(e, skipped) {
		extended |= 0x4000
	}
	if e.flags&flagIntentToAdd != 0 {
		extended |= 0x2000
	}
	if extended != 0 {
		flags |= 0x4000
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	if extended != 0 {
		b = binary.BigEndian.AppendUint16(b, extended)
	}
	b = append(b, e.path...)
	// One to eight NULs up to a multiple of eight.
	return append(b, make([]byte, 8-(len(b)-start)%8)...)
}

// treeNode is a folder of the index on the way to a tree object.
type treeNode struct {
	name    string
	body    bytes.Buffer // of the tree object so far
	entries int
	subs    []*treeNode
	bad     bool // no tree can be known for it
	oid     []byte
}

// rootTree names the tree that a commit of the index would have; "" when it
// can have none.
func rootTree(entries []indexEntry, size int) string {
	root := trees(entries, size)
	if root == nil || root.bad {
		return ""
	}
	return hex.EncodeToString(root.oid)
}

// cachedTrees is the index's TREE extension, so that git need not read trees
// to compare the index with HEAD. nil when the index has conflicts.
func cachedTrees(entries []indexEntry, size int, has func(oid []byte) bool) []byte {
	root := trees(entries, size)
	if root == nil {
		return nil
	}
	if !root.bad && has(root.oid) {
		has = func([]byte) bool { return true } // and so all that it is made of
	}
	return root.append(nil, has)
}

// trees computes the tree objects of an index without conflicts.
func trees(entries []indexEntry, size int) *treeNode {
	root := &treeNode{}
	stack := []*treeNode{root}
	paths := []string{""} // with a slash at the end, but for the root
	pop := func() {
		top := stack[len(stack)-1]
		stack, paths = stack[:len(stack)-1], paths[:len(paths)-1]
		parent := stack[len(stack)-1]
		top.seal(size)
		parent.subs = append(parent.subs, top)
		parent.entries += top.entries
		parent.bad = parent.bad || top.bad
		parent.line("40000", top.name, top.oid)
	}
	for i := range entries {
		e := &entries[i]
		if e.stage != 0 {
			return nil
		}
		for !strings.HasPrefix(e.path, paths[len(paths)-1]) {
			pop()
		}
		for {
			rest := e.path[len(paths[len(paths)-1]):]
			name, _, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			stack = append(stack, &treeNode{name: name})
			paths = append(paths, paths[len(paths)-1]+name+"/")
		}
		top := stack[len(stack)-1]
		top.entries++
		if e.flags&flagIntentToAdd != 0 {
			top.bad = true
			continue
		}
		_, name := split(e.path)
		top.line(strconv.FormatUint(uint64(e.mode), 8), name, e.oid[:size])
	}
	for len(stack) > 1 {
		pop()
	}
	root.seal(size)
	return root
}

func (t *treeNode) line(mode, name string, oid []byte) {
	t.body.WriteString(mode)
	t.body.WriteByte(' ')
	t.body.WriteString(name)
	t.body.WriteByte(0)
	t.body.Write(oid)
}

func (t *treeNode) seal(size int) {
	h := newHash(size)
	h.Write(append(strconv.AppendInt([]byte("tree "), int64(t.body.Len()), 10), 0))
	h.Write(t.body.Bytes())
	t.oid = h.Sum(nil)
	t.body = bytes.Buffer{}
}

func (t *treeNode) append(b []byte, has func([]byte) bool) []byte {
	known := !t.bad && has(t.oid)
	b = append(b, t.name...)
	b = append(b, 0)
	if known {
		b = strconv.AppendInt(b, int64(t.entries), 10)
	} else {
		b = append(b, "-1"...)
	}
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(t.subs)), 10)
	b = append(b, '\n')
	if known {
		b = append(b, t.oid...)
	}
	for _, s := range t.subs {
		b = s.append(b, has)
	}
	return b
}
