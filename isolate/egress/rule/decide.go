package rule

import (
	"slices"
	"strings"
)

// Request is one request for a destination that is named, before it leaves.
type Request struct {
	Authority
	Method   string
	Path     string // as it was sent, escaped, without its query
	Query    string // as it was sent, without "?"
	Upgrade  bool
	Accounts []string // whose placeholders it carries
}

// Answer is what the policy says of a request: the entry, or why not.
type Answer struct {
	Entry  *Entry // nil when refused
	Rule   string // the entry's name; of a refusal the nearest, or empty
	Reason Reason // empty when allowed
	Detail string // of a refusal, in our own words, or empty
}

// Decide says whether a request may leave. Of several entries that allow it,
// the first whose account the request carries counts; else the first. Of several
// that do not, the one that came furthest names the reason.
func (t *Table) Decide(q Request) Answer {
	naming := t.naming(q.Authority)
	if len(naming) == 0 {
		return Answer{Reason: NoEntry}
	}
	k := look(q)
	if k.bad != "" {
		return Answer{Rule: t.entries[naming[0]].Name, Reason: BadPath, Detail: k.bad}
	}
	var found, near *compiled
	reason := NoEntry
	for _, i := range naming {
		c := &t.entries[i]
		why := c.refuses(k)
		if why != "" {
			if why != reason && progress[why] > progress[reason] {
				near, reason = c, why
			}
			continue
		}
		carried := c.account() != "" && slices.Contains(q.Accounts, c.Account)
		if found == nil || carried {
			found = c
		}
		if carried {
			break
		}
	}
	if found != nil {
		return Answer{Entry: &found.Entry, Rule: found.Name}
	}
	out := Answer{Rule: near.Name, Reason: reason}
	if reason == Operation {
		out.Detail = k.detail
	}
	return out
}

// progress is how far a request came, by the reason that it came no further.
var progress = map[Reason]int{NoEntry: 0, BadPath: 1, Operation: 2, Query: 3, Upgrade: 4}

// known is a request, and what is the same of it for every entry.
type known struct {
	Request
	readings []string
	bad      string // why the path is refused
	push     bool   // git's receive-pack, however it is written
	never    bool   // no operation allows it
	detail   string // of push and never
}

func look(q Request) *known {
	k := &known{Request: q}
	if k.readings, k.bad = readings(q.Path); k.bad == "" && q.Path == "" && q.Method == "OPTIONS" {
		k.bad = "of all of a server" // RFC 9112, 3.2.4: it goes on as "OPTIONS *"
	}
	if k.bad == "" && splits(q.Query) {
		k.bad = "a query that ends in its middle"
	}
	switch asked := service(k.readings, q.Query); {
	case k.bad != "":
	case overridden(q.Method, q.Query):
		k.never, k.detail = true, "the query names another method"
	case asked == serviceOdd:
		k.never, k.detail = true, "git's service is not asked for once and plainly"
	case asked == servicePush:
		k.push, k.detail = true, "a push needs the operation \"git push\""
	}
	return k
}

// What a request asks of a git server.
type gitService int

const (
	serviceNone gitService = iota // or upload-pack
	servicePush
	serviceOdd
)

// service tells whether a request may reach receive-pack, which takes pushes:
// by a path in any of its readings, or by the query.
func service(readings []string, query string) gitService {
	refs, push := false, false
	for _, r := range readings {
		push = push || hasFold(r, "/"+receivePack)
		refs = refs || hasFold(r, infoRefs)
	}
	count, plain, named := 0, false, false
	for part := range parts(query) {
		is := false
		for name, value := range spellings(part) {
			is = is || foldName(name) == "service"
			// Where git asks for its service, the words count wherever they stand.
			named = named || (is || refs) && hasFold(value, "receive-pack") || refs && hasFold(name, "receive-pack")
		}
		if is {
			count++
			plain = part == "service="+uploadPack || part == "service="+receivePack
		}
	}
	switch {
	case refs && (count > 1 || count == 1 && !plain):
		return serviceOdd
	case push || named:
		return servicePush
	}
	return serviceNone
}

// hasFold tells whether s has an ASCII text within, in any case.
func hasFold(s, text string) bool {
	for i := 0; i+len(text) <= len(s); i++ {
		if s[i]|0x20 == text[0]|0x20 && strings.EqualFold(s[i:i+len(text)], text) {
			return true
		}
	}
	return false
}

// refuses says why an entry does not allow a request, or nothing.
func (c *compiled) refuses(k *known) Reason {
	if c.opaque || k.never {
		return Operation
	}
	asks := false // whether the entry's own rule for queries counts
	for _, r := range k.readings {
		own, ok := c.operation(k, r)
		if !ok {
			return Operation
		}
		asks = asks || own
	}
	switch {
	case asks && !c.query.allows(k.Query):
		return Query
	case k.Upgrade && !c.Upgrade:
		return Upgrade
	}
	return ""
}

// operation tells whether an operation allows one reading of a path, and whether
// it is none of git's, which say what the query is.
func (c *compiled) operation(k *known, path string) (ordinary, ok bool) {
	for i := range c.ops {
		o := &c.ops[i]
		if o.method != k.Method || k.push && !o.push || !o.path.match(path) {
			continue
		}
		if o.query == nil {
			ordinary, ok = true, true
		} else if *o.query == k.Query {
			return false, true
		}
	}
	return ordinary, ok
}
