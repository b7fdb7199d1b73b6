package rule

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// destination is the place that an entry names, or with wild every name below.
type destination struct {
	Authority
	wild bool
}

const asDestination = `as "packages.example.test:443", "*.example.test:443" or "[2001:db8::1]:443"`

func compileDestination(s string) (destination, *Fault) {
	fault := func(err error, hint string) (destination, *Fault) {
		return destination{}, &Fault{Key: "destination", Msg: quoted(s, err), Hint: hint}
	}
	host, wild := strings.CutPrefix(s, "*.")
	switch {
	case strings.Contains(s, "://") || strings.Contains(s, "/"):
		return fault(errors.New("a URL, where a host and a port are meant"), asDestination)
	case strings.Contains(host, "*"):
		return fault(errors.New(`a wildcard is "*." in front of a name, and nothing else`), asDestination)
	}
	a, err := ParseAuthority(host, 0)
	if err != nil {
		return fault(err, asDestination)
	}
	if !wild {
		return destination{Authority: a}, nil
	}
	if a.IP.IsValid() {
		return fault(errors.New("a wildcard in front of an address"), asDestination)
	}
	if suffix, _ := publicsuffix.PublicSuffix(a.Host); suffix == a.Host {
		return fault(errors.New("anyone can have a name below that suffix"), "name each host, or a suffix that is one owner's")
	}
	return destination{a, true}, nil
}

func (d destination) names(a Authority) bool {
	if d.Port != a.Port {
		return false
	}
	if d.wild {
		return !a.IP.IsValid() && below(a.Host, d.Host)
	}
	return d.Host == a.Host
}

// below tells whether a host is below a suffix and the same owner's: *.cloud.test
// must not name tenant.storage.cloud.test if anyone can be that tenant, nor
// storage.cloud.test, which serves all of them.
func below(host, suffix string) bool {
	if len(host) <= len(suffix)+1 || !strings.HasSuffix(host, suffix) || host[len(host)-len(suffix)-1] != '.' {
		return false
	}
	public, _ := publicsuffix.PublicSuffix(host)
	return len(public) < len(suffix)
}

// The widest prefixes that addresses may have: as wide as the widest of a
// private network.
const (
	widest4 = 8
	widest6 = 7
)

func compileAddresses(list []string) ([]netip.Prefix, *Fault) {
	var out []netip.Prefix
	for _, s := range list {
		p, hint, err := parseAddresses(s)
		if err != nil {
			return nil, &Fault{Key: "addresses", Msg: quoted(s, err), Hint: hint}
		}
		out = append(out, p)
	}
	return out, nil
}

func parseAddresses(s string) (p netip.Prefix, hint string, err error) {
	const as = `as "10.1.2.3" or "10.1.0.0/16"`
	if strings.Contains(s, "/") {
		p, err = netip.ParsePrefix(s)
	} else {
		var ip netip.Addr
		ip, err = netip.ParseAddr(s)
		p = netip.PrefixFrom(ip.WithZone(""), ip.BitLen())
		if ip.Zone() != "" {
			return p, as, errZone
		}
	}
	switch {
	case err != nil:
		return p, as, errors.New("neither an address nor a prefix")
	case p.Addr().Is4In6():
		return p, fmt.Sprintf("%q", p.Addr().Unmap()), errors.New("an IPv4 address written as IPv6")
	case p != p.Masked():
		return p, fmt.Sprintf("%q", p.Masked()), errors.New("the prefix has bits behind its length")
	case p.Addr().Is4() && p.Bits() < widest4 || p.Addr().Is6() && p.Bits() < widest6:
		return p, as, fmt.Errorf("as good as any address: at least /%d is wanted, of IPv6 /%d", widest4, widest6)
	}
	return p, "", nil
}
