package prove

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
)

// family is a kind of socket that a session can't make.
type family struct {
	id, tried           string
	domain, kind, proto int
	// listed is its name in /proc/net/protocols: where it is not, asking for it
	// could load a module, so that only a session of ours is asked.
	listed string
	// leads says that it can reach out of any sandbox that lets it be made.
	leads bool
}

const (
	sockDCCP   = 6  // SOCK_DCCP
	sockPacket = 10 // SOCK_PACKET
)

var families = []family{
	{"raw4", "make a raw socket", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, "RAW", true},
	{"raw4-any", "make a raw socket that writes its own headers", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW, "RAW", true},
	{"raw6", "make a raw socket", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, "RAWv6", true},
	{"packet", "make a packet socket", unix.AF_PACKET, unix.SOCK_RAW, 0x0300, "PACKET", true},
	{"packet-old", "make a packet socket the old way", unix.AF_INET, sockPacket, 0x0300, "PACKET", true},
	{"vsock", "make a socket to the machine below", unix.AF_VSOCK, unix.SOCK_STREAM, 0, "AF_VSOCK", true},
	{"mptcp-socket", "make an MPTCP socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "MPTCP", false},
	{"mptcp6-socket", "make an MPTCP socket", unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "MPTCPv6", false},
	{"sctp", "make an SCTP socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, "SCTP", false},
	{"sctp6", "make an SCTP socket", unix.AF_INET6, unix.SOCK_SEQPACKET, unix.IPPROTO_SCTP, "SCTPv6", false},
	{"dccp", "make a DCCP socket", unix.AF_INET, sockDCCP, unix.IPPROTO_DCCP, "DCCP", false},
	{"udplite", "make a UDP-Lite socket", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE, "UDP-Lite", false},
	{"l2tp", "make an L2TP socket", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_L2TP, "L2TP/IP", false},
	{"netlink-generic", "make a netlink socket for other families", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC, "NETLINK", false},
	{"netlink-devices", "listen for the kernel's device events", unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT, "NETLINK", false},
	{"netlink-sockets", "make a netlink socket that lists sockets", unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_SOCK_DIAG, "NETLINK", false},
	{"xdp", "make an XDP socket", unix.AF_XDP, unix.SOCK_RAW, 0, "XDP", false},
	{"alg", "make a socket to the kernel's ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "ALG", false},
	{"bluetooth", "make a Bluetooth socket", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, "HCI", false},
	{"can", "make a CAN socket", unix.AF_CAN, unix.SOCK_RAW, 1, "CAN_RAW", false},
	{"tipc", "make a TIPC socket", unix.AF_TIPC, unix.SOCK_STREAM, 0, "TIPC", false},
	{"rds", "make an RDS socket", unix.AF_RDS, unix.SOCK_SEQPACKET, 0, "RDS", false},
	{"smc", "make an SMC socket", unix.AF_SMC, unix.SOCK_STREAM, 0, "SMC", false},
	{"key", "make a key management socket", unix.AF_KEY, unix.SOCK_RAW, 2, "KEY", false},
}

// families are the sockets beside TCP, UDP, unix and netlink's route family; and
// the ways around connect, strictly: they are refused whomever they would reach.
func (d *deny) families() error {
	make := func(domain, kind, proto int) probe.Action {
		return probe.Action{Steps: []probe.Step{
			{Call: "socket", Args: []string{strconv.Itoa(domain), strconv.Itoa(kind | unix.SOCK_CLOEXEC), strconv.Itoa(proto)}, Save: "fd"},
			{Call: "close", Args: []string{"$fd"}},
		}}
	}
	strict := d.e.target.kind() != foreign
	d.rows = append(d.rows,
		row{id: "socket", tried: "make a TCP socket", expected: "works", do: make(unix.AF_INET, unix.SOCK_STREAM, 0), judge: works("socket")},
		row{id: "netlink-route", tried: "make a netlink socket of the route family", expected: "works", do: make(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), judge: works("socket")},
	)
	there := protocols()
	for _, f := range families {
		control := "socket"
		if f.domain == unix.AF_NETLINK {
			control = "netlink-route"
		}
		switch {
		case !strict && !f.leads:
		case !strict && slices.Contains(there, f.listed) && !makes(f):
			d.notApplied(f.id, f.tried, "this account may not do that outside either")
		case d.loose() && !slices.Contains(there, f.listed):
			d.notApplied(f.id, f.tried, fmt.Sprintf("this kernel has not loaded %s, and outside a session of ours asking for it could load it", f.listed))
		default:
			d.rows = append(d.rows, row{id: f.id, tried: f.tried, expected: "refused", do: make(f.domain, f.kind, f.proto), control: control, judge: stopped("socket")})
		}
	}
	if err := d.ping(); err != nil || !strict {
		return err
	}
	lo4 := netip.MustParseAddr("127.0.0.1")
	for _, p := range fastOpen("own-fastopen", ipSock(unix.SOCK_STREAM, 0, lo4, 0, 0), "own-tcp4") {
		p.args["own"] = "1"
		d.rows = append(d.rows, row{id: p.id, tried: p.tried + " to a listener of its own", expected: "refused", do: p.action(p.at.addr), control: p.control, judge: stopped(p.calls()...)})
	}
	d.rows = append(d.rows,
		row{
			id: "io_uring-setup", tried: "make an io_uring, which would connect where no filter looks", expected: "refused", control: "socket",
			do:    probe.Action{Steps: []probe.Step{{Call: "io_uring_setup", Args: []string{"1", "z:120"}, Save: "fd"}, {Call: "close", Args: []string{"$fd"}}}},
			judge: stopped("io_uring_setup"),
		},
		row{
			id: "socketpair", tried: "make a pair of internet sockets", expected: "refused", control: "socket",
			do:    probe.Action{Steps: []probe.Step{{Call: "socketpair", Args: []string{strconv.Itoa(unix.AF_INET), strconv.Itoa(unix.SOCK_STREAM), "0", "z:8"}}}},
			judge: stopped("socketpair"),
		},
	)
	return nil
}

// makes says whether the host's own account can.
func makes(f family) bool {
	fd, err := unix.Socket(f.domain, f.kind|unix.SOCK_CLOEXEC, f.proto)
	if err == nil {
		_ = unix.Close(fd) // it can be made
	}
	return err == nil
}

// ping sends an echo request to this machine's own address.
func (d *deny) ping() error {
	addrs, err := ownAddresses()
	if err != nil {
		return err
	}
	done := map[bool]bool{}
	for _, a := range addrs {
		six := a.ip.Is6()
		if done[six] {
			continue
		}
		done[six] = true
		id, proto := "ping4", unix.IPPROTO_ICMP
		if six {
			id, proto = "ping6", unix.IPPROTO_ICMPV6
		}
		at := ipSock(unix.SOCK_DGRAM, proto, a.ip, 0, a.scope)
		p := path{at: at, via: "sendto", args: map[string]string{"data": "0800000000000001"}}
		if six {
			p.args["data"] = "8000000000000001"
		}
		tried := "ping this machine's own address " + a.ip.String()
		if d.loose() && !makes(family{domain: at.domain, kind: at.kind, proto: proto}) {
			d.notApplied(id, tried, "this account may not ping outside either")
			continue
		}
		d.rows = append(d.rows, row{id: id, tried: tried, expected: "refused", do: p.action(at.addr), control: "own-udp4", judge: stopped("socket", "sendto")})
	}
	return nil
}
