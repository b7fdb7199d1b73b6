package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// anEntry and aCredential are in force as they stand; a test changes one key.
const (
	anEntry = "[[network.allow]]\ndestination = \"a.example.test:443\"\noperations = [\"GET /**\"]\naccount = \"reader\"\n"
	aCred   = "[[credentials]]\nname = \"reader\"\nsource = \"env:TOKEN\"\nattach = \"Authorization: Bearer {secret}\"\nplaceholder = \"env:TOKEN\"\nplaceholder_format = \"t_{random:40}\"\n"
)

// with replaces the line of a key, or adds it.
func with(src, key, value string) string {
	lines := strings.Split(strings.TrimRight(src, "\n"), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, key+" ") {
			lines[i] = key + " = " + value
			return strings.Join(lines, "\n") + "\n"
		}
	}
	return strings.Join(append(lines, key+" = "+value), "\n") + "\n"
}

func TestCheckRefusesEntriesThatCannotBeMeant(t *testing.T) {
	tests := []struct {
		name, key, value string // of the entry, or of the credential with "credentials."
		at, msg          string
		more             int // faults beside
	}{
		{"no port", "destination", `"a.example.test"`, "", "", 0},
		{"a URL", "destination", `"https://a.example.test:443"`, "", "", 0},
		{"a number that some read as an address", "destination", `"0x7f.1:443"`, "", "", 0},
		{"no destination", "destination", `""`, "", "", 0},
		{"no operation", "operations", `[]`, "", "", 0},
		{"a method alone", "operations", `["GET"]`, "", "", 0},
		{"a path without its slash", "operations", `["GET api/**"]`, "", "", 0},
		{"a path alone", "operations", `["/api/**"]`, "", "", 0},
		{"CONNECT beside others", "operations", `["CONNECT", "GET /**"]`, "", "", 1},
		{"an account in an opaque tunnel", "operations", `["CONNECT"]`, "network.allow[0].account", "", 1},
		{"an account that is none", "account", `"writer"`, "", `no credential is named "writer"`, 1},
		{"an account over plain HTTP", "destination", `"a.example.test:80"`, "network.allow[0].account", "over TLS only", 0},
		{"a query with its mark", "query", `"?a=*"`, "", "follows the ?", 0},
		{"an address that is none", "addresses", `["ten"]`, "", "", 0},
		{"any address", "addresses", `["0.0.0.0/0"]`, "", "as good as any", 0},
		{"any IPv6 address", "addresses", `["::/0"]`, "", "as good as any", 0},
		{"no name", "credentials.name", `""`, "", "without a name", 1},
		{"a name that is a word", "credentials.name", `"none"`, "", "no account", 1},
		{"a name with a space", "credentials.name", `"a b"`, "", "not a name", 1},
		{"a source of no kind", "credentials.source", `"TOKEN"`, "", "", 0},
		{"a variable that is none", "credentials.source", `"env:A-B"`, "", "", 0},
		{"a file that is not absolute", "credentials.source", `"file:token"`, "", "", 0},
		{"a file that leads up", "credentials.source", `"file:~/../token"`, "", "", 0},
		{"a command that is not absolute", "credentials.source", `"command:gh auth token"`, "", "", 0},
		{"a command that needs a shell", "credentials.source", `"command:/bin/cat /a | /bin/head"`, "", "shell", 0},
		{"a pointer with an empty name", "credentials.source", `"file:/a#b..c"`, "", "pointer", 0},
		{"a secret that goes nowhere", "credentials.attach", `"Authorization: Bearer"`, "", "{secret}", 0},
		{"a secret as the host", "credentials.attach", `"Host: {secret}"`, "", "where a request goes", 0},
		{"a placeholder in a file", "credentials.placeholder", `"file:/x"`, "", "env:NAME", 0},
		{"no placeholder", "credentials.placeholder", `""`, "", "env:NAME", 0},
		{"a placeholder in PATH", "credentials.placeholder", `"env:PATH"`, "", "set by the session", 0},
		{"a placeholder for the linker", "credentials.placeholder", `"env:LD_PRELOAD"`, "", "linker", 0},
		{"a placeholder as the proxy", "credentials.placeholder", `"env:https_proxy"`, "", "egress proxy", 0},
		{"a placeholder as a certificate", "credentials.placeholder", `"env:SSL_CERT_FILE"`, "", "certificate", 0},
		{"a placeholder for a runtime", "credentials.placeholder", `"env:NODE_OPTIONS"`, "", "runtime", 0},
		{"a placeholder that is guessed", "credentials.placeholder_format", `"t_{random:4}"`, "", "random", 0},
		{"a placeholder that is not random", "credentials.placeholder_format", `"token"`, "", "random", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entry, cred, at := anEntry, aCred, tt.at
			key, ofCredential := strings.CutPrefix(tt.key, "credentials.")
			if ofCredential {
				cred = with(cred, key, tt.value)
			} else {
				entry = with(entry, key, tt.value)
			}
			if at == "" {
				at = "network.allow[0]." + key
				if ofCredential {
					at = "credentials[0]." + key
				}
			}
			p, err := CheckFile("p.toml", []byte(entry+cred))
			all := faultsIn(err)
			if p != nil || len(all) < 1 || len(all) > 1+tt.more {
				t.Fatalf("got %v, want 1 to %d faults", err, 1+tt.more)
			}
			var here *Error
			for _, e := range all {
				if e.Line < 1 || e.Col < 1 || e.Msg == "" {
					t.Errorf("got %v, want a line, a column and a message", e)
				}
				if e.Key == at {
					here = e
				}
			}
			if here == nil || !strings.Contains(here.Msg, tt.msg) {
				t.Fatalf("got %v, want %s: ...%s...", err, at, tt.msg)
			}
		})
	}
	if _, err := CheckFile("p.toml", []byte(anEntry+aCred)); err != nil {
		t.Errorf("the control: %v", err)
	}
}

