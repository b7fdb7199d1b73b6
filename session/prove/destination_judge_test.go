package prove

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
	"fumehood/isolate/egress/witness"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

const (
	testSecret      = "fhr-0123456789abcdef/XyZ012+="
	testPlaceholder = "pk_placeholder"
)

// testEntry is an entry whose credential is attached so.
func testEntry(t *testing.T, attach string) entry {
	t.Helper()
	pol := &policy.Policy{
		Network:     policy.Network{Allow: []policy.Allow{{Destination: "one.test:443", Operations: []string{"GET /files/**"}, Account: "acc"}}},
		Credentials: []policy.Credential{{Name: "acc", Attach: attach}},
	}
	all, err := entriesOf(pol, "fhlabel")
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// passed is a passage as it is when all went as the policy says.
func passed(at entry) *passage {
	h := map[string][]string{}
	query := ""
	if at.slot.param != "" {
		query = at.slot.param + "=" + url.QueryEscape(testSecret)
	} else {
		h[textproto.CanonicalMIMEHeaderKey(at.slot.header)] = []string{at.slot.value(testSecret)}
	}
	return &passage{
		nonce: "n", seen: &seen{said: &probe.Said{}}, tell: probe.Passage{Fence: true, Sent: 10, Trusted: true},
		arrived: []witness.Seen{{Method: "GET", Host: "one.test", Path: "/files/fhn", Query: query, Header: h}},
		lines:   []record.Attempt{{Allowed: true, Account: "acc", Rule: "policy 1"}},
	}
}

func TestAnAllowedRequestIsJudgedByWhatArrived(t *testing.T) {
	for _, attach := range []string{"Authorization: Bearer {secret}", "X-Api-Key: {secret}", "Authorization: Basic user:{secret}", "query: key={secret}"} {
		at := testEntry(t, attach)
		for _, tt := range []struct {
			name   string
			change func(*passage)
			want   walls.Verdict
		}{
			{"as the policy says", func(*passage) {}, walls.Held},
			{"it did not arrive", func(p *passage) { p.arrived = nil }, walls.Errored},
			{"without its credential", func(p *passage) { p.arrived[0].Header, p.arrived[0].Query = nil, "" }, walls.Failed},
			{"with the placeholder in another header", func(p *passage) { p.arrived[0].Header.Set("X-Note", testPlaceholder) }, walls.Failed},
			{"with the credential in another header", func(p *passage) { p.arrived[0].Header.Set("X-Note", testSecret) }, walls.Failed},
			{"with the credential in the body", func(p *passage) { p.arrived[0].Body = []byte("a " + testSecret) }, walls.Failed},
			{"the inside saw the credential", func(p *passage) { p.seen.said.Got = []byte("x" + testSecret + "y") }, walls.Failed},
			{"the inside saw it after a redirect", func(p *passage) { p.tell.After = []byte(testSecret) }, walls.Failed},
			{"no line of it", func(p *passage) { p.lines = nil }, walls.Failed},
			{"a line that refuses", func(p *passage) { p.lines[0].Allowed = false }, walls.Failed},
			{"as another account", func(p *passage) { p.lines[0].Account = "other" }, walls.Failed},
			{"by another entry", func(p *passage) { p.lines[0].Rule = "policy 2" }, walls.Failed},
			{"the destination was dead", func(p *passage) { p.broken = errors.New("dead") }, walls.Errored},
			{"the probe died", func(p *passage) { p.seen.said = nil }, walls.Errored},
			{"the proxy did not answer before", func(p *passage) { p.tell.Fence = false }, walls.Errored},
			{"the session's certificate was not trusted inside", func(p *passage) { p.tell.Trusted = false }, walls.Failed},
		} {
			p := passed(at)
			tt.change(p)
			d := &destination{}
			if got := d.allowed(at, credentials{testSecret, testPlaceholder})[0].judge(p); got.verdict != tt.want {
				t.Errorf("%s, %s: got %s, %s; want %s", attach, tt.name, got.verdict, got.observed, tt.want)
			}
		}
	}
}

func TestARefusalIsJudgedByRecordAndDestination(t *testing.T) {
	refusal := record.Attempt{Reason: string(rule.NoEntry)}
	for _, tt := range []struct {
		name   string
		change func(*passage)
		want   walls.Verdict
	}{
		{"refused", func(*passage) {}, walls.Held},
		{"no line: nothing shows that it was tried", func(p *passage) { p.lines = nil }, walls.Errored},
		{"refused for another reason", func(p *passage) { p.lines[0].Reason = string(rule.Rate) }, walls.Errored},
		{"let pass", func(p *passage) { p.lines[0].Allowed = true }, walls.Failed},
		{"let pass, and refused later", func(p *passage) { p.lines = append(p.lines, record.Attempt{Allowed: true}) }, walls.Failed},
		{"let pass to a place that is not there", func(p *passage) { p.lines[0].Reason = string(rule.Unreachable) }, walls.Failed},
		{"arrived, whatever the record says", func(p *passage) { p.arrived = []witness.Seen{{Path: "/"}} }, walls.Failed},
		{"its nonce arrived in what is no request", func(p *passage) { p.carried = true }, walls.Failed},
		{"the destination was dead", func(p *passage) { p.broken = errors.New("dead") }, walls.Errored},
	} {
		p := &passage{nonce: "n", seen: &seen{said: &probe.Said{}}, tell: probe.Passage{Fence: true}, lines: []record.Attempt{refusal}}
		tt.change(p)
		if got := refusedBy(rule.NoEntry)(p); got.verdict != tt.want {
			t.Errorf("%s: got %s, %s; want %s", tt.name, got.verdict, got.observed, tt.want)
		}
	}
}

func TestAnothersPlaceholderHasToBeKnownAsThat(t *testing.T) {
	for reason, want := range map[rule.Reason]walls.Verdict{rule.Other: walls.Held, rule.Foreign: walls.Failed, rule.Operation: walls.Errored} {
		p := &passage{nonce: "n", seen: &seen{said: &probe.Said{}}, tell: probe.Passage{Fence: true}, lines: []record.Attempt{{Reason: string(reason)}}}
		if got := notItsOwn(p); got.verdict != want {
			t.Errorf("%s: got %s, %s; want %s", reason, got.verdict, got.observed, want)
		}
	}
}

// The search for a secret in what the inside got finds it however it is written.
func TestASecretIsFoundInEveryForm(t *testing.T) {
	for name, text := range map[string]string{
		"as it is": testSecret, "for a URL": url.QueryEscape(testSecret), "in hex": hex.EncodeToString([]byte(testSecret)),
		"base64": base64.StdEncoding.EncodeToString([]byte(testSecret)), "base64 behind one": base64.StdEncoding.EncodeToString([]byte("u" + testSecret + "tail")),
		"base64 behind two": base64.RawURLEncoding.EncodeToString([]byte("us" + testSecret + "tail")), "its most": testSecret[:len(testSecret)-5], "backwards": backwards(testSecret),
	} {
		if reveals([]byte("before "+text+" after"), testSecret) == "" {
			t.Errorf("%s: got nothing in %q, want the secret", name, text)
		}
	}
	if form := reveals([]byte(strings.Repeat("*", 40)+testPlaceholder+testSecret[:8]), testSecret); form != "" {
		t.Errorf("got the secret %s where there is none", form)
	}
	basic := testEntry(t, "Authorization: Basic user:{secret}")
	twice := base64.StdEncoding.EncodeToString([]byte(basic.slot.value(testSecret)))
	if basic.revealed([]byte(twice), testSecret) == "" {
		t.Error("got nothing in what was encoded twice, want the secret")
	}
}

// An attempt's request has to be the operation that the entry allows, or the
// control would be refused.
func TestAnEntryIsAskedForWhatItAllows(t *testing.T) {
	for _, tt := range []struct{ op, query, method, path, wantQuery string }{
		{"GET /**", "any", "GET", "/fhn", ""},
		{"HEAD /files/*/x/**", "", "HEAD", "/files/fhn/x/fhn", ""},
		{"POST /v1/messages", "beta=*", "POST", "/v1/messages", "beta="},
		{"git fetch /team/*.git", "", "GET", "/team/fhn.git/info/refs", "service=git-upload-pack"},
		{"git push /team/x.git", "", "GET", "/team/x.git/info/refs", "service=git-receive-pack"},
	} {
		p := &policy.Policy{Network: policy.Network{Allow: []policy.Allow{{Destination: "*.one.test:443", Operations: []string{tt.op}, Query: tt.query}}}}
		all, err := entriesOf(p, "fhlabel")
		if err != nil {
			t.Fatal(err)
		}
		r := all[0].for1("n", "")
		if r.method != tt.method || r.path != tt.path || r.query != tt.wantQuery || r.host != "fhlabel.one.test" {
			t.Errorf("%s: got %s %s ? %s at %s, want %s %s ? %s", tt.op, r.method, r.path, r.query, r.host, tt.method, tt.path, tt.wantQuery)
		}
		table, err := rule.Compile(p.Entries())
		if err != nil {
			t.Fatal(err)
		}
		if ans := table.Decide(rule.Request{Authority: all[0].at, Method: r.method, Path: r.path, Query: r.query}); ans.Entry == nil {
			t.Errorf("%s: got %s refused: %s", tt.op, r.path, ans.Reason)
		}
	}
}

// Every place that the tests ask for is stood in for: should the proxy let one
// pass, nothing leaves this machine.
func TestEveryForbiddenPlaceStandsForTheRunsOwn(t *testing.T) {
	for _, allow := range [][]policy.Allow{nil, {{Destination: "one.test:443", Operations: []string{"GET /**"}}}, {{Destination: "*.wild.test:8443", Operations: []string{"GET /**"}}}} {
		d, err := newDestination(&policy.Policy{Network: policy.Network{Allow: allow}}, "0123456789abcdef")
		if err != nil {
			t.Fatal(err)
		}
		to := d.stand("").To
		for _, x := range d.elsewheres() {
			a, err := rule.ParseAuthority(x.host, 0)
			if err == nil && (to[a.String()] != d.srv.At() || d.named(a)) {
				t.Errorf("%s: got %q, want the run's own server, and no entry that names it", x.host, to[a.String()])
			}
		}
		if err := d.srv.Close(); err != nil {
			t.Error(err)
		}
	}
}
