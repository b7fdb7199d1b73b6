package session

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"fumehood/isolate/egress/record"
	"fumehood/isolate/policy"
	"fumehood/session/store"
)

// Attempt is one attempt of a session to reach the network. Method, host and
// path come from inside and are hostile.
type Attempt = record.Attempt

// Traffic is what a session tried to reach, as its proxy wrote it down. Nobody
// may change what is in it: it is handed out again.
type Traffic struct {
	Attempts []Attempt // the newest, at most maxAttempts, oldest first
	First    int       // how many older ones are not among them
	Allowed  int       // requests, a flood of alike ones counted each
	Refused  int
	Groups   []Refusal // in the order of their first
	Beyond   int       // refusals that found no room in Groups
	// Damaged is the line of the record that does not follow from the one
	// before, 0 when all do.
	Damaged int
	Policy  string   // its name
	Entries []string // what it lets through, one sentence each
	Live    bool
}

// Refusal is refused attempts that are alike: one destination, method and reason.
type Refusal struct {
	Times int
	Paths int     // different ones, as far as they were told apart
	Last  Attempt // the newest of them
}

// Bounds of what is kept of a record in memory. The inside decides how long the
// record becomes.
const (
	maxAttempts = 5000
	maxGroups   = 200
)

// traffic is one session's record as far as it was read.
type traffic struct {
	at    store.EgressAt
	view  Traffic
	group map[string]int // where in Groups
	mark  time.Time      // of the policy file whose entries are in view
}

// add counts one attempt.
func (t *traffic) add(a Attempt) {
	v := &t.view
	if len(v.Attempts) >= maxAttempts {
		v.Attempts = v.Attempts[1:] // the array is given up as it grows
		v.First++
	}
	v.Attempts = append(v.Attempts, a)
	n := max(1, a.Times)
	if a.Allowed {
		v.Allowed += n
		return
	}
	v.Refused += n
	t.view.Groups, t.view.Beyond = groupIn(v.Groups, t.group, a, n, v.Beyond)
}

// groupIn puts a refusal to those that are like it.
func groupIn(groups []Refusal, at map[string]int, a Attempt, n, beyond int) ([]Refusal, int) {
	key := fmt.Sprintf("%s\x00%d\x00%s\x00%s", a.Host, a.Port, a.Method, a.Reason)
	i, ok := at[key]
	switch {
	case ok:
		g := &groups[i]
		if g.Last.Path != a.Path {
			g.Paths++
		}
		g.Times, g.Last = g.Times+n, a
	case len(groups) >= maxGroups:
		beyond += n
	default:
		at[key] = len(groups)
		groups = append(groups, Refusal{Times: n, Paths: 1, Last: a})
	}
	return groups, beyond
}

// EntryText says in one line what an entry of a policy lets through.
func EntryText(a policy.Allow) string {
	text := a.Destination + ": " + strings.Join(a.Operations, ", ")
	if slices.Contains(a.Operations, "CONNECT") {
		text = a.Destination + ": an opaque tunnel, anything may be sent there"
	}
	if a.Account != "" && a.Account != "none" {
		text += " as " + a.Account
	}
	return text
}

// Destination is where an attempt went, as host:port. It is hostile.
func Destination(a Attempt) string {
	if a.Port == 0 {
		return a.Host
	}
	return net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
}

// Refused is one line of what was refused since a place in the record.
type Refused struct {
	Destination string `json:"destination"`
	Reason      string `json:"reason"`
	Times       int    `json:"times"`
}

// maxRefused bounds the list of what was refused in one run.
const maxRefused = 50

// refusedIn is a list of what was refused, most often first.
func refusedIn(groups []Refusal) []Refused {
	out := []Refused{}
	for _, g := range groups {
		one := Refused{Destination(g.Last), g.Last.Reason, g.Times}
		i := slices.IndexFunc(out, func(r Refused) bool { return r.Destination == one.Destination && r.Reason == one.Reason })
		if i >= 0 {
			out[i].Times += one.Times
			continue
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Refused) int { return b.Times - a.Times })
	return out[:min(len(out), maxRefused)]
}
