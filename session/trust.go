package session

import (
	"errors"
	"fmt"
	"time"

	"fumehood/isolate/policy"
)

// RepositoryPolicyFile is where a repository keeps a policy of its own.
const RepositoryPolicyFile = ".fumehood/policy.toml"

// RepositoryPolicy is a repository's own policy and what comes of it together
// with the user's.
type RepositoryPolicy struct {
	Repo      string // the work tree, links resolved
	Dev, Ino  uint64 // of that folder
	SHA256    string // of the file, hex
	User      *policy.Policy
	Merged    *policy.Policy
	Widenings []policy.Widening
	Narrowed  []string // where it is in force instead of the user's
	Void      string   // why a trust that was given does not hold any more
}

// TrustVersion is the version of a trust record that this build writes.
const TrustVersion = 1

// Trust is one record: in which repository, of which content of its policy,
// the user let which widenings come into force.
type Trust struct {
	Version int       `json:"version"`
	Repo    string    `json:"repo"`
	Dev     uint64    `json:"device"`
	Ino     uint64    `json:"inode"`
	SHA256  string    `json:"sha256"`
	Granted []Granted `json:"granted"`
	By      string    `json:"by"`
	TTY     string    `json:"tty"`
	Time    time.Time `json:"time"`
}

// Granted is a widening as the user saw it.
type Granted struct {
	Key  string `json:"key"`
	Want string `json:"want"`
}

// void says why a record does not hold for a repository as it is now; empty
// when it does.
func (t *Trust) void(r *RepositoryPolicy) string {
	switch {
	case t.Repo != r.Repo:
		return "it was given to a repository elsewhere"
	case t.Dev != r.Dev || t.Ino != r.Ino:
		return "the repository's folder is another one (device or inode)"
	case t.SHA256 != r.SHA256:
		return "the file has changed since"
	}
	return ""
}

// grants tells whether the user saw a widening and let it in. What the
// repository asks for beyond another policy of the user's may be more than was
// seen: it is not in force then.
func (t *Trust) grants(w policy.Widening) bool {
	for _, g := range t.Granted {
		if g.Key == w.Key && g.Want == w.Want {
			return true
		}
	}
	return false
}

// join intersects the two policies under a record, which may be nil.
func (r *RepositoryPolicy) join(own *policy.Policy, t *Trust) error {
	trusted := func(policy.Widening) bool { return false }
	if t != nil {
		if r.Void = t.void(r); r.Void == "" {
			trusted = t.grants
		}
	}
	r.Merged, r.Widenings = policy.IntersectTrusting(r.User, own, trusted)
	r.Narrowed = policy.Narrowed(r.User, r.Merged, r.Widenings)
	if errs := policy.Check(r.Merged); len(errs) > 0 {
		return fmt.Errorf("the repository's %s and your policy together: %w", RepositoryPolicyFile, errors.Join(errs...))
	}
	return nil
}

// record is what is written when the user trusts everything that can be.
func (r *RepositoryPolicy) record(by, tty string, now time.Time, before *Trust) *Trust {
	out := &Trust{Version: TrustVersion, Repo: r.Repo, Dev: r.Dev, Ino: r.Ino, SHA256: r.SHA256, By: by, TTY: tty, Time: now}
	if before != nil && before.void(r) == "" {
		out.Granted = append(out.Granted, before.Granted...)
	}
	for _, w := range r.Widenings {
		if w.Trustable && !out.grants(w) {
			out.Granted = append(out.Granted, Granted{Key: w.Key, Want: w.Want})
		}
	}
	return out
}

// Waiting lists the widenings that trust would bring into force.
func (r *RepositoryPolicy) Waiting() []policy.Widening {
	var out []policy.Widening
	for _, w := range r.Widenings {
		if w.Trustable && !w.InForce {
			out = append(out, w)
		}
	}
	return out
}

// refused lists the widenings that are not in force.
func (r *RepositoryPolicy) refused() []policy.Widening {
	var out []policy.Widening
	for _, w := range r.Widenings {
		if !w.InForce {
			out = append(out, w)
		}
	}
	return out
}

// Notes says in sentences what a repository's own policy does to the user's.
func (r *RepositoryPolicy) Notes() []string { return r.notes() }

// notes says what a repository's own policy does to a session; nil is none.
func (r *RepositoryPolicy) notes() []string {
	if r == nil {
		return nil
	}
	out := r.standing(r.refused())
	if len(r.Waiting()) > 0 {
		out = append(out, "\"fumehood policy trust\" shows what the repository's own policy asks for, and can bring it into force")
	}
	return out
}

// unasked is notes for where the question is asked that Waiting is about.
func (r *RepositoryPolicy) unasked() []string {
	if r == nil {
		return nil
	}
	var never []policy.Widening
	for _, w := range r.refused() {
		if !w.Trustable {
			never = append(never, w)
		}
	}
	return r.standing(never)
}

// standing says what is narrower, what is wider, and what of that is refused.
func (r *RepositoryPolicy) standing(refused []policy.Widening) []string {
	const most = 8
	var out []string
	add := func(head string, lines []string) {
		for _, l := range lines[:min(len(lines), most)] {
			out = append(out, head+l)
		}
		if n := len(lines) - most; n > 0 {
			out = append(out, fmt.Sprintf("%s%d more", head, n))
		}
	}
	var no, trusted []string
	for _, w := range refused {
		no = append(no, w.String())
	}
	for _, w := range r.Widenings {
		if w.InForce {
			trusted = append(trusted, w.Key+": "+w.Want)
		}
	}
	add("narrowed by the repository's own policy: ", r.Narrowed)
	add("wider by the repository's own policy, which you trusted: ", trusted)
	add("asked for by the repository's own policy, and not in force: ", no)
	if r.Void != "" {
		out = append(out, "the trust in the repository's own policy does not hold: "+r.Void)
	}
	return out
}

// event adds to the event of a session's creation which policy of the
// repository's it was and what of it was trusted.
func (r *RepositoryPolicy) event(fields map[string]any) map[string]any {
	if r == nil {
		return fields
	}
	trusted, refused := []string{}, []string{}
	for _, w := range r.Widenings {
		if w.InForce {
			trusted = append(trusted, w.Key+": "+w.Want)
		} else {
			refused = append(refused, w.Key+": "+w.Want)
		}
	}
	fields["repository_policy"], fields["widenings_trusted"], fields["widenings_refused"] = r.SHA256, trusted, refused
	return fields
}

// explain says of a start that wants a proof which policy it is that wants it.
func (r *RepositoryPolicy) explain(err error) error {
	var u *UnprovenError
	if r != nil && errors.As(err, &u) && policy.Hash(r.User) != policy.Hash(r.Merged) {
		u.Joined = true
	}
	return err
}
