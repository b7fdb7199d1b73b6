package apply

import "fumehood/diffreview"

// Kinds of a host path that are never written, only recognised.
const (
	kindFolder  diffreview.Kind = "folder"
	kindSpecial diffreview.Kind = "special" // fifo, socket, device
)

// state is all that apply keeps of one path: what stands there or shall stand
// there. The zero state is "absent".
type state struct {
	Kind   diffreview.Kind `json:"kind"`
	Blob   diffreview.Blob `json:"blob,omitempty"`
	Size   int64           `json:"size,omitempty"`
	Target raw             `json:"target,omitempty"`
	Mode   uint32          `json:"mode,omitempty"`  // permission bits of a file, 07777
	Mtime  int64           `json:"mtime,omitempty"` // nanoseconds since 1970
	UID    uint32          `json:"uid,omitempty"`
	GID    uint32          `json:"gid,omitempty"`
	// Restore: a state to be written brings its time and owner along. Without
	// it the time is now, and a new file's owner its folder's.
	Restore bool `json:"restore,omitempty"`
	// As it was seen: a cheap first look before the real comparison. Not kept.
	ino   uint64
	ctime int64
}

func (s state) absent() bool { return s.Kind == diffreview.KindAbsent }

// entry is the state as a change set sees it.
func (s state) entry() diffreview.Entry {
	switch s.Kind {
	case diffreview.KindFile:
		return diffreview.Entry{Kind: s.Kind, Exec: s.Mode&0o100 != 0, Blob: s.Blob, Size: s.Size}
	case diffreview.KindSymlink:
		return diffreview.Entry{Kind: s.Kind, Target: string(s.Target)}
	case diffreview.KindAbsent:
	}
	return diffreview.Entry{Kind: s.Kind}
}

// sameEntry compares what a change set knows of two entries. The size is left
// out: it follows from the blob, and a caller may not have filled it.
func sameEntry(a, b diffreview.Entry) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == diffreview.KindFile:
		return a.Blob == b.Blob && a.Exec == b.Exec
	case a.Kind == diffreview.KindSymlink:
		return a.Target == b.Target
	}
	return true
}

// same compares content and permissions, so that a chmod in the meantime counts
// as the edit that it is. Times and owners are not compared: they change
// without anybody's work being at stake.
func same(a, b state) bool {
	return sameEntry(a.entry(), b.entry()) && (a.Kind != diffreview.KindFile || a.Mode == b.Mode)
}

// written gives the state to write so that found becomes want. An existing
// file keeps its permissions but for the executable bits, which follow the read
// bits as git has it; a new one gets 0644 or 0755 whatever the umask. No
// setuid, setgid or sticky bit is ever written.
func written(found state, want diffreview.Entry) state {
	switch want.Kind {
	case diffreview.KindSymlink:
		return state{Kind: want.Kind, Target: raw(want.Target), UID: found.UID, GID: found.GID}
	case diffreview.KindFile:
	default:
		return state{}
	}
	to := state{Kind: want.Kind, Blob: want.Blob, Size: want.Size, UID: found.UID, GID: found.GID}
	if found.Kind != diffreview.KindFile {
		to.Mode = 0o644
		if want.Exec {
			to.Mode = 0o755
		}
		return to
	}
	to.Mode = withExec(found.Mode&0o777, want.Exec)
	if found.Blob == want.Blob {
		// Only the mode changes: a new time would make build tools rebuild.
		to.Mtime, to.Size, to.Restore = found.Mtime, found.Size, true
	}
	return to
}

func withExec(mode uint32, exec bool) uint32 {
	if exec == (mode&0o100 != 0) {
		return mode
	}
	if exec {
		return mode | 0o100 | mode&0o444>>2
	}
	return mode &^ 0o111
}

// restored gives the state to write so that what an apply left becomes what it
// had found. A chmod made since is kept but for the executable bit.
func restored(found, left, orig state) state {
	to := orig
	to.Mode &= 0o777
	to.Restore = !orig.absent()
	if found.Kind == diffreview.KindFile && orig.Kind == diffreview.KindFile && found.Mode != left.Mode {
		to.Mode = withExec(found.Mode&0o777, orig.Mode&0o100 != 0)
	}
	return to
}
