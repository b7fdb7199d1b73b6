package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/policy"
)

func TestWhatCanBeReachedInPlainWords(t *testing.T) {
	allow := func(dest, account string, ops ...string) policy.Allow {
		return policy.Allow{Destination: dest, Account: account, Operations: ops}
	}
	for _, tt := range []struct {
		name string
		have []policy.Allow
		want []string
	}{
		{"nothing", nil, []string{"no network: only loopback of its own"}},
		{"an agent's", []policy.Allow{allow("api.example.test:443", "me", "POST /v1/messages", "GET /settings")}, []string{
			"api.example.test, to post to /v1/messages and to read /settings, as your account me (it sees a placeholder)", "nothing else",
		}},
		{"downloads", []policy.Allow{allow("packages.example.test:8443", "none", "GET /**", "HEAD /**")}, []string{
			"packages.example.test:8443, to read anything", "nothing else",
		}},
		{"a tunnel", []policy.Allow{allow("db.example.test:5432", "", "CONNECT")}, []string{
			"db.example.test:5432, through a tunnel that nobody looks into", "nothing else",
		}},
		{"many paths", []policy.Allow{allow("x.example.test:443", "", "PUT /a", "PATCH /b", "PUT /c", "PUT /d", "DELETE /a", "PROPFIND /a")}, []string{
			"x.example.test, to write /a, /b (and 2 more) and to delete /a and for PROPFIND /a", "nothing else",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, reachLines(&policy.Policy{Network: policy.Network{Allow: tt.have}})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The page and the notes must never hold a secret, only where it is.
func TestWhereACredentialIsHeld(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{"env:API_KEY", "me: API_KEY of your environment, held outside; inside, KEY is a placeholder"},
		{"file:~/.tool/auth.json#a.b", "me: in ~/.tool/auth.json, held outside; inside, KEY is a placeholder"},
		{"command:/usr/bin/pass show x", "me: what /usr/bin/pass prints, held outside; inside, KEY is a placeholder"},
	} {
		got := accountLines(&policy.Policy{Credentials: []policy.Credential{{Name: "me", Source: tt.source, Placeholder: "env:KEY"}}})
		if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(strings.Join(got, ""), "show x") {
			t.Errorf("got %q, want no argument of the command: one may be a secret", got)
		}
	}
}
