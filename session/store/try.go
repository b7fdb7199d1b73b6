package store

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Trials is what became of the tries of what was approved.
func (d Dir) Trials() string { return filepath.Join(string(d), "trials.json") }

// HoldTry marks the folder as a try's for as long as this process exists, or
// until release.
func (d Dir) HoldTry() (release func(), err error) {
	return flock(filepath.Join(string(d), "try"), unix.LOCK_EX|unix.LOCK_NB)
}

// TryHeld tells whether the process that made the try is still there.
func (d Dir) TryHeld() bool { return locked(filepath.Join(string(d), "try")) }
