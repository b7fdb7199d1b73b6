package isolate_test

import (
	"os/signal"
	"syscall"
	"testing"
)

// A program above may ignore signals, those that the C library reserves (32 to
// 34) among them: what is ignored stays so across every exec, and the agent's
// own children could not be ended by it.
func TestSignalsIgnoredAboveAreNotIgnoredInside(t *testing.T) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGUSR1, syscall.Signal(32), syscall.Signal(34), syscall.Signal(40))
	defer signal.Reset()
	s := start(t, spec(t))
	sh(t, s, "grep SigIgn /proc/self/status").must(t, "SigIgn:\t0000000000000000")
}
