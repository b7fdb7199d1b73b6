package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"fumehood/isolate/egress/account"
	"fumehood/isolate/egress/credential"
	"fumehood/isolate/egress/rule"
)

// network names entries that can't be meant. Each is compiled by itself, so
// that one does not hide another's faults, and then those that are good
// together, for what two of them say of one destination.
func (c *checker) network(p *Policy) {
	if n := len(p.Network.Allow); n > maxEntries {
		c.refuse("network.allow", fmt.Sprintf("%d entries: over the limit of %d", n, maxEntries), "")
		return
	}
	var good []rule.Entry
	var at []int
	for i, e := range p.Entries() {
		if c.compile([]rule.Entry{e}, []int{i}) {
			good, at = append(good, e), append(at, i)
		}
		c.entry(p, i)
	}
	c.compile(good, at)
}

// compile tells whether the proxy would take the entries; at has the number of
// each in the policy.
func (c *checker) compile(entries []rule.Entry, at []int) bool {
	_, err := rule.Compile(entries)
	var f *rule.Fault
	if errors.As(err, &f) {
		c.refuse(entryKey(at[f.Entry], f.Key), f.Msg, f.Hint)
	}
	return err == nil
}

func entryKey(i int, key string) string { return fmt.Sprintf("network.allow[%d].%s", i, key) }

// entry names what the proxy would take and nobody can mean.
func (c *checker) entry(p *Policy, i int) {
	a := p.Network.Allow[i]
	no := func(key, msg, hint string) { c.refuseOnce(entryKey(i, key), msg, hint) }
	if _, ok := p.Credential(a.Account); !ok && a.named() && !c.foreign {
		no("account", fmt.Sprintf("no credential is named %q", a.Account), `write a [[credentials]] entry of that name, or "none"`)
	}
	if a.named() && contains(a.Operations, connect) {
		no("account", fmt.Sprintf("nothing can be attached in an opaque tunnel, and %q is an account", a.Account), `write operations such as "GET /**", or account = "none"`)
	}
	if dest, err := rule.ParseAuthority(strings.TrimPrefix(a.Destination, "*."), 0); err == nil && a.named() && dest.Port == 80 {
		no("account", fmt.Sprintf("%q is plain HTTP: a credential is attached over TLS only", a.Destination), `name the port of its TLS, as ":443"`)
	}
	if a.ReturnsSecret && !a.named() {
		no("returns_secret", "true without an account: nothing is searched for then", "write false, or name the account")
	}
	if strings.HasPrefix(a.Query, "?") {
		no("query", fmt.Sprintf("%q: a pattern is matched against what follows the ?", a.Query), "leave the ? out")
	}
	if a.MaxUpload < 0 {
		no("max_upload", fmt.Sprintf("%d is below 0", a.MaxUpload), "")
	}
	if a.PerMinute < 0 {
		no("requests_per_minute", fmt.Sprintf("%d is below 0", a.PerMinute), "")
	}
	for _, s := range a.Addresses {
		if net, err := netip.ParsePrefix(s); err == nil && net.Bits() < leastBits(net) {
			no("addresses", fmt.Sprintf("%q is as good as any address, metadata services among them", s), "name the network that is meant, as \"10.2.0.0/16\"")
		}
	}
}

// leastBits is the widest prefix that an entry may name: the widest private
// networks there are, 10.0.0.0/8 and fc00::/7 (RFC 1918, RFC 4193).
func leastBits(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 8
	}
	return 7
}

