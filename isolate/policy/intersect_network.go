package policy

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"

	"fumehood/isolate/egress/rule"
)

// piece is what of a repository's entry lies within one of the user's.
type piece struct {
	user, repo int // which entries; user is -1 of one that was trusted
	entry      Allow
}

// networkMeet takes of each entry of the repository's what lies within entries
// of the user's. An entry with an account is only ever within one of the same
// account; one without may be within any, since it attaches nothing.
func networkMeet(m *meet, key string, user, repo, out any) {
	u, ok := user.(*[]Allow)
	r, ok2 := repo.(*[]Allow)
	o, ok3 := out.(*[]Allow)
	if !ok || !ok2 || !ok3 || reflect.DeepEqual(*u, *r) {
		return
	}
	var all []piece
	left := maxSpent
	for i, e := range *r {
		found, why := withinUser(*u, e, i, &left)
		if why == "" {
			all = append(all, found...)
			continue
		}
		w := Widening{Key: fmt.Sprintf("%s[%d]", key, i), Have: haveText(*u, e), Want: entryText(e), Why: why, Trustable: true}
		if no := notTrusted(e); no != "" {
			w.Trustable, w.Why = false, why+"; "+no
		}
		if m.wider(w) {
			found = []piece{{user: -1, repo: i, entry: copyAllow([]Allow{e})[0]}}
		}
		all = append(all, found...)
	}
	*o = shared(all, *u, *r)
}

// withinUser gives the pieces of an entry that lie within the user's; why says what
// does not, and is empty when all does. One of the user's that covers all is
// enough, best one with the same account.
func withinUser(user []Allow, e Allow, at int, left *int) (found []piece, why string) {
	var lost []string
	whole := false
	for i, u := range user {
		part, missing, ok := narrow(u, e, left)
		switch {
		case !ok:
			lost = append(lost, missing...)
		case len(missing) > 0:
			lost = append(lost, missing...)
			if !whole {
				found = append(found, piece{i, at, part})
			}
		case !whole || u.Account == e.Account:
			whole, found = true, []piece{{i, at, part}}
		}
		if whole && u.Account == e.Account {
			break
		}
	}
	switch {
	case whole:
		return found, ""
	case len(lost) == 0:
		return nil, "no entry of yours names the destination: sessions here could reach it, and send it what they read"
	}
	return found, strings.Join(dedupe(lost), "; ")
}

