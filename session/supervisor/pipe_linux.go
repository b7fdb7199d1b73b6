package supervisor

import (
	"os"

	"golang.org/x/sys/unix"
)

// blockingPipe makes a pipe of which only our end is non-blocking: the mode
// belongs to the open file, and programs expect streams that block.
func blockingPipe(oursWrites bool) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	ours := fds[0]
	if oursWrites {
		ours = fds[1]
	}
	if err := unix.SetNonblock(ours, true); err != nil {
		_ = unix.Close(fds[0]) // empty, and the first error is the one to tell
		_ = unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), os.NewFile(uintptr(fds[1]), "pipe"), nil
}
