package account

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Attach is where an account's real credential goes: a header with a value, or
// a query parameter.
type Attach struct {
	Header string // canonical; empty when Query is meant
	Query  string // the parameter's name
	value  string // with {secret} in it
	basic  bool   // what follows "Basic " is encoded
}

const secretMark = "{secret}"

// framing are headers that no credential belongs into: the proxy, or HTTP
// itself, reads them.
var framing = strings.Fields(`host connection content-length transfer-encoding content-encoding content-type te trailer upgrade expect
	proxy-authorization proxy-connection keep-alive via forwarded x-forwarded-for x-forwarded-host x-forwarded-proto sec-websocket-key range`)

// ParseAttach reads "Header: value with {secret}", "Authorization: Basic
// user:{secret}" (which is encoded) or "query: name={secret}".
func ParseAttach(s string) (Attach, error) {
	name, value, ok := strings.Cut(s, ":")
	value = strings.TrimSpace(value)
	if !ok || strings.Count(value, secretMark) != 1 {
		return Attach{}, errors.New(`not "Header: value" with one {secret} in it`)
	}
	if name == "query" {
		param, rest, ok := strings.Cut(value, "=")
		if !ok || rest != secretMark || param == "" || url.QueryEscape(param) != param {
			return Attach{}, errors.New(`not "query: name={secret}"`)
		}
		return Attach{Query: param, value: secretMark}, nil
	}
	if !token(name) {
		return Attach{}, errors.New("not the name of a header")
	}
	if oneOf(framing, strings.ToLower(name)) {
		return Attach{}, errors.New("a header that says where a request goes or how it is sent")
	}
	for _, r := range []byte(value) {
		if r < ' ' || r > '~' {
			return Attach{}, errors.New("a byte that no header may have")
		}
	}
	a := Attach{Header: textproto.CanonicalMIMEHeaderKey(name), value: value}
	if rest, ok := strings.CutPrefix(value, "Basic "); ok && strings.Contains(rest, ":") {
		a.basic, a.value = true, rest
	}
	return a, nil
}

func token(s string) bool {
	for _, r := range []byte(s) {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return s != ""
}

// Set puts the secret in its place and gives the query as it is to be sent. What
// stood there goes, under whatever spelling of the name. All other credentials
// must have been taken out before, by Strip, and the secret must have passed
// CheckSecret.
func (a Attach) Set(header map[string][]string, query, secret string) string {
	value := strings.Replace(a.value, secretMark, secret, 1)
	if a.basic {
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(value))
	}
	same := func(want string) func(string) bool {
		want = strings.Join(words(want), "")
		return func(name string) bool { return strings.Join(words(name), "") == want }
	}
	if a.Header != "" {
		is := same(a.Header)
		for name := range header {
			if is(name) {
				delete(header, name)
			}
		}
		header[a.Header] = []string{value}
		return query
	}
	query = dropParams(query, func(name, _ string) bool { return same(a.Query)(name) })
	pair := a.Query + "=" + url.QueryEscape(value)
	if query == "" {
		return pair
	}
	return query + "&" + pair
}

// A secret shorter than minSecret would be found in ordinary text, and answers
// cut to pieces. maxSecret is more than servers take in one header.
const (
	minSecret = 8
	maxSecret = 16 << 10
)

// CheckSecret says what keeps a secret from being attached and searched for. Its
// text has nothing of the secret in it.
func CheckSecret(s string) error {
	switch {
	case s == "":
		return errors.New("empty")
	case len(s) < minSecret:
		return fmt.Errorf("%d bytes, at least %d are needed to find it in answers", len(s), minSecret)
	case len(s) > maxSecret:
		return fmt.Errorf("more than %d bytes", maxSecret)
	case strings.ContainsAny(s, "\r\n"):
		return errors.New("more than one line")
	case !utf8.ValidString(s):
		return errors.New("not UTF-8")
	case strings.TrimSpace(s) != s:
		return errors.New("blanks before or after it")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return errors.New("a control character")
		}
	}
	return nil
}
