package supervisor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// listen opens the session's socket. The name is reached through the folder's
// descriptor, since a state folder's path may be longer than a socket's name
// may be (108 bytes, unix(7)).
func (s *supervisor) listen() (*net.UnixListener, error) {
	fd, err := unix.Open(string(s.dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open session folder: %w", err)
	}
	defer unix.Close(fd)
	_ = os.Remove(filepath.Join(string(s.dir), socketName)) // of a supervisor that was killed; what stays makes the listening fail
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", fd, socketName), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open session socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// checkPeer lets in the account itself and root, whatever the socket's mode.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return credErr
	}
	if int(cred.Uid) != os.Geteuid() && cred.Uid != 0 {
		return fmt.Errorf("peer has uid %d, the session belongs to %d", cred.Uid, os.Geteuid())
	}
	return nil
}
