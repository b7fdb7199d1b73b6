package baseline

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

func TestABlobIsReadWholeOrNotAtAll(t *testing.T) {
	s := NewBlobs(t.TempDir())
	for _, text := range []string{"", "x", strings.Repeat("long ", 100_000)} {
		b, err := s.Put([]byte(text))
		ok(t, err)
		got, err := s.Read(b, int64(len(text)))
		if err != nil || string(got) != text {
			t.Errorf("%d bytes: got %d, %v", len(text), len(got), err)
		}
	}
	b, err := s.Put([]byte("what was reviewed"))
	ok(t, err)
	if _, err := s.Read(b, 16); err == nil || !strings.Contains(err.Error(), "limit of 16") {
		t.Errorf("got %v, want a word of the limit", err)
	}
	damage := map[string]func() error{
		"changed":   func() error { return os.WriteFile(s.Path(b), []byte("what was approved"), 0o600) },
		"shortened": func() error { return os.Truncate(s.Path(b), 4) },
		"longer":    func() error { return os.WriteFile(s.Path(b), []byte("what was reviewed, and more"), 0o600) },
		"a fifo": func() error {
			if err := os.Remove(s.Path(b)); err != nil {
				return err
			}
			return unix.Mkfifo(s.Path(b), 0o600)
		},
	}
	for _, name := range []string{"changed", "shortened", "longer", "a fifo"} {
		ok(t, damage[name]())
		if got, err := s.Read(b, 1<<20); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %q, %v, want %v", name, got, err, ErrDamaged)
		}
	}
	ok(t, os.Remove(s.Path(b)))
	if _, err := s.Read(b, 1<<20); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it is not there", err)
	}
	for _, name := range []diffreview.Blob{"", "..", "../../etc/passwd", diffreview.Blob(strings.Repeat("A", 64))} {
		if _, err := s.Read(name, 1<<20); err == nil || !strings.Contains(err.Error(), "not the name of a blob") {
			t.Errorf("%q: got %v, want that it is no name", name, err)
		}
	}
}
