package prove

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
	"fumehood/isolate/egress/witness"
	"fumehood/isolate/walls"
)

// allowedDestination has one allowed operation of every entry done, and has the
// destination hand the real credential back in every way that there is.
func allowedDestination(ctx context.Context, e *env) ([]walls.Attempt, error) {
	if len(e.pol.Network.Allow) == 0 {
		return e.withoutDestination("destination", "one allowed operation at an allowed destination"), nil
	}
	d, err := e.far()
	if err != nil {
		return nil, err
	}
	rm, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	inside, err := e.placeholders(ctx, rm)
	if err != nil {
		return nil, err
	}
	var list []try
	shown := map[string]bool{}
	for _, at := range d.entries {
		c := credentials{d.secrets[at.account], inside[at.account]}
		list = append(list, d.allowed(at, c)...)
		if at.account == "" || at.opaque || shown[at.account] || at.rule.ReturnsSecret {
			continue
		}
		shown[at.account] = true
		for _, r := range witness.Reflections() {
			list = append(list, reflection(at, c, r))
		}
	}
	got, err := e.through(ctx, rm, list, false)
	return append(got, e.standins(inside)...), err
}

// withoutDestination is the one attempt of a test that has no subject.
func (e *env) withoutDestination(id, tried string) []walls.Attempt {
	_, text := nonce()
	r := row{id: id, tried: tried, expected: "what the policy allows"}
	a := r.attempt(text, false, notApplicable("the policy allows no destination"), "")
	e.tell(walls.Event{Test: e.test, Attempt: &a})
	return []walls.Attempt{a}
}

// nameOf is how an entry is called in attempts.
func nameOf(at entry) string { return fmt.Sprintf("entry %d", at.n) }

// allowed are the ways of an entry that have to work.
func (d *destination) allowed(at entry, c credentials) []try {
	if at.opaque {
		return []try{d.opaque(at)}
	}
	out := []try{{
		id: nameOf(at), tried: fmt.Sprintf("%s %s at %s", at.method, at.glob, at.rule.Destination), expected: "works, written down, " + asWhom(at),
		connect: at.tunnel(), sni: at.sni(), send: func(n string) []byte { return at.for1(n, c.placeholder).bytes() }, judge: trusting(at, allowedAt(at, c)),
	}}
	if at.rule.Upgrade {
		out = append(out, d.socket(at, c))
	}
	return out
}

// trusting judges besides that the inside trusts who answers: else no program
// that verifies certificates, as all should, would get that far.
func trusting(at entry, judge func(*passage) outcome) func(*passage) outcome {
	return func(p *passage) outcome {
		o := judge(p)
		if o.verdict == walls.Held && !at.clear() && !p.tell.Trusted {
			return failed("the session's own certificate is not trusted inside", walls.Supervisor, "SHA-256 "+p.tell.Peer)
		}
		return o
	}
}

func asWhom(at entry) string {
	if at.account == "" {
		return "as no account"
	}
	return fmt.Sprintf("as the account %q", at.account)
}

// tunnel is what a client asks a CONNECT for; "" where it asks the proxy itself.
func (p entry) tunnel() string {
	if p.clear() {
		return ""
	}
	return p.at.String()
}

// opaque reaches the destination's own certificate through a tunnel that the
// proxy does not look into, as the policy says.
func (d *destination) opaque(at entry) try {
	return try{
		id: nameOf(at), tried: "an opaque tunnel to " + at.rule.Destination, expected: "works, written down; nobody looks into it",
		connect: at.at.String(), sni: at.sni(), late: true,
		send: func(n string) []byte {
			return request{method: "GET", path: "/fh" + n, host: at.host(), headers: []string{"X-Witness: " + n}}.bytes()
		},
		judge: func(p *passage) outcome {
			o := allowedAt(at, credentials{})(p)
			own, err := d.srv.Fingerprint(at.sni())
			switch {
			case err != nil:
				return errored(err.Error())
			case o.verdict == walls.Held && p.tell.Peer != own:
				return failed("the certificate inside is not the destination's own, so somebody looks into the tunnel", walls.Supervisor, "SHA-256 "+p.tell.Peer)
			case o.verdict == walls.Held:
				o.observed = "arrived through an opaque tunnel: no operation, no account and no answer is looked at there, as the policy says"
			}
			return o
		},
	}
}

