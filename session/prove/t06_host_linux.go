package prove

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
)

// address is one of this machine's own.
type address struct {
	ip    netip.Addr
	scope uint32 // the interface, for a link-local one
}

// mostAddresses bounds how many of them are tried.
const mostAddresses = 4

// ownAddresses are this machine's addresses on its networks.
func ownAddresses() ([]address, error) {
	list, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list this machine's interfaces: %w", err)
	}
	var out []address
	for _, i := range list {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue // gone meanwhile, or not in use
		}
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err != nil || len(out) == mostAddresses {
				continue
			}
			one := address{ip: p.Addr()}
			if one.ip.Is6() && one.ip.IsLinkLocalUnicast() {
				one.scope = uint32(i.Index)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func hasIPv6() bool {
	l, err := openListener(ipSock(unix.SOCK_DGRAM, 0, netip.IPv6Loopback(), 0, 0))
	if err == nil {
		l.close()
	}
	return err == nil
}

// maxSocketName is the longest path that an address of a socket holds (unix(7)).
const maxSocketName = 107

// services are sockets of others on this machine, as far as there are any and
// this account can connect to them: they are connected to and left at once.
func (d *deny) services() error {
	if s, ok := d.rm.(*sess); ok {
		name := filepath.Join(string(s.dir), "sock")
		if len(name) > maxSocketName {
			dir, err := d.e.plant("/tmp")
			if err != nil {
				return fmt.Errorf("plant a short name of the control socket: %w", err)
			}
			short := filepath.Join(dir, "control")
			if err := os.Symlink(name, short); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("plant a short name of the control socket: %w", err)
			}
			name = short
		}
		d.connectTo("control-socket", "connect to the session's own control socket", name)
	}
	run := fmt.Sprintf("/run/user/%d", os.Getuid())
	for _, v := range d.e.host.Env {
		if rest, ok := strings.CutPrefix(v, "XDG_RUNTIME_DIR="); ok && filepath.IsAbs(rest) {
			run = rest
		}
	}
	all := append(socketsNamed(d.e.host.Env), []string{
		"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/libvirt/libvirt-sock",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/journal/stdout", "/run/snapd.socket", "/run/cups/cups.sock", "/run/nscd/socket",
		run + "/bus", run + "/systemd/private", run + "/docker.sock", run + "/podman/podman.sock", run + "/gnupg/S.gpg-agent", run + "/keyring/control", run + "/pipewire-0",
		run + "/wayland-0", "/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0",
	}...)
	slices.Sort(all)
	for _, path := range slices.Compact(all) {
		if fd, err := connectTo(unixSock(unix.SOCK_STREAM, path)); err == nil {
			_ = unix.Close(fd) // it was only to see whether it can be reached
			d.connectTo("service "+path, "connect to a service of this machine", path)
		}
	}
	return nil
}

// connectTo is a row that connects to a unix socket that is not the run's own.
func (d *deny) connectTo(id, tried, name string) {
	p := path{at: unixSock(unix.SOCK_STREAM, name)}
	do := p.action(p.at.addr)
	do.Do = "visit"
	d.rows = append(d.rows, row{
		id: id, tried: tried + ", " + name, expected: "refused or absent", do: do, control: "own-unix",
		judge: func(s *seen) outcome {
			// The host itself has to get there still, or the refusal means nothing.
			fd, err := connectTo(p.at)
			if err != nil {
				return errored(fmt.Sprintf("the host itself can't connect to %s: %v", name, err))
			}
			_ = unix.Close(fd) // as above
			return stopped("socket", "connect")(s)
		},
	})
}

