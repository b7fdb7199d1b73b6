package prove

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// deny is test 6: listeners of every kind on the host, every way to them from
// inside, and what else of a network there might be.
//
// Without a wall nothing of it leaves this machine: an address elsewhere is
// asked for by connecting a datagram socket, which looks for a route and sends
// nothing. Only in a session of ours TCP is tried besides.
type deny struct {
	e         *env
	rm        room
	listeners []*listener
	doors     []*door
	rows      []row
	done      []walls.Attempt // what needs no probe, or does not apply
}

func defaultDeny(ctx context.Context, e *env) ([]walls.Attempt, error) {
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	d := &deny{e: e, rm: rm}
	defer d.close()
	for _, add := range []func() error{d.controls, d.loopback, d.lan, d.unixSockets, d.services, d.elsewhere, d.families, d.interfaces, d.inside} {
		if err := add(); err != nil {
			return d.done, err
		}
	}
	got, err := e.rows(ctx, rm, d.rows)
	got = append(got, d.done...)
	if err != nil || !d.whole() {
		return got, err
	}
	more, err := atTheProxy(ctx, e, rm)
	return append(got, more...), err
}

func (d *deny) close() {
	for _, k := range d.doors {
		k.stop()
	}
	for _, l := range d.listeners {
		l.close()
	}
}

func (d *deny) whole() bool { return d.e.target.kind() == ours }

// loose is a target that is no session of ours: what would leave the machine, or
// load a module of the kernel, is not tried in it.
func (d *deny) loose() bool { return !d.whole() }

// notApplied is an attempt that can't be made here, with the reason.
func (d *deny) notApplied(id, tried, why string) {
	d.add(row{id: id, tried: tried, expected: "nothing arrives"}, notApplicable(why))
}

func (d *deny) add(r row, o outcome) {
	_, text := nonce()
	a := r.attempt(text, false, o, "")
	d.done = append(d.done, a)
	d.e.tell(walls.Event{Test: d.e.test, Attempt: &a})
}

// path is one way to a place.
type path struct {
	id, tried, control string
	at                 sock
	via                string // how the address is named, "connect" when empty
	do                 string // the probe's action, "reach" when empty
	args               map[string]string
	names              []string // the calls that it goes through
	dns                bool
	// mute says that the last call's success does not mean that anybody was
	// reached: that of a datagram, or of what only asks for another call.
	mute bool
	to   unix.Sockaddr // instead of the listener's own address
}

func (p path) action(to unix.Sockaddr) probe.Action {
	via := p.via
	if via == "" {
		via = "connect"
	}
	args := map[string]string{
		"domain": strconv.Itoa(p.at.domain), "type": strconv.Itoa(p.at.kind), "proto": strconv.Itoa(p.at.proto),
		"to": hex.EncodeToString(sockBytes(to)), "via": via, "data": hex.EncodeToString([]byte("a word")),
	}
	maps.Copy(args, p.args)
	do := p.do
	if do == "" {
		do = "reach"
	}
	return probe.Action{Do: do, Args: args}
}

func (p path) calls() []string {
	switch {
	case p.names != nil:
		return p.names
	case p.via == "":
		return []string{"socket", "connect"}
	}
	return []string{"socket", p.via}
}

// target makes a listener of its own for one path to it.
func (d *deny) target(p path) error {
	l, err := openListener(p.at)
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.Is(err, unix.EAFNOSUPPORT):
		d.notApplied(p.id, p.tried, "this machine has no such address: "+err.Error())
		return nil
	case err != nil:
		return err
	}
	d.listeners = append(d.listeners, l)
	to := l.at.addr
	if mapped, ok := p.to.(*unix.SockaddrInet6); ok {
		mapped.Port = portOf(l.at.addr)
		to = mapped
	}
	do := p.action(to)
	d.rows = append(d.rows, row{
		id: p.id, tried: p.tried + ": " + l.at.name, expected: "nothing arrives", do: do, control: p.control, host: true,
		before: func() error {
			// A word of its own in each pass; the map is the action's.
			_, word := nonce()
			data := []byte(word)
			if p.dns {
				data = dnsQuestion(word)
			}
			do.Args["data"] = hex.EncodeToString(data)
			l.fresh()
			return nil
		},
		judge: func(s *seen) outcome {
			return arrived(l.heard(), s, p.mute || p.at.kind == unix.SOCK_DGRAM, p.calls()...)
		},
	})
	return nil
}

