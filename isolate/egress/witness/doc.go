// Package witness is the destination of the wall tests: a server on this
// machine's loopback that stands in for every destination of the policy under
// test, with certificates of its own, and writes down what arrives. Its log is
// the evidence that a request left a session, and with which credential. It
// hands back what it was sent in every way in which a careless or hostile
// destination might.
//
// Only session/prove uses it. A Server owns its goroutines; Close ends them and
// waits.
//
// What this does not cover: HTTP/2 between the proxy and a destination.
package witness

import (
	"net/http"
	"time"
)

// NonceHeader carries an attempt's word. What a destination is to do is never
// said by a request, only by Plan.
const NonceHeader = "X-Witness"

// Seen is one request that arrived.
type Seen struct {
	At     time.Time
	Nonce  string // "" when it had none
	TLS    bool
	SNI    string
	Method string
	Host   string
	Path   string // as it was sent, escaped
	Query  string
	Header http.Header
	Body   []byte // its first 64 KiB
	Length int64  // of the body in all
	// Replied says that the planned answer was given.
	Replied Reply
}

// Reply is how the server answers.
type Reply string

// The ways. All but Plain and Redirect hand the request's own credentials back.
const (
	Plain    Reply = ""
	Body     Reply = "body"
	Headers  Reply = "headers"
	Cookie   Reply = "cookie"
	Base64   Reply = "base64"
	Hex      Reply = "hex"
	Escaped  Reply = "escaped"
	Gzip     Reply = "gzip"
	Brotli   Reply = "an encoding that nobody reads"
	Split    Reply = "split"
	Events   Reply = "events"
	Location Reply = "location"
	Trailer  Reply = "trailer"
	Echo     Reply = "echo"     // a websocket that sends back what it gets, and first what it was sent
	Redirect Reply = "redirect" // to Plan's place
)

// Reflections lists the ways in which credentials come back.
func Reflections() []Reply {
	return []Reply{Body, Headers, Cookie, Base64, Hex, Escaped, Gzip, Brotli, Split, Events, Location, Trailer}
}

// Mark is the beginning of every answer's content.
const Mark = "the witness has seen "
