package isolate

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// Egress gives the sockets that the stage opened in the session's network
// namespace: what comes in on the first is for the egress proxy, the second
// takes lookups of names. It gives them once; the caller closes them.
func (s *Sandbox) Egress() (proxy net.Listener, names net.PacketConn, err error) {
	err = errors.New("this session has no way out, or it was given away already")
	s.egressOnce.Do(func() {
		if len(s.egress) != 2 {
			return
		}
		l, n := os.NewFile(uintptr(s.egress[0]), "egress"), os.NewFile(uintptr(s.egress[1]), "names")
		defer l.Close() // the net package has its own
		defer n.Close()
		if proxy, err = net.FileListener(l); err != nil {
			err = fmt.Errorf("take the egress proxy's listener over: %w", err)
			return
		}
		if names, err = net.FilePacketConn(n); err != nil {
			err = errors.Join(fmt.Errorf("take the socket for names over: %w", err), proxy.Close())
		}
	})
	return proxy, names, err
}

// egressFacts looks whether the sockets are what they should be: the session's
// own, on its loopback. One of the host's would be reachable by everybody here.
func egressFacts(first int, fds []int) (Facts, error) {
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", first))
	if err != nil {
		return nil, err
	}
	var out Facts
	for i, what := range []string{"egress proxy's socket", "socket for names"} {
		at, err := unix.Getsockname(fds[i])
		if err != nil {
			return nil, fmt.Errorf("getsockname: %w", err)
		}
		ns, err := unix.IoctlRetInt(fds[i], unix.SIOCGSKNS)
		if err != nil {
			return nil, fmt.Errorf("ioctl SIOCGSKNS: %w", err)
		}
		got, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ns))
		if err := errors.Join(err, unix.Close(ns)); err != nil {
			return nil, err
		}
		in4, ok := at.(*unix.SockaddrInet4)
		f := layer.Fact{Layer: layer.Namespaces, What: what, Source: "getsockname, SIOCGSKNS", OK: ok && got == want}
		if ok {
			f.Value = fmt.Sprintf("%s port %d of %s", net.IP(in4.Addr[:]), in4.Port, got)
			f.OK = f.OK && in4.Addr == [4]byte{127, 0, 0, 1} && in4.Port == []int{plan.ProxyPort, plan.NamesPort}[i]
		}
		out = append(out, f)
	}
	return out, nil
}
