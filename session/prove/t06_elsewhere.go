package prove

import (
	"fmt"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
)

// elsewhere is a destination that no entry names, as a client writes it.
type elsewhere struct {
	id, what string
	host     string // with its port
	reasons  []rule.Reason
}

// noEntry and badName are why such a one is refused: no entry names it, or it
// can be read in more than one way.
var (
	noEntry = []rule.Reason{rule.NoEntry}
	badName = []rule.Reason{rule.NoEntry, rule.BadAuthority}
)

// elsewheres lists destinations beside the policy's. port is that of a listener
// on the host, so that a literal of loopback would reach something.
func (d *destination) elsewheres() []elsewhere {
	port := portText(d.srv.At())
	out := []elsewhere{
		{"name", "another name", d.label + "-other.test:443", noEntry},
		{"loopback", "the host's loopback", "127.0.0.1:" + port, noEntry},
		{"loopback6", "the host's loopback in IPv6", "[::1]:" + port, noEntry},
		{"localhost", "localhost", "localhost:" + port, noEntry},
		{"mapped", "loopback as an IPv4 address in IPv6", "[::ffff:127.0.0.1]:" + port, badName},
		{"decimal", "loopback as one number", "2130706433:" + port, badName},
		{"hex", "loopback in hex", "0x7f000001:" + port, badName},
		{"octal", "loopback in octal", "0177.0.0.1:" + port, badName},
		{"short", "loopback written short", "127.1:" + port, badName},
		{"any", "the address of every interface", "0.0.0.0:" + port, noEntry},
		{"metadata", "the metadata service", "169.254.169.254:80", noEntry},
		{"metadata6", "the metadata service in IPv6", "[fd00:ec2::254]:80", noEntry},
		{"private", "a private address", "10.0.0.1:443", noEntry},
		{"link-local", "a link-local address", "[fe80::1]:443", badName},
		{"zone", "an address with a zone", "[fe80::1%25eth0]:443", badName},
	}
	e, ok := d.first()
	if !ok {
		return out
	}
	h, p := e.at.Host, fmt.Sprintf(":%d", e.at.Port)
	out = append(out, elsewhere{"port", "another port of an allowed host", hostPort(e, e.at.Port%65535+1), noEntry})
	if e.at.IP.IsValid() {
		return out
	}
	out = append(
		out,
		elsewhere{"suffix", "an allowed name in front of another", h + "." + d.label + ".test" + p, noEntry},
		elsewhere{"glued", "an allowed name with letters in front", d.label + h + p, noEntry},
		elsewhere{"homoglyph", "an allowed name with a letter of another alphabet", lookAlike(h) + p, badName},
		elsewhere{"userinfo", "an allowed name as the user of another", h + "@" + d.label + "-user.test" + p, badName},
		elsewhere{"userinfo-port", "an allowed name and port as user and password of another", h + p + "@" + d.label + "-user.test" + p, badName},
		elsewhere{"nul", "an allowed name, a zero byte, and another", h + "%00." + d.label + ".test" + p, badName},
		elsewhere{"space", "an allowed name with an escaped space behind", h + "%20" + p, badName},
	)
	if e.suffix != "" {
		out = append(out, elsewhere{"apex", "what a wildcard stands below", e.suffix + p, noEntry})
		out = append(out, elsewhere{"no-dot", "a wildcard's suffix without the dot", d.label + e.suffix + p, noEntry})
	}
	// A policy may name one of them.
	return slices.DeleteFunc(out, func(x elsewhere) bool {
		a, err := rule.ParseAuthority(x.host, 0)
		return err == nil && d.named(a)
	})
}

// named tells whether an entry names a destination.
func (d *destination) named(a rule.Authority) bool {
	return slices.ContainsFunc(d.entries, func(e entry) bool {
		if e.at.Port != a.Port {
			return false
		}
		return e.at.Host == a.Host || e.suffix != "" && strings.HasSuffix(a.Host, "."+e.suffix)
	})
}

// first is the entry beside which the attempts are made: the first that the
// proxy looks into.
func (d *destination) first() (entry, bool) {
	for _, e := range d.entries {
		if !e.opaque {
			return e, true
		}
	}
	return entry{}, false
}

// forbidden are these destinations as the proxy would name them.
func (d *destination) forbidden() []string {
	var out []string
	for _, x := range d.elsewheres() {
		out = append(out, x.host)
		if a, err := rule.ParseAuthority(x.host, 0); err == nil {
			out = append(out, a.String())
		}
	}
	for _, e := range d.entries {
		out = append(out, fmt.Sprintf("%s:%d", d.forbiddenName(), e.at.Port))
	}
	return append(out, d.forbiddenName()+":443", d.forbiddenName()+":80")
}

// forbiddenName is a host that no entry names, for requests that name two.
func (d *destination) forbiddenName() string { return d.label + "-forbidden.test" }

func hostPort(e entry, port uint16) string {
	at := e.at
	at.Port = port
	return at.String()
}

func portText(at string) string { return at[strings.LastIndexByte(at, ':')+1:] }

// lookAlike has one Latin letter of a name replaced by a Cyrillic one, in
// Punycode where that is known.
func lookAlike(h string) string {
	// In one order: who stands in for it must be asked by the same name.
	for _, pair := range [][2]string{{"a", "\u0430"}, {"e", "\u0435"}, {"o", "\u043e"}, {"c", "\u0441"}} {
		latin, cyrillic := pair[0], pair[1]
		if strings.Contains(h, latin) {
			return strings.Replace(h, latin, cyrillic, 1)
		}
	}
	return "\u0445" + h
}
