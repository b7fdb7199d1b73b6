package policy

import (
	"fmt"
	"strings"
)

// connect is the operation that stands alone: a tunnel that nobody looks into.
const connect = "CONNECT"

func (b *block) network(v Network) {
	b.section("Network")
	if len(v.Allow) == 0 {
		b.row("reach", "nothing: a network namespace of its own with loopback only; enforced by the kernel")
		return
	}
	b.row("reach", "only what follows, through the egress proxy outside; the kernel gives a network namespace of its own with loopback only, and the proxy refuses whatever no entry allows")
	for i, a := range v.Allow {
		b.row(fmt.Sprintf("allow %d", i+1), orNone(a.Destination, "(no destination)")+": "+orNone(operationsText(a.Operations), "no operation"))
		b.row("account", accountText(a))
		b.row("bounds", boundsText(a))
		b.row("given away", givenAway(a))
	}
}

// operationsText prints operations, which hold a space each, so that commas
// part them.
func operationsText(list []string) string {
	for _, s := range list {
		if strings.ContainsAny(s, ",;\"") {
			return listText(list)
		}
	}
	return strings.Join(list, ", ")
}

func accountText(a Allow) string {
	if !a.named() {
		return orNone(a.Account, "none") + ": nothing is attached, and a request that carries a credential is refused"
	}
	return a.Account + ": attached at the proxy; a request with any other credential is refused"
}

func boundsText(a Allow) string {
	parts := []string{
		"query " + orNone(a.Query, "any"),
		pick(a.Upgrade, "websockets allowed", "no websockets"),
		pick(a.MaxUpload == 0, "uploads not bounded", "uploads up to "+a.MaxUpload.String()+" in a session"),
		pick(a.PerMinute == 0, "requests not bounded", count(a.PerMinute)+" requests per minute"),
		pick(len(a.Addresses) == 0, "public addresses only", "public addresses, and "+listText(a.Addresses)),
	}
	return strings.Join(parts, "; ")
}

// givenAway says what an entry lets through unseen.
func givenAway(a Allow) string {
	out := "TLS ends at the proxy, which sees method, path and credentials of each request; what the bodies carry is not looked at"
	if contains(a.Operations, connect) {
		out = "opaque tunnel: anything may be sent there, to any account; only the destination is checked"
	}
	if a.ReturnsSecret {
		return out + "; answers may hold credentials: they are not searched and cut"
	}
	return out
}

func (b *block) credentials(p *Policy) {
	b.section("Credentials")
	if len(p.Credentials) == 0 {
		b.row("given", "none; the environment inside is made from an allow-list, the home is a new one")
		return
	}
	for _, c := range p.Credentials {
		b.row("credential", orNone(c.Name, "(no name)"))
		b.row("held", "outside only, read at use from "+orNone(c.Source, "nothing"))
		b.row("attached", "as "+orNone(c.Attach, "nothing")+", at the proxy, over TLS only")
		b.row("scoped to", orNone(strings.Join(scopes(p, c.Name), "; "), "nothing: no entry names it"))
		b.row("seen inside", "a placeholder, good in this session only, in "+orNone(c.Placeholder, "nothing")+", of the form "+orNone(c.PlaceholderFormat, "(as the secret's)"))
		b.row("revoked", "the placeholder when the session's processes end, and a resume has a new one; the credential itself where it was issued")
	}
}

// scopes lists where an account may be used.
func scopes(p *Policy, name string) []string {
	var out []string
	for _, a := range p.Network.Allow {
		if a.named() && a.Account == name {
			out = append(out, a.Destination+": "+operationsText(a.Operations))
		}
	}
	return out
}
