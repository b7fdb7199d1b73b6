package baseline

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// Read gives a whole blob. It fails when it is larger than limit bytes or its
// bytes are not those of its name.
//
// A review reads thousands of small blobs, so it takes four system calls for
// each: package os would take eight.
func (s *Blobs) Read(b diffreview.Blob, limit int64) ([]byte, error) {
	want, ok := SumOf(b)
	if !ok {
		return nil, fmt.Errorf("not the name of a blob: %q", b)
	}
	path := s.Path(b)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	for errors.Is(err, unix.EINTR) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", b, err)
	}
	defer unix.Close(fd) // read-only
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", b, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("read blob %s: not a file: %w", b, ErrDamaged)
	}
	if st.Size > limit {
		return nil, fmt.Errorf("read blob %s: %d bytes, more than the limit of %d", b, st.Size, limit)
	}
	// Whether more was appended meanwhile need not be looked for: the bytes up to
	// here are those of the name or they are not.
	out := make([]byte, st.Size)
	for at := 0; at < len(out); {
		n, err := unix.Read(fd, out[at:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read blob %s: %w", b, err)
		}
		if n == 0 {
			return nil, fmt.Errorf("read blob %s: %w", b, ErrDamaged)
		}
		at += n
	}
	if sha256.Sum256(out) != want {
		return nil, fmt.Errorf("read blob %s: %w", b, ErrDamaged)
	}
	return out, nil
}
