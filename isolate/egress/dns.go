package egress

import (
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// maxQuery is the longest query that is read, in bytes.
const maxQuery = 1500

// noSuchName answers one query (RFC 1035) with "no such name" (NXDOMAIN).
func noSuchName(query []byte) (reply []byte, name string, ok bool) {
	var parser dnsmessage.Parser
	h, err := parser.Start(query)
	if err != nil || h.Response || h.OpCode != 0 {
		return nil, "", false
	}
	q, err := parser.Question()
	if err != nil {
		return nil, "", false
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: h.ID, Response: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true, RCode: dnsmessage.RCodeNameError},
		Questions: []dnsmessage.Question{q},
	}
	out, err := m.Pack()
	if err != nil {
		return nil, "", false
	}
	return out, strings.TrimSuffix(strings.ToLower(q.Name.String()), "."), true
}
