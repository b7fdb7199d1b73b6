package prove

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"fumehood/isolate/egress/rule"
	"fumehood/isolate/walls"
)

// otherOperation asks allowed destinations for what their entries do not name,
// and for what they name as somebody else.
func otherOperation(ctx context.Context, e *env) ([]walls.Attempt, error) {
	if len(e.pol.Network.Allow) == 0 {
		return e.withoutDestination("operation", "an operation that is not allowed, and an allowed one as another account"), nil
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
	for _, at := range d.distinct() {
		c := credentials{d.secrets[at.account], inside[at.account]}
		control := d.allowed(at, c)[0]
		list = append(list, control)
		list = append(list, d.operations(at, c)...)
		list = append(list, d.paths(at, c)...)
		list = append(list, d.accounts(at, c, inside)...)
	}
	if len(list) == 0 {
		return e.noRows("operation", "an operation that is not allowed", "every entry is an opaque tunnel, in which no operation is looked at"), nil
	}
	return e.through(ctx, rm, list, false)
}

// most is at how many entries every attempt is made.
const most = 4

// distinct are entries that differ in what these attempts ask for: the first of
// each account, and the first without any.
func (d *destination) distinct() []entry {
	var out []entry
	for _, e := range d.entries {
		if !e.opaque && len(out) < most && !slices.ContainsFunc(out, func(o entry) bool { return o.account == e.account && (o.method == e.method || d.same(o, e)) }) {
			out = append(out, e)
		}
	}
	return out
}

// otherwise is an attempt at an entry that differs from the allowed one.
func (d *destination) otherwise(at entry, c credentials, id, tried string, change func(n string, r *request), reasons ...rule.Reason) try {
	return try{
		id: nameOf(at) + " " + id, tried: fmt.Sprintf("%s at %s", tried, at.rule.Destination), expected: "refused before it leaves", control: nameOf(at),
		connect: at.tunnel(), sni: at.sni(), judge: refusedOrUnread(reasons...),
		send: func(n string) []byte {
			r := at.for1(n, c.placeholder)
			change(n, &r)
			return r.bytes()
		},
	}
}

// operations are other things to ask of an allowed destination.
func (d *destination) operations(at entry, c credentials) []try {
	var out []try
	add := func(id, tried string, change func(n string, r *request), reasons ...rule.Reason) {
		out = append(out, d.otherwise(at, c, id, tried, change, reasons...))
	}
	for _, m := range []string{"PUT", "POST", "DELETE", "PATCH"} {
		if !d.allowsMethod(at, m) {
			add("upload "+m, m+" of a body", func(_ string, r *request) { r.method, r.body = m, "published" }, rule.Operation)
		}
	}
	for _, m := range []string{"TRACE", "REPORT", "get"} {
		if !d.allowsMethod(at, m) {
			add("method "+m, m, func(_ string, r *request) { r.method = m }, rule.Operation)
		}
	}
	if !d.allowsPush(at) {
		for _, x := range []struct{ id, query string }{
			{"push", "service=git-receive-pack"}, {"push-escaped", "service=git%2Dreceive%2Dpack"}, {"push-twice", "service=git-upload-pack&service=git-receive-pack"},
		} {
			add("git "+x.id, "git push, by "+x.query, func(n string, r *request) {
				r.method, r.path, r.query, r.body = "GET", at.folder()+"fh"+n+".git/info/refs", x.query, ""
			}, rule.Operation, rule.BadPath, rule.Query)
		}
		add("git push-body", "git push, the objects themselves", func(n string, r *request) {
			r.method, r.path, r.query, r.body = "POST", at.folder()+"fh"+n+".git/git-receive-pack", "", "0000"
		}, rule.Operation)
	}
	if !at.rule.Upgrade {
		add("upgrade", "a websocket", func(_ string, r *request) { *r = upgrading(*r) }, rule.Upgrade, rule.Operation)
	}
	if at.rule.Query == "none" {
		add("query", "a query", func(_ string, r *request) { r.query = "a=b" }, rule.Query)
	}
	if at.account != "" && !at.clear() {
		clear := d.otherwise(at, c, "in clear", "the account's placeholder in plain HTTP", func(_ string, r *request) {
			r.absolute = "http://" + at.at.String()
			r.host = at.at.String()
		}, rule.Clear, rule.Elsewhere, rule.Disagree)
		clear.connect = ""
		out = append(out, clear)
	}
	for _, h := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		out = append(out, d.override(at, c, h))
	}
	add("override in the query", "another method in the query", func(_ string, r *request) {
		r.query = strings.TrimPrefix(r.query+"&_method=DELETE", "&")
	}, rule.Operation, rule.Query)
	return out
}

