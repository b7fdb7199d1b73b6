// Package baseline owns what a workspace was before the first process inside
// it ran, and what it is at a snapshot: the stat manifest, the ignore rules as
// they were then, the session's own store of content, and the comparison.
//
// A workspace is read only through package beneath, while its processes are
// stopped. Nothing in it is executed or interpreted: no git, no attribute, no
// filter; the .gitignore files that count are those of the baseline, evaluated
// by a matcher of our own. Content is named by SHA-256 and checked when it is
// read. Nothing here reads the host's repository, so a baseline stays whole
// when that is repacked or deleted. No goroutine outlives a call.
//
// What this does not cover: whether the caller really stopped every process
// (a file that changes while it is read is torn, and then frozen so), and two
// callers at once on one store (the lock on the session folder is theirs).
package baseline

import "path/filepath"

// Dirs are the two folders of a session that this package works on.
type Dirs struct {
	Workspace string // the copy that the sandbox changes
	Store     string // ours: manifest, blobs, git objects, snapshot
}

// The names in a store.
const (
	manifestName = "manifest"
	snapshotName = "snapshot.json"
	blobsName    = "blobs"
	gitName      = "git"
)

// GitDir is the folder for git objects of the baseline: packs below
// objects/pack, written at copy-in by the host's git and only read after.
func (d Dirs) GitDir() string { return filepath.Join(d.Store, gitName) }

// BlobsDir is the folder of the content store.
func (d Dirs) BlobsDir() string { return filepath.Join(d.Store, blobsName) }
