package stage

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
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

// backlog is how many connections wait to be taken by the proxy.
const backlog = 512

// openEgress opens the proxy's sockets in the session's network namespace. They
// are served from outside by who gets them, and by nobody else: no port of the
// host is involved.
func openEgress(wanted bool) ([]int, error) {
	if !wanted {
		return nil, nil
	}
	tcp, udp := plan.ProxyPort, plan.NamesPort
	if leftOut == plan.NetNS {
		tcp, udp = 0, 0 // these would be the host's own ports
	}
	l, err := bound(unix.SOCK_STREAM, tcp)
	if err != nil {
		return nil, err
	}
	if err := unix.Listen(l, backlog); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	n, err := bound(unix.SOCK_DGRAM, udp)
	if err != nil {
		return nil, err
	}
	return []int{l, n}, nil
}

func bound(kind, port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, fmt.Errorf("bind port %d: %w", port, err)
	}
	return fd, nil
}

// shortQueues bounds what waits in each of the session's own TCP connections. It
// is memory of the kernel's, counted for the whole machine (tcp_mem in tcp(7)):
// at the usual bounds of some MiB a few hundred connections would take it from
// everybody. Over a loopback more is of no use.
func shortQueues(sys string) error {
	for name, bounds := range map[string]string{"tcp_wmem": "4096 16384 262144", "tcp_rmem": "4096 131072 262144"} {
		if err := writeFile(sys+"/net/ipv4/"+name, bounds); err != nil {
			return fmt.Errorf("write net.ipv4.%s: %w", name, err)
		}
	}
	return nil
}