// elsewhere are addresses that are not this machine's. Connecting a datagram
// socket looks for a route and sends nothing.
func (d *deny) elsewhere() error {
	scope := uint32(0)
	if list, err := ownAddresses(); err == nil {
		for _, a := range list {
			scope = max(scope, a.scope)
		}
	}
	type far struct{ id, what, ip string }
	list := []far{
		{"metadata4", "the metadata address", "169.254.169.254"},
		{"metadata6", "the metadata address", "fd00:ec2::254"},
		{"metadata-other", "another cloud's metadata address", "100.100.100.200"},
		{"link-local4", "a link-local address", "169.254.7.7"},
		{"link-local6", "a link-local address", "fe80::7"},
		{"private10", "a private network", "10.77.77.7"},
		{"private172", "a private network", "172.16.77.7"},
		{"private192", "a private network", "192.168.77.7"},
		{"documentation4", "a documentation address, as any on the internet", "198.51.100.7"},
		{"documentation6", "a documentation address, as any on the internet", "2001:db8::7"},
		{"multicast4", "a multicast group", "239.255.77.7"},
	}
	for i, ns := range nameServers() {
		list = append(list, far{fmt.Sprintf("name-server-%d", i+1), "this machine's name server", ns})
	}
	route := func(at sock) probe.Action {
		return probe.Action{Steps: []probe.Step{
			{Call: "socket", Args: []string{strconv.Itoa(at.domain), strconv.Itoa(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC), "0"}, Save: "fd"},
			{Call: "connect", Args: []string{"$fd", "d:" + base64.StdEncoding.EncodeToString(sockBytes(at.addr)), "len:1"}},
			{Call: "close", Args: []string{"$fd"}, Always: true},
		}}
	}
	d.rows = append(d.rows, row{id: "route-own", tried: "look for a route to its own loopback", expected: "works", do: route(ipSock(unix.SOCK_DGRAM, 0, netip.MustParseAddr("127.0.0.1"), 53, 0)), judge: works("connect")})
	for _, f := range list {
		ip, err := netip.ParseAddr(f.ip)
		if err != nil {
			continue // of resolv.conf
		}
		at := ipSock(unix.SOCK_DGRAM, 0, ip, 53, 0)
		if ip.Is6() && ip.IsLinkLocalUnicast() {
			at = ipSock(unix.SOCK_DGRAM, 0, ip, 53, scope)
		}
		tried := fmt.Sprintf("look for a route to %s, %s", f.what, f.ip)
		if fd, err := connectTo(at); err != nil {
			d.notApplied("route-"+f.id, tried, fmt.Sprintf("this machine itself has no route there: %v", err))
		} else {
			_ = unix.Close(fd) // nothing was sent
			d.rows = append(d.rows, row{id: "route-" + f.id, tried: tried, expected: "no route", do: route(at), control: "route-own", judge: stopped("socket", "connect")})
		}
	}
	if d.loose() {
		return nil
	}
	for _, f := range []far{
		{"metadata4", "", "169.254.169.254"}, {"metadata6", "", "fd00:ec2::254"}, {"documentation4", "", "198.51.100.7"}, {"documentation6", "", "2001:db8::7"},
	} {
		at := ipSock(unix.SOCK_STREAM, 0, netip.MustParseAddr(f.ip), 80, 0)
		p := path{at: at, args: map[string]string{"type": strconv.Itoa(unix.SOCK_STREAM | unix.SOCK_NONBLOCK)}}
		do := p.action(at.addr)
		do.Do = "visit"
		d.rows = append(d.rows, row{id: "tcp-" + f.id, tried: "connect to " + f.ip, expected: "refused", do: do, control: "own-tcp4", judge: stopped("socket", "connect")})
	}
	return nil
}

func nameServers() []string {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return nil // none
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "nameserver" && len(out) < 2 {
			if ip, err := netip.ParseAddr(f[1]); err == nil && !ip.IsLoopback() {
				out = append(out, ip.WithZone("").String())
			}
		}
	}
	return out
}

// interfaces are those of the host, asked for by name; and those of the
// sandbox's first process, as the host sees them.
func (d *deny) interfaces() error {
	ask := func(name string) probe.Action {
		request := make([]byte, 40) // struct ifreq, the name in front
		copy(request[:unix.IFNAMSIZ-1], name)
		return probe.Action{Steps: []probe.Step{
			{Call: "socket", Args: []string{strconv.Itoa(unix.AF_INET), strconv.Itoa(unix.SOCK_DGRAM | unix.SOCK_CLOEXEC), "0"}, Save: "fd"},
			{Call: "ioctl", Args: []string{"$fd", strconv.Itoa(unix.SIOCGIFINDEX), "d:" + base64.StdEncoding.EncodeToString(request)}},
			{Call: "close", Args: []string{"$fd"}, Always: true},
		}}
	}
	d.rows = append(d.rows, row{id: "interface-lo", tried: "ask for the interface lo", expected: "works", do: ask("lo"), judge: works("ioctl")})
	list, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list this machine's interfaces: %w", err)
	}
	n := 0
	for _, i := range list {
		if i.Flags&net.FlagLoopback == 0 && n < mostAddresses {
			n++
			d.rows = append(d.rows, row{id: "interface-" + i.Name, tried: "ask for the host's interface " + i.Name, expected: "absent", do: ask(i.Name), control: "interface-lo", judge: stopped("socket", "ioctl")})
		}
	}
	if n == 0 {
		d.notApplied("interface", "ask for an interface of the host", "this machine has none but loopback")
	}
	if first := d.rm.first(); first > 0 {
		r := row{id: "interfaces", tried: "the interfaces of the sandbox's first process", expected: "only loopback, in a network of its own"}
		d.add(r, ownNetwork(first))
	}
	return nil
}

// ownNetwork looks at a process's network from outside.
func ownNetwork(pid int) outcome {
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return errored("its network can't be read: " + err.Error())
	}
	host, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return errored("this process's network can't be read: " + err.Error())
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return errored("its interfaces can't be read: " + err.Error())
	}
	o := onlyLoopback(string(text))
	o.evidence = fmt.Sprintf("/proc/%d/ns/net %s, the host's %s; %s", pid, its, host, o.evidence)
	if its == host {
		return failed("it is in the host's network", o.witness, o.evidence)
	}
	return o
}

// protocols are those that this kernel has in it or has loaded.
func protocols() []string {
	text, err := os.ReadFile("/proc/net/protocols")
	if err != nil {
		return nil // then none is tried where that could load one
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "protocol" {
			out = append(out, f[0])
		}
	}
	slices.Sort(out)
	return out
}
