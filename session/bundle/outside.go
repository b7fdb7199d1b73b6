package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fumehood/internal/atomicfile"
	"fumehood/session"
	"fumehood/session/store"
)

// Outside is what a review of a bundle does beside reading it: it writes the one
// file with the decisions, and keeps what an editor opens. The process that reads
// the bundle can do neither itself; a Porter does.
type Outside interface {
	// Save replaces the file with the decisions.
	Save(b []byte) error
	// OpenEdit puts text into a file for an editor, alone in a private folder;
	// CloseEdit reads what the editor made of it, and takes the file away.
	OpenEdit(text []byte) (path string, err error)
	CloseEdit(path string) ([]byte, error)
}

// files is Outside in a process that may write.
type files struct {
	decisions string // path
	// dir is where the files lie that the editor opens: a private folder, made when
	// it is first needed.
	dir    string
	client *session.Client
}

func (f *files) Save(b []byte) error { return atomicfile.Write(f.decisions, b, 0o600) }

// editDir is where the private folder is made: the account's own runtime folder,
// where nobody else can put settings that an editor would read, else that for
// temporary files.
func editDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

func (f *files) OpenEdit(text []byte) (string, error) {
	if f.dir == "" {
		dir, err := os.MkdirTemp(editDir(), "fumehood-review-")
		if err != nil {
			return "", fmt.Errorf("folder for the editor: %w", err)
		}
		f.dir, f.client = dir, &session.Client{Host: &session.Host{Root: store.Root(filepath.Dir(dir))}}
	}
	return f.client.OpenEdit(context.Background(), filepath.Base(f.dir), text)
}

func (f *files) CloseEdit(path string) ([]byte, error) {
	if f.dir == "" {
		return nil, fmt.Errorf("%q was not given to an editor", path)
	}
	return f.client.CloseEdit(context.Background(), filepath.Base(f.dir), path)
}

// Close takes away what was made for an editor.
func (f *files) Close() error {
	if f.dir == "" {
		return nil
	}
	return os.RemoveAll(f.dir)
}
