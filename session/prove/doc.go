// Package prove runs the sixteen wall tests: it starts real sessions with the
// policy that an agent would have, runs fumehood's own probe in them, and
// judges each attempt by witnesses outside. Each test is a table of rows, in a
// file of its own; run.go goes through them.
//
// It may be called by the command line and the workbench. Whatever it makes
// lies in one folder of the state folder, below walls/, with a few marked files
// elsewhere on the host as targets; all of it is gone when Run returns, and what
// an earlier run that was killed left is taken away by the next.
//
// Goroutines: those of a room end with its close; Run waits for them.
//
// What this does not cover: a policy other than the one it was given, and
// walls on another machine, kernel or build (a record names them, and is stale
// elsewhere).
package prove
