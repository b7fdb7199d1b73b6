package stage

import (
	"errors"

	"golang.org/x/sys/unix"
)

// loopbackUp lets the session's own servers be reached by the session. It is
// the only interface there is.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	return errors.Join(err, unix.Close(fd))
}
