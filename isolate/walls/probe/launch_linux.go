package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// launchChildren starts another sandbox's command from a process of its own:
// the wait of whoever starts a command would else take away the stops of one
// that it traces as well (wait4(2) reports them to every thread of a tracer's
// process).
var launchChildren = map[string]func([]string) int{"launch": launch}

// Launch is the first argument that makes a probe's file start its other
// arguments as a command, wait for it and end as it does.
const Launch = "launch"

func launch(words []string) int {
	if len(words) == 0 {
		return 2
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "launch: %v\n", err)
		return 127
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}
