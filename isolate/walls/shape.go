package walls

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Hash names a shape: the SHA-256 of its canonical form, in lower-case hex.
func (s Shape) Hash() string {
	b, err := json.Marshal(s) // map keys come out sorted
	if err != nil {
		panic(fmt.Sprintf("a shape can't be printed: %v", err)) // strings and numbers always can
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func keys(a, b map[string]string) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
