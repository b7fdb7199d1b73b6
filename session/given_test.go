package session

import (
	"strings"
	"testing"

	"fumehood/isolate/policy"
)

// A client that looks at a key before it uses it finds the kind that it knows,
// and nothing of the key.
func TestPlaceholderWithoutFormatHasTheSecretsShape(t *testing.T) {
	const secret = "sk-ant-api03-Zk3v9QmT1xW7bN5cR8yL2pJ6hG4fD0sA"
	pol := &policy.Policy{Credentials: []policy.Credential{{Name: "a", Source: "env:KEY", Placeholder: "env:KEY"}}}
	h := &Host{Env: []string{"KEY=" + secret, "OTHER=not asked for"}}
	g, err := h.given(pol, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := g.Placeholders["a"]
	if !strings.HasPrefix(p, "sk-ant-api03-") || len(p) != len(secret) {
		t.Errorf("got the placeholder %q, want the prefix and length of %q", p, secret)
	}
	if strings.Contains(p, secret[len("sk-ant-api03-"):][:6]) {
		t.Errorf("got %q, want nothing of the secret itself", p)
	}
	if len(g.Env) != 1 || g.Env["KEY"] != secret {
		t.Errorf("got the variables %q, want the source's alone", g.Env)
	}
	if stood, err := h.given(pol, "", &StandIn{}); err != nil || len(stood.Env) != 0 || strings.HasPrefix(stood.Placeholders["a"], "sk-") {
		t.Errorf("got %v, %v for a session of the wall tests, want nothing read of the account's own", stood, err)
	}
}
