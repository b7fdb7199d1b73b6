package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
	"fumehood/isolate/egress/witness"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/session"
)

// atTheProxy is the part of test 6 that goes through the only way out: what no
// entry names, under every name that could be taken for one.
func atTheProxy(ctx context.Context, e *env, rm room) ([]walls.Attempt, error) {
	d, err := e.far()
	if err != nil {
		return nil, err
	}
	inside, err := e.placeholders(ctx, rm)
	if err != nil {
		return nil, err
	}
	at, some := d.first()
	list := d.otherPlaces(some)
	if some {
		c := credentials{d.secrets[at.account], inside[at.account]}
		control := d.allowed(at, c)[0]
		control.id, control.tried = "allowed", "what is allowed: "+control.tried
		list = append([]try{control}, list...)
		list = append(list, d.spellings(at, c)...)
		list = append(list, d.mismatches(at, c)...)
		list = append(list, d.redirected(at, c))
	}
	out, err := e.through(ctx, rm, list, false)
	if err != nil || !some {
		return out, err
	}
	c := credentials{d.secrets[at.account], inside[at.account]}
	more, err := e.through(ctx, rm, d.smuggling(at, c), true)
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	more, err = e.leadElsewhere(ctx, d)
	return append(out, more...), err
}

// controlOf is the control of attempts at the proxy; a policy without an entry
// permits nothing there, and that the destination is alive is shown by the host.
func controlOf(some bool) string {
	if some {
		return "allowed"
	}
	return ""
}

// otherPlaces asks for each place in both ways: as a tunnel, and in plain HTTP;
// and for a name.
func (d *destination) otherPlaces(some bool) []try {
	var out []try
	for _, x := range d.elsewheres() {
		get := func(n string) request {
			return request{method: "GET", path: "/fh" + n, host: x.host, headers: []string{"X-Witness: " + n}}
		}
		name, _, _ := strings.Cut(x.host, ":")
		out = append(out, try{
			id: "proxy-" + x.id, tried: "at the proxy, a tunnel to " + x.what + ": " + x.host, expected: "refused, and nothing arrives", control: controlOf(some),
			connect: x.host, sni: strings.Trim(name, "[]"), send: func(n string) []byte { return get(n).bytes() }, judge: refusedOrUnread(x.reasons...),
		}, try{
			id: "proxy-http-" + x.id, tried: "at the proxy, plain HTTP to " + x.what + ": " + x.host, expected: "refused, and nothing arrives", control: controlOf(some),
			send: func(n string) []byte {
				r := get(n)
				r.absolute = "http://" + x.host
				return r.bytes()
			},
			judge: refusedOrUnread(badName...),
		})
	}
	return append(out, try{
		id: "proxy-names", tried: "look a name up inside", expected: "not resolved, and written down", control: controlOf(some),
		lookup: dnsQuestion, judge: notResolved,
	})
}

// notResolved judges a lookup: the proxy's record has it, and it has no answer.
func notResolved(p *passage) outcome {
	if o, ok := p.sound(); !ok {
		return o
	}
	got := p.seen.said.Got
	for _, l := range p.lines {
		if l.Method != "LOOKUP" || !strings.Contains(l.Host, p.nonce) {
			continue
		}
		if len(got) < 8 || got[3]&0xf != 3 || got[6] != 0 || got[7] != 0 { // RFC 1035, 4.1.1: NXDOMAIN, without answers
			return failed("a name got another answer than that there is none", walls.Supervisor, fmt.Sprintf("%x", got))
		}
		return held("no such name", walls.Proxy, line(l))
	}
	return errored("the proxy's record has no lookup of it: " + p.tell.Broken)
}

// refusedOrUnread is refusedBy for what may be no request at all to the proxy,
// which is written down as that.
func refusedOrUnread(reasons ...rule.Reason) func(*passage) outcome {
	return refusedBy(append(slices.Clone(reasons), rule.NotHTTP)...)
}

