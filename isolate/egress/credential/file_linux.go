package credential

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const maxFile = 1 << 20

// readFile reads a file source, anew each time: whoever refreshes a token
// writes it there.
func readFile(name string, never []string) ([]byte, error) {
	p, err := find(name, never)
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK a fifo put there meanwhile would hold up the keeper.
	fd, err := unix.Open(p.path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, plain(err)
	}
	f := os.NewFile(uintptr(fd), "credential")
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, plain(err)
	}
	if st.Dev != p.stat.Dev || st.Ino != p.stat.Ino || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("it was replaced while it was opened")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, plain(err)
	case len(b) > maxFile:
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return b, nil
}
