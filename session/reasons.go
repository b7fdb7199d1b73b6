package session

import "fumehood/isolate/egress/rule"

// reasons says of each reason what it means for the person who supervises.
var reasons = map[rule.Reason]string{
	rule.NoEntry:      "No entry of the policy names this destination.",
	rule.BadAuthority: "Its host or port can be read in more than one way, so it is taken for none of the policy's destinations.",
	rule.Disagree:     "The names in it are of different places: what the connection was opened for, what TLS asks for and the Host header must agree.",
	rule.NoAddress:    "The name leads to no address.",
	rule.BadAddress:   "It leads to this machine, a private network or a metadata service; an entry must name such addresses.",
	rule.BadPath:      "Servers read this path in different ways, so it can't be compared with the policy's.",
	rule.Operation:    "An entry names this destination, but not this method and path there.",
	rule.Query:        "An entry names this operation, but not with this query.",
	rule.Upgrade:      "It asks to become a websocket, which its entry does not allow.",
	rule.Upload:       "The entry's max_upload is used up for this session.",
	rule.Rate:         "More requests in a minute than the entry's requests_per_minute.",
	rule.Foreign:      "It carries a credential that is not the session's placeholder: nothing but the policy's own accounts leaves.",
	rule.Elsewhere:    "It carries the session's placeholder to where its account has no entry.",
	rule.Other:        "It carries the placeholder of another session.",
	rule.Clear:        "A credential is never attached to plain HTTP.",
	rule.NoCredential: "The account's credential can't be read on this machine now.",
	rule.NotHTTP:      "What came through the tunnel is not HTTP, and no entry allows an opaque tunnel there.",
	rule.NotTLS:       "What came through the tunnel is not TLS.",
	rule.Unreachable:  "The policy allows it, and the destination could not be reached.",
	rule.Unsearchable: "The response has an encoding in which it can't be searched for the secret.",
	rule.NoProxyUsed:  "The program does not use the proxy settings that it was given.",
	rule.NameLookup:   "Names are not resolved inside: the program looks them up itself instead of using the proxy settings.",
}

// Meaning says in a sentence what the reason of a refusal means.
func Meaning(reason string) string {
	if s, ok := reasons[rule.Reason(reason)]; ok {
		return s
	}
	return "It was refused: " + reason + "."
}