// shared gives the entries of the pieces. What a cap bounds is bounded in all:
// where several pieces come of one entry, they share its caps.
func shared(all []piece, user, repo []Allow) []Allow {
	ofUser, ofRepo := map[int]int{}, map[int]int{}
	for _, p := range all {
		ofUser[p.user]++
		ofRepo[p.repo]++
	}
	var out []Allow
	for _, p := range all {
		e := p.entry
		if p.user >= 0 {
			u, r := user[p.user], repo[p.repo]
			upload, ok := capOf(int64(u.MaxUpload), ofUser[p.user], int64(r.MaxUpload), ofRepo[p.repo])
			rate, ok2 := capOf(int64(u.PerMinute), ofUser[p.user], int64(r.PerMinute), ofRepo[p.repo])
			if !ok || !ok2 {
				continue // a share of nothing
			}
			e.MaxUpload, e.PerMinute = Bytes(upload), int(rate)
		}
		// What is left of an entry may allow nothing: a path of which some
		// servers read another one, that only the rest of the entry had.
		if _, err := rule.Compile([]rule.Entry{e.entry("")}); err == nil && !hasEntry(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// capOf is the smaller of two shares; 0 is no cap. It is not ok where a cap is
// too small to be shared.
func capOf(a int64, partsA int, b int64, partsB int) (int64, bool) {
	n := int64(0)
	for _, share := range []struct {
		of    int64
		parts int
	}{{a, partsA}, {b, partsB}} {
		if share.of == 0 {
			continue
		}
		part := share.of / int64(share.parts)
		if part == 0 {
			return 0, false
		}
		if n == 0 || part < n {
			n = part
		}
	}
	return n, true
}

func hasEntry(list []Allow, e Allow) bool {
	for _, l := range list {
		if reflect.DeepEqual(l, e) {
			return true
		}
	}
	return false
}

// narrow gives what of the entry r lies within u. missing says what does not.
// Nothing does when it is not ok.
func narrow(u, r Allow, left *int) (e Allow, missing []string, ok bool) {
	e = r
	dest, lost, ok := meetDestination(u.Destination, r.Destination)
	if !ok {
		return e, nil, false
	}
	e.Destination = dest
	if lost {
		missing = append(missing, "names that your entry does not have")
	}
	if r.named() && r.Account != u.Account {
		return e, []string{fmt.Sprintf("your entry there is not of the account %q", r.Account)}, false
	}
	opaque := contains(u.Operations, connect)
	var more []string
	e.Operations, more = meetOperations(u.Operations, r.Operations, left)
	if len(more) > 0 {
		missing = append(missing, "operations that your entry does not have: "+operationsText(more))
	}
	if len(e.Operations) == 0 {
		return e, missing, false
	}
	if e.Query, ok = meetQuery(u.Query, r.Query); !ok {
		return e, append(missing, "queries that your entry does not have"), false
	}
	if e.Query != orNone(r.Query, "any") {
		missing = append(missing, "queries that your entry does not have")
	}
	if e.Upgrade = r.Upgrade && (u.Upgrade || opaque); r.Upgrade && !e.Upgrade {
		missing = append(missing, "websockets")
	}
	if widerCap(int64(u.MaxUpload), int64(r.MaxUpload)) {
		missing = append(missing, "larger uploads")
	}
	if widerCap(int64(u.PerMinute), int64(r.PerMinute)) {
		missing = append(missing, "more requests per minute")
	}
	e.Addresses = nil
	for _, a := range r.Addresses {
		if addressWithin(u.Addresses, a) {
			e.Addresses = append(e.Addresses, a)
		} else {
			missing = append(missing, "the address "+a)
		}
	}
	if e.ReturnsSecret = r.ReturnsSecret && u.ReturnsSecret; r.ReturnsSecret && !u.ReturnsSecret {
		missing = append(missing, "answers that may hold the credential")
	}
	return e, missing, true
}

func widerCap(user, repo int64) bool { return user != 0 && (repo == 0 || repo > user) }

// meetDestination gives the narrower of two destinations, and whether the
// second has names that the first has not.
func meetDestination(u, r string) (dest string, lost, ok bool) {
	switch {
	case namesAll(u, r):
		return r, false, true
	case namesAll(r, u):
		return u, true, true
	}
	return "", false, false
}

// namesAll tells whether a destination names whatever another one does, as the
// proxy reads it. A wildcard leaves out what lies behind a public suffix, so
// that the end of a name alone does not tell.
func namesAll(out, in string) bool {
	a, wild, ok := destination(in)
	_, outer, ok2 := destination(out)
	if !ok || !ok2 || wild && !outer {
		return false
	}
	if out == in {
		return true
	}
	if wild {
		if b, _, _ := destination(out); a == b {
			return true
		}
		a.Host = "any." + a.Host
	}
	t, err := rule.Compile([]rule.Entry{{Destination: out, Operations: []string{connect}}})
	return err == nil && t.Reach(a).Named
}

func destination(s string) (a rule.Authority, wild, ok bool) {
	host, wild := strings.CutPrefix(s, "*.")
	a, err := rule.ParseAuthority(host, 0)
	return a, wild, err == nil
}

// meetOperations gives the operations that both allow, and those of the second
// that the first does not cover. An opaque tunnel covers all others.
func meetOperations(u, r []string, left *int) (kept, more []string) {
	opaque := contains(u, connect)
	for _, op := range r {
		if opaque || anyCovers(u, op, left) {
			kept = append(kept, op)
			continue
		}
		more = append(more, op)
		for _, narrower := range u {
			if operationCovers(op, narrower, left) && !contains(kept, narrower) {
				kept = append(kept, narrower)
			}
		}
	}
	return kept, more
}

func anyCovers(list []string, op string, left *int) bool {
	for _, l := range list {
		if operationCovers(l, op, left) {
			return true
		}
	}
	return false
}

// operationCovers compares patterns only where the words before are the same,
// be it a method or "git fetch".
func operationCovers(out, in string, left *int) bool {
	if out == in {
		return true
	}
	word, glob, ok := strings.Cut(out, " /")
	word2, glob2, ok2 := strings.Cut(in, " /")
	return ok && ok2 && word == word2 && globCovers("/"+glob, "/"+glob2, left)
}

// meetQuery gives the narrower of two rules for queries. Two different patterns
// can't be compared, nor a pattern with no query, which few patterns fit.
func meetQuery(u, r string) (string, bool) {
	u, r = orNone(u, "any"), orNone(r, "any")
	switch {
	case u == r || u == "any":
		return r, true
	case r == "any":
		return u, true
	}
	return "", false
}

func addressWithin(list []string, s string) bool {
	in, ok := prefixOf(s)
	for _, l := range list {
		out, ok2 := prefixOf(l)
		// A service that hands out a machine's own credentials is named by its
		// address alone, in whatever network it lies.
		exact := in.IsSingleIP() && rule.ClassOf(in.Addr()) == rule.Metadata
		if ok && ok2 && out.Bits() <= in.Bits() && out.Contains(in.Addr()) && (!exact || out.IsSingleIP()) {
			return true
		}
	}
	return false
}

func prefixOf(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, true
	}
	ip, err := netip.ParseAddr(s)
	return netip.PrefixFrom(ip, ip.BitLen()), err == nil
}

// notTrusted says why no trust brings an entry in as a whole.
func notTrusted(e Allow) string {
	dest, _, _ := destination(e.Destination)
	switch {
	case e.named():
		return fmt.Sprintf("a credential goes only where your own policy says, and %q is an account", e.Account)
	case contains(e.Operations, connect):
		return "an opaque tunnel carries anything, and is yours to open"
	case dest.IP.IsValid() || len(e.Addresses) > 0:
		return "addresses of this machine and its networks are yours to open"
	case e.ReturnsSecret:
		return "answers that hold credentials are yours to allow"
	}
	return ""
}

// haveText is what the user's policy says of a destination.
func haveText(user []Allow, e Allow) string {
	var out []string
	for _, u := range user {
		if _, _, ok := meetDestination(u.Destination, e.Destination); ok {
			out = append(out, entryText(u))
		}
	}
	return orNone(strings.Join(out, "; "), "no entry for it")
}

// entryText prints an entry on one line.
func entryText(a Allow) string {
	out := a.Destination + ": " + operationsText(a.Operations)
	if a.named() {
		out += " as " + a.Account
	}
	if q := orNone(a.Query, "any"); q != "any" {
		out += ", query " + q
	}
	if a.Upgrade {
		out += ", websockets"
	}
	if a.MaxUpload != 0 {
		out += ", uploads up to " + a.MaxUpload.String()
	}
	if a.PerMinute != 0 {
		out += fmt.Sprintf(", %d requests per minute", a.PerMinute)
	}
	if len(a.Addresses) > 0 {
		out += ", at " + listText(a.Addresses)
	}
	if a.ReturnsSecret {
		out += ", returns secrets"
	}
	return out
}

func dedupe(list []string) []string {
	var out []string
	for _, s := range list {
		if !contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
