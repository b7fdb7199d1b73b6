// Package account keeps the account of a request what the policy says: it finds
// credentials in every slot of a request, tells this session's placeholders
// from all others, puts the real one in a placeholder's place, and cuts it out
// of what comes back. It reads no source and opens nothing. A header is a map
// as net/http has it.
//
// What this does not cover: credentials in bodies, in names that no table and
// no pattern knows, and in what is compressed or encrypted.
package account

// Account is one [[credentials]] entry in a live session. The real secret is
// not in it: it is read at each use and handed to Set.
type Account struct {
	Name        string
	Attach      Attach
	Placeholder string // this session's
}

// Found is one credential in a request.
type Found struct {
	Slot     string   // such as "header Authorization", "query key", "path"; never its content
	Account  string   // whose placeholder of this session it is; empty is none's
	Value    string   // what stood there, by the likeliest reading; never recorded
	Readings []string // all of them, for looking other sessions' placeholders up; never recorded
	Cookie   string   // the pair as it stood, for Jar.Foreign; only of a cookie
}
