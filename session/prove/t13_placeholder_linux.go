package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"fumehood/isolate/egress/rule"
	"fumehood/isolate/walls"
)

// placeholderElsewhere uses a session's placeholder where it is worth nothing:
// in another live session, in its own after a resume, and in another when its
// own has ended; and tries to get to the other's proxy.
func placeholderElsewhere(ctx context.Context, e *env) ([]walls.Attempt, error) {
	const tried = "a placeholder in another session"
	if len(e.pol.Network.Allow) == 0 {
		return e.withoutDestination("placeholder", tried), nil
	}
	d, err := e.far()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.entries, func(at entry) bool { return at.account != "" && !at.opaque })
	if i < 0 {
		return e.noRows("placeholder", tried, "no destination has a credential"), nil
	}
	at := d.entries[i]
	mine, err := e.shared(ctx)
	if err != nil {
		return nil, err
	}
	rm, err := e.openRoom(ctx, e.lasting())
	if err != nil {
		return nil, err
	}
	other, ok := rm.(*sess)
	if !ok {
		return nil, errors.New("there is no placeholder without a session")
	}
	t := &elsewhereTest{e: e, d: d, at: at, mine: mine, other: other}
	out, err := t.run(ctx)
	return out, errors.Join(err, rm.close(ctx))
}

type elsewhereTest struct {
	e     *env
	d     *destination
	at    entry
	mine  room
	other *sess
}

func (t *elsewhereTest) run(ctx context.Context) ([]walls.Attempt, error) {
	e, account := t.e, t.at.account
	own, err := e.placeholders(ctx, t.mine)
	if err != nil {
		return nil, err
	}
	first, err := e.placeholders(ctx, t.other)
	if err != nil {
		return nil, err
	}
	if own[account] == first[account] {
		return nil, errors.New("two sessions have the same placeholder")
	}
	out, err := e.through(ctx, t.mine, append(t.rows("live", own[account], first[account]), t.ports()...), false)
	if err != nil {
		return out, err
	}
	out = append(out, t.fromHost(ctx)...)
	more, err := e.through(ctx, t.other, t.rows("live, the other way", first[account], own[account]), false)
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	if err := t.other.again(ctx); err != nil {
		return out, err
	}
	second, err := e.placeholders(ctx, t.other)
	if err != nil {
		return out, err
	}
	if second[account] == first[account] {
		return out, errors.New("a resumed session has the placeholder of before")
	}
	more, err = e.through(ctx, t.other, t.rows("resumed", second[account], first[account]), false)
	out = append(out, more...)
	if err != nil {
		return out, err
	}
	if err := e.host.Stop(ctx, t.other.dir); err != nil {
		return out, err
	}
	more, err = e.through(ctx, t.mine, t.rows("ended", own[account], second[account]), false)
	return append(out, more...), err
}

// rows use a placeholder that is not the session's beside one that is, in every
// slot in which one may stand.
func (t *elsewhereTest) rows(when, own, other string) []try {
	at, c := t.at, credentials{t.d.secrets[t.at.account], own}
	control := t.d.allowed(at, c)[0]
	control.id = "own (" + when + ")"
	control.tried = "the session's own placeholder: " + control.tried
	out := []try{control}
	for _, x := range []struct {
		id, what string
		put      func(*request)
	}{
		{"slot", "in the account's own slot", func(r *request) { r.with(at.slot, other) }},
		{"bearer", "as a bearer token", func(r *request) { r.headers = append(r.headers, "Authorization: Bearer "+other) }},
		{"key", "in X-Api-Key", func(r *request) { r.headers = append(r.headers, "X-Api-Key: "+other) }},
	} {
		out = append(out, try{
			id: x.id + " (" + when + ")", tried: fmt.Sprintf("the placeholder of another session's %q, %s (%s)", at.account, x.what, when), expected: "refused", control: control.id,
			connect: at.tunnel(), sni: at.sni(), judge: notItsOwn,
			send: func(n string) []byte {
				r := at.for1(n, "")
				r.drop(at.slot)
				x.put(&r)
				return r.bytes()
			},
		})
	}
	return out
}

// notItsOwn judges the use of another session's placeholder: it is refused, and
// known for what it is, so that a person learns of it.
func notItsOwn(p *passage) outcome {
	o := refusedBy(rule.Other, rule.Foreign)(p)
	if o.verdict == walls.Held && !strings.Contains(o.observed, string(rule.Other)) {
		return failed("it was refused, and not known as another session's", walls.Proxy, o.evidence)
	}
	return o
}

// ports asks for the address at which the other session has its proxy: it is
// the session's own that answers.
func (t *elsewhereTest) ports() []try {
	return []try{{
		id: "other's proxy", tried: "reach the other session's proxy at " + proxyInside, expected: "the session's own answers", control: "own (live)",
		send: func(n string) []byte {
			return []byte("GET http://seek" + n + ".test/ HTTP/1.1\r\nHost: seek" + n + ".test\r\nConnection: close\r\n\r\n")
		},
		judge: func(p *passage) outcome {
			if o, ok := p.sound(); !ok {
				return o
			}
			theirs, _, err := t.other.dir.ReadEgress(0)
			if err != nil {
				return errored(err.Error())
			}
			for _, l := range theirs {
				if strings.Contains(l.Host, p.nonce) {
					return failed("the other session's proxy was reached", walls.Proxy, line(l))
				}
			}
			return refusedIn(p.lines, fmt.Sprintf("none of the %d lines of the other's record", len(theirs)), noEntry, p.tell.Broken)
		},
	}}
}

// fromHost asks for the proxies' address on the host: they listen inside.
func (t *elsewhereTest) fromHost(ctx context.Context) []walls.Attempt {
	_, word := nonce()
	host := "seek" + word + ".test"
	r := row{id: "proxy from the host", tried: "reach a session's proxy from the host at " + proxyInside, expected: "not reached"}
	answer := "nobody listens there"
	if c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", proxyInside); err == nil {
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, err := fmt.Fprintf(c, "GET http://%s/ HTTP/1.0\r\nHost: %s\r\n\r\n", host, host)
		b, _ := io.ReadAll(io.LimitReader(c, 1<<10))
		answer = fmt.Sprintf("a program of the host's own answers with %d bytes (%v)", len(b), err)
		_ = c.Close() // it was only asked
	} else {
		answer = err.Error()
	}
	o := held("not reached", walls.Proxy, answer+"; neither record has the request, nonce "+word)
	mine, _ := t.mine.(*sess)
	for _, s := range []*sess{mine, t.other} {
		lines, _, err := s.dir.ReadEgress(0)
		if err != nil {
			o = errored(err.Error())
		}
		for _, l := range lines {
			if strings.Contains(l.Host, word) {
				o = failed("a session's proxy was reached from the host", walls.Proxy, line(l))
			}
		}
	}
	a := r.attempt(word, false, o, "")
	t.e.tell(walls.Event{Test: t.e.test, Attempt: &a})
	return []walls.Attempt{a}
}
