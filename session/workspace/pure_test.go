package workspace

import (
	"strings"
	"testing"

	"fumehood/internal/beneath"
)

func TestCleanURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://host.test/o/r.git":                     "https://host.test/o/r.git",
		"https://tok@host.test/o/r":                     "https://host.test/o/r",
		"https://user:tok@host.test:8443/o/r?private=1": "https://host.test:8443/o/r",
		"ssh://git@host.test/o/r":                       "ssh://git@host.test/o/r",
		"ssh://git:pw@host.test/o/r":                    "ssh://git@host.test/o/r",
		"git@host.test:o/r.git":                         "git@host.test:o/r.git",
		"git:pw@host.test:o/r.git":                      "git@host.test:o/r.git",
		"host.test:o/r.git":                             "host.test:o/r.git",
		"/srv/git/r.git":                                "/srv/git/r.git",
		"../r":                                          "../r",
		"file:///srv/r":                                 "file:///srv/r",
		"ext::sh -c evil":                               "",
		"https://user:tok@host test/":                   "",
		"fd::17":                                        "",
		"foo://tok@host.test/":                          "",
	} {
		got, ok := cleanURL(in)
		if got != want || ok == (got == "") {
			t.Errorf("%q: got %q, %v, want %q", in, got, ok, want)
		}
	}
}

// What is written is what git reads back, and nothing in a value ends it.
func TestRenderConfigIsReadBackByGit(t *testing.T) {
	b := newBench(t)
	b.init()
	evil := "a\\b \"c\" \n[alias]\n\tst = !touch PWNED\n#;\t end "
	text := renderConfig([]section{{name: "user", lines: [][2]string{{"name", evil}}}, {name: "branch", sub: `q"u\o te`, lines: [][2]string{{"remote", "x"}}}})
	b.writeIn(b.repo, "conf", string(text))
	if got := b.host("config", "-z", "-f", "conf", "--get", "user.name"); got != evil+"\x00" {
		t.Errorf("got %q, want %q", got, evil)
	}
	if got := b.host("config", "-z", "-f", "conf", "--list"); strings.Count(got, "\x00") != 2 || !strings.Contains(got, "branch.q\"u\\o te.remote\nx") {
		t.Errorf("keys: got %q, want two", got)
	}
}

func TestSecretNames(t *testing.T) {
	for path, want := range map[string]bool{
		".env": true, "a/.env.local": true, ".env.example": false, "prod.env": true, "id_rsa": true, "id_ed25519.pub": false, "x.PEM": true,
		"server.key": true, "credentials.json": true, "credentials.go": false, "my-credentials.yaml": true, "service-account-prod.json": true,
		".aws/config": true, "src/secrets.py": false, "secrets.yaml": true, "terraform.tfstate": true, ".netrc": true, "vault.kdbx": true,
		"main.go": false, "README.md": false, "keyboard.js": false, "monkey": false, "environment.ts": false, ".envrc": true,
	} {
		if got := secretByName(path) != ""; got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestSecretContent(t *testing.T) {
	for text, want := range map[string]bool{
		"-----BEGIN RSA PRIVATE KEY-----\nabc":               true,
		"-----BEGIN PUBLIC KEY-----\nabc":                    false,
		"-----BEGIN CERTIFICATE-----\nabc":                   false,
		`{"type": "service_account", "private_key_id": "x"}`: true,
		"export T=" + "gh" + "p_" + strings.Repeat("a1", 18): true,
		"gh" + "p_short": false,
		"id=" + "AK" + "IA" + strings.Repeat("Z", 16):                                        true,
		"xAK" + "IA" + strings.Repeat("Z", 16):                                               false,
		"plain text about tokens and ghp_ prefixes":                                          false,
		"npm" + "_" + strings.Repeat("b", 36):                                                true,
		"a" + "npm" + "_" + strings.Repeat("b", 10) + " npm" + "_" + strings.Repeat("b", 36): true,
	} {
		if got := secretByContent("x.txt", []byte(text)) != ""; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if secretByContent("a/.npmrc", []byte("//r.test/:_authToken=x")) == "" || secretByContent(".npmrc", []byte("registry=https://r.test")) != "" {
		t.Error(".npmrc: a token counts, a setting does not")
	}
}

// An index entry proves a file's content only when every field agrees and the
// file is older than the index.
func TestIndexEntryMatches(t *testing.T) {
	const sec = 1_000_000_000
	e := indexEntry{mode: 0o100644, stat: indexStat{csec: 10, cnsec: 1, msec: 9, mnsec: 2, ino: 7, uid: 1, gid: 2, size: 5}}
	i := beneath.Info{Kind: beneath.Regular, Mode: 0o100644, UID: 1, GID: 2, Size: 5, Ino: 7, Mtime: 9*sec + 2, Ctime: 10*sec + 1}
	if !e.matches(&i, 20*sec) {
		t.Fatal("equal: got no match")
	}
	if e.matches(&i, 9*sec+2) || e.matches(&i, 9*sec) {
		t.Error("as young as the index: got a match, want it called racy")
	}
	for name, change := range map[string]func(e *indexEntry, i *beneath.Info){
		"size":          func(_ *indexEntry, i *beneath.Info) { i.Size++ },
		"size mod 2^32": func(_ *indexEntry, i *beneath.Info) { i.Size += 1 << 32 },
		"mtime":         func(_ *indexEntry, i *beneath.Info) { i.Mtime++ },
		"ctime":         func(_ *indexEntry, i *beneath.Info) { i.Ctime++ },
		"inode":         func(_ *indexEntry, i *beneath.Info) { i.Ino++ },
		"owner":         func(_ *indexEntry, i *beneath.Info) { i.UID++ },
		"exec":          func(_ *indexEntry, i *beneath.Info) { i.Mode |= 0o100 },
		"kind":          func(_ *indexEntry, i *beneath.Info) { i.Kind = beneath.Symlink },
		"conflict":      func(e *indexEntry, _ *beneath.Info) { e.stage = 2 },
		"intent to add": func(e *indexEntry, _ *beneath.Info) { e.flags = flagIntentToAdd },
		"smudged":       func(e *indexEntry, _ *beneath.Info) { e.stat.size = 0 },
	} {
		e, i := e, i
		change(&e, &i)
		if e.matches(&i, 20*sec) {
			t.Errorf("%s: got a match", name)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte("100644 78981922613b2afb6025042ff6bd878ac1994e85 0\ta\x00  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 7\tgid: 8\n  size: 9\tflags: 20004000\n"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parseIndex(b, 20) // must neither panic nor loop
		_, _ = parsePaths(b)
		_ = parseConfig(b)
	})
}
