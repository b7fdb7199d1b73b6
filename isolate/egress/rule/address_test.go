package rule

import (
	"net/netip"
	"testing"
)

// Each row is one entry of a registry, or one address within. The sources: IANA's
// registries iana-ipv4-special-registry, iana-ipv6-special-registry,
// multicast-addresses and ipv6-address-space; RFC 6052, 8215, 3056, 4380, 4291
// and 5214 for what carries an IPv4 address.
func TestClassOfEverySpecialAddress(t *testing.T) {
	for _, tt := range []struct {
		ip   string
		want Class
	}{
		{"0.0.0.0", Special},
		{"0.1.2.3", Special},
		{"10.0.0.0", Private},
		{"10.255.255.255", Private},
		{"11.0.0.0", Public},
		{"100.63.255.255", Public},
		{"100.64.0.0", Shared},
		{"100.127.255.255", Shared},
		{"100.128.0.0", Public},
		{"127.0.0.1", Loopback},
		{"127.255.255.255", Loopback},
		{"169.254.0.1", Link},
		{"169.254.255.255", Link},
		{"172.15.255.255", Public},
		{"172.16.0.0", Private},
		{"172.31.255.255", Private},
		{"172.32.0.0", Public},
		{"192.0.0.1", Special},
		{"192.0.0.9", Special},
		{"192.0.1.1", Public},
		{"192.0.2.1", Special},
		{"192.31.196.1", Special},
		{"192.52.193.1", Special},
		{"192.88.99.1", Special},
		{"192.168.0.1", Private},
		{"192.169.0.0", Public},
		{"192.175.48.1", Special},
		{"198.17.255.255", Public},
		{"198.18.0.1", Special},
		{"198.19.255.255", Special},
		{"198.20.0.0", Public},
		{"198.51.100.1", Special},
		{"203.0.113.1", Special},
		{"223.255.255.255", Public},
		{"224.0.0.1", Special},
		{"239.255.255.255", Special},
		{"240.0.0.1", Special},
		{"255.255.255.255", Special},
		{"8.8.8.8", Public},
		{"1.1.1.1", Public},

		{"169.254.169.254", Metadata},
		{"169.254.169.253", Metadata},
		{"169.254.170.2", Metadata},
		{"169.254.170.23", Metadata},
		{"100.100.100.200", Metadata},
		{"168.63.129.16", Metadata},
		{"192.0.0.192", Metadata},
		{"169.254.42.42", Metadata},
		{"169.254.0.23", Metadata},
		{"fd00:ec2::254", Metadata},
		{"fd00:ec2::23", Metadata},
		{"fd20:ce::254", Metadata},
		{"fd00:42::42", Metadata},
		{"fd00:c1::a9fe:a9fe", Metadata},
		{"fe80::a9fe:a9fe", Metadata},
		{"fe80::a9fe:a9fe%eth0", Metadata},
		{"::ffff:169.254.169.254", Metadata},
		{"64:ff9b::a9fe:a9fe", Metadata},
		{"2002:a9fe:a9fe::1", Metadata},

		{"::", Special},
		{"::1", Loopback},
		{"::2", Special},
		{"::ffff:0:0", Special},
		{"::ffff:8.8.8.8", Public},
		{"::ffff:10.0.0.1", Private},
		{"::127.0.0.1", Loopback},
		{"::8.8.8.8", Special},
		{"::ffff:0:127.0.0.1", Loopback},
		{"::ffff:0:8.8.8.8", Special},
		{"64:ff9b::8.8.8.8", Public},
		{"64:ff9b::10.0.0.1", Private},
		{"64:ff9b::127.0.0.1", Loopback},
		{"64:ff9b:0:1::8.8.8.8", Special},
		{"64:ff9b:1::8.8.8.8", Special},
		{"64:ff9b:1::10.0.0.1", Private},
		{"64:ff9b:1:0a00:0:0100:808:808", Private},
		{"64:ff9b:1:ffff:7f:1:808:808", Special},
		{"64:ff9b:1:80a:1:203:808:808", Private}, // behind a prefix of 56 bits
		{"64:ff9b:1:a00:2:303:808:808", Private}, // of 48
		{"64:ff9b:1:808:a:203:408:808", Private}, // of 64
		{"100::1", Special},
		{"100:0:0:1::1", Special},
		{"100:0:0:2::1", Special},
		{"2001::1", Special},
		{"2001:0:7f00:1::f7f7:f7f7", Loopback},
		{"2001:0:808:808::f5ff:fffe", Private},
		{"2001:0:808:808::f7f7:f7f7", Special},
		{"2001:1::1", Special},
		{"2001:2::1", Special},
		{"2001:3::1", Special},
		{"2001:4:112::1", Special},
		{"2001:10::1", Special},
		{"2001:1f::1", Special},
		{"2001:20::1", Special},
		{"2001:2f::1", Special},
		{"2001:30::1", Special},
		{"2001:1ff::1", Special},
		{"2001:200::1", Public},
		{"2001:db8::1", Special},
		{"2001:db9::1", Public},
		{"2002:808:808::1", Special},
		{"2002:a00:1::1", Private},
		{"2002:7f00:1::", Loopback},
		{"2002:c0a8:101::1", Private},
		{"2606:4700::5eff:a00:1", Public},
		{"2606:4700::1:5efe:a00:1", Public},
		{"2606:4700:0:0:0:5efe:10.0.0.1", Private},
		{"2606:4700:0:0:200:5efe:8.8.8.8", Special},
		{"2606:4700:4700::1111", Public},
		{"2620:4f:8000::1", Special},
		{"3ffe::1", Public},
		{"3fff::1", Special},
		{"3fff:fff::1", Special},
		{"3fff:1000::1", Public},
		{"4000::1", Special},
		{"5f00::1", Special},
		{"8000::1", Special},
		{"fc00::1", Private},
		{"fdff::1", Private},
		{"fe00::1", Special},
		{"fe80::1", Link},
		{"febf::1", Link},
		{"fec0::1", Private},
		{"feff::1", Private},
		{"ff02::1", Special},
		{"ff0e::1", Special},
	} {
		if got := ClassOf(netip.MustParseAddr(tt.ip)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.ip, got, tt.want)
		}
	}
	if got := ClassOf(netip.Addr{}); got != Special {
		t.Errorf("no address: got %q, want %q", got, Special)
	}
}