func faultsIn(err error) []*Error {
	var all Errors
	var one *Error
	if errors.As(err, &all) {
		return all
	}
	if errors.As(err, &one) {
		return []*Error{one}
	}
	return nil
}

func TestCheckTellsEveryEntrysFault(t *testing.T) {
	src := with(anEntry, "operations", `["GET"]`) + with(anEntry, "destination", `"b.example.test"`) + anEntry + with(anEntry, "query", `"?x"`) + aCred
	_, err := CheckFile("p.toml", []byte(src))
	var got []string
	for _, e := range faultsIn(err) {
		got = append(got, fmt.Sprintf("%d %s", e.Line, e.Key))
	}
	want := "3 network.allow[0].operations, 6 network.allow[1].destination, 17 network.allow[3].query"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

func TestCheckRefusesCredentialsThatMeanTwoThings(t *testing.T) {
	other := with(with(aCred, "name", `"writer"`), "placeholder", `"env:OTHER"`)
	use := with(with(anEntry, "account", `"writer"`), "operations", `["PUT /**"]`)
	for _, tt := range []struct{ name, src, key, msg string }{
		{"one name twice", anEntry + aCred + with(aCred, "placeholder", `"env:OTHER"`), "credentials[1].name", "second credential named"},
		{"one variable twice", anEntry + use + aCred + with(other, "placeholder", `"env:TOKEN"`), "credentials[1].placeholder", "second credential whose placeholder"},
		{"no entry names it", anEntry + aCred + other, "credentials[1].name", "never be used"},
		{"a credential alone", aCred, "credentials[0].name", "never be used"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := CheckFile("p.toml", []byte(tt.src))
			all := faultsIn(err)
			if len(all) != 1 || all[0].Key != tt.key || !strings.Contains(all[0].Msg, tt.msg) || all[0].Line < 2 {
				t.Errorf("got %v, want %s: %s", err, tt.key, tt.msg)
			}
		})
	}
	if _, err := CheckFile("p.toml", []byte(anEntry+use+aCred+other)); err != nil {
		t.Errorf("the control: %v", err)
	}
}

func TestCheckRefusesUnprintableTextsOfEntries(t *testing.T) {
	p, err := CheckFile("p.toml", []byte(anEntry+aCred))
	if err != nil {
		t.Fatal(err)
	}
	p.Network.Allow[0].Query = "a\x1b[2J"
	p.Credentials[0].Attach = "Authorization: \u202e{secret}"
	p.Network.Allow[0].MaxUpload, p.Network.Allow[0].PerMinute = -1, -1
	var keys []string
	for _, err := range Check(p) {
		keys = append(keys, faultsIn(err)[0].Key)
	}
	for _, want := range []string{"network.allow[0].query", "credentials[0].attach", "network.allow[0].max_upload", "network.allow[0].requests_per_minute"} {
		if !contains(keys, want) {
			t.Errorf("got faults of %v, want %s among them", keys, want)
		}
	}
}
