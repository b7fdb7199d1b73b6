// Command fumehood runs coding agents behind walls on this machine and brings
// back only what an engineer approved. This package parses and prints; all
// that it does lies in session and below.
package main

import (
	"os"

	"fumehood/isolate/doctor"
	"fumehood/isolate/egress/credential"
	"fumehood/isolate/stage"
	"fumehood/isolate/walls/probe"
	"fumehood/session/bundle"
	"fumehood/session/supervisor"
	"fumehood/ui"
)

func main() {
	// The re-executed processes come first: each ends the process itself.
	stage.Dispatch()
	credential.Dispatch()
	probe.Dispatch()
	doctor.Dispatch()
	supervisor.Dispatch()
	bundle.Dispatch(ui.Edit)
	os.Exit(execute(os.Args[1:]))
}
