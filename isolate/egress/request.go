package egress

import (
	"net/http"
	"strings"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// permit is what lets one request leave, and how.
type permit struct {
	to      exchange
	entry   *rule.Entry
	account string // whose credential is attached; empty is nobody's
	header  http.Header
	query   string
	upgrade string
}

// returns is the account whose secret the answer may have in it.
func (out *permit) returns() string {
	if out.entry.ReturnsSecret {
		return out.account
	}
	return ""
}

// forward decides on one request and, if it may leave, carries it.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, x exchange) {
	said := attemptOf(r)
	said.Host, said.Port = x.authority.Host, int(x.authority.Port)
	out, ref := p.check(r, x, said)
	if ref != nil {
		p.answer(w, said, *ref)
		return
	}
	p.carry(w, r, out, said)
}

// check asks the policy, step by step: the destination, the operation, the
// account, the caps. Nothing is looked up or sent before all of them agree.
func (p *Proxy) check(r *http.Request, x exchange, said *record.Attempt) (*permit, *refusal) {
	if ref, bad := misshapen(r, x); bad {
		return nil, &ref
	}
	if !agrees(r, x) && !p.omits(PartNames) {
		return nil, &refusal{reason: rule.Disagree, detail: "the Host header is not the destination"}
	}
	table := p.table.Load()
	if !p.reach(table, x.authority).Named {
		return nil, &refusal{reason: rule.NoEntry}
	}
	out := &permit{to: x, upgrade: upgradeOf(r.Header)}
	found := p.finder.Look(account.Request{Header: r.Header, Trailer: r.Trailer, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery})
	q := rule.Request{
		Authority: x.authority, Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Upgrade: out.upgrade != "",
	}
	for _, f := range found {
		if f.Account != "" {
			q.Accounts = append(q.Accounts, f.Account)
		}
	}
	ans := p.decide(table, q)
	said.Rule = ans.Rule
	if ans.Entry == nil {
		return nil, &refusal{reason: ans.Reason, rule: ans.Rule, detail: ans.Detail}
	}
	if out.upgrade != "" && !websocket(r.Header) {
		return nil, &refusal{reason: rule.Upgrade, rule: ans.Rule, detail: "only to a websocket"}
	}
	out.entry = ans.Entry
	if ans.Entry.Account != "none" {
		out.account = ans.Entry.Account
	}
	said.Account = out.account
	keep, ref := p.foreign(found, out, x.authority.Host)
	if ref != nil {
		return nil, ref
	}
	if ref, bad := p.caps.take(ans.Entry, r.ContentLength); bad {
		return nil, &ref
	}
	return out, p.dress(r, out, keep)
}

// foreign refuses credentials that are not the entry's own account's. Slots that
// hold only what the destination set itself in this session are kept.
func (p *Proxy) foreign(found []account.Found, out *permit, host string) (keep []string, ref *refusal) {
	if p.omits(PartAccount) {
		return nil, nil
	}
	for _, f := range found {
		switch {
		case f.Account != "" && f.Account == out.account:
		case f.Account != "":
			return nil, &refusal{reason: rule.Elsewhere, detail: f.Slot}
		case f.Cookie != "" && !p.jar.Foreign(host, f.Cookie):
			keep = append(keep, f.Slot)
		default:
			return nil, p.whose(f)
		}
	}
	return keep, nil
}

func (p *Proxy) whose(f account.Found) *refusal {
	if !p.omits(PartOther) {
		for _, v := range append([]string{f.Value}, f.Readings...) {
			if s, ok := p.cfg.Other(v); ok {
				return &refusal{reason: rule.Other, detail: f.Slot + " of session " + s}
			}
		}
	}
	return &refusal{reason: rule.Foreign, detail: f.Slot}
}

// dress takes every credential out of the request, and puts the account's own in.
func (p *Proxy) dress(r *http.Request, out *permit, keep []string) *refusal {
	out.header = outHeader(r.Header, out.upgrade)
	out.query = account.StripBut(out.header, r.URL.RawQuery, keep...)
	if p.searches() {
		readsAll(out.header)
	}
	if out.account == "" {
		return nil
	}
	if out.to.scheme != "https" {
		return &refusal{reason: rule.Clear, rule: out.entry.Name}
	}
	for _, a := range p.cfg.Accounts {
		if a.Name != out.account {
			continue
		}
		secret, err := p.cfg.Secret(r.Context(), a.Name)
		if err != nil || secret == "" {
			return &refusal{reason: rule.NoCredential, detail: causeOf(err), rule: out.entry.Name, status: http.StatusBadGateway}
		}
		out.query = a.Attach.Set(out.header, out.query, secret)
		if p.searches() {
			p.cutters.add(attached{a.Name, secret, encoded(out.header[a.Attach.Header])})
		}
		return nil
	}
	return &refusal{reason: rule.NoCredential, detail: "no such account", rule: out.entry.Name, status: http.StatusBadGateway}
}

// encoded is what a header of scheme Basic carries, "" of any other.
func encoded(values []string) string {
	if len(values) != 1 {
		return ""
	}
	text, ok := strings.CutPrefix(values[0], "Basic ")
	if !ok {
		return ""
	}
	return text
}

func causeOf(err error) string {
	if err == nil {
		return "its source has none"
	}
	return err.Error()
}
