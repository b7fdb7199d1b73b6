package bundle

import "context"

// OpenEdit puts text into a file for an editor, alone in a private folder.
func (r *Remote) OpenEdit(_ context.Context, _ string, text []byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.OpenEdit(text)
}

// CloseEdit reads what the editor made of it, and takes the file away.
func (r *Remote) CloseEdit(_ context.Context, _, path string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.CloseEdit(path)
}