// spellings are other ways to write the same destination. They may work, as what
// they are, or be refused.
func (d *destination) spellings(at entry, c credentials) []try {
	var out []try
	if at.at.IP.IsValid() || at.clear() {
		return nil
	}
	for _, x := range []struct{ id, what, host string }{
		{"case", "an allowed name in capitals", strings.ToUpper(at.at.Host)},
		{"dot", "an allowed name with a dot at its end", at.at.Host + "."},
		{"dots", "an allowed name with two dots at its end", at.at.Host + ".."},
	} {
		out = append(out, try{
			id: "proxy-" + x.id, tried: "at the proxy, " + x.what, expected: "the same destination, or refused", control: "allowed",
			connect: fmt.Sprintf("%s:%d", x.host, at.at.Port), sni: at.sni(),
			send: func(n string) []byte { return at.for1(n, c.placeholder).bytes() },
			judge: func(p *passage) outcome {
				if len(p.arrived) == 0 {
					return refusedBy(rule.BadAuthority, rule.NoEntry, rule.Disagree)(p)
				}
				if h := p.arrived[0]; h.Host != at.host() || h.SNI != at.sni() {
					return failed("it arrived under another name", walls.Listener, fmt.Sprintf("Host %q, SNI %q, nonce %s", h.Host, h.SNI, p.nonce))
				}
				o := allowedAt(at, c)(p)
				if o.verdict == walls.Held {
					o.observed = "taken for what it is, the allowed name"
				}
				return o
			},
		})
	}
	return out
}

// mismatches name two places in one request.
func (d *destination) mismatches(at entry, c credentials) []try {
	evil := d.forbiddenName()
	disagree := []rule.Reason{rule.Disagree, rule.BadAuthority, rule.NoEntry, rule.Foreign}
	one := func(id, tried string, change func(*try, *request)) try {
		t := try{
			id: "proxy-" + id, tried: "at the proxy, " + tried, expected: "refused, and nothing arrives", control: "allowed", connect: at.tunnel(), sni: at.sni(),
			judge: refusedOrUnread(disagree...),
		}
		t.send = func(n string) []byte {
			r := at.for1(n, c.placeholder)
			change(&try{}, &r)
			return r.bytes()
		}
		change(&t, &request{})
		return t
	}
	out := []try{
		one("host", "a Host header that names another place than the tunnel", func(_ *try, r *request) { r.host = evil }),
		one("host-port", "a Host header with another port", func(_ *try, r *request) { r.host = hostPort(at, at.at.Port%65535+1) }),
		one("absolute", "a URL within a tunnel that names another place", func(_ *try, r *request) { r.absolute = "https://" + evil }),
		one("hosts", "two Host headers", func(_ *try, r *request) { r.headers = append(r.headers, "Host: "+evil) }),
		one("url-user", "a URL with the allowed name as user of another", func(_ *try, r *request) {
			r.absolute, r.host = "https://"+at.host()+"@"+evil, evil
		}),
	}
	if !at.clear() && at.sni() != "" {
		sni := one("sni", "a TLS server name that is another place than the tunnel", func(t *try, _ *request) { t.sni = evil })
		sni.judge = refusedBy(rule.Disagree)
		out = append(out, sni)
	}
	return out
}

// redirected has the destination send the client elsewhere, and the client go.
func (d *destination) redirected(at entry, c credentials) try {
	where := func(n string) string { return "https://" + d.forbiddenName() + "/went" + n }
	return try{
		id: "proxy-redirect", tried: "follow the destination's redirect to a place that no entry names", expected: "refused, and nothing arrives there", control: "allowed",
		connect: at.tunnel(), sni: at.sni(), reply: witness.Redirect, to: where, follow: true,
		send: func(n string) []byte { return at.for1(n, c.placeholder).bytes() },
		judge: func(p *passage) outcome {
			if o, ok := p.sound(); !ok {
				return o
			}
			if p.tell.Then != where(p.nonce) {
				return errored("the redirect did not come inside: " + p.tell.Broken)
			}
			for _, a := range p.arrived {
				if strings.Contains(a.Path, "went") {
					return failed("it arrived where the redirect led to", walls.Listener, a.Host+a.Path)
				}
			}
			lines := p.lines[:0:0]
			for _, l := range p.lines {
				if l.Host == d.forbiddenName() {
					lines = append(lines, l)
				}
			}
			return refusedIn(lines, "the destination's log has the redirect and not what followed", noEntry, p.tell.Broken)
		},
	}
}

