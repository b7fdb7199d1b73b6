package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Limits of what one event may hold, in bytes of JSON: a line that is longer than
// maxEventLine could not be read again.
const (
	maxFields = maxEventLine / 2
	keptOfOne = 64 << 10
)

// fit cuts the longest fields of an event that is too long: of a list its
// beginning stays, with how many follow and the hash of all. What an apply or a
// decision is made of stands whole in the journal and in decisions.json.
func fit(fields map[string]any) (map[string]any, error) {
	raw := make(map[string]json.RawMessage, len(fields))
	total := 0
	for name, v := range fields {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		raw[name] = b
		total += len(b) + len(name)
	}
	if total <= maxFields {
		return fields, nil
	}
	out := maps.Clone(fields)
	names := slices.SortedFunc(maps.Keys(raw), func(a, b string) int {
		return cmp.Or(len(raw[b])-len(raw[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		if total <= maxFields {
			break
		}
		sum := sha256.Sum256(raw[name])
		kept, left := beginning(raw[name])
		out[name], out[name+"_omitted"], out[name+"_sha256"] = kept, left, hex.EncodeToString(sum[:])
		total -= len(raw[name]) - keptOfOne
	}
	return out, nil
}

// beginning keeps the first elements of a list; of anything else nothing.
func beginning(raw json.RawMessage) (kept []json.RawMessage, left int) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, 1
	}
	n := 0
	for i, e := range list {
		if n += len(e) + 1; n > keptOfOne {
			return list[:i], len(list) - i
		}
	}
	return list, 0
}