func (c *checker) credentials(p *Policy) {
	if n := len(p.Credentials); n > maxEntries {
		c.refuse("credentials", fmt.Sprintf("%d entries: over the limit of %d", n, maxEntries), "")
		return
	}
	names, variables := map[string]bool{}, map[string]bool{}
	for i, cr := range p.Credentials {
		no := func(key, msg, hint string) { c.refuse(fmt.Sprintf("credentials[%d].%s", i, key), msg, hint) }
		if msg := badAccount(cr.Name); msg != "" {
			no("name", msg, "letters, digits, - _ and . are allowed")
		} else if names[cr.Name] {
			no("name", fmt.Sprintf("a second credential named %q", cr.Name), "an account is one credential")
		} else if len(scopes(p, cr.Name)) == 0 {
			no("name", fmt.Sprintf("no [[network.allow]] entry names the account %q, so it could never be used", cr.Name), "name it in an entry, or take it out")
		}
		names[cr.Name] = true
		// The words only: that the secret is there is seen when it is first used.
		if err := credential.CheckSource(cr.Source); err != nil {
			no("source", fmt.Sprintf("%q: %v", cr.Source, err), "env:NAME, file:/path#json.pointer or command:/absolute/path and arguments")
		}
		if at, err := account.ParseAttach(cr.Attach); err != nil {
			no("attach", fmt.Sprintf("%q: %v", cr.Attach, err), `as "Authorization: Bearer {secret}"`)
		} else if contains(framing(), at.Header) {
			no("attach", fmt.Sprintf("%q is a header that says where a request goes or ends", at.Header), "name a header that carries credentials")
		}
		variable, _ := strings.CutPrefix(cr.Placeholder, "env:")
		if msg, hint := badPlaceholder(cr.Placeholder); msg != "" {
			no("placeholder", msg, hint)
		} else if variables[variable] {
			no("placeholder", fmt.Sprintf("a second credential whose placeholder is in %s", variable), "a variable has one value")
		}
		variables[variable] = true
		if _, err := account.Placeholder(cr.PlaceholderFormat, ""); err != nil {
			no("placeholder_format", err.Error(), `as "sk-{random:40}"`)
		}
	}
}

func badAccount(name string) string {
	switch {
	case name == "":
		return "a credential without a name"
	case name == "none":
		return `"none" means no account`
	case !goodName(name):
		return fmt.Sprintf("%q is not a name", name)
	}
	return ""
}

// framing lists headers that are not for credentials: a policy that names one
// would have the proxy send requests elsewhere or cut them where they are not
// cut.
func framing() []string {
	return []string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Keep-Alive", "Expect",
		"Content-Encoding", "Content-Type", "Accept-Encoding", "Forwarded", "X-Forwarded-Host", "Range",
	}
}

func goodVariable(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// badPlaceholder says why a session can't see its placeholder there.
func badPlaceholder(s string) (msg, hint string) {
	const usage = "as \"env:PACKAGES_TOKEN\""
	name, ok := strings.CutPrefix(s, "env:")
	if !ok || !goodVariable(name) {
		return fmt.Sprintf("%q is not env:NAME", s), usage
	}
	if why := taken(strings.ToUpper(name)); why != "" {
		return fmt.Sprintf("%s %s, and a placeholder there would break it", name, why), usage
	}
	return "", ""
}

// taken says who sets a variable, or what reads it, when it is not for
// credentials; name is in upper case.
func taken(name string) string {
	for _, t := range []struct{ prefix, why string }{
		{"LD_", "is read by the dynamic linker"},
		{"LC_", "is a setting of the locale"},
		{"XDG_", "is set by the session"},
		{"FUMEHOOD_", "is set by the session"},
		{"BASH_", "is read by the shell"},
		{"DYLD_", "is read by the dynamic linker"},
	} {
		if strings.HasPrefix(name, t.prefix) {
			return t.why
		}
	}
	if strings.HasSuffix(name, "_PROXY") {
		return "leads programs to the egress proxy"
	}
	for _, t := range []struct {
		names []string
		why   string
	}{
		{[]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LANGUAGE", "TZ", "PWD", "OLDPWD", "TMPDIR", "TMP", "TEMP", "HOSTNAME"}, "is set by the session"},
		{[]string{"IFS", "ENV", "PS1", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "CDPATH", "EDITOR", "VISUAL", "PAGER"}, "is read by the shell and by what it starts"},
		{[]string{
			"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
			"PIP_CERT", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE", "SSL_CERT_BUNDLE", "GIT_SSL_CAPATH", "NPM_CONFIG_CAFILE",
		}, "names the session's certificate"},
		{[]string{
			"NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5LIB", "PERL5OPT",
			"RUBYOPT", "RUBYLIB", "GOFLAGS", "GOPATH", "GOROOT", "GIT_DIR", "GIT_WORK_TREE", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_AUTH_SOCK",
		}, "tells a runtime what to load or run"},
	} {
		if contains(t.names, name) {
			return t.why
		}
	}
	return ""
}
