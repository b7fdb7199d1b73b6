// Package stage is what fumehood becomes inside a sandbox. Re-executed in fresh
// namespaces it is PID 1: it builds the root that the plan says, closes one
// layer after the other around itself, starts the spawner inside the session's
// one Landlock domain, and then only reaps, watches and ends. Re-executed once
// more it is the spawner, which starts commands on request.
//
// It decides nothing: the plan comes from the starter, and whatever can't be
// carried out ends it with the layer and the errno. Nothing but main (and a
// test binary's TestMain) calls it, by Dispatch. Its goroutines live as long as
// the process.
//
// What this does not cover: network egress, disk use, memory over the whole
// tree. It needs a build without cgo, where the Go runtime can run a system
// call on every thread.
package stage

import (
	"os"
	"runtime"

	"fumehood/isolate/meter"
)

// The words after the program's name that make it a stage or a spawner.
const (
	argStage   = "__stage"
	argSpawner = "__spawner"
)

// The main thread is the one that /proc/1/status speaks of, and the main
// goroutine is on it only during initialisation, so it is held from here.
func init() {
	if is(argStage) || is(argSpawner) {
		runtime.LockOSThread()
	}
}

func is(word string) bool { return len(os.Args) == 2 && os.Args[1] == word }

// Dispatch returns at once, unless this process was started to be a stage, a
// spawner or a meter: then it never returns. It has to be the first call of main.
func Dispatch() {
	switch {
	case is(argStage):
		os.Exit(runStage())
	case is(argSpawner):
		os.Exit(runSpawner())
	case is(meter.Arg):
		os.Exit(meter.Run())
	}
}
