package rule

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Authority is a place on the network in one normal form: a lower-case ASCII
// name without a trailing dot, or an address; and a port.
type Authority struct {
	Host string     // the name, or the address as netip prints it
	IP   netip.Addr // valid when Host is a literal
	Port uint16
}

func (a Authority) String() string {
	port := strconv.Itoa(int(a.Port))
	if a.IP.Is6() {
		return "[" + a.Host + "]:" + port
	}
	return a.Host + ":" + port
}

// The longest host and the longest label of one (RFC 1035, 2.3.4).
const (
	maxHost  = 253
	maxLabel = 63
)

var (
	errHost  = errors.New("an empty or overlong host")
	errName  = errors.New("not a name that can be looked up")
	errPort  = errors.New("the port is not a number from 1 to 65535")
	errAton  = errors.New("a number that some would take for an address")
	errHyph  = errors.New("a label that begins or ends with a hyphen, which resolvers refuse")
	errZone  = errors.New("an address with a zone")
	errNo6   = errors.New("not an IPv6 address")
	errPlain = errors.New("an empty port, or an IPv6 address without brackets")
)

// ParseAuthority reads host, host:port, [v6] or [v6]:port. port is used when
// none is written; 0 then is an error. What resolvers, TLS stacks and servers
// read in different ways is an error: numbers that inet_aton would take for an
// address, zones, percent signs, empty labels, control bytes, userinfo.
func ParseAuthority(s string, port uint16) (Authority, error) {
	host, digits, err := splitPort(s)
	if err != nil {
		return Authority{}, err
	}
	if digits != "" {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != digits {
			return Authority{}, errPort
		}
		port = uint16(n)
	}
	if port == 0 {
		return Authority{}, errors.New("no port")
	}
	a := Authority{Port: port}
	if a.Host, a.IP, err = parseHost(host); err != nil {
		return Authority{}, err
	}
	// Brackets are for IPv6 alone; a mapped address in them is IPv4 by now.
	return a, nil
}

func splitPort(s string) (host, port string, err error) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, after, ok := strings.Cut(rest, "]")
		switch {
		case !ok || !strings.Contains(host, ":"):
			return "", "", errors.New("a bracket without an IPv6 address")
		case after == "":
			return host, "", nil
		case after[0] != ':' || len(after) == 1:
			return "", "", errors.New("odd bytes after the bracket")
		}
		return host, after[1:], nil
	}
	host, port, ok := strings.Cut(s, ":")
	if ok && (port == "" || strings.Contains(port, ":")) {
		return "", "", errPlain
	}
	return host, port, nil
}

func parseHost(host string) (string, netip.Addr, error) {
	var none netip.Addr
	// A name in Unicode may be longer than its ASCII form, not four times.
	if host == "" || len(host) > 4*maxHost {
		return "", none, errHost
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", none, errZone
		}
		ip = ip.Unmap()
		return ip.String(), ip, nil
	}
	if strings.Contains(host, ":") {
		return "", none, errNo6
	}
	name, err := normalName(host)
	return name, none, err
}

// names maps and checks as idna.Lookup does (UTS 46, non-transitional), but lets
// pass what DNS and resolvers know and the profile for registration does not:
// underscores, and hyphens in third and fourth place ("r3---sn"). What a mapped
// character turns into is checked afterwards, in plainLabel.
var names = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// normalName gives the ASCII form of a name (RFC 5891), lower case, without its
// trailing dot.
func normalName(host string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if !ascii(name) || strings.Contains(name, "xn--") {
		mapped, err := names.ToASCII(name)
		if err != nil {
			return "", errName
		}
		// What is mapped must be its own form: else the next reader maps it again.
		if again, err := names.ToASCII(mapped); err != nil || again != mapped {
			return "", errName
		}
		name = mapped
	}
	if name == "" || len(name) > maxHost {
		return "", errHost
	}
	last := ""
	for last = range strings.SplitSeq(name, ".") {
		if err := plainLabel(last); err != nil {
			return "", err
		}
	}
	if numeric(last) {
		return "", errAton
	}
	return name, nil
}

func plainLabel(l string) error {
	if l == "" || len(l) > maxLabel {
		return errName
	}
	for _, c := range []byte(l) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return errName
		}
	}
	if l[0] == '-' || l[len(l)-1] == '-' {
		return errHyph
	}
	return nil
}

// numeric tells whether inet_aton, and whoever follows the WHATWG's URL
// standard, would take a name with this last label for an address: 127.1,
// 0x7f000001, 2130706433, 0177.0.0.1.
func numeric(l string) bool {
	digits := "0123456789"
	if rest, ok := strings.CutPrefix(l, "0x"); ok {
		l, digits = rest, "0123456789abcdef"
	}
	return strings.Trim(l, digits) == ""
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
