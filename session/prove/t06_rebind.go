package prove

import (
	"fmt"
	"net/netip"
	"slices"

	"fumehood/isolate/egress/rule"
	"fumehood/session"
)

// badAddress is one answer to a lookup that the proxy must not follow.
type badAddress struct {
	what string
	ips  []string
}

// badAddresses lists them, without those that the entry itself permits.
func badAddresses(at entry) []badAddress {
	all := []badAddress{
		{"loopback", []string{"127.0.0.1"}},
		{"another loopback", []string{"127.9.9.9"}},
		{"loopback in IPv6", []string{"::1"}},
		{"loopback as IPv4 in IPv6", []string{"::ffff:127.0.0.1"}},
		{"every interface", []string{"0.0.0.0"}},
		{"a private network", []string{"10.0.0.1"}},
		{"a private network, too", []string{"192.168.1.1"}},
		{"a private network in IPv6", []string{"fd12:3456::1"}},
		{"a shared network", []string{"100.64.0.1"}},
		{"a link-local address", []string{"169.254.1.1"}},
		{"a link-local address in IPv6", []string{"fe80::1"}},
		{"the metadata service", []string{"169.254.169.254"}},
		{"loopback by NAT64", []string{"64:ff9b::7f00:1"}},
		{"a group of hosts", []string{"224.0.0.1"}},
	}
	return slices.DeleteFunc(all, func(b badAddress) bool {
		return slices.ContainsFunc(b.ips, func(ip string) bool { return permitsAddress(at.rule, netip.MustParseAddr(ip)) })
	})
}

// permitsAddress reads an entry's addresses.
func permitsAddress(e rule.Entry, ip netip.Addr) bool {
	return slices.ContainsFunc(e.Addresses, func(s string) bool {
		if one, err := netip.ParseAddr(s); err == nil {
			return one.Unmap() == ip.Unmap()
		}
		p, err := netip.ParsePrefix(s)
		return err == nil && p.Contains(ip.Unmap())
	})
}

// publicAddress is one of the public internet; in these sessions it stands for
// the run's own server, and nothing is sent to it.
const publicAddress = "9.9.9.9"

// misleading has an allowed name lead to a public address, and then to each bad
// one, by the proxy's own lookups.
func misleading(s *session.StandIn, at entry, bad []badAddress, srv string) {
	delete(s.To, at.at.String())
	answers := [][]string{{publicAddress}}
	for _, b := range bad {
		answers = append(answers, b.ips)
		for _, ip := range b.ips {
			// Should the proxy go there, it arrives.
			s.To[netip.AddrPortFrom(netip.MustParseAddr(ip), at.at.Port).String()] = srv
			s.To[netip.AddrPortFrom(netip.MustParseAddr(ip).Unmap(), at.at.Port).String()] = srv
		}
	}
	s.To[fmt.Sprintf("%s:%d", publicAddress, at.at.Port)] = srv
	s.Names = map[string][][]string{at.at.Host: answers}
}

// named1 is the first entry whose destination is a name that the proxy looks up
// and whose requests it reads.
func (d *destination) named1() (entry, bool) {
	for _, e := range d.entries {
		if !e.opaque && !e.at.IP.IsValid() {
			return e, true
		}
	}
	return entry{}, false
}
