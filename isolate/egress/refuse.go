package egress

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/egress/rule"
)

// refusal is why something does not leave. detail is in our own words, never
// the inside's or the destination's.
type refusal struct {
	reason rule.Reason
	rule   string
	detail string
	status int           // 403 when 0
	retry  time.Duration // when to try again, if that would help
}

func (r refusal) Error() string {
	if r.detail != "" {
		return string(r.reason) + ": " + r.detail
	}
	return string(r.reason)
}

// refusalOf makes one of an error of the transport.
func refusalOf(err error) refusal {
	var r refusal
	if errors.As(err, &r) {
		return r
	}
	return refusal{reason: rule.Unreachable, detail: plainCause(err), status: http.StatusBadGateway}
}

// refuse answers and records what was refused before its destination was known.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, ref refusal) {
	said := attemptOf(r)
	p.answer(w, said, ref)
}

// answer refuses inside with one sentence that an agent can act on, and writes
// it down. None of the inside's own bytes are in it.
func (p *Proxy) answer(w http.ResponseWriter, said *record.Attempt, ref refusal) {
	p.answerSent(w, said, ref, false)
}

// refusedHeader tells a client that the answer is the policy's, and why.
const refusedHeader = "X-Fumehood-Refused"

// answerSent does so for a request that may have left all the same.
func (p *Proxy) answerSent(w http.ResponseWriter, said *record.Attempt, ref refusal, sent bool) {
	if ref.status == 0 {
		ref.status = http.StatusForbidden
	}
	said.Allowed, said.Reason, said.Detail, said.Status = sent, string(ref.reason), ref.detail, ref.status
	if ref.rule != "" {
		said.Rule = ref.rule
	}
	h := w.Header()
	for k := range h {
		delete(h, k)
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set(refusedHeader, string(ref.reason))
	if ref.retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(ref.retry/time.Second)+1, 10))
	}
	w.WriteHeader(ref.status)
	_, _ = fmt.Fprintln(w, sentence(ref)) // a client that has gone reads nothing
	p.record(said)
}

// sentence is what a refusal says inside.
func sentence(ref refusal) string {
	text := "fumehood: refused by the session's policy: " + ref.Error()
	if ref.rule != "" {
		text += " (entry " + ref.rule + ")"
	}
	switch ref.reason {
	case rule.NoEntry, rule.Operation, rule.Query, rule.Upgrade:
		text += ". Do not retry: only the person who supervises this session can allow it, in the egress screen or the policy."
	case rule.Foreign, rule.Other, rule.Elsewhere:
		text += ". Send no credential of your own: the session's account is attached on the way out where the policy names one."
	default:
		text += "."
	}
	return text
}

func attemptOf(r *http.Request) *record.Attempt {
	a := &record.Attempt{Time: now(), Method: clip(r.Method, 32), Host: clip(r.Host, 300)}
	if au, err := rule.ParseAuthority(r.Host, 80); err == nil {
		a.Host, a.Port = au.Host, int(au.Port)
	}
	if r.Method != http.MethodConnect && r.URL != nil {
		a.Path = clip(r.URL.EscapedPath(), 1024)
	}
	return a
}

// clip bounds what comes from inside.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "?")
}
