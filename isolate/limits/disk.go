package limits

import (
	"fmt"
	"time"
)

// How disk is looked at. Free space costs a microsecond to ask for, the folders
// themselves tens of milliseconds to walk: they are walked only when it can
// matter.
const (
	DiskEvery   = 50 * time.Millisecond // free space, while something inside works
	diskAgain   = 5 * time.Second       // a walk, when free space moved at all: others may free some meanwhile
	diskRest    = 4                     // a walk at most every so many times as long as one takes
	diskLeast   = 1 << 20               // bytes that are never worth a walk
	diskEntry   = 4 << 10               // bytes of the limit for each name
	diskEntries = 10_000                // names that every limit allows
)

// DiskEntries is how many names a session may have under a limit in bytes:
// inodes are the host's too.
func DiskEntries(limit int64) int { return int(max(limit/diskEntry, diskEntries)) }

// DiskUse is what a walk found.
type DiskUse struct {
	Bytes   int64 // blocks, each inode once
	Entries int
	// Hidden is how many folders could not be looked into, and how many names
	// were gone when they were looked at: moved, perhaps, to where the walk had
	// been already. What they hold is not in Bytes.
	Hidden int
	// More says that the walk was ended because there are more names than the
	// limit allows.
	More bool
	Took time.Duration
}

// Disk decides when the folders of a session have to be walked, and whether
// what was found is over the limit. The zero value with Limit set is ready.
type Disk struct {
	Limit int64
	// FreeNames is how many names were free before the last walk; the caller
	// sets it with each.
	FreeNames int64

	names  int // the last walk found
	walked bool
	at     time.Time // of the last walk
	rest   time.Duration
	free   int64 // before it
	used   int64
	// Before the last walk that saw everything: free space, and what it found.
	clearFree, clearUsed int64
}

// Begin takes the free space before anything runs: what is hidden from the
// first walk on was closed by an earlier run, or faster than the walk.
func (d *Disk) Begin(free int64) { d.clearFree = free }

// Due says whether a walk could find the limit reached, given free bytes of the
// file system. Since the last walk the session can't have grown by more than
// free space shrank.
func (d *Disk) Due(free int64, now time.Time) bool {
	if !d.walked {
		return true
	}
	since := now.Sub(d.at)
	if since < d.rest {
		return false // walks must not keep a processor busy
	}
	if since >= diskAgain && free != d.free {
		return true
	}
	return d.free-free >= max((d.Limit-d.used)/2, diskLeast)
}

// DueNames is Due for names: a name without content takes no block. Where a file
// system counts none they are found with the walks of Due.
func (d *Disk) DueNames(free int64, now time.Time) bool {
	if !d.walked || now.Sub(d.at) < d.rest {
		return !d.walked
	}
	return d.FreeNames-free >= int64(max((DiskEntries(d.Limit)-d.names)/2, namesLeast))
}

// namesLeast is how many names are never worth a walk.
const namesLeast = 500

// Last says whether a walk could find anything new, for the last look when
// everything inside has ended. Others may have freed as much as was written, so
// any movement counts.
func (d *Disk) Last(free int64) bool {
	return d.Limit > 0 && (!d.walked || free != d.free)
}

// Found takes what a walk found, which began when free bytes were free. deleted
// is what open files without a name take.
func (d *Disk) Found(u DiskUse, deleted, free int64, now time.Time) (used string, over bool) {
	total := u.Bytes + deleted
	if u.Hidden == 0 {
		d.clearFree, d.clearUsed = free, total
	}
	d.walked, d.at, d.rest, d.free, d.used, d.names = true, now, diskRest*u.Took, free, total, u.Entries
	switch {
	case u.More || u.Entries > DiskEntries(d.Limit):
		return fmt.Sprintf("more than %d names", DiskEntries(d.Limit)), true
	case total > d.Limit:
		return Bytes(total), true
	}
	// What lies in a folder that was closed to its own owner, or is moved about
	// while it is looked for, is charged by what the file system lost since all
	// could be seen and nothing else explains.
	if lost := d.clearUsed + d.clearFree - free; lost > d.Limit && u.Hidden > 0 {
		return Bytes(lost) + ", in part where it can't be seen", true
	}
	return Bytes(total), false
}

// DiskLine describes the limit on disk.
func DiskLine(bytes int64) Line {
	if bytes <= 0 {
		return Line{Name: "disk", Value: "none", How: None}
	}
	return Line{
		Name: "disk", Value: Bytes(bytes), How: Sampled,
		Note: fmt.Sprintf("workspace, home and caches: free space sampled every %v at work, %v at rest, can overshoot by what is written until the walk that follows; one file by the kernel; at most %d names", DiskEvery, RestEvery, DiskEntries(bytes)),
	}
}
