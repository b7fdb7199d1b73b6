package egress

import (
	"net/netip"

	"fumehood/isolate/egress/rule"
)

// Part is a check that can be left out in throw-away sessions, so that it is
// seen that the wall tests would miss it. Only session/prove asks for one: no
// policy, file, variable or argument does, and in a user's session it is empty.
type Part string

// The parts, one for each promise that the proxy makes.
const (
	PartDestination Part = "destination check"
	PartAddress     Part = "address class check"
	PartOperation   Part = "operation check"
	PartAccount     Part = "account check"
	PartOther       Part = "recognition of another session's placeholder"
	PartSearch      Part = "search of responses"
	PartNames       Part = "agreement of names"
)

// Parts lists them.
func Parts() []Part {
	return []Part{PartDestination, PartAddress, PartOperation, PartAccount, PartOther, PartSearch, PartNames}
}

func (p *Proxy) omits(part Part) bool { return p.cfg.Omit == part }

// reach is what the policy says of a destination.
func (p *Proxy) reach(t *rule.Table, a rule.Authority) rule.Reach {
	r := t.Reach(a)
	if !r.Named && p.omits(PartDestination) {
		r.Named = true
	}
	return r
}

// decide is what the policy says of a request.
func (p *Proxy) decide(t *rule.Table, q rule.Request) rule.Answer {
	ans := t.Decide(q)
	if ans.Entry != nil || !p.omits(PartDestination) && !p.omits(PartOperation) {
		return ans
	}
	if ans.Reason == rule.NoEntry {
		if p.omits(PartDestination) {
			return rule.Answer{Entry: &rule.Entry{Account: "none"}}
		}
		return ans
	}
	for i := range p.cfg.Entries {
		if e := &p.cfg.Entries[i]; e.Name == ans.Rule && p.omits(PartOperation) {
			return rule.Answer{Entry: e, Rule: e.Name}
		}
	}
	return ans
}

// permits tells whether a destination may be at an address.
func (p *Proxy) permits(r rule.Reach, ip netip.Addr, own []netip.Addr) (rule.Class, bool) {
	class, ok := r.Permits(ip, own)
	return class, ok || p.omits(PartAddress)
}

// standIn is where an address is reached: there, or at what stands in for it in
// a session of the wall tests, which reaches nothing else.
func (p *Proxy) standIn(at string) (string, bool) {
	if p.cfg.Upstream.To == nil {
		return at, true
	}
	to, ok := p.cfg.Upstream.To[at]
	return to, ok
}