// override names another method in a header. It may be refused, or arrive
// without that header, which then says nothing.
func (d *destination) override(at entry, c credentials, header string) try {
	t := d.otherwise(at, c, header, "another method by the header "+header, func(_ string, r *request) {
		r.headers = append(r.headers, header+": "+d.forbiddenMethod(at))
	})
	t.judge = func(p *passage) outcome {
		if len(p.arrived) == 0 {
			return refusedBy(rule.Operation)(p)
		}
		if v := p.arrived[0].Header.Get(header); v != "" {
			return failed("the header arrived at the destination", walls.Listener, fmt.Sprintf("%s: %s, nonce %s", header, v, p.nonce))
		}
		o := allowedAt(at, c)(p)
		if o.verdict == walls.Held {
			o.observed = "the header was taken out"
		}
		return o
	}
	return t
}

func (d *destination) allowsPush(at entry) bool {
	return slices.ContainsFunc(d.entries, func(e entry) bool {
		return d.same(e, at) && slices.ContainsFunc(e.rule.Operations, func(op string) bool { return strings.HasPrefix(op, "git push ") })
	})
}

// folder is what stands in front of the first wildcard of the entry's glob, to
// its last slash.
func (p entry) folder() string {
	fixed, _, _ := strings.Cut(p.glob, "*")
	return fixed[:strings.LastIndexByte(fixed, '/')+1]
}

// paths are other places at an allowed destination, under names that some
// servers take for another.
func (d *destination) paths(at entry, c credentials) []try {
	var out []try
	for _, x := range []struct {
		id, behind string
		always     bool // refused where every path is allowed, too
	}{
		{"dots", "../fhout/", true},
		{"escaped dots", "%2e%2e/fhout/", true},
		{"twice escaped dots", "%252e%252e/fhout/", true},
		{"escaped slash", "..%2ffhout/", true},
		{"escaped backslash", "..%5cfhout/", true},
		{"backslash", `..\fhout/`, true},
		{"dots with a parameter", "..;a=b/fhout/", true},
		{"zero byte", "a%00b/", true},
		{"odd escape", "a%zz/", true},
	} {
		t := d.otherwise(at, c, "path "+x.id, "a path with "+x.id, func(n string, r *request) {
			r.path = at.folder() + x.behind + "fh" + n
		}, rule.BadPath, rule.Operation, rule.BadAuthority)
		t.late = x.id == "odd escape" // it is no request, so that its line comes with the connection's end
		out = append(out, t)
	}
	if at.folder() != "/" {
		for _, x := range []struct{ id, path string }{
			{"outside", "/fhout/"},
			{"a name beside", strings.TrimSuffix(at.folder(), "/") + "-fhout/"},
			{"two slashes", "//" + strings.TrimPrefix(at.folder(), "/")},
			{"in capitals", strings.ToUpper(at.folder())},
		} {
			if x.path == at.folder() || d.allowsPath(at, x.path) {
				continue
			}
			out = append(out, d.otherwise(at, c, "path "+x.id, "a path "+x.id+": "+x.path, func(n string, r *request) {
				r.path = x.path + "fh" + n
			}, rule.Operation, rule.BadPath))
		}
	}
	return out
}

