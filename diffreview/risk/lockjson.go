package risk

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Keys of a package in lock files that are JSON: what its bytes must be, what says
// that it is another version, and whose it is.
var (
	lockSums     = words("contentHash integrity narHash sha256 sha512 hash shasum checksum sha1 digest Hash")
	lockVersions = words("version resolved rev revision ref reference Version url resolution tarball")
	lockOwners   = words("owner repo repository")
)

// jsonLock compares the packages of a lock file that is JSON, where its lines hold
// more than one thing each and so do not tell. It finds one that has another value
// under one of keys, or none any more, and under all of but what it had.
func (s *subject) jsonLock(keys, but *set) (at int, found bool) {
	if !slices.ContainsFunc(s.added, func(l line) bool { return bytes.Count(l.text, []byte(`":`)) > 1 }) {
		return 0, false
	}
	var before, after any
	if json.Unmarshal(s.content(s.f.Old), &before) != nil || json.Unmarshal(s.content(s.f.New), &after) != nil {
		return 0, false
	}
	value, found := changedLock(before, after, keys, but)
	if !found {
		return 0, false
	}
	if at = s.lineWith(value); at == 0 {
		at = s.added[0].no
	}
	return at, true
}

// changedLock gives the new value of what jsonLock looks for.
func changedLock(before, after any, keys, but *set) (value string, found bool) {
	switch now := after.(type) {
	case []any:
		was, ok := before.([]any)
		if !ok {
			return "", false
		}
		named := map[string]any{}
		for _, x := range was {
			if n := lockEntryName(x); n != "" {
				named[n] = x
			}
		}
		for i, x := range now {
			old := named[lockEntryName(x)]
			if old == nil && len(was) == len(now) {
				old = was[i]
			}
			if value, found = changedLock(old, x, keys, but); found {
				return value, true
			}
		}
	case map[string]any:
		was, ok := before.(map[string]any)
		if !ok {
			return "", false
		}
		same := true
		for k, v := range was {
			if text, ok := v.(string); ok && but.has(k) {
				same = same && now[k] == text
			}
		}
		for _, k := range slices.Sorted(maps.Keys(was)) {
			if text, ok := was[k].(string); ok && same && keys.has(k) && now[k] != text {
				value, _ = now[k].(string)
				return value, true
			}
			if value, found = changedLock(was[k], now[k], keys, but); found {
				return value, true
			}
		}
	}
	return "", false
}

func lockEntryName(x any) string {
	m, _ := x.(map[string]any)
	name, _ := m["name"].(string)
	return name
}
