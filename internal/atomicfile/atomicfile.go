// Package atomicfile owns one thing: replacing a file so that a reader, now or
// after a crash, meets either the old bytes or the new ones, whole. It is a
// leaf that every package that keeps state may use. It does not lock: two
// writers of one path are each atomic and the later one wins.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces path by data with exactly the mode perm, whatever the umask.
// When it returns nil the bytes and the name are on disk. On error the old
// file is untouched and nothing of ours is left beside it.
func Write(path string, data []byte, perm fs.FileMode) error {
	return WriteFrom(path, perm, func(w io.Writer) error {
		_, _ = w.Write(data) // the Flush that follows gives its error
		return nil
	})
}

// WriteFrom is Write for content that fill produces; fill's writer is
// buffered. An error of fill leaves the old file as it was.
func WriteFrom(path string, perm fs.FileMode, fill func(io.Writer) error) (err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".new-*")
	if err != nil {
		return because(path, err)
	}
	tmp := f.Name()
	defer func() {
		if err != nil {
			_ = f.Close()      // the error before it is the one to report
			_ = os.Remove(tmp) // same
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	if err := fill(w); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		return because(path, err)
	}
	if err := f.Chmod(perm); err != nil {
		return because(path, err)
	}
	if err := f.Sync(); err != nil {
		return because(path, err)
	}
	if err := f.Close(); err != nil {
		return because(path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return because(path, err)
	}
	return SyncDir(dir)
}

// because says why path could not be written, without the name of the file that
// is written first, which nobody has heard of.
func because(path string, err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		err = p.Err
	} else if l := new(os.LinkError); errors.As(err, &l) {
		err = l.Err
	}
	return fmt.Errorf("write %q: %w", path, err)
}

// SyncDir makes the names in dir durable: a rename is on disk only after it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder %q: %w", dir, err)
	}
	defer d.Close() // read-only: nothing to lose
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %q: %w", dir, err)
	}
	return nil
}
