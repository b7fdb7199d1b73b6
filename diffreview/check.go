package diffreview

import "fmt"

// Check says whether a change that was read from elsewhere is one that Build
// takes: a relative, clean path, and two whole entries.
func (c Change) Check() error {
	if err := checkChange(c); err != nil {
		return err
	}
	for _, e := range []Entry{c.Old, c.New} {
		if e.Kind == KindFile && (!isBlob(e.Blob) || e.Size < 0) {
			return fmt.Errorf("change of %q: its content has no name or no size", c.Path)
		}
	}
	return nil
}
