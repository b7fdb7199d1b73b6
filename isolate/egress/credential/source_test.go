package credential

import (
	"strings"
	"testing"
)

func TestCheckSourceTakesTheThreeKinds(t *testing.T) {
	for _, s := range []string{
		"env:TOKEN", "env:_a9", "file:/etc/token", "file:~/.config/token", "file:~/.x/auth.json#tokens.access_token", "file:/a#b/c.json#k",
		"command:/usr/bin/gh auth token", "command:/usr/bin/gh  auth   token --hostname=a.test", "file:/a b/c", "file:/.../x",
	} {
		if err := CheckSource(s); err != nil {
			t.Errorf("%q: got %v, want it taken", s, err)
		}
	}
}

func TestCheckSourceRefusesTheRest(t *testing.T) {
	for _, row := range []struct{ source, want string }{
		{"", "none of env:NAME"},
		{"TOKEN", "none of env:NAME"},
		{"env:", "none of env:NAME"},
		{"vault:x", `"vault" is none of env, file and command`},
		{"ENV:X", `"ENV" is none of env, file and command`},
		{"env:9A", "not the name of a variable"},
		{"env:A-B", "not the name of a variable"},
		{"env:A B", "not the name of a variable"},
		{"env:A\nB", "a control character"},
		{"file:token", "not the absolute path of a file"},
		{"file:~", "not the absolute path of a file"},
		{"file:~other/x", "not the absolute path of a file"},
		{"file:/a/", "not the absolute path of a file"},
		{"file:~/../x", `".." in the path`},
		{"file:/a/../x", `".." in the path`},
		{"file:#a", "not the absolute path of a file"},
		{"file:/a#", "an empty name in the pointer"},
		{"file:/a#b..c", "an empty name in the pointer"},
		{"file:/a#" + strings.Repeat("a.", 16) + "a", "a pointer of more than 16 names"},
		{"command:gh auth token", "not the absolute path of a program"},
		{"command: ", "a command of 0 words"},
		{"command:~/bin/x", "not the absolute path of a program"},
		{"command:/bin/../x", `".." in the path`},
		{"command:/bin/sh -c 'a b'", "a command is split at blanks"},
		{"command:/bin/echo $HOME", "a command is split at blanks"},
		{"command:/bin/echo `x`", "a command is split at blanks"},
		{`command:/bin/echo a\ b`, "a command is split at blanks"},
		{"command:/bin/a | /bin/b", "there is no shell"},
		{"command:/bin/a" + strings.Repeat(" b", 64), "a command of 65 words"},
		{"file:/" + strings.Repeat("a", 4096), "longer than 4096 bytes"},
	} {
		if err := CheckSource(row.source); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %q", row.source, err, row.want)
		}
	}
}

func TestExtractTakesOneStringAndTellsNothing(t *testing.T) {
	const content = `{"a": {"b": "s3cr3t-value", "n": 12345678, "x": null, "l": ["s3cr3t-value"]}, "s": "short"}`
	for _, row := range []struct {
		name, content, pointer, want, err string
	}{
		{"all of it", "s3cr3t-value\n", "", "s3cr3t-value", ""},
		{"a line's other end", "s3cr3t-value\r\n", "", "s3cr3t-value", ""},
		{"two newlines", "s3cr3t-value\n\n", "", "", "more than one line"},
		{"a pointer", content, "a.b", "s3cr3t-value", ""},
		{"nothing there", content, "a.c", "", "nothing has name 2 of the pointer"},
		{"a number", content, "a.n", "", "what the pointer leads to is no string"},
		{"null", content, "a.x", "", "what the pointer leads to is no string"},
		{"an object", content, "a", "", "what the pointer leads to is no string"},
		{"into a list", content, "a.l.0", "", "name 3 of the pointer is looked for in what is no object"},
		{"into a string", content, "a.b.c", "", "name 3 of the pointer is looked for in what is no object"},
		{"no JSON", "s3cr3t-value", "a", "", "not JSON"},
		{"an escaped newline", `{"a":"s3cr3t\nvalue"}`, "a", "", "more than one line"},
		{"short", content, "s", "", "5 bytes, at least 8 are needed to find it in answers"},
		{"empty", "", "", "", "empty"},
	} {
		var pointer []string
		if row.pointer != "" {
			pointer = strings.Split(row.pointer, ".")
		}
		got, err := extract([]byte(row.content), pointer)
		said := ""
		if err != nil {
			said, got = err.Error(), ""
		}
		if got != row.want || said != row.err {
			t.Errorf("%s: got %q and %q, want %q and %q", row.name, got, said, row.want, row.err)
		}
	}
}

func FuzzSource(f *testing.F) {
	f.Add("file:/a#b.c", []byte(`{"b":{"c":"12345678"}}`))
	f.Add("command:/bin/x y", []byte("12345678\n"))
	f.Fuzz(func(t *testing.T, s string, content []byte) {
		src, err := parse(s)
		if err != nil {
			return
		}
		if src.path != "" && strings.Contains("/"+src.path+"/", "/../") {
			t.Fatalf("got the path %q of %q, want none with ..", src.path, s)
		}
		got, err := extract(content, src.pointer)
		if err == nil && (len(got) < 8 || strings.ContainsAny(got, "\r\n\x00")) {
			t.Fatalf("got the secret %q, want one line", got)
		}
	})
}
