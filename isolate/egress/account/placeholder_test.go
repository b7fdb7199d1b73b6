package account

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
)

const mark = "MARK5678901234567890"

// The checks are those that clients make before they send anything.
func TestPlaceholderHasTheShapeThatClientsCheck(t *testing.T) {
	for _, row := range []struct{ format, want string }{
		{"", `^fh_[A-Za-z0-9]{40}$`},
		{"sk-ant-api03-{random:75}{session}", `^sk-ant-api03-[A-Za-z0-9]{75}` + mark + `$`},
		{"ghp_{random:36}", `^ghp_[A-Za-z0-9]{36}$`},
		{"github_pat_{random:22}_{random:59}", `^github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}$`},
		{"{hex:40}", `^[0-9a-f]{40}$`},
		{"{digits:12}-{digits:12}", `^[0-9]{12}-[0-9]{12}$`},
		{"{uuid}", `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"{jwt}", `^eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$`},
	} {
		got, err := Placeholder(row.format, mark)
		if err != nil || !regexp.MustCompile(row.want).MatchString(got) {
			t.Errorf("%q: got %q and %v, want %s", row.format, got, err, row.want)
		}
		again, _ := Placeholder(row.format, mark)
		if got == again {
			t.Errorf("%q: got %q twice, want another each time", row.format, got)
		}
	}
	if got, _ := Placeholder("sk-ant-api03-{random:75}{session}", mark); len(got) < 95 || got[len(got)-MarkLen:] != mark {
		t.Errorf("got %q, want at least 95 characters that end in the mark", got)
	}
}

func TestPlaceholderTokenReadsAsAJWT(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s, err := jwt(now)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(s, ".")
	var header struct{ Alg, Typ string }
	var claims struct {
		Exp, Iat int64
		Jti      string
	}
	for i, into := range []any{&header, &claims} {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatalf("part %d of %q: %v", i, s, err)
		}
	}
	years := time.Unix(claims.Exp, 0).Sub(now).Hours() / 24 / 365
	if header.Typ != "JWT" || header.Alg == "" || header.Alg == "none" || claims.Iat != now.Unix() || years < 9.9 || years > 10.1 || !isUUID(claims.Jti) {
		t.Errorf("got %+v and %+v, want a token of ten years that names an algorithm", header, claims)
	}
	if !isJWT(s) {
		t.Errorf("got %q, want what ShapeOf takes for a token", s)
	}
}

func TestPlaceholderRefusesBadFormats(t *testing.T) {
	for format, want := range map[string]string{
		"sk-{random:19}":              "19 random characters, at least 20 are needed",
		"{session}":                   "0 random characters, at least 20 are needed",
		"sk-{random:40":               `a "{" without its "}"`,
		"sk-random:40}":               `a "}" without its "{"`,
		"{Random:40}":                 "{Random:40} is none of {random:N}, {hex:N}, {digits:N}, {uuid}, {jwt} and {session}",
		"{random}":                    `{random}: a number from 1 to 4096 has to follow "random:"`,
		"{random:0}":                  `{random:0}: a number from 1 to 4096 has to follow "random:"`,
		"{hex:4097}":                  `{hex:4097}: a number from 1 to 4096 has to follow "hex:"`,
		"{digits:-1}":                 `{digits:-1}: a number from 1 to 4096 has to follow "digits:"`,
		"a b{random:40}":              "a character that is no printable ASCII one",
		"a\n{random:40}":              "a character that is no printable ASCII one",
		"ä{random:40}":                "a character that is no printable ASCII one",
		strings.Repeat("{uuid}", 300): "10800 characters, at most 8192",
	} {
		got, err := Placeholder(format, mark)
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %q and %v, want %q", format, got, err, want)
		}
	}
}

func TestShapeOfKeepsKindAndShape(t *testing.T) {
	tail := func(n int) string { return strings.Repeat("aB3xY9", n)[:n] }
	token, err := jwt(time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, secret, want string }{
		{"a key of the model vendors", "sk-ant-api03-" + tail(95), "sk-ant-api03-{random:95}"},
		{"with the separator in its random part", "sk-ant-api03-" + tail(40) + "_" + tail(54), "sk-ant-api03-{random:95}"},
		{"with it early in its random part", "sk-ant-api03-aB3x_" + tail(90), "sk-ant-api03-{random:95}"},
		{"a project's", "sk-proj-" + tail(48), "sk-proj-{random:48}"},
		{"a classic token", "ghp_" + tail(36), "ghp_{random:36}"},
		{"a fine-grained token", "github_pat_" + tail(82), "github_pat_{random:82}"},
		{"a token of three parts", token, "{jwt}"},
		{"a UUID", "0F8FAD5B-d9cb-469f-a165-70867728950e", "{uuid}"},
		{"hexadecimal", strings.Repeat("09af", 10), "{hex:40}"},
		{"digits", strings.Repeat("123", 8), "{digits:24}"},
		{"a prefix and hexadecimal", "dop_v1_" + strings.Repeat("09af", 16), "dop_v1_{hex:64}"},
		{"a house's own prefix", "acme_live_" + tail(40), "acme_{random:45}"},
		{"a known word, then none", "live_blue_" + tail(40), "live_{random:45}"},
		{"short", "hunter2-x", "{random:20}"},
		{"a pass phrase", "horse-paper-stone-river-cloud-green-table-small-quiet", "{random:53}"},
		{"words that are too long", "correcth-batteryst-" + tail(40), "{random:59}"},
		{"capitals before the separator", "ABcd-" + tail(40), "{random:45}"},
		{"empty", "", "{random:20}"},
		{"braces", "{session}-{jwt}-{uuid}", "{random:22}"},
	} {
		got := ShapeOf(row.secret)
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
		if _, err := Placeholder(got, mark); err != nil {
			t.Errorf("%s: %q is no format: %v", row.name, got, err)
		}
	}
}

// Whatever the secret is, no six bytes of what is random in it are in the format.
func TestShapeOfGivesNothingAway(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	alphabets := []string{letters, letters + "-_", hexes, hexes + "-", digits, "abcdefghijklmnopqrstuvwxyz-_0123456789", letters + "+/=.~ \"\\{}"}
	for range 20_000 {
		a := alphabets[rnd.IntN(len(alphabets))]
		kind := []string{"", "sk-ant-api03-", "ghp_", "sk-proj-"}[rnd.IntN(4)]
		var tail strings.Builder
		for range 20 + rnd.IntN(100) {
			tail.WriteByte(a[rnd.IntN(len(a))])
		}
		format := ShapeOf(kind + tail.String())
		if _, err := Placeholder(format, mark); err != nil {
			t.Fatalf("%q of %q is no format: %v", format, kind+tail.String(), err)
		}
		for i := 0; i+6 <= tail.Len(); i++ {
			if run := tail.String()[i : i+6]; strings.Contains(format, run) {
				t.Fatalf("got %q of the secret %q, want no %q in it", format, kind+tail.String(), run)
			}
		}
	}
}
