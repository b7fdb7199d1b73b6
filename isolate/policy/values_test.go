package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// What JSON has is what the file says, key for key.
func TestValuesAreThoseOfTheFile(t *testing.T) {
	full, ok := Builtin(DefaultName)
	if !ok {
		t.Fatal("got no default policy")
	}
	p := *full
	p.Reviewed = "2026-11-30"
	p.Limits.RunTime = 90 * time.Second
	p.Filesystem.Include = Choice{List: []string{"node_modules"}}
	p.Filesystem.Inputs = []string{"/opt/\u202e data"}
	p.Network.Allow = []Allow{{Destination: "x.test:443", Operations: []string{"GET /**"}, Query: "any", Account: "a", MaxUpload: 1 << 20, Upgrade: true}}
	p.Credentials = []Credential{{Name: "a", Source: "env:A", Attach: "Authorization: Bearer {secret}"}}
	for name, p := range map[string]*Policy{"full": &p, "default": full} {
		var want map[string]any
		if err := toml.Unmarshal(Encode(p), &want); err != nil {
			t.Fatal(err)
		}
		if p.Reviewed == "" {
			want["reviewed"] = "" // the file leaves it out
		}
		if p.Network.Allow == nil {
			want["network"], want["credentials"] = map[string]any{"allow": []any{}}, []any{}
		}
		if diff := cmp.Diff(plain(t, want), plain(t, Values(p))); diff != "" {
			t.Errorf("%s: JSON has something else than the file (-file +JSON):\n%s", name, diff)
		}
	}
}

// plain is a value as it comes out of JSON.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
