package stage

import (
	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
)

// listenOutside makes an abstract socket that belongs to PID 1, outside the
// session's Landlock domain. The starter gets it, and sees by it whether the
// spawner's knock came through: of the scopes nothing else shows outside.
func listenOutside(nonce string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	err = unix.Bind(fd, knockAt(nonce))
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		_ = unix.Close(fd) // unused
		return -1, err
	}
	return fd, nil
}

// knock tries what the scopes refuse. What came of it only the starter says.
func knock(nonce string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return
	}
	_ = unix.Connect(fd, knockAt(nonce)) // refused is what it should be
	_ = unix.Close(fd)                   // it carried nothing
}

func knockAt(nonce string) unix.Sockaddr {
	return &unix.SockaddrUnix{Name: "@" + plan.Hostname + "-" + nonce}
}
