package rule

import "net/netip"

type place struct {
	prefix netip.Prefix
	class  Class
	why    string // what it is, and where that is written
}

func at(prefix string, class Class, why string) place {
	return place{netip.MustParsePrefix(prefix), class, why}
}

// special is every address with a purpose of its own: where clouds serve
// metadata, by their own documentation; then IANA's registries of special-purpose
// addresses for IPv4 and IPv6 (RFC 6890, RFC 8190), and multicast. The more
// exact stand first. What carries an IPv4 address is in address.go.
var special = []place{
	at("169.254.169.254/32", Metadata, "AWS, Azure, Google, Oracle, OpenStack and others"),
	at("169.254.169.253/32", Metadata, "AWS, the resolver of a private network"),
	at("169.254.170.0/24", Metadata, "AWS, credentials of ECS tasks (.2) and EKS pods (.23)"),
	at("169.254.0.23/32", Metadata, "Tencent"),
	at("169.254.42.42/32", Metadata, "Scaleway"),
	at("100.100.100.200/32", Metadata, "Alibaba"),
	at("168.63.129.16/32", Metadata, "Azure, the host's agent, at a public address"),
	at("192.0.0.192/32", Metadata, "Oracle, older shapes"),
	at("fd00:ec2::/112", Metadata, "AWS, metadata (::254), pods (::23), resolver (::253)"),
	at("fd20:ce::254/128", Metadata, "Google"),
	at("fd00:42::42/128", Metadata, "Scaleway"),
	at("fd00:c1::a9fe:a9fe/128", Metadata, "Oracle"),
	at("fe80::a9fe:a9fe/128", Metadata, "OpenStack"),

	at("0.0.0.0/8", Special, "this network, RFC 791"),
	at("10.0.0.0/8", Private, "RFC 1918"),
	at("100.64.0.0/10", Shared, "RFC 6598"),
	at("127.0.0.0/8", Loopback, "RFC 1122"),
	at("169.254.0.0/16", Link, "RFC 3927"),
	at("172.16.0.0/12", Private, "RFC 1918"),
	at("192.0.0.0/24", Special, "protocol assignments, RFC 6890"),
	at("192.0.2.0/24", Special, "documentation, RFC 5737"),
	at("192.31.196.0/24", Special, "AS112, RFC 7535"),
	at("192.52.193.0/24", Special, "AMT, RFC 7450"),
	at("192.88.99.0/24", Special, "6to4 relays, RFC 7526"),
	at("192.168.0.0/16", Private, "RFC 1918"),
	at("192.175.48.0/24", Special, "AS112, RFC 7534"),
	at("198.18.0.0/15", Special, "benchmarks, RFC 2544"),
	at("198.51.100.0/24", Special, "documentation, RFC 5737"),
	at("203.0.113.0/24", Special, "documentation, RFC 5737"),
	at("224.0.0.0/4", Special, "multicast, RFC 5771"),
	at("240.0.0.0/4", Special, "reserved, RFC 1112, and broadcast, RFC 8190"),

	at("::1/128", Loopback, "RFC 4291"),
	at("::/128", Special, "unspecified, RFC 4291"),
	at("100::/64", Special, "discard, RFC 6666"),
	at("100:0:0:1::/64", Special, "dummy, RFC 9780"),
	at("2001:db8::/32", Special, "documentation, RFC 3849"),
	at("2620:4f:8000::/48", Special, "AS112, RFC 7534"),
	at("3fff::/20", Special, "documentation, RFC 9637"),
	at("5f00::/16", Special, "segment routing, RFC 9602"),
	at("fc00::/7", Private, "unique local, RFC 4193"),
	at("fe80::/10", Link, "RFC 4291"),
	at("fec0::/10", Private, "site-local, RFC 3879"),
	at("ff00::/8", Special, "multicast, RFC 4291"),
}

// assigned is what IANA keeps for protocols within the unicast addresses: Teredo,
// benchmarks (2001:2::/48), AMT, AS112, ORCHID (2001:10::/28, 2001:20::/28), DRIP
// and more to come (RFC 2928). It stands apart since Teredo carries an address.
var assigned = []netip.Prefix{netip.MustParsePrefix("2001::/23")}