// controls are the same calls to listeners of the probe's own.
func (d *deny) controls() error {
	own := func(id, tried string, at sock, call string, args map[string]string) {
		p := path{at: at, args: map[string]string{"own": "1"}}
		maps.Copy(p.args, args)
		if call != "connect" {
			p.via = call
		}
		d.rows = append(d.rows, row{id: id, tried: tried, expected: "works", do: p.action(at.addr), judge: works(call)})
	}
	lo4, lo6 := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	own("own-tcp4", "connect to a listener of its own on 127.0.0.1", ipSock(unix.SOCK_STREAM, 0, lo4, 0, 0), "connect", nil)
	own("own-udp4", "send to a datagram socket of its own on 127.0.0.1", ipSock(unix.SOCK_DGRAM, 0, lo4, 0, 0), "sendto", nil)
	own("own-sendmsg4", "sendmsg to a datagram socket of its own on 127.0.0.1", ipSock(unix.SOCK_DGRAM, 0, lo4, 0, 0), "sendmsg", nil)
	own("own-sendmmsg4", "sendmmsg to a datagram socket of its own on 127.0.0.1", ipSock(unix.SOCK_DGRAM, 0, lo4, 0, 0), "sendmmsg", nil)
	if hasIPv6() {
		own("own-tcp6", "connect to a listener of its own on ::1", ipSock(unix.SOCK_STREAM, 0, lo6, 0, 0), "connect", nil)
		own("own-udp6", "send to a datagram socket of its own on ::1", ipSock(unix.SOCK_DGRAM, 0, lo6, 0, 0), "sendto", nil)
	}
	name := "@fumehood-own-" + d.e.id
	own("own-abstract", "connect to an abstract socket of its own", unixSock(unix.SOCK_STREAM, name), "connect", nil)
	own("own-datagram", "send to an abstract datagram socket of its own", unixSock(unix.SOCK_DGRAM, name+"-d"), "sendto", nil)
	own("own-rights", "pass a descriptor to an abstract datagram socket of its own", unixSock(unix.SOCK_DGRAM, name+"-r"), "sendmsg", map[string]string{"rights": "1"})
	own("own-packet", "connect to an abstract packet socket of its own", unixSock(unix.SOCK_SEQPACKET, name+"-p"), "connect", nil)
	file := name + "-f"
	args := map[string]string{}
	if _, ws := d.rm.workspace(); d.e.target.kind() != foreign && len(ws) < maxUnixName-12 {
		// Another sandbox need not let anything be made in the workspace.
		file = filepath.Join(ws, "own.sock")
		args["path"] = file
	}
	own("own-unix", "connect to a unix socket of its own, "+file, unixSock(unix.SOCK_STREAM, file), "connect", args)
	return nil
}

const (
	msgFastOpen     = "536870912" // MSG_FASTOPEN
	fastOpenConnect = 30          // TCP_FASTOPEN_CONNECT
)

// fastOpen are the ways to connect without connect.
func fastOpen(prefix string, at sock, control string) []path {
	flags := map[string]string{"flags": msgFastOpen}
	return []path{
		{id: prefix + "-sendto", tried: "Fast Open by sendto", at: at, via: "sendto", args: flags, control: control},
		{id: prefix + "-sendmsg", tried: "Fast Open by sendmsg", at: at, via: "sendmsg", args: flags, control: control},
		{id: prefix + "-sendmmsg", tried: "Fast Open by sendmmsg", at: at, via: "sendmmsg", args: flags, control: control},
		{
			id: prefix + "-option", tried: "Fast Open by TCP_FASTOPEN_CONNECT", at: at, control: control,
			args:  map[string]string{"level": "6", "name": strconv.Itoa(fastOpenConnect), "value": "1"},
			names: []string{"socket", "setsockopt", "connect"},
		},
	}
}

