package rule

import "net/netip"

// Class is what kind of place an address is. The empty class is the public
// internet.
type Class string

// The classes that no entry leads to unless its addresses name them.
const (
	Public   Class = ""
	Loopback Class = "loopback"
	Private  Class = "private"
	Link     Class = "link-local"
	Metadata Class = "metadata"
	Shared   Class = "shared"
	Own      Class = "this machine's own"
	Special  Class = "special"
)

// ClassOf tells what kind of place an address is. One that carries an IPv4
// address within counts as that one; if that is public, it is special all the
// same unless it is merely mapped or translated (NAT64), since tunnels (6to4,
// Teredo, ISATAP) end where their owner says.
func ClassOf(ip netip.Addr) Class {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() {
		return Special
	}
	for _, s := range special {
		if s.prefix.Contains(ip) {
			return s.class
		}
	}
	if ip.Is4() {
		return Public
	}
	within, translated := carried(ip)
	for _, v4 := range within {
		if c := ClassOf(v4); c != Public {
			return c
		}
	}
	if translated || len(within) == 0 && unicast.Contains(ip) && !inside(ip, assigned) {
		return Public
	}
	return Special
}

// unicast is all of IPv6 that is given out as global unicast addresses (IANA's
// IPv6 address space registry); the rest is reserved.
var unicast = netip.MustParsePrefix("2000::/3")

func inside(ip netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// The ways to carry an IPv4 address.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052, 2.1
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291, 2.5.5.1
	siit       = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// carried lists the IPv4 addresses that one of IPv6 carries within, and tells
// whether it is nothing but a translated one.
func carried(ip netip.Addr) (within []netip.Addr, translated bool) {
	b := ip.As16()
	at := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	last := at(12, 13, 14, 15)
	switch {
	case nat64.Contains(ip):
		return []netip.Addr{last}, true
	case localNAT64.Contains(ip):
		// The operator's prefix may be 48, 56, 64 or 96 bits; byte 8 is skipped
		// (RFC 6052, 2.2). The last place first: it is the usual one.
		return []netip.Addr{last, at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12)}, false
	case sixToFour.Contains(ip):
		return []netip.Addr{at(2, 3, 4, 5)}, false
	case teredo.Contains(ip):
		// The client's address is sent inverted, so that NATs leave it alone.
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{client, at(4, 5, 6, 7)}, false
	case compatible.Contains(ip), siit.Contains(ip):
		return []netip.Addr{last}, false
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP (RFC 5214, 6.1)
		return []netip.Addr{last}, false
	}
	return nil, false
}

// Permits tells whether the destination may be at an address. own lists the
// addresses of this machine's interfaces.
func (r Reach) Permits(ip netip.Addr, own []netip.Addr) (Class, bool) {
	ip = ip.Unmap().WithZone("")
	class := ClassOf(ip)
	if class == Public && isOwn(ip, own) {
		class = Own
	}
	if class == Public {
		return class, true
	}
	for _, p := range r.addresses {
		// A wide prefix is written for a network's machines, hardly for the
		// service that hands out this machine's own credentials.
		if p.Contains(ip) && (class != Metadata || p.IsSingleIP()) {
			return class, true
		}
	}
	return class, false
}

// isOwn tells whether an address is this machine's, also by way of a translator.
func isOwn(ip netip.Addr, own []netip.Addr) bool {
	var within []netip.Addr
	if ip.Is6() {
		within, _ = carried(ip)
	}
	for _, o := range own {
		o = o.Unmap().WithZone("")
		if o == ip {
			return true
		}
		for _, w := range within {
			if o == w {
				return true
			}
		}
	}
	return false
}
