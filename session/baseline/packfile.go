package baseline

import (
	"fmt"
	"os"
	"strings"
)

// OpenPack opens the pack whose index is at path; hash is the length of object
// names in bytes, 20 or 32.
func OpenPack(path string, hash int) (*Pack, error) {
	idx, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open pack: %w", err)
	}
	pack, err := os.Open(strings.TrimSuffix(path, ".idx") + ".pack")
	if err != nil {
		_ = idx.Close() // read-only
		return nil, fmt.Errorf("open pack: %w", err)
	}
	both := func() {
		_ = idx.Close() // read-only, both
		_ = pack.Close()
	}
	fi, err := pack.Stat()
	if err != nil {
		both()
		return nil, fmt.Errorf("open pack: %w", err)
	}
	p, err := newPack(idx, pack, fi.Size(), hash)
	if err != nil {
		both()
		return nil, fmt.Errorf("open pack %q: %w", path, err)
	}
	p.close = both
	return p, nil
}
