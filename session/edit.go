package session

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fumehood/internal/atomicfile"
)

// editName is what an editor is given to open: a name that no editor ties a
// language, a plugin or a program to.
const editName = "hunk"

// OpenEdit puts text into a file for an editor, alone in a new folder of this
// account's only. The folder lies beside the workspace, never in it or below
// anything that an agent can write, for editors read settings out of the folders
// above a file. CloseEdit takes it away.
func (c *Client) OpenEdit(_ context.Context, id string, text []byte) (string, error) {
	d := c.Root.Dir(id)
	dir, err := os.MkdirTemp(string(d), "edit-")
	if err != nil {
		return "", fmt.Errorf("folder for the editor: %w", err)
	}
	path := filepath.Join(dir, editName)
	if err := atomicfile.Write(path, text, 0o600); err != nil {
		_ = os.RemoveAll(dir) // the error before it is the one to report
		return "", fmt.Errorf("file for the editor: %w", err)
	}
	return path, nil
}

// CloseEdit reads what an editor made of the file that OpenEdit gave, and takes
// its folder away with all that the editor left there. A file that can't be
// taken, as one of more than a mebibyte, stays where it is.
func (c *Client) CloseEdit(_ context.Context, id, path string) ([]byte, error) {
	dir := filepath.Dir(path)
	if filepath.Dir(dir) != string(c.Root.Dir(id)) || filepath.Base(path) != editName {
		return nil, fmt.Errorf("%q was not given to an editor", path)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("what the editor wrote: %w", err)
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxEdit {
		return nil, fmt.Errorf("what the editor wrote is no file of at most %d bytes; it is still in %q", maxEdit, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("what the editor wrote: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("what the editor wrote: %w", err)
	case len(text) > maxEdit:
		return nil, fmt.Errorf("what the editor wrote is more than %d bytes; it is still in %q", maxEdit, path)
	}
	return text, os.RemoveAll(dir)
}
