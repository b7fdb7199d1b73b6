package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"fumehood/session"
	"fumehood/session/store"
)

// editor is where the files lie that a reviewer's editor opens: a private folder,
// made when it is first needed and taken away by Close.
type editor struct {
	dir    string
	client *session.Client
}

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

// OpenEdit puts text into a file for an editor, alone in a private folder.
func (r *Remote) OpenEdit(ctx context.Context, _ string, text []byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.edit.dir == "" {
		dir, err := os.MkdirTemp(editDir(), "fumehood-review-")
		if err != nil {
			return "", fmt.Errorf("folder for the editor: %w", err)
		}
		r.edit = editor{dir, &session.Client{Host: &session.Host{Root: store.Root(filepath.Dir(dir))}}}
	}
	return r.edit.client.OpenEdit(ctx, filepath.Base(r.edit.dir), text)
}

// CloseEdit reads what the editor made of it, and takes the file away.
func (r *Remote) CloseEdit(ctx context.Context, _, path string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.edit.dir == "" {
		return nil, fmt.Errorf("%q was not given to an editor", path)
	}
	return r.edit.client.CloseEdit(ctx, filepath.Base(r.edit.dir), path)
}

// Close takes away what was made for an editor. What was decided is in its file.
func (r *Remote) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.edit.dir == "" {
		return nil
	}
	return os.RemoveAll(r.edit.dir)
}
