package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"fumehood/diffreview"
)

// Reader is who reviews a bundle, and of which files.
type Reader struct {
	File, Decisions string // paths
	By, TTY         string
}

// Review opens a bundle and the decisions on it. What it needs of the machine is
// opened first; then confine is called, and after that the bytes are interpreted.
// What is decided goes out. Close what it gives.
func Review(ctx context.Context, who Reader, out Outside, confine func() error) (*Remote, error) {
	f, _, err := openRegular(who.File, MaxBytes)
	if err != nil {
		return nil, err
	}
	raw, err := readDecided(who.Decisions)
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = nil, nil
	}
	if err == nil {
		err = confine()
	}
	if err != nil {
		_ = f.Close() // read-only
		return nil, err
	}
	b, err := openFile(ctx, f, who.File)
	if err != nil {
		return nil, err
	}
	if !b.Manifest.Content {
		_ = b.Close() // read-only
		return nil, fmt.Errorf("bundle %s: %w", diffreview.SafeName(who.File), ErrNoContent)
	}
	d, err := restored(b, who.Decisions, raw, who.By)
	if err != nil {
		_ = b.Close() // read-only
		return nil, err
	}
	return newRemote(b, d, out, who.By, who.TTY), nil
}

// Manifest is the bundle's.
func (r *Remote) Manifest() Manifest { return r.b.Manifest }

// Close gives the bundle back.
func (r *Remote) Close() error { return r.b.Close() }

// Note has the page of the session say something of this review.
func (r *Remote) Note(text string) { r.notes = append(r.notes, text) }
