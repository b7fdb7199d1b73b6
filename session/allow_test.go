package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fumehood/isolate/policy"
	"fumehood/session/store"
)

const accounted = `
[[network.allow]]
destination = "api.test:443"
operations = ["POST /v1/messages"]
account = "key"

[[credentials]]
name = "key"
source = "env:KEY"
attach = "x-api-key: {secret}"
placeholder = "env:KEY"
placeholder_format = "sk-{random:40}"
`

func TestADraftIsTheNarrowestEntryAndSaysWhatItOpens(t *testing.T) {
	h, d, _ := recorded(t)
	h.Config = t.TempDir()
	pol, err := policy.Parse("p.toml", []byte(accounted))
	if err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(d.Policy(), policy.Encode(pol)); err != nil {
		t.Fatal(err)
	}
	if err := d.SaveRecord(&store.Record{ID: d.ID(), PolicyName: "default"}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name        string
		a           Attempt
		want, opens string
		note        string
	}{
		{
			name: "a request", a: Attempt{Method: "GET", Host: "files.test", Port: 443, Path: "/a/b", Reason: "no entry"},
			want: "[[network.allow]]\ndestination = \"files.test:443\"\noperations = [\"GET /a/b\"]\n", opens: "any query",
		},
		{
			name: "a tunnel", a: Attempt{Method: "CONNECT", Host: "files.test", Port: 443, Reason: "no entry"},
			want: "[[network.allow]]\ndestination = \"files.test:443\"\noperations = [\"GET /**\", \"HEAD /**\"]\n", opens: "every path",
		},
		{
			name: "another operation where an account is", a: Attempt{Method: "POST", Host: "api.test", Port: 443, Path: "/v1/files", Reason: "operation not allowed"},
			want: "account = \"key\"\n", note: "your credential goes with it",
		},
		{
			name: "a credential of its own there", a: Attempt{Method: "POST", Host: "api.test", Port: 443, Path: "/v1/files", Reason: "foreign credential"},
			want: "operations = [\"POST /v1/files\"]\n",
		},
		{name: "a lookup", a: Attempt{Method: "LOOKUP", Host: "files.test"}, opens: "No entry changes that"},
		{name: "a destination that is none", a: Attempt{Method: "GET", Host: "0x7f.1", Port: 443, Path: "/"}, opens: "No entry can allow it"},
		{name: "no port", a: Attempt{Method: "GET", Host: "files.test", Path: "/"}, opens: "No entry can allow it"},
		{name: "text of the policy in the path", a: Attempt{Method: "GET", Host: "files.test", Port: 443, Path: "/\"]\n[limits]\nmemory=\"none\""}, opens: "No entry can allow it"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := h.DraftEntry(d, c.a)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(got.Entry, c.want) || (c.want == "") != (got.Entry == "") || !strings.Contains(got.Opens, c.opens) {
				t.Errorf("got entry %q opening %q, want %q and %q", got.Entry, got.Opens, c.want, c.opens)
			}
			if notes := strings.Join(got.Notes, " "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("got notes %q, want %q", notes, c.note)
			}
			if got.Entry != "" {
				if _, err := ParseEntry(got.Entry); err != nil {
					t.Errorf("got a draft that can't be added: %v", err)
				}
				if want := filepath.Join(h.Config, "fumehood", "policies", "my-default.toml"); got.Mine != want || !got.New {
					t.Errorf("got %q, new %v, want %q, new", got.Mine, got.New, want)
				}
			}
		})
	}
}

func TestOnlyAFileOfTheConfigurationFolderIsWritten(t *testing.T) {
	config := t.TempDir()
	own := filepath.Join(config, "fumehood", "policies", "own.toml")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("tool = \"x\""), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &Host{Config: config}
	cases := []struct {
		policy, want string
		isNew        bool
	}{
		{own, own, false},
		{"default", filepath.Join(config, "fumehood", "policies", "my-default.toml"), true},
		{"own", "", false}, // no built-in, and no path
		{"../p.toml", "", false},
		{"/repo/.fumehood/policy.toml", "", false},
		{filepath.Join(config, "fumehood") + "/../../p.toml", "", false},
		{"my-../../x", "", false},
	}
	for _, c := range cases {
		if got, isNew := h.ownPolicy(c.policy); got != c.want || isNew != c.isNew {
			t.Errorf("%q: got %q, new %v, want %q, %v", c.policy, got, isNew, c.want, c.isNew)
		}
	}
}
