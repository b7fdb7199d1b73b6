package policy

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Widening is one thing in which a repository's own policy asks for more than
// the user's gives.
type Widening struct {
	Key  string // as in the repository's file, such as "limits.memory"
	Have string // what the user's policy says
	Want string // what the repository's asks for
	Why  string // what that would open; of one that can't be trusted, why not
	// Trustable says that it comes into force when the user trusts the file;
	// what is the user's own to give never does.
	Trustable bool
	InForce   bool // it was trusted
}

// Intersect gives the policy that holds in a repository with a policy of its
// own (from ParseRepository): of each field the narrower. Where the
// repository's is wider the user's stands, and the difference is listed. What
// comes out allows nothing that either refuses.
func Intersect(user, repo *Policy) (merged *Policy, widenings []Widening) {
	return IntersectTrusting(user, repo, func(Widening) bool { return false })
}

// IntersectTrusting is Intersect in which those widenings come into force that
// can be trusted and are.
func IntersectTrusting(user, repo *Policy, trusted func(Widening) bool) (merged *Policy, widenings []Widening) {
	m := meet{trusted: trusted}
	out := clone(user)
	for _, n := range narrowings() {
		n.meet(&m, n.key, n.at(user), n.at(repo), n.at(out))
	}
	out.dropUnused()
	return out, m.all
}

