package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fumehood/isolate"
	"fumehood/session/workspace"
)

// caches readies the layers of the session's caches for a start. A cache that
// the account has removed since the session was made is left out; what the
// session has changed of it stays where it is.
func (s *supervisor) caches() ([]isolate.Cache, error) {
	var out []isolate.Cache
	for _, c := range s.start.Caches {
		if _, err := os.Stat(c.Host); errors.Is(err, fs.ErrNotExist) {
			s.log.Printf("cache %q is left out: its folder is gone", c.Inside)
			continue
		}
		layer := s.dir.Cache(c.Name)
		// The kernel refuses the one of an earlier start.
		if err := workspace.Remove(isolate.WorkFolder(layer)); err != nil {
			return nil, fmt.Errorf("ready cache %q: %w", c.Inside, err)
		}
		if err := isolate.RenewLayer(layer, s.rec.UID, s.rec.GID); err != nil {
			return nil, err
		}
		out = append(out, isolate.Cache{Mount: c.Mount, Layer: layer})
	}
	return out, nil
}

// closeCaches removes what the kernel needed of the layers while they were
// mounted: folders that nobody but root can look into.
func (s *supervisor) closeCaches() {
	for _, c := range s.start.Caches {
		if err := workspace.Remove(isolate.WorkFolder(s.dir.Cache(c.Name))); err != nil {
			s.log.Printf("end of cache %q: %v", c.Inside, err)
		}
	}
}
