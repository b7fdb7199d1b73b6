package account

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxPrefix is how much of a secret its kind may be, and maxStranger how long
// its first word is at most when it is none that is known: four characters are
// what a look at two keys of one vendor gives away as well.
const (
	maxPrefix   = 24
	maxStranger = 4
)

// kindWords are what vendors begin their credentials with. Any word in place of
// these would let through a piece of a secret that happens to have separators.
var kindWords = strings.Fields(`
	sk pk rk ak ant api api03 oat oat01 ort01 sid01 admin01 proj svcacct admin or v1 live test prod org user key token secret
	ghp gho ghu ghs ghr github pat glpat glrt gldt glsoat xoxb xoxp xoxa xoxr xapp npm npms pypi
	hf gsk xai nvapi pplx tvly fc r8 lsv2 pt sgp pul dop doo dor hvs hvb figd shpat sntrys phc phx whsec dckr dapi vercel crates`)

// ShapeOf gives the placeholder format that keeps kind and shape of a secret:
// its prefix if that says a kind (sk-ant-api03-, ghp_), and for the rest as many
// random characters of the same sort, 20 at least. Nothing of the secret but
// such a prefix is in it.
func ShapeOf(secret string) string {
	if isJWT(secret) {
		return "{jwt}"
	}
	if isUUID(secret) {
		return "{uuid}"
	}
	prefix := kindOf(secret)
	tail := secret[len(prefix):]
	n := min(max(len(tail), minRandom), 4096)
	for _, c := range []struct{ word, alphabet string }{{"digits", digits}, {"hex", hexes}} {
		if tail != "" && strings.Trim(tail, c.alphabet) == "" {
			return fmt.Sprintf("%s{%s:%d}", prefix, c.word, n)
		}
	}
	return fmt.Sprintf("%s{random:%d}", prefix, n)
}

// kindOf is the part of a secret that every one of its kind begins with: known
// words, each followed by '-' or '_'. What follows has to be long and to look
// random: else the words may be the secret, as in a pass phrase.
func kindOf(secret string) string {
	end := 0
	for i := 0; i < min(len(secret), maxPrefix); i++ {
		if c := secret[i]; c != '-' && c != '_' {
			continue
		}
		word := secret[end:i]
		known := slices.Contains(kindWords, word)
		if !known && (end > 0 || !stranger(word)) {
			break
		}
		end = i + 1
		if !known {
			break // a stranger stands alone: two words may be of the secret
		}
	}
	if tail := secret[end:]; len(tail) < minRandom || !mixed(tail) {
		return ""
	}
	return secret[:end]
}

// stranger says that an unknown word is short, and lower-case as kinds are.
func stranger(s string) bool {
	return s != "" && len(s) <= maxStranger && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// mixed says that a string has digits, and letters too: words have not.
func mixed(s string) bool {
	return strings.ContainsAny(s, digits) && strings.ContainsFunc(s, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	})
}

func isJWT(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts[:2] {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil || !json.Valid(b) || len(b) == 0 || b[0] != '{' {
			return false
		}
	}
	return true
}

func isUUID(s string) bool {
	parts := strings.Split(strings.ToLower(s), "-")
	if len(parts) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != n || strings.Trim(parts[i], hexes) != "" {
			return false
		}
	}
	return true
}