// Narrowed says in which fields the repository's policy is in force instead of
// the user's.
func Narrowed(user, merged *Policy, widenings []Widening) []string {
	wider := map[string]bool{}
	entries := 0 // of the network that are there since they were trusted
	for _, w := range widenings {
		wider[w.Key] = wider[w.Key] || w.InForce
		if w.InForce && strings.HasPrefix(w.Key, "network.allow[") && strings.HasSuffix(w.Key, "]") {
			entries++
		}
	}
	var out []string
	for _, n := range narrowings() {
		was, is := n.at(user), n.at(merged)
		if wider[n.key] || n.key == "credentials" || reflect.DeepEqual(was, is) {
			continue
		}
		if n.key == "network.allow" {
			if mine := len(user.Network.Allow); mine > 0 { // else nothing of it could be narrower
				out = append(out, fmt.Sprintf("%s: %d of the repository's entries are within yours, instead of your %d", n.key, len(merged.Network.Allow)-entries, mine))
			}
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s instead of %s", n.key, textOf(is), textOf(was)))
	}
	return out
}

// dropUnused takes out credentials that no entry names any more.
func (p *Policy) dropUnused() {
	var kept []Credential
	for _, c := range p.Credentials {
		if len(scopes(p, c.Name)) > 0 {
			kept = append(kept, c)
		}
	}
	p.Credentials = kept
}

// meet collects what is wider.
type meet struct {
	trusted func(Widening) bool
	all     []Widening
}

// wider lists a widening and tells whether it is in force.
func (m *meet) wider(w Widening) bool {
	w.InForce = w.Trustable && m.trusted(w)
	m.all = append(m.all, w)
	return w.InForce
}

// narrowing is one field and how the narrower of two is found. at gives a
// pointer into a policy; meet sets what out points at, which holds the user's
// value before.
type narrowing struct {
	key  string
	at   func(*Policy) any
	meet meeting
}

type meeting func(m *meet, key string, user, repo, out any)

// narrowings lists every field of a policy; a test holds it to that.
func narrowings() []narrowing {
	return []narrowing{
		{"", func(p *Policy) any { return &p.Name }, stands},
		{"tool", func(p *Policy) any { return &p.Tool }, stands},
		{"owner", func(p *Policy) any { return &p.Owner }, stands},
		{"reviewed", func(p *Policy) any { return &p.Reviewed }, stands},
		{"tenant", func(p *Policy) any { return &p.Tenant }, yours("the record says by it whose session this is")},

		{"boundary.enforced_by", func(p *Policy) any { return &p.Boundary.EnforcedBy }, yours("what the walls are made of is yours to say")},
		{"boundary.require", func(p *Policy) any { return &p.Boundary.Require }, union},
		{"boundary.proven", func(p *Policy) any { return &p.Boundary.Proven }, ordered("whether walls must be proven is yours to say", ProvenRequired, ProvenShown)},
		{"boundary.debuggers", func(p *Policy) any { return &p.Boundary.Debuggers }, never("ptrace among the session's processes")},

		{"filesystem.include", func(p *Policy) any { return &p.Filesystem.Include }, included},
		{"filesystem.exclude", func(p *Policy) any { return &p.Filesystem.Exclude }, union},
		{"filesystem.history", func(p *Policy) any { return &p.Filesystem.History }, ordered("branches, stashes and dropped commits are yours to show", "none", "head", "all")},
		{"filesystem.inputs", func(p *Policy) any { return &p.Filesystem.Inputs }, subset("host paths are yours to show")},
		{"filesystem.toolchains", func(p *Policy) any { return &p.Filesystem.Toolchains }, toolchainsMeet},

		{"network.allow", func(p *Policy) any { return &p.Network.Allow }, networkMeet},
		{"credentials", func(p *Policy) any { return &p.Credentials }, stands},

		{"limits.cpus", func(p *Policy) any { return &p.Limits.CPUs }, least},
		{"limits.memory", func(p *Policy) any { return &p.Limits.Memory }, least},
		{"limits.processes", func(p *Policy) any { return &p.Limits.Processes }, least},
		{"limits.disk", func(p *Policy) any { return &p.Limits.Disk }, least},
		{"limits.run_time", func(p *Policy) any { return &p.Limits.RunTime }, least},
		{"limits.session_time", func(p *Policy) any { return &p.Limits.SessionTime }, least},
		{"limits.output_chars", func(p *Policy) any { return &p.Limits.OutputChars }, least},
		{"limits.output_bytes", func(p *Policy) any { return &p.Limits.OutputBytes }, least},

		{"terminal.clipboard", func(p *Policy) any { return &p.Terminal.Clipboard }, ordered("the clipboard is yours", "deny", "ask", "allow")},
		{"results.leave", func(p *Policy) any { return &p.Results.Leave }, yours("what may leave is yours to say")},
		{"results.artifacts", func(p *Policy) any { return &p.Results.Artifacts }, subset("what may leave is yours to say")},
		{"results.review", func(p *Policy) any { return &p.Results.Review }, stands},

		{"lifecycle.idle", func(p *Policy) any { return &p.Lifecycle.Idle }, least},
		{"lifecycle.keep", func(p *Policy) any { return &p.Lifecycle.Keep }, union},
	}
}

// clone copies a policy so that nothing of it is shared.
func clone(p *Policy) *Policy {
	out := *p
	out.Boundary.Require = copyOf(p.Boundary.Require)
	out.Filesystem.Include.List = copyOf(p.Filesystem.Include.List)
	out.Filesystem.Exclude = copyOf(p.Filesystem.Exclude)
	out.Filesystem.Inputs = copyOf(p.Filesystem.Inputs)
	out.Filesystem.Toolchains.List = copyOf(p.Filesystem.Toolchains.List)
	out.Network.Allow = copyAllow(p.Network.Allow)
	out.Credentials = copyOf(p.Credentials)
	out.Results.Artifacts = copyOf(p.Results.Artifacts)
	out.Lifecycle.Keep = copyOf(p.Lifecycle.Keep)
	return &out
}

func copyOf[T any](list []T) []T { return append([]T(nil), list...) }

func copyAllow(list []Allow) []Allow {
	out := copyOf(list)
	for i := range out {
		out[i].Operations = copyOf(out[i].Operations)
		out[i].Addresses = copyOf(out[i].Addresses)
	}
	return out
}

// textOf prints a value for a person.
func textOf(at any) string {
	switch v := at.(type) {
	case *string:
		return orNone(*v, "nothing")
	case *bool:
		return fmt.Sprint(*v)
	case *int:
		return count(*v)
	case *Bytes:
		return v.String()
	case *time.Duration:
		return FormatDuration(*v)
	case *[]string:
		return orNone(listText(*v), "none")
	case *Choice:
		return orNone(v.text(), "none")
	}
	return fmt.Sprint(at)
}