// loopback is every way to a listener on the host's own loopback.
func (d *deny) loopback() error {
	lo4, lo6 := netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	tcp4, udp4 := ipSock(unix.SOCK_STREAM, 0, lo4, 0, 0), ipSock(unix.SOCK_DGRAM, 0, lo4, 0, 0)
	tcp6, udp6 := ipSock(unix.SOCK_STREAM, 0, lo6, 0, 0), ipSock(unix.SOCK_DGRAM, 0, lo6, 0, 0)
	answer := map[string]string{"answer": "1"}
	list := slices.Concat([]path{
		{id: "tcp4", tried: "connect to the host's loopback", at: tcp4, control: "own-tcp4"},
		{id: "tcp6", tried: "connect to the host's loopback", at: tcp6, control: "own-tcp6"},
		{
			id: "tcp4-mapped", tried: "connect to the host's loopback by its IPv4 address in IPv6", at: tcp4, control: "own-tcp4",
			to: &unix.SockaddrInet6{Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}, args: map[string]string{"domain": strconv.Itoa(unix.AF_INET6)},
		},
		{id: "udp4", tried: "send a datagram to the host's loopback", at: udp4, via: "sendto", control: "own-udp4"},
		{id: "udp4-sendmsg", tried: "send a datagram by sendmsg", at: udp4, via: "sendmsg", control: "own-sendmsg4"},
		{id: "udp4-sendmmsg", tried: "send a datagram by sendmmsg", at: udp4, via: "sendmmsg", control: "own-sendmmsg4"},
		{
			id: "udp4-connected", tried: "connect a datagram socket, send, and hear what comes back", at: udp4, control: "own-udp4",
			args: answer, names: []string{"socket", "connect", "sendto", "recvfrom"},
		},
		{id: "udp6", tried: "send a datagram to the host's loopback", at: udp6, via: "sendto", control: "own-udp6"},
		{id: "dns", tried: "ask a name server on the host", at: udp4, via: "sendto", control: "own-udp4", dns: true},
		{
			id: "mptcp", tried: "connect by MPTCP to the host's loopback", at: tcp4, control: "own-tcp4",
			args: map[string]string{"proto": strconv.Itoa(unix.IPPROTO_MPTCP)},
		},
		{
			id: "io_uring", tried: "connect and send by io_uring", at: tcp4, control: "own-tcp4", do: "ring", mute: true,
			names: []string{"socket", "io_uring_setup", "io_uring_enter"},
		},
	}, fastOpen("fastopen", tcp4, "own-tcp4"))
	for _, p := range list {
		if err := d.target(p); err != nil {
			return err
		}
	}
	return nil
}

// lan is this machine's own addresses on its networks.
func (d *deny) lan() error {
	addrs, err := ownAddresses()
	if err != nil {
		return err
	}
	if len(addrs) == 0 {
		d.notApplied("lan", "connect to an address of this machine on its network", "this machine has none but loopback")
	}
	for i, a := range addrs {
		family, suffix := "4", fmt.Sprintf("%d", i+1)
		if a.ip.Is6() {
			family = "6"
		}
		for _, p := range []path{
			{id: "lan-tcp-" + suffix, tried: "connect to this machine's own address", at: ipSock(unix.SOCK_STREAM, 0, a.ip, 0, a.scope), control: "own-tcp" + family},
			{id: "lan-udp-" + suffix, tried: "send a datagram to this machine's own address", at: ipSock(unix.SOCK_DGRAM, 0, a.ip, 0, a.scope), via: "sendto", control: "own-udp" + family},
		} {
			if err := d.target(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// unixSockets are those of the run's own on the host.
func (d *deny) unixSockets() error {
	tmp, err := d.e.plant(os.TempDir())
	if err != nil {
		return err
	}
	abstract := "@fumehood-host-" + d.e.id
	rights := map[string]string{"rights": "1"}
	list := []path{
		{id: "unix", tried: "connect to a unix socket in the run's folder", at: unixSock(unix.SOCK_STREAM, filepath.Join(d.e.dir, "s")), control: "own-unix"},
		{id: "unix-tmp", tried: "connect to a unix socket in the host's /tmp", at: unixSock(unix.SOCK_STREAM, filepath.Join(tmp, "s")), control: "own-unix"},
		{id: "unix-datagram", tried: "send to a unix datagram socket", at: unixSock(unix.SOCK_DGRAM, filepath.Join(tmp, "d")), via: "sendto", control: "own-datagram"},
		{id: "unix-rights", tried: "pass a descriptor to a unix socket", at: unixSock(unix.SOCK_DGRAM, filepath.Join(tmp, "r")), via: "sendmsg", args: rights, control: "own-rights"},
		{id: "abstract", tried: "connect to an abstract socket of the host's", at: unixSock(unix.SOCK_STREAM, abstract), control: "own-abstract"},
		{id: "abstract-datagram", tried: "send to an abstract datagram socket", at: unixSock(unix.SOCK_DGRAM, abstract+"-d"), via: "sendto", control: "own-datagram"},
		{id: "abstract-packet", tried: "connect to an abstract packet socket", at: unixSock(unix.SOCK_SEQPACKET, abstract+"-p"), control: "own-packet"},
		{id: "abstract-rights", tried: "pass a descriptor to an abstract socket", at: unixSock(unix.SOCK_DGRAM, abstract+"-r"), via: "sendmsg", args: rights, control: "own-rights"},
	}
	for _, p := range list {
		if name := unixName(p.at.addr); len(name) > maxUnixName {
			d.notApplied(p.id, p.tried, fmt.Sprintf("the name %q is longer than a socket's may be", name))
			continue
		}
		if err := d.target(p); err != nil {
			return err
		}
	}
	return nil
}
