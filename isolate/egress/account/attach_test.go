package account

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAttachPutsTheSecretInItsPlaceAlone(t *testing.T) {
	for _, row := range []struct{ attach, query, want, wantQuery string }{
		{"Authorization: Bearer {secret}", "a=1", "Authorization: Bearer s3cret+/=", "a=1"},
		{"x-api-key: {secret}", "", "X-Api-Key: s3cret+/=", ""},
		{"Authorization: Basic x-access-token:{secret}", "", "Authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcmV0Ky89", ""},
		{"Authorization: Basic {secret}:", "", "Authorization: Basic czNjcmV0Ky89Og==", ""},
		{"Authorization: token {secret}", "", "Authorization: token s3cret+/=", ""},
		{"query: key={secret}", "", "", "key=s3cret%2B%2F%3D"},
		{"query: frob={secret}", "a=1&frob=2;%66rob=3&b", "", "a=1&b&frob=s3cret%2B%2F%3D"},
	} {
		a, err := ParseAttach(row.attach)
		if err != nil {
			t.Errorf("%s: %v", row.attach, err)
			continue
		}
		header := map[string][]string{"authorization": {"Bearer other"}, "X_Api_Key": {"other"}}
		query := Strip(header, row.query)
		if a.Header != "" {
			header[strings.ToLower(a.Header)] = []string{"left over"}
		}
		query = a.Set(header, query, "s3cret+/=")
		var got string
		for _, name := range slices.Sorted(maps.Keys(header)) {
			got += name + ": " + strings.Join(header[name], "|")
		}
		if got != row.want || query != row.wantQuery {
			t.Errorf("%s: got %q and %q, want %q and %q", row.attach, got, query, row.want, row.wantQuery)
		}
	}
}

func TestParseAttachRefusesWhatCannotBeMeant(t *testing.T) {
	for _, s := range []string{
		"", "Authorization", "Authorization: Bearer", "Authorization: {secret} {secret}", "Auth orization: {secret}", "A: {secret}\r\nB: c",
		"Host: {secret}", "content-length: {secret}", "Connection: {secret}", "Transfer-Encoding: {secret}", "Proxy-Authorization: {secret}",
		"query: {secret}", "query: a b={secret}", "query: a=x{secret}", ": {secret}",
	} {
		if a, err := ParseAttach(s); err == nil {
			t.Errorf("%q: got %+v, want an error", s, a)
		}
	}
}

func TestCheckSecretRefusesWhatCannotBeSentOrFound(t *testing.T) {
	for _, s := range []string{"", "1234567", "12345678\n", "1234\n5678", "1234\r5678", "1234\x005678", "1234\x7f5678", "1234\u00855678", " 12345678", "12345678 ", "1234\xff5678", strings.Repeat("x", 16<<10+1)} {
		err := CheckSecret(s)
		if err == nil || len(s) > 4 && strings.Contains(err.Error(), s[:4]) {
			t.Errorf("%q: got %v, want an error without the secret", s, err)
		}
	}
	for _, s := range []string{"12345678", "two words", "pässwörter", strings.Repeat("x", 16<<10)} {
		if err := CheckSecret(s); err != nil {
			t.Errorf("%q: got %v, want it taken", s, err)
		}
	}
}