func TestNoRowOfTheTableIsHidden(t *testing.T) {
	for i, s := range special {
		if s.prefix != s.prefix.Masked() || s.why == "" || s.class == Public {
			t.Errorf("row %v: got bits behind its length, no source or no class, want a whole row", s)
		}
		for _, before := range special[:i] {
			if before.prefix.Contains(s.prefix.Addr()) && before.prefix.Bits() <= s.prefix.Bits() {
				t.Errorf("row %v stands behind %v, which hides it; want it before", s, before)
			}
		}
	}
}

func TestPermitsOnlyWhatAddressesName(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("9.9.9.9"), netip.MustParseAddr("2606:4700::9%eth0"), netip.MustParseAddr("::ffff:9.9.9.8")}
	for _, tt := range []struct {
		name, ip  string
		addresses []string
		class     Class
		want      bool
	}{
		{"public", "8.8.8.8", nil, Public, true},
		{"private", "10.1.2.3", nil, Private, false},
		{"private, named", "10.1.2.3", []string{"10.1.2.3"}, Private, true},
		{"private, its network named", "10.1.2.3", []string{"192.168.0.0/16", "10.1.0.0/16"}, Private, true},
		{"private, another named", "10.1.2.3", []string{"10.1.2.4"}, Private, false},
		{"mapped, named", "::ffff:10.1.2.3", []string{"10.1.2.3"}, Private, true},
		{"translated, the one within named", "64:ff9b::10.1.2.3", []string{"10.1.2.3"}, Private, false},
		{"metadata, its network named", "169.254.169.254", []string{"169.254.0.0/16"}, Metadata, false},
		{"metadata, written out", "169.254.169.254", []string{"169.254.169.254"}, Metadata, true},
		{"own", "9.9.9.9", nil, Own, false},
		{"own, mapped", "::ffff:9.9.9.9", nil, Own, false},
		{"own, listed as mapped", "9.9.9.8", nil, Own, false},
		{"own, translated", "64:ff9b::909:909", nil, Own, false},
		{"own, IPv6 with a zone", "2606:4700::9%eth0", nil, Own, false},
		{"own, named", "9.9.9.9", []string{"9.9.9.9"}, Own, true},
		{"a zone", "fe80::1%eth0", []string{"fe80::/10"}, Link, true},
	} {
		table, err := Compile([]Entry{{Destination: "a.test:443", Operations: []string{"GET /**"}, Addresses: tt.addresses}})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		a, _ := ParseAuthority("a.test", 443)
		if class, ok := table.Reach(a).Permits(netip.MustParseAddr(tt.ip), own); class != tt.class || ok != tt.want {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, class, ok, tt.class, tt.want)
		}
	}
}

func TestAnEntryOfAnAddressLeadsThere(t *testing.T) {
	table, err := Compile([]Entry{{Name: "x", Destination: "[fd00::1]:80", Operations: []string{"GET /"}}})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := ParseAuthority("[FD00::1]:80", 0)
	r := table.Reach(a)
	if _, ok := r.Permits(a.IP, nil); !r.Named || !ok {
		t.Errorf("got %+v, permits %v, want it named and permitted", r, ok)
	}
	if _, ok := r.Permits(netip.MustParseAddr("fd00::2"), nil); ok {
		t.Error("got the next address permitted, want only the one that is written")
	}
}