// allowsPath tells whether another operation for the destination begins with
// the folder, or allows everything.
func (d *destination) allowsPath(at entry, folder string) bool {
	return slices.ContainsFunc(d.entries, func(e entry) bool {
		return d.same(e, at) && slices.ContainsFunc(e.rule.Operations, func(op string) bool {
			_, glob, _ := strings.Cut(op, " ")
			fixed, _, wild := strings.Cut(glob, "*")
			return wild && (strings.HasPrefix(folder, fixed) || strings.HasPrefix(fixed, folder))
		})
	})
}

// accounts do what is allowed as somebody else.
func (d *destination) accounts(at entry, c credentials, inside map[string]string) []try {
	var out []try
	const theirs = "ghp-foreign-0123456789abcdefghijklmnop"
	foreign := []rule.Reason{rule.Foreign}
	add := func(id, tried string, reasons []rule.Reason, change func(n string, r *request)) {
		out = append(out, d.otherwise(at, c, id, tried, func(n string, r *request) {
			*r = at.for1(n, "")
			r.drop(at.slot)
			change(n, r)
		}, reasons...))
	}
	header := func(line string) func(string, *request) {
		return func(_ string, r *request) { r.headers = append(r.headers, line) }
	}
	param := func(pair string) func(string, *request) {
		return func(_ string, r *request) { r.query = strings.TrimPrefix(r.query+"&"+pair, "&") }
	}
	basic := base64.StdEncoding.EncodeToString([]byte("somebody:" + theirs))
	for _, line := range []string{
		"Authorization: Bearer " + theirs, "authorization: token " + theirs, "Authorization: Basic " + basic, "Proxy-Authorization: Basic " + basic,
		"X-Api-Key: " + theirs, "x-goog-api-key: " + theirs, "Private-Token: " + theirs, "Cookie: session=" + theirs, "X-Auth-Token: " + theirs,
	} {
		name, kind, _ := strings.Cut(line, ":")
		kind, _, _ = strings.Cut(strings.TrimSpace(kind), " ")
		if strings.Contains(kind, "foreign") {
			kind = "alone"
		}
		add("foreign "+name+" "+kind, fmt.Sprintf("a foreign credential in the header %s (%s)", name, kind), foreign, header(line))
	}
	queried := foreign
	if q := at.rule.Query; q != "" && q != "any" {
		queried = append(queried, rule.Query)
	}
	if at.query != "" {
		queried = append(queried, rule.Operation) // git's own, with one query exactly
	}
	for _, name := range []string{"access_token", "key", "api%5Fkey", "token"} {
		add("foreign query "+name, "a foreign credential in the query, as "+name, queried, param(name+"="+theirs))
	}
	if !at.clear() {
		add("foreign user", "a foreign credential as the URL's user", []rule.Reason{rule.Foreign, rule.BadAuthority, rule.Disagree}, func(_ string, r *request) {
			r.absolute = "https://somebody:" + theirs + "@" + at.host()
		})
	}
	if at.account != "" {
		out = append(out, d.otherwise(at, c, "foreign beside its own", "a foreign credential beside the placeholder", header("X-Api-Key: "+theirs), foreign...))
	}
	for _, name := range sortedKeys(inside) {
		if name == at.account || d.accountAt(at, name) {
			continue
		}
		wrong := []rule.Reason{rule.Elsewhere}
		add("placeholder of "+name, fmt.Sprintf("the placeholder of the account %q, which has nothing to do here,", name), wrong, header("Authorization: Bearer "+inside[name]))
		add("placeholder of "+name+" in a known header", fmt.Sprintf("the placeholder of %q in X-Api-Key", name), wrong, header("X-Api-Key: "+inside[name]))
		add("placeholder of "+name+" anywhere", fmt.Sprintf("the placeholder of %q in a header of no meaning", name), wrong, header("X-Note: "+inside[name]))
	}
	return out
}

// accountAt tells whether an entry for the same place is done as an account.
func (d *destination) accountAt(at entry, account string) bool {
	return slices.ContainsFunc(d.entries, func(e entry) bool { return d.same(e, at) && e.account == account })
}
