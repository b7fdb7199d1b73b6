package prove

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
	"fumehood/isolate/egress/witness"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

// passage is what all witnesses know of one way through the proxy.
type passage struct {
	nonce   string
	seen    *seen
	tell    probe.Passage
	answer  *witness.Answer  // nil when there was none that can be read
	lines   []record.Attempt // of the proxy's record, in this attempt's time
	arrived []witness.Seen   // at the destination
	carried bool             // the nonce was among its bytes
	count   int              // of all requests that it got
	broken  error            // why the witnesses are none
}

// line is a line of the proxy's record, as it stands there.
func line(a record.Attempt) string {
	b, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (p *passage) quiet() string {
	return fmt.Sprintf("the destination's log: %d requests, none of them this one, nonce %s", p.count, p.nonce)
}

// sound says why an attempt can't be judged.
func (p *passage) sound() (outcome, bool) {
	switch {
	case p.broken != nil:
		return errored(p.broken.Error()), false
	case p.seen.said == nil:
		return errored("it was not seen to be tried" + p.seen.why()), false
	case p.seen.said.Err != "":
		return errored("it was not tried" + p.seen.why()), false
	case !p.tell.Fence:
		return errored("the proxy did not answer before the attempt: " + p.tell.Broken), false
	}
	return outcome{}, true
}

// leaked is a request that arrived though it must not.
func (p *passage) leaked() (outcome, bool) {
	for _, a := range p.arrived {
		return failed("it arrived at the destination", walls.Listener, fmt.Sprintf("%s %s%s?%s, nonce %s", a.Method, a.Host, a.Path, a.Query, p.nonce)), true
	}
	if p.carried {
		return failed("its nonce arrived at the destination", walls.Listener, "nonce "+p.nonce), true
	}
	return outcome{}, false
}

// refusedBy judges an attempt that must be refused before it leaves, for one of
// the reasons.
func refusedBy(reasons ...rule.Reason) func(*passage) outcome {
	return func(p *passage) outcome {
		if o, ok := p.sound(); !ok {
			return o
		}
		if o, bad := p.leaked(); bad {
			return o
		}
		return refusedIn(p.lines, p.quiet(), reasons, p.tell.Broken)
	}
}

// refusedIn judges by the proxy's record alone.
func refusedIn(lines []record.Attempt, quiet string, reasons []rule.Reason, broken string) outcome {
	if len(lines) == 0 {
		return errored("the proxy's record has no line of it; the probe says: " + broken)
	}
	for _, l := range lines {
		switch {
		case l.Allowed:
			return failed("the proxy let it pass", walls.Proxy, line(l))
		case slices.Contains([]rule.Reason{rule.Unreachable, rule.NoAddress, rule.NoCredential}, rule.Reason(l.Reason)):
			return failed("the proxy let it pass, and it led nowhere: "+l.Reason, walls.Proxy, line(l))
		}
	}
	for _, l := range lines {
		if slices.Contains(reasons, rule.Reason(l.Reason)) {
			return held("refused: "+l.Reason, walls.Proxy, line(l)+"; "+quiet)
		}
	}
	return outcome{walls.Errored, "it was refused, though not for what it is about: " + lines[0].Reason, walls.Proxy, line(lines[0])}
}

// credentials are what a request may be done with: what is real outside, and
// what stands for it inside.
type credentials struct{ real, placeholder string }

// allowedAt judges an attempt that the policy allows: it has to arrive, be
// written down, and carry the account's credential in its slot and nowhere else,
// which the inside must not have seen.
func allowedAt(at entry, c credentials) func(*passage) outcome {
	return func(p *passage) outcome {
		if o, ok := p.sound(); !ok {
			return o
		}
		if len(p.arrived) == 0 {
			why := p.tell.Broken
			for _, l := range p.lines {
				why += " " + line(l)
			}
			return errored("it did not arrive at the destination: " + why)
		}
		a := p.arrived[0]
		if why := rightCredential(at, a, c); why != "" {
			return failed(why, walls.Listener, fmt.Sprintf("%s %s, nonce %s", a.Method, a.Host, p.nonce))
		}
		if form := at.revealed(p.everything(), c.real); form != "" {
			return failed("the inside saw the real credential, "+form, walls.Supervisor, "sought in what the inside was answered")
		}
		for _, l := range p.lines {
			switch {
			case !l.Allowed:
				continue
			case !strings.HasSuffix(l.Rule, fmt.Sprintf(" %d", at.n)) && at.account != "":
				return failed(fmt.Sprintf("it was let pass by %q, not by entry %d", l.Rule, at.n), walls.Proxy, line(l))
			case l.Account != at.account:
				return failed(fmt.Sprintf("it is in the record as account %q, not %q", l.Account, at.account), walls.Proxy, line(l))
			}
			return held(arrivedAs(at), walls.Listener, fmt.Sprintf("%s %s%s at %s, nonce %s; the proxy's record: %s", a.Method, a.Host, a.Path, a.At.UTC().Format("15:04:05.000"), p.nonce, line(l)))
		}
		return failed("it arrived, and the proxy's record has no line that says so", walls.Proxy, p.nonce)
	}
}

func arrivedAs(at entry) string {
	if at.account == "" {
		return "arrived, without any credential"
	}
	return fmt.Sprintf("arrived with the real credential of %q in its slot, which the inside did not see", at.account)
}

// everything is all that the inside was told.
func (p *passage) everything() []byte {
	var b bytes.Buffer
	if p.answer != nil {
		b.Write(p.answer.Everything())
	}
	if p.seen.said != nil {
		b.Write(p.seen.said.Got)
	}
	b.Write(p.tell.After)
	return b.Bytes()
}

// rightCredential says what is wrong with the credentials of a request that
// arrived, "" when nothing is.
func rightCredential(at entry, a witness.Seen, c credentials) string {
	all := a.Query + "\n" + a.Path + "\n" + string(a.Body)
	for k, vs := range a.Header {
		if at.account != "" && strings.EqualFold(k, at.slot.header) {
			if len(vs) != 1 || vs[0] != at.slot.value(c.real) {
				return fmt.Sprintf("%s at the destination is not the account's credential", k)
			}
			continue
		}
		all += "\n" + k + ": " + strings.Join(vs, "\n")
	}
	switch {
	case at.account == "":
		for _, k := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"} {
			if len(a.Header[k]) > 0 {
				return k + " arrived at a destination without an account"
			}
		}
		return ""
	case at.slot.param != "":
		q, err := url.ParseQuery(a.Query)
		if err != nil || len(q[at.slot.param]) != 1 || q.Get(at.slot.param) != c.real {
			return fmt.Sprintf("the parameter %s at the destination is not the account's credential", at.slot.param)
		}
		all = strings.ReplaceAll(all, url.QueryEscape(c.real), "")
	case len(a.Header[textproto.CanonicalMIMEHeaderKey(at.slot.header)]) == 0:
		return at.slot.header + " did not arrive at the destination"
	}
	if form := reveals([]byte(all), c.real); form != "" {
		return "the credential arrived in another slot as well, " + form
	}
	if c.placeholder != "" && strings.Contains(all, c.placeholder) {
		return "the placeholder arrived at the destination"
	}
	return ""
}

