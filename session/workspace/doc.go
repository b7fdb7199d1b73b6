// Package workspace owns copy-in: finding the repository, choosing what goes
// into a session, copying it, and giving the copy a .git of its own. It is
// what a start calls, in the calling process, before anything inside runs.
//
// The host's repository is listed by the host's own git, with hooks, filters,
// file-system monitors, transports and optional locks off, and is only ever
// read. Files are copied from directory descriptor to directory descriptor,
// never through a link. No git runs on a workspace: the .git in it is written
// by this package. Goroutines and children end before a call returns.
//
// What this does not cover: what a copied file means (a build script is copied
// like any other), and secrets that look like nothing.
package workspace

import (
	"fmt"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// RefusedError is a folder that is never brought into a session.
type RefusedError struct {
	Path string
	Why  string
	Hint string // advice, apart from the error's text
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Why) }

// NoSpaceError is a workspace that would not fit, seen before anything is
// written or when the disk filled up on the way; nothing of it is left.
type NoSpaceError struct {
	Path       string
	Need, Free int64 // bytes; Need is 0 when the disk filled up on the way
}

func (e *NoSpaceError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("copy into %q: the disk is full; nothing of the copy was left there", e.Path)
	}
	return fmt.Sprintf("copy into %q: needs about %d MiB, %d MiB are free", e.Path, e.Need>>20, e.Free>>20)
}

// Repo is a repository, or a plain folder, as it was when Inspect looked.
type Repo struct {
	Root       string // the top of the work tree, absolute, links resolved
	Git        bool   // false: a plain folder, and all fields of git are empty
	GitDir     string // of this work tree
	CommonDir  string // of the repository; differs from GitDir when Linked
	Branch     string // full name of the branch that HEAD is on; "" when Detached
	Head       string // commit, hex; "" when Unborn
	Unborn     bool   // no commit yet
	Detached   bool
	Linked     bool // a linked work tree
	Shallow    bool
	Sparse     bool
	Format     string // of object names: "sha1" or "sha256"
	RootDev    uint64
	RootIno    uint64
	GitDev     uint64 // of GitDir
	GitIno     uint64
	home       string
	git        *hostGit
	headTree   string // hex; "" when Unborn
	config     config
	excludes   string // text of the account's own ignore file, or one of the repository's in its place
	foreign    string // an ignore file outside that the repository's configuration names
	attributes string // text of the account's own attributes file
}

// hashSize is the length of the repository's object names in bytes.
func (r *Repo) hashSize() int {
	if r.Format == "sha256" {
		return 32
	}
	return 20
}

// Origin is why a file goes in.
type Origin uint8

// The origins, as the start screen counts them.
const (
	Tracked   Origin = iota + 1 // by git, as it is in the work tree
	Untracked                   // and not ignored; everything in a plain folder
	Included                    // ignored, but named by the policy
	Depends                     // ignored, a dependency folder that "auto" brings
	Nested                      // of a submodule or a repository inside, as plain files
)

// File is one chosen path.
type File struct {
	Path   string
	Origin Origin
	Info   beneath.Info // at the time of Choose
	index  int32        // in Selection.index, or -1
}

// Selection is what goes into a workspace and what stays out.
type Selection struct {
	Files   []File
	LeftOut []diffreview.LeftOut
	// Dependencies are those of LeftOut that "auto" would include, where nothing is
	// included.
	Dependencies []diffreview.LeftOut
	Notes        []string // sentences that an engineer should read before the start
	Bytes        int64    // of all files
	Untracked    int      // files
	Dirty        int      // tracked files that differ from the index by their stat, or are gone
	Gone         []string // tracked files that are not in the work tree
	Repos        []string // submodules and nested repositories, whose files go in as plain ones

	history   string
	exclude   *baseline.Ignore
	index     []indexEntry
	indexTime int64 // mtime of the index, nanoseconds
	converts  bool  // some file's bytes may differ from its blob though git calls it clean
	skipped   map[string]bool
	roots     []baseline.IgnoreFile // exclude files of Repos
	dirs      []string              // folders to make though no file is in them
}

// Options are the parts of a policy that choose files.
type Options struct {
	// Include are patterns of git's kind: ignored files that go in all the
	// same. The word "auto" stands for dependency folders.
	Include []string
	// Exclude are patterns of what never goes in, tracked or not.
	Exclude []string
	// History is "head", "all" or "none".
	History string
	// Progress is told how far Choose is; nil is nobody.
	Progress Progress
}

// Progress is told of files done of so many, and bytes done. It is called from
// one goroutine at a time, at least each half second.
type Progress func(done, total int, bytes int64)

// Owner is who the workspace is to belong to, when root starts a session.
type Owner struct{ UID, GID int }
