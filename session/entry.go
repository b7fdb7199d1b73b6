package session

import (
	"bytes"
	"errors"
	"fmt"

	"fumehood/isolate/policy"
)

// ParseEntry reads one egress entry as a policy file writes it, and nothing
// else: who adds an entry must not be able to change another wall by it.
func ParseEntry(text string) (policy.Allow, error) {
	said, err := policy.Parse("entry", []byte(text))
	if err != nil {
		return policy.Allow{}, err
	}
	if n := len(said.Network.Allow); n != 1 {
		return policy.Allow{}, fmt.Errorf("got %d entries, and one is added at a time", n)
	}
	entry := said.Network.Allow[0]
	alone, err := policy.Parse("entry", []byte(policy.EncodeEntry(entry)))
	if err != nil {
		return policy.Allow{}, err
	}
	if !bytes.Equal(policy.Encode(said), policy.Encode(alone)) {
		return policy.Allow{}, errors.New("the text says more than one entry")
	}
	return entry, nil
}

// WithEntry gives a policy with one entry more, checked as a whole.
func WithEntry(p *policy.Policy, entry policy.Allow) (*policy.Policy, error) {
	out, err := policy.WithEntry(p, entry)
	if err != nil {
		return nil, err
	}
	// What is written must be read again: a session that resumes has nothing else.
	if _, err := policy.Parse("policy.toml", policy.Encode(out)); err != nil {
		return nil, err
	}
	return out, nil
}
