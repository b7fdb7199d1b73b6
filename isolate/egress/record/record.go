// Package record is what the egress proxy writes down of an attempt to reach the
// network. It is a leaf: the proxy fills it, session stores it, ui shows it. No
// secret is ever in it; what came from inside (method, host, path) is hostile
// and bounded, and for showing it must be cleaned.
package record

import "time"

// Attempt is one line of egress.jsonl.
type Attempt struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Tenant  string    `json:"tenant"`
	Allowed bool      `json:"allowed"`
	Method  string    `json:"method"` // of HTTP; CONNECT for a tunnel; LOOKUP for a name
	Host    string    `json:"host"`
	Port    int       `json:"port"`
	Path    string    `json:"path,omitempty"` // without its query, which may carry what nobody should keep
	Account string    `json:"account,omitempty"`
	Rule    string    `json:"rule,omitempty"`   // the entry that allowed it, or came nearest
	Reason  string    `json:"reason,omitempty"` // one of rule's reasons; of a refusal
	Detail  string    `json:"detail,omitempty"` // our own words: which slot, which address class
	Address string    `json:"address,omitempty"`
	Status  int       `json:"status,omitempty"` // what the inside got
	Up      int64     `json:"up"`               // bytes of bodies, or of the tunnel
	Down    int64     `json:"down"`
	MS      int64     `json:"ms"`
	Cut     int       `json:"cut,omitempty"`   // secrets cut out of the response
	Times   int       `json:"times,omitempty"` // so many alike, when they came in a flood
	Prev    string    `json:"prev"`            // hash of the line before; set by the store
}
