package session

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func signalName(n int) string {
	if s := unix.SignalName(unix.Signal(n)); s != "" {
		return s
	}
	return fmt.Sprintf("signal %d", n)
}