// revealed finds an entry's credential, as itself and as it is attached.
func (p entry) revealed(b []byte, secret string) string {
	if form := reveals(b, secret); form != "" || !p.slot.basic {
		return form
	}
	if form := reveals(b, strings.TrimPrefix(p.slot.value(secret), "Basic ")); form != "" {
		return "with its user, encoded as it is attached, " + form
	}
	return ""
}

// reveals finds a secret in what the inside got, in the forms in which it may be
// written, and names the form. It is not the proxy's own search.
func reveals(b []byte, secret string) string {
	if secret == "" {
		return ""
	}
	forms := []struct{ name, text string }{
		{"as it is", secret},
		{"escaped for a URL", url.QueryEscape(secret)},
		{"escaped for a path", url.PathEscape(secret)},
		{"in hex", hex.EncodeToString([]byte(secret))},
		{"in HEX", strings.ToUpper(hex.EncodeToString([]byte(secret)))},
		{"backwards", backwards(secret)},
	}
	// Base64 has three forms, by where in a text the secret stands; the
	// characters at both ends are shared with what stands beside it.
	for shift := range 3 {
		for name, enc := range map[string]*base64.Encoding{"in base64": base64.RawStdEncoding, "in URL base64": base64.RawURLEncoding} {
			text := enc.EncodeToString(append(make([]byte, shift), secret...))
			forms = append(forms, struct{ name, text string }{name, text[[]int{0, 2, 3}[shift] : len(text)-1]})
		}
	}
	for _, f := range forms {
		if bytes.Contains(b, []byte(f.text)) {
			return f.name
		}
	}
	// Most of it is as good as all of it.
	if most := len(secret) * 3 / 4; bytes.Contains(b, []byte(secret[:most])) || bytes.Contains(b, []byte(secret[len(secret)-most:])) {
		return "in part"
	}
	return ""
}

func backwards(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
