package prove

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ipSock is a place on a network.
func ipSock(kind, proto int, ip netip.Addr, port uint16, scope uint32) sock {
	p := sock{kind: kind, proto: proto}
	if ip.Is4() {
		p.domain, p.addr = unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: ip.As4()}
	} else {
		p.domain, p.addr = unix.AF_INET6, &unix.SockaddrInet6{Port: int(port), Addr: ip.As16(), ZoneId: scope}
	}
	p.name = sockName(p)
	return p
}

// unixSock is a unix socket; "@" in front makes its name abstract.
func unixSock(kind int, name string) sock {
	p := sock{domain: unix.AF_UNIX, kind: kind, addr: &unix.SockaddrUnix{Name: name}}
	p.name = sockName(p)
	return p
}

// sockName is a place as a person writes it.
func sockName(p sock) string {
	kind := map[[3]int]string{
		{unix.AF_INET, unix.SOCK_STREAM, 0}: "TCP", {unix.AF_INET6, unix.SOCK_STREAM, 0}: "TCP", {unix.AF_INET, unix.SOCK_DGRAM, 0}: "UDP", {unix.AF_INET6, unix.SOCK_DGRAM, 0}: "UDP",
		{unix.AF_UNIX, unix.SOCK_STREAM, 0}: "unix", {unix.AF_UNIX, unix.SOCK_DGRAM, 0}: "unix datagram", {unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}: "unix packet",
		{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}: "SCTP", {unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}: "UDP-Lite",
	}[[3]int{p.domain, p.kind, p.proto}]
	if kind == "" {
		kind = fmt.Sprintf("socket %d/%d/%d", p.domain, p.kind, p.proto)
	}
	switch a := p.addr.(type) {
	case *unix.SockaddrInet4:
		return kind + " " + netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr)
		if a.ZoneId != 0 {
			ip = ip.WithZone(strconv.Itoa(int(a.ZoneId)))
		}
		return kind + " " + netip.AddrPortFrom(ip, uint16(a.Port)).String()
	case *unix.SockaddrUnix:
		return kind + " " + a.Name
	}
	return kind
}

// portOf is an address's port, 0 for one that has none.
func portOf(addr unix.Sockaddr) int {
	switch a := addr.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

// unixName is a unix socket's name, "" for any other.
func unixName(addr unix.Sockaddr) string {
	if u, ok := addr.(*unix.SockaddrUnix); ok {
		return u.Name
	}
	return ""
}

// sockBytes is a socket address as it lies in memory, nil for one that is of no
// family used here.
func sockBytes(addr unix.Sockaddr) []byte {
	var b []byte
	family := func(n uint16) { b = binary.NativeEndian.AppendUint16(b, n) }
	switch a := addr.(type) {
	case *unix.SockaddrInet4:
		family(unix.AF_INET)
		b = binary.BigEndian.AppendUint16(b, uint16(a.Port))
		b = append(b, a.Addr[:]...)
		return append(b, make([]byte, 8)...)
	case *unix.SockaddrInet6:
		family(unix.AF_INET6)
		b = binary.BigEndian.AppendUint16(b, uint16(a.Port))
		b = append(b, 0, 0, 0, 0) // flow
		b = append(b, a.Addr[:]...)
		return binary.NativeEndian.AppendUint32(b, a.ZoneId)
	case *unix.SockaddrUnix:
		family(unix.AF_UNIX)
		if rest, abstract := strings.CutPrefix(a.Name, "@"); abstract {
			return append(append(b, 0), rest...)
		}
		return append(append(b, a.Name...), 0)
	}
	return nil
}

// socketsNamed are the unix sockets that variables of an environment name: those
// of agents, the bus and container engines.
func socketsNamed(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		prefix, known := map[string]string{
			"SSH_AUTH_SOCK": "", "DOCKER_HOST": "unix://", "CONTAINER_HOST": "unix://", "PODMAN_HOST": "unix://", "DBUS_SESSION_BUS_ADDRESS": "unix:path=",
		}[name]
		rest, is := strings.CutPrefix(value, prefix)
		rest, _, _ = strings.Cut(rest, ",") // a bus's address goes on
		if known && is && strings.HasPrefix(rest, "/") && len(rest) <= maxUnixName {
			out = append(out, rest)
		}
	}
	return out
}

// maxUnixName is what a path of a unix socket may have (unix(7): 108 with the zero).
const maxUnixName = 107

// dnsQuestion is a query for a name's address, as a resolver sends it. The word is
// the name's first label.
func dnsQuestion(word string) []byte {
	b := []byte{0x66, 0x68, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0} // recursion desired, one question
	for _, label := range []string{word, "test"} {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0, 0, 1, 0, 1) // an A record of the internet
}
