package policy

import (
	"bytes"
	"fmt"
	"strings"
)

// WithEntry gives the policy with one more entry, as the user adds one while a
// session runs. p is left as it is. The error says why the entry can't be meant
// beside the others.
func WithEntry(p *Policy, a Allow) (*Policy, error) {
	out := clone(p)
	at := len(out.Network.Allow)
	out.Network.Allow = append(out.Network.Allow, copyAllow([]Allow{a})...)
	before := map[string]bool{}
	for _, e := range faultsOf(p) {
		before[e.Error()] = true
	}
	var faults []*Error
	for _, e := range faultsOf(out) {
		if !before[e.Error()] {
			// The place in a policy says nothing of a new entry, and may be of
			// one that it does not go with.
			e.Key = strings.TrimPrefix(e.Key, fmt.Sprintf("network.allow[%d].", at))
			e.File = ""
			faults = append(faults, e)
		}
	}
	if err := join(faults); err != nil {
		return nil, err
	}
	return out, nil
}

// EncodeEntry prints one entry as it stands in a policy file: the keys that say
// something else than their default.
func EncodeEntry(a Allow) string {
	blank := blankAllow()
	var b strings.Builder
	b.WriteString("[[network.allow]]\n")
	for _, f := range allowFields() {
		value, _ := encodeValue(f.at(&a), f.date)
		if usual, _ := encodeValue(f.at(&blank), f.date); value != usual {
			fmt.Fprintf(&b, "%s = %s\n", f.key, value)
		}
	}
	return b.String()
}

// blankAllow is an entry with the values of the keys that it leaves out.
func blankAllow() Allow { return Allow{Query: "any", Account: "none"} }

// AppendEntry adds an entry to the text of a policy file and leaves every other
// byte as it is. A file in which it can't stand at the end, or with which it
// can't be meant, is an error.
func AppendEntry(src []byte, a Allow) ([]byte, error) {
	had, err := Parse("policy", src)
	if err != nil {
		return nil, err
	}
	if _, err := WithEntry(had, a); err != nil {
		return nil, err
	}
	out := bytes.Clone(src)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	out = append(out, '\n')
	out = append(out, EncodeEntry(a)...)
	// The text must mean what was meant: an entry more, and all else the same.
	// It does not where entries are written as one list in brackets.
	want := clone(had)
	want.Network.Allow = append(want.Network.Allow, a)
	got, err := Parse("policy", out)
	if err != nil || !bytes.Equal(Encode(got), Encode(want)) {
		return nil, &Error{
			Key: "network.allow", Msg: "an entry can't be added at the end of this file",
			Hint: "write each entry under a [[network.allow]] of its own",
		}
	}
	return out, nil
}
