package session

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"fumehood/session/store"
)

func editClient(t *testing.T) (*Client, string) {
	t.Helper()
	root := store.Root(t.TempDir())
	c := &Client{Host: &Host{Root: root}}
	if err := os.MkdirAll(string(root.Dir("s1")), 0o700); err != nil {
		t.Fatal(err)
	}
	return c, string(root.Dir("s1"))
}

func TestAnEditorGetsAPrivateFolderAndGivesTheBytesBack(t *testing.T) {
	c, dir := editClient(t)
	want := []byte("a\r\nb\x00\xff\nno newline")
	path, err := c.OpenEdit(context.Background(), "s1", []byte("was"))
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o700 {
		t.Errorf("got a folder of mode %o, want 700", fi.Mode().Perm())
	}
	if got := filepath.Ext(path); got != "" {
		t.Errorf("got extension %q, want none: an editor would act on it", got)
	}
	if got, err := os.ReadDir(filepath.Dir(path)); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v in the folder, want the file alone", got, err)
	}
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), ".hunk.swp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := c.CloseEdit(context.Background(), "s1", path)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %q, %v, want %q", got, err, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "edit-*")); len(left) != 0 {
		t.Errorf("got %q left, want the folder gone", left)
	}
}

func TestAnEditThatCannotBeTakenIsNotLost(t *testing.T) {
	c, _ := editClient(t)
	path, err := c.OpenEdit(context.Background(), "s1", []byte("was"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, maxEdit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CloseEdit(context.Background(), "s1", path); err == nil {
		t.Fatal("got no error for a text over the limit")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("got %v, want the text still there", err)
	}
}

func TestCloseEditTakesOnlyWhatWasGivenToAnEditor(t *testing.T) {
	c, dir := editClient(t)
	for _, p := range []string{"/etc/passwd", filepath.Join(dir, "hunk"), filepath.Join(dir, "workspace", "a", "hunk"), filepath.Join(dir, "edit-1", "x")} {
		if _, err := c.CloseEdit(context.Background(), "s1", p); err == nil {
			t.Errorf("%s: got no error", p)
		}
	}
}
