// Package beneath owns reading a folder whose content someone hostile wrote.
// Every access is relative to a directory descriptor and resolved by the
// kernel (openat2) beneath it, through no symbolic link and no magic link, so
// that nothing that is swapped in during the access can lead outside. Opens
// never block: fifos, sockets and devices are never opened, and a file under a
// lease is reported as busy.
//
// Names are raw bytes: slash-separated, relative, clean. The package writes
// nothing, follows nothing, and starts no goroutine that outlives a call.
//
// What this does not cover: hard links (a file that has a second name outside
// is read like any other) and what a file's bytes mean.
package beneath

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what an entry is.
type Kind uint8

// The kinds. Other is a fifo, socket or device: never opened.
const (
	Regular Kind = iota + 1
	Directory
	Symlink
	Other
)

func (k Kind) String() string {
	switch k {
	case Regular:
		return "file"
	case Directory:
		return "folder"
	case Symlink:
		return "link"
	case Other:
		return "special file"
	}
	return "nothing"
}

// Info is what lstat says of an entry.
type Info struct {
	Kind   Kind
	Mode   uint32 // st_mode as the kernel gives it, type bits included
	UID    uint32
	GID    uint32
	Size   int64 // bytes; of a link, the length of its target
	Blocks int64 // of 512 bytes: what it takes on disk
	Dev    uint64
	Ino    uint64
	Nlink  uint64
	Mtime  int64 // nanoseconds since 1970
	Ctime  int64 // nanoseconds since 1970
}

// Special names what an entry of kind Other is, for a message.
func (i Info) Special() string {
	switch i.Mode & 0o170000 {
	case 0o010000:
		return "fifo"
	case 0o140000:
		return "socket"
	case 0o020000:
		return "character device"
	case 0o060000:
		return "block device"
	}
	return "special file"
}

var (
	// ErrNotRegular is an OpenFile of something that is not a regular file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrBusy is a file that another process holds under a lease, so that an
	// open would have to wait for it.
	ErrBusy = errors.New("held under a lease by another process")
	// ErrPath is a name that is not relative and clean.
	ErrPath = errors.New("not a clean relative path")
	// ErrChanged is a file that became another one between two looks.
	ErrChanged = errors.New("changed while it was opened")
)

// Check says whether rel is a clean relative path: no empty, "." or ".."
// component, no leading or trailing slash, no NUL.
func Check(rel string) error {
	if rel == "" || strings.IndexByte(rel, 0) >= 0 {
		return fmt.Errorf("%w: %q", ErrPath, rel)
	}
	for rest := rel; ; {
		name, after, more := strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("%w: %q", ErrPath, rel)
		}
		if !more {
			return nil
		}
		rest = after
	}
}

// Limits bound a Walk. A zero field takes the default beside it.
type Limits struct {
	Entries int           // names seen; 4,000,000
	Depth   int           // levels below the start; 256
	Time    time.Duration // 2 minutes
	Workers int           // 2; more than the cores gains nothing
	// KindsOnly leaves everything in Entry.Info but Kind (and, of a special
	// file, its type in Mode) at zero, where the file system can tell kinds
	// without a look at each file. Much faster.
	KindsOnly bool
}

func (l Limits) orDefault() Limits {
	if l.Entries == 0 {
		l.Entries = 4_000_000
	}
	if l.Depth == 0 {
		l.Depth = 256
	}
	if l.Time == 0 {
		l.Time = 2 * time.Minute
	}
	if l.Workers == 0 {
		l.Workers = 2
	}
	return l
}

// Entry is one name that a Walk met.
type Entry struct {
	Name string // one component, raw bytes
	Info
	// Skip is set by the visitor on a folder that is not to be entered.
	Skip bool
}

// Finding is a place that a Walk did not enter, and why.
type Finding struct {
	Path   string
	Reason string // a few words, such as "another mount" or "permission denied"
}

// Walked is how a Walk ended. Complete is false when a limit cut it short;
// then Findings names the limit. A finding on a single folder (unreadable,
// another mount, too deep) leaves Complete true: the rest was seen.
type Walked struct {
	Entries  int
	Complete bool
	Findings []Finding
	// Vanished is how many names were gone before their Info could be read. They
	// are in no other count.
	Vanished int
}

// maxFindings bounds Walked.Findings: a tree of unreadable folders is one
// message, not a million.
const maxFindings = 1000

// Join adds a name to a folder's path; the start of a walk is "".
func Join(dir, name string) string {
	switch "" {
	case dir:
		return name
	case name:
		return dir
	}
	return dir + "/" + name
}
