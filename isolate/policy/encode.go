package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Encode prints a policy in its canonical form: every key, in one order, no
// comments. Parse reads back an equal policy (the name apart, which is no
// key), and two equal policies print the same bytes.
func Encode(p *Policy) []byte {
	var b strings.Builder
	table := ""
	for _, f := range fields() {
		if f.table != table {
			table = f.table
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		encodeKey(&b, f, p)
	}
	for i := range p.Network.Allow {
		encodeEntry(&b, allowFields(), &p.Network.Allow[i])
	}
	for i := range p.Credentials {
		encodeEntry(&b, credentialFields(), &p.Credentials[i])
	}
	return []byte(b.String())
}

// Hash names what a policy says: the SHA-256 of its canonical form, in
// lower-case hex. The file's name, order and comments do not count.
func Hash(p *Policy) string {
	// The prefix keeps the hash of a later form of the file apart from this
	// one's, even where the text should be the same.
	sum := sha256.Sum256(append([]byte("fumehood policy 1\n"), Encode(p)...))
	return hex.EncodeToString(sum[:])
}

func encodeEntry[T any](b *strings.Builder, known []field[T], entry *T) {
	fmt.Fprintf(b, "\n[[%s]]\n", known[0].table)
	for _, f := range known {
		encodeKey(b, f, entry)
	}
}

func encodeKey[T any](b *strings.Builder, f field[T], from *T) {
	value, ok := encodeValue(f.at(from), f.date)
	if ok {
		fmt.Fprintf(b, "%s = %s\n", f.key, value)
	}
}

// encodeValue prints one value; a date that is not set has no form in TOML and
// is left out.
func encodeValue(at any, date bool) (string, bool) {
	switch v := at.(type) {
	case *string:
		if date {
			return *v, *v != ""
		}
		return quoteTOML(*v), true
	case *bool:
		return strconv.FormatBool(*v), true
	case *int:
		return strconv.Itoa(*v), true
	case *Bytes:
		return quoteTOML(v.String()), true
	case *time.Duration:
		return quoteTOML(FormatDuration(*v)), true
	case *[]string:
		return encodeList(*v), true
	case *Choice:
		return encodeChoice(*v), true
	}
	panic(fmt.Sprintf("policy: no printer for %T", at)) // TestTemplateHasEveryKey reaches every type
}

func encodeChoice(c Choice) string {
	switch {
	case c.Word != "":
		return quoteTOML(c.Word)
	case len(c.List) == 0:
		return quoteTOML("none")
	}
	return encodeList(c.List)
}

func encodeList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quoteTOML(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quoteTOML quotes a text as a TOML basic string.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\U%08X", r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
