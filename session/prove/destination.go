package prove

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
	"fumehood/isolate/policy"
)

// entry is one entry of the policy with one operation that it allows, and how
// the tests stand in for its destination.
type entry struct {
	n       int // the entry's number, from 1
	rule    rule.Entry
	at      rule.Authority
	suffix  string // of a wildcard, "" else
	opaque  bool
	account string // "" is none
	slot    slot   // of the account's credential

	method, glob, query string
}

// slot is where an account's credential goes.
type slot struct {
	header, param string // one of them
	before, after string // what stands around it in the header's value
	basic         bool   // and the whole is encoded
}

// entriesOf reads the policy's entries. label is made up: it stands below each
// wildcard.
func entriesOf(pol *policy.Policy, label string) ([]entry, error) {
	var out []entry
	for i, e := range pol.Entries() {
		p := entry{n: i + 1, rule: e}
		host := e.Destination
		if rest, ok := strings.CutPrefix(host, "*."); ok {
			host = label + "." + rest
		}
		at, err := rule.ParseAuthority(host, 0)
		if err != nil {
			return nil, fmt.Errorf("entry %d: destination %q: %w", p.n, e.Destination, err)
		}
		p.at = at
		if host != e.Destination {
			p.suffix = strings.TrimPrefix(at.Host, label+".")
		}
		if c, ok := pol.Credential(e.Account); ok {
			p.account = c.Name
			if p.slot, err = slotOf(c.Attach); err != nil {
				return nil, fmt.Errorf("entry %d: %w", p.n, err)
			}
		}
		if p.opaque = slices.Contains(e.Operations, "CONNECT"); !p.opaque {
			p.operation(e.Operations[0])
		}
		out = append(out, p)
	}
	return out, nil
}

// operation takes one of the entry's, as the policy writes it.
func (p *entry) operation(op string) {
	p.method, p.glob, _ = strings.Cut(op, " ")
	if p.method != "git" {
		if q := p.rule.Query; q != "" && q != "any" && q != "none" {
			p.query = strings.ReplaceAll(q, "*", "")
		}
		return
	}
	verb, repo, _ := strings.Cut(p.glob, " ")
	p.method, p.glob, p.query = "GET", repo+"/info/refs", "service=git-upload-pack"
	if verb == "push" {
		p.query = "service=git-receive-pack"
	}
}

// path is one that the operation's glob matches, with the nonce in it where the
// glob leaves room.
func (p entry) path(nonce string) string {
	word := "fh" + nonce
	return strings.ReplaceAll(strings.ReplaceAll(p.glob, "**", word), "*", word)
}

// clear tells whether the destination is spoken to in plain HTTP.
func (p entry) clear() bool { return p.at.Port == 80 }

// host is what a client writes into Host.
func (p entry) host() string {
	if p.at.Port == 443 || p.at.Port == 80 {
		return strings.TrimSuffix(p.at.String(), fmt.Sprintf(":%d", p.at.Port))
	}
	return p.at.String()
}

// sni is what a client names in TLS; an address is not named there (RFC 6066, 3).
func (p entry) sni() string {
	if p.at.IP.IsValid() {
		return ""
	}
	return p.at.Host
}

// slotOf reads a policy's attach. It is not the proxy's own reader: where the
// two differ a test fails.
func slotOf(attach string) (slot, error) {
	name, value, ok := strings.Cut(attach, ":")
	value = strings.TrimSpace(value)
	before, after, two := strings.Cut(value, "{secret}")
	if !ok || !two {
		return slot{}, fmt.Errorf("attach %q has no {secret}", attach)
	}
	if name == "query" {
		return slot{param: strings.TrimSuffix(before, "=")}, nil
	}
	s := slot{header: name, before: before, after: after}
	if rest, ok := strings.CutPrefix(before, "Basic "); ok && strings.Contains(rest+after, ":") {
		s.basic, s.before = true, rest
	}
	return s, nil
}

// value is the header's value, or the parameter's, for a credential.
func (s slot) value(credential string) string {
	v := s.before + credential + s.after
	if s.basic {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(v))
	}
	return v
}

// request is one that a client writes, by its parts.
type request struct {
	method, path, query string
	host                string
	headers             []string // "Name: value"
	body                string
	absolute            string // "http://host" in front of the path
	keep                bool   // no Connection: close
}

// for1 is the allowed request of a place, as its account where it has one.
func (p entry) for1(nonce, placeholder string) request {
	r := request{method: p.method, path: p.path(nonce), query: p.query, host: p.host(), headers: []string{"X-Witness: " + nonce}}
	if p.clear() {
		r.absolute = "http://" + p.host()
	}
	switch p.method {
	case "POST", "PUT", "PATCH":
		r.body = "{}"
	}
	if p.account != "" {
		r.with(p.slot, placeholder)
	}
	return r
}

// with puts a credential into a slot.
func (r *request) with(s slot, credential string) {
	if s.param == "" {
		r.headers = append(r.headers, s.header+": "+s.value(credential))
		return
	}
	if r.query != "" {
		r.query += "&"
	}
	r.query += s.param + "=" + url.QueryEscape(credential)
}

// bytes is the request as it goes over the wire.
func (r request) bytes() []byte {
	var b strings.Builder
	target := r.absolute + r.path
	if r.query != "" {
		target += "?" + r.query
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, target, r.host)
	for _, h := range r.headers {
		b.WriteString(h + "\r\n")
	}
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	if !r.keep {
		b.WriteString("Connection: close\r\n")
	}
	return []byte(b.String() + "\r\n" + r.body)
}

// drop takes the credential of a slot out again.
func (r *request) drop(s slot) {
	if s.param == "" {
		r.headers = slices.DeleteFunc(r.headers, func(h string) bool { return s.header != "" && strings.HasPrefix(h, s.header+": ") })
		return
	}
	r.query = strings.TrimSuffix(strings.TrimSuffix(r.query, s.param+"="), "&")
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
