package policy

import (
	"fmt"
	"time"
)

// Values is the policy for JSON: every key of the file under its own name, with
// the value that its canonical form has. Sizes and times are texts, as they are
// written there; what is not set is the empty text, list or "none".
func Values(p *Policy) map[string]any {
	out := map[string]any{}
	for _, f := range fields() {
		in := out
		if f.table != "" {
			if out[f.table] == nil {
				out[f.table] = map[string]any{}
			}
			in, _ = out[f.table].(map[string]any)
		}
		in[f.key] = jsonOf(f.at(p))
	}
	out["network"] = map[string]any{"allow": entriesOf(p.Network.Allow, allowFields())}
	out["credentials"] = entriesOf(p.Credentials, credentialFields())
	return out
}

func entriesOf[T any](entries []T, known []field[T]) []map[string]any {
	out := []map[string]any{}
	for i := range entries {
		one := map[string]any{}
		for _, f := range known {
			one[f.key] = jsonOf(f.at(&entries[i]))
		}
		out = append(out, one)
	}
	return out
}

func jsonOf(at any) any {
	switch v := at.(type) {
	case *string:
		return *v
	case *bool:
		return *v
	case *int:
		return *v
	case *Bytes:
		return v.String()
	case *time.Duration:
		return FormatDuration(*v)
	case *[]string:
		return append([]string{}, *v...)
	case *Choice:
		switch {
		case v.Word != "":
			return v.Word
		case len(v.List) == 0:
			return "none"
		}
		return append([]string{}, v.List...)
	}
	panic(fmt.Sprintf("policy: no value for %T", at)) // TestValuesAreThoseOfTheFile reaches every type
}
