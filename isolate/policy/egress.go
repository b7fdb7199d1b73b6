package policy

import (
	"fmt"
	"path"
	"strings"

	"fumehood/isolate/egress/rule"
)

// Entries gives the policy's egress entries as the proxy takes them. Each is
// named after its policy and its number, from 1, as records and refusals say.
func (p *Policy) Entries() []rule.Entry {
	out := make([]rule.Entry, len(p.Network.Allow))
	for i, a := range p.Network.Allow {
		out[i] = a.entry(fmt.Sprintf("%s %d", p.shortName(), i+1))
	}
	return out
}

func (a Allow) entry(name string) rule.Entry {
	return rule.Entry{
		Name: name, Destination: a.Destination, Operations: a.Operations, Query: a.Query,
		Account: a.Account, Upgrade: a.Upgrade, MaxUpload: int64(a.MaxUpload), PerMinute: a.PerMinute,
		Addresses: a.Addresses, ReturnsSecret: a.ReturnsSecret,
	}
}

// shortName is the policy's name without folder and ending.
func (p *Policy) shortName() string {
	if p.Name == "" {
		return "policy"
	}
	return strings.TrimSuffix(path.Base(p.Name), ".toml")
}

// named tells whether an entry is done as an account.
func (a Allow) named() bool { return a.Account != "" && a.Account != "none" }

// Credential gives an entry of [[credentials]] by name.
func (p *Policy) Credential(name string) (Credential, bool) {
	for _, c := range p.Credentials {
		if c.Name == name {
			return c, true
		}
	}
	return Credential{}, false
}
