// Package apply writes approved changes to the host's repository, and takes
// them back. It is the only code that changes a user's work tree.
//
// What it promises: byte for byte the approved content, below the repository's
// root and nowhere else, through no symlink, never inside a git folder; all of
// it or nothing, over kill -9 at any point; nothing that the user or another
// program wrote is lost, a file that changed in the meantime is a conflict; and
// each apply can be undone while its files are as it left them.
//
// How: every change is journaled before it is made. New content is written to
// files that have no name yet (or a temporary one that the journal knows),
// swapped in by rename, and the displaced file is then compared with what was
// expected. Whatever interrupts this, Recover finds each file in one of a few
// known states and puts everything back, or finishes when all swaps were made.
//
// The package decides nothing: what is approved comes in as targets, and
// whether a conflict is an error is up to the caller. It starts no goroutine
// and no process.
//
// What this does not cover: extended attributes of deleted files, hard links
// (a written file is a new inode) and the times of folders are not restored by
// Undo. A watcher of the tree sees intermediate states. It needs openat2
// (Linux 5.6) and a file system that can exchange two names: that is tried with
// files of its own before any of the user's is moved, and refused with the reason.
package apply