// leadElsewhere opens a session in which an allowed name leads to addresses of
// all kinds, one lookup after the other. A public one comes first and last: a
// name that leads to a good address at first is no better for it.
func (e *env) leadElsewhere(ctx context.Context, d *destination) ([]walls.Attempt, error) {
	t, ok := e.target.(*sessions)
	if !ok {
		return nil, nil
	}
	at, ok := d.named1()
	if !ok {
		return e.noRows("proxy-rebinding", "an allowed name that leads elsewhere", "no entry's destination is a name that the proxy looks up and whose requests it reads"), nil
	}
	bad := badAddresses(at)
	moved := *t
	moved.names = func(s *session.StandIn) { misleading(s, at, bad, d.srv.At()) }
	e.target = &moved
	rm, err := e.openRoom(ctx, e.lasting())
	e.target = t
	if err != nil {
		return nil, err
	}
	inside, err := e.placeholders(ctx, rm)
	if err != nil {
		return nil, errors.Join(err, rm.close(ctx))
	}
	c := credentials{d.secrets[at.account], inside[at.account]}
	send := func(n string) []byte { return at.for1(n, c.placeholder).bytes() }
	list := []try{{
		id: "leads-out", tried: "an allowed name that leads to a public address", expected: "works", connect: at.tunnel(), sni: at.sni(), send: send, judge: allowedAt(at, c),
	}}
	for _, b := range bad {
		list = append(list, try{
			id: "leads-to " + b.what, tried: fmt.Sprintf("the same name, which leads to %s now: %s", b.what, strings.Join(b.ips, ", ")), expected: "refused, and nothing arrives", control: "leads-out",
			connect: at.tunnel(), sni: at.sni(), send: send, judge: refusedBy(rule.BadAddress),
		})
	}
	out, err := e.through(ctx, rm, list, false)
	if e.real.WayOut(e.pol) == walls.WayByProxy {
		// The run's own server is reached without that proxy.
		out = append(out, e.noRows("proxy-resolves", "a name that the host's own proxy resolves", "what its addresses are is not seen here, and no class of them refused")...)
	}
	return out, errors.Join(err, rm.close(ctx))
}

// noRows is one attempt that does not apply.
func (e *env) noRows(id, tried, why string) []walls.Attempt {
	_, text := nonce()
	r := row{id: id, tried: tried, expected: "refused"}
	a := r.attempt(text, false, notApplicable(why), "")
	e.tell(walls.Event{Test: e.test, Attempt: &a})
	return []walls.Attempt{a}
}

// withEntry gives a policy made-up entries where it has none: Mutate shows the
// proxy's parts with them.
func withEntry(pol *policy.Policy) {
	if len(pol.Network.Allow) > 0 {
		return
	}
	pol.Network.Allow = []policy.Allow{
		{Destination: "packages.example.test:443", Operations: []string{"GET /files/**"}, Query: "any", Account: "first"},
		{Destination: "other.example.test:443", Operations: []string{"GET /**"}, Query: "any", Account: "second"},
	}
	pol.Credentials = []policy.Credential{
		{Name: "first", Source: "env:FIRST_TOKEN", Attach: "Authorization: Bearer {secret}", Placeholder: "env:FIRST_TOKEN", PlaceholderFormat: "pk_{random:40}"},
		{Name: "second", Source: "env:SECOND_TOKEN", Attach: "X-Api-Key: {secret}", Placeholder: "env:SECOND_TOKEN", PlaceholderFormat: "sk_{random:40}"},
	}
}
