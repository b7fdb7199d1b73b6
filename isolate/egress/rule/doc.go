// Package rule decides what may leave: which destination an entry of the policy
// names, which operation of it, and which addresses a name may lead to. It is
// pure: it looks nothing up, opens nothing and starts no goroutine. What it is
// given comes from inside and is hostile; what can't be read in one way only, it
// refuses. The proxy calls it for every attempt, isolate/policy when it reads a
// file, and the egress screen to draft an entry.
//
// What this does not cover: a method that a request's body names (a form's
// _method field), what an allowed operation does at its destination, a server
// that reads paths in a way that is none of those in path.go, and an operator's
// own NAT64 prefix, which looks like any public address.
package rule

// Entry is one [[network.allow]] entry as the policy writes it.
type Entry struct {
	Name string // for records and refusals, such as "agent-claude 1"
	// Destination is host:port, [address]:port or *.suffix:port. A wildcard names
	// every name below its suffix, at any depth, but neither the suffix itself nor
	// an address, and it never reaches into a public suffix, below which anyone
	// can have a name: *.com, *.github.io and *.test are refused, and a wildcard
	// above such a suffix leaves out what is below it.
	Destination string
	// Operations are "METHOD GLOB", "git fetch GLOB" and "git push GLOB", or
	// "CONNECT" alone, an opaque tunnel. In a glob "*" is any run within a
	// segment of the path and "**" any run at all; both may be empty. A path is
	// allowed if every way to read it is (path.go says which), by the operations
	// of one entry. A git operation's GLOB is the repository's path; a push needs
	// "git push", whatever other operations would match it.
	Operations []string
	// Query is "any" (also empty), "none" or a glob over the query as sent, in
	// which "*" stays within one parameter. Git operations bring their own.
	Query   string
	Account string // a credential's name; "none" or empty is none
	Upgrade bool
	// MaxUpload is bytes of request bodies in a session; 0 is no limit.
	MaxUpload int64
	PerMinute int // requests; 0 is no limit
	// Addresses are addresses and prefixes of a refused class that it may lead to
	// all the same. A cloud's metadata address must be written out.
	Addresses     []string
	ReturnsSecret bool // an operation that is meant to return a credential
}

// Fault is an entry that can't be meant. Key is the policy's key, Msg what is
// wrong with its value, Hint what to write in its place. Msg and Hint quote the
// policy and never a request.
type Fault struct {
	Entry          int // from 0
	Key, Msg, Hint string
}

func (f *Fault) Error() string { return f.Key + ": " + f.Msg }

// Reason is why a request does not leave. The words are in records and in
// docs/policy.md; they never change their meaning. Where several apply, Decide
// gives the one that is furthest along: no entry, bad path, operation, query,
// upgrade.
type Reason string

// The reasons.
const (
	NoEntry      Reason = "no entry"              // no entry names the destination
	BadAuthority Reason = "bad destination"       // a host or port that can be read in more than one way
	Disagree     Reason = "names disagree"        // SNI, Host and authority name different places
	NoAddress    Reason = "no address"            // the name leads nowhere
	BadAddress   Reason = "address refused"       // it leads to this machine, a private network or metadata
	BadPath      Reason = "bad path"              // a path that servers read in different ways
	Operation    Reason = "operation not allowed" // the destination is allowed, this operation is not
	Query        Reason = "query not allowed"     // the operation is allowed, not with this query
	Upgrade      Reason = "upgrade not allowed"   // the operation is allowed, not to change the protocol
	Upload       Reason = "max_upload reached"
	Rate         Reason = "requests_per_minute reached"
	Foreign      Reason = "foreign credential"    // a credential that is none of this session's placeholders
	Elsewhere    Reason = "placeholder elsewhere" // this session's placeholder, where its account has no entry
	Other        Reason = "placeholder of another session"
	Clear        Reason = "account needs TLS"        // a credential is never attached to plain HTTP
	NoCredential Reason = "credential not available" // its source failed
	NotHTTP      Reason = "not HTTP"
	NotTLS       Reason = "not TLS"
	Unreachable  Reason = "destination unreachable"
	Unsearchable Reason = "response can't be searched" // an encoding that the search for secrets does not know
	NoProxyUsed  Reason = "not through the proxy"
	NameLookup   Reason = "names are not resolved inside"
)