// socket talks to a websocket, which says what it was sent.
func (d *destination) socket(at entry, c credentials) try {
	const word = "a message of the session's"
	t := try{
		id: nameOf(at) + " websocket", tried: "a websocket at " + at.rule.Destination, expected: "works, and shows no credential", control: nameOf(at),
		connect: at.tunnel(), sni: at.sni(), reply: witness.Echo, until: witness.Mark, then: witness.Frame([]byte(word), true), late: true,
		send: func(n string) []byte { return upgrading(at.for1(n, c.placeholder)).bytes() },
	}
	t.judge = func(p *passage) outcome {
		o := allowedAt(at, c)(p)
		if o.verdict == walls.Held && !bytes.Contains(p.everything(), []byte(word)) {
			return errored("the websocket did not send the message back: " + p.tell.Broken)
		}
		return o
	}
	return t
}

// upgrading is a request that asks for a websocket (RFC 6455, 4.1).
func upgrading(r request) request {
	r.keep, r.body = true, ""
	r.headers = append(r.headers, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
	return r
}

// reflection has the destination hand back what it was sent.
func reflection(at entry, c credentials, r witness.Reply) try {
	t := try{
		id: fmt.Sprintf("%s reflects: %s", at.account, r), tried: fmt.Sprintf("the destination hands the credential of %q back: %s", at.account, r),
		expected: "the inside does not see it", control: nameOf(at), connect: at.tunnel(), sni: at.sni(), reply: r,
		send: func(n string) []byte { return at.for1(n, c.placeholder).bytes() },
	}
	t.judge = func(p *passage) outcome {
		o := allowedAt(at, c)(p)
		if l, ok := refusedAnswer(p); ok && (o.verdict == walls.Held || strings.HasPrefix(o.observed, "it arrived, and")) {
			// The request was allowed, and the answer was not handed in.
			return held("the answer was refused: "+l.Reason, walls.Proxy, line(l))
		}
		if o.verdict != walls.Held {
			return o
		}
		if len(p.arrived) != 1 || p.arrived[0].Replied != r {
			return errored("the destination did not hand anything back")
		}
		if !bytes.Contains(p.everything(), []byte(witness.Mark+p.nonce)) {
			return errored("the answer was not seen inside: " + p.tell.Broken)
		}
		o.observed = "handed back, and cut: the inside did not see it"
		return o
	}
	return t
}

// refusedAnswer finds the line that says that the proxy kept an answer for
// itself; the inside got none of the destination's.
func refusedAnswer(p *passage) (record.Attempt, bool) {
	for _, l := range p.lines {
		if l.Reason == string(rule.Unsearchable) && !bytes.Contains(p.everything(), []byte(witness.Mark)) {
			return l, true
		}
	}
	return record.Attempt{}, false
}

// standins looks for the real credentials in the session's environment, which has
// placeholders instead.
func (e *env) standins(inside map[string]string) []walls.Attempt {
	var out []walls.Attempt
	for account, placeholder := range inside {
		r := row{id: account + " inside", tried: fmt.Sprintf("what stands for the credential of %q in the environment", account), expected: "a placeholder"}
		o := held("a placeholder", walls.Supervisor, "its length is "+fmt.Sprint(len(placeholder)))
		if reveals([]byte(placeholder), e.dest.secrets[account]) != "" {
			o = failed("the real credential is in the session's environment", walls.Supervisor, account)
		}
		_, text := nonce()
		a := r.attempt(text, false, o, "")
		e.tell(walls.Event{Test: e.test, Attempt: &a})
		out = append(out, a)
	}
	return out
}
