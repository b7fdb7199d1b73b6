package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func markOf(path string) (Mark, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Mark{}, &os.PathError{Op: "look at", Path: path, Err: err}
	}
	return Mark{Path: path, Size: st.Size, Time: time.Unix(st.Mtim.Unix()), Ino: st.Ino}, nil
}

// readProof reads a regular file of the account's own and nothing else: neither
// a link nor a pipe that lies in its place.
func readProof(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("wall-test record: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("wall-test record: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || fi.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("wall-test record %s: not a regular file that only this account can write; it proves nothing", path)
	}
	if fi.Size() > maxProof {
		return nil, fmt.Errorf("wall-test record %s: %d bytes, the limit is %d", path, fi.Size(), maxProof)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxProof))
	if err != nil {
		return nil, errors.Join(errors.New("wall-test record "+path+" can't be read"), err)
	}
	return b, nil
}
