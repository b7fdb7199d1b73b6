package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fumehood/diffreview"
	"fumehood/session/store"
)

// Suffix is how the name of a bundle ends by default.
const Suffix = ".fumehood"

// WorkTreeError refuses to write a bundle into a work tree unasked: it would be
// one more new file there, and come along into the next session.
type WorkTreeError struct{ Tree, Instead string }

func (e *WorkTreeError) Error() string {
	return fmt.Sprintf("nothing was exported: this folder is in the work tree %s, and a bundle is no part of it", diffreview.SafeName(e.Tree))
}

// Hint names a place.
func (e *WorkTreeError) Hint() string {
	return fmt.Sprintf("-o FILE says where it goes, such as -o %s", diffreview.SafeName(e.Instead))
}

// DefaultFile is where a session's bundle goes when nobody says: a file named like
// the session in the folder here, which must be in no work tree.
func DefaultFile(d store.Dir, here string) (string, error) {
	rec, err := d.LoadRecord()
	if err != nil {
		return "", err
	}
	// As the session's repository is named, whatever link led here.
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return "", err
	}
	name := rec.Name + Suffix
	for at := here; ; at = filepath.Dir(at) {
		_, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil || at == rec.Repo:
			return "", &WorkTreeError{Tree: at, Instead: filepath.Join(filepath.Dir(at), name)}
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look for a work tree around %q: %w; -o FILE says where the bundle goes", here, err)
		case at == filepath.Dir(at):
			return filepath.Join(here, name), nil
		}
	}
}
