package probe

import (
	"bytes"
	"compress/zlib"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheOwnMemoryIsSearched(t *testing.T) {
	const decoy = "fhd00112233445566ff"
	got := scanMemory(map[string]string{"decoy": decoy, "only": "itself"})
	if !strings.Contains(string(got.Got), decoy) {
		t.Errorf("got %+v, want what lies in the own memory", got)
	}
	if again := scanMemory(map[string]string{"decoy": "x", "first": "0"}); again.Err != "" || again.Text == "" {
		t.Errorf("got %+v, want how much was read of all that shows", again)
	}
}

func TestOnlyUsedWritableMemoryIsRead(t *testing.T) {
	for line, want := range map[string]bool{
		"7f00-7f10 rw-p 00000000 00:00 0 [heap]\n": true,
		"7f00-7f10 r--p 00000000 00:00 0\n":        false,
		"nonsense rw-p\n":                          false,
		"\n":                                       false,
	} {
		if _, _, got := writable(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
	if !inMemory(-1, 0, 4096) {
		t.Error("got that a part is unused where that can't be told")
	}
}

// An object that no index names is found: it is only bytes in a file.
func TestEveryObjectIsInflated(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, ".git", "objects", "pack")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var pack bytes.Buffer
	pack.WriteString("PACK and whatever stands before")
	for _, text := range []string{"the first", "the dropped one"} {
		z := zlib.NewWriter(&pack)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "pack-1.pack"), pack.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got := inflateObjects(map[string]string{"dir": dir})
	if got.Err != "" || !strings.Contains(string(got.Got), "the first\n") || !strings.Contains(string(got.Got), "the dropped one\n") {
		t.Errorf("got %q (%+v), want both texts", got.Got, got)
	}
	if got := inflateObjects(map[string]string{"dir": filepath.Join(dir, "nowhere")}); got.Err == "" {
		t.Errorf("got %+v, want that there is no repository", got)
	}
}

func TestWhatIsCarriedOutLiesInTheFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := carryOut(map[string]string{"from": from, "to": to}); got.Err != "" || string(got.Got) != "text" {
		t.Errorf("got %+v, want the text", got)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "carried: text" {
		t.Errorf("got %q, %v; want the text there too", text, err)
	}
	// The attempt has to be seen to be made although there was nothing to bring.
	if got := carryOut(map[string]string{"from": filepath.Join(dir, "nowhere"), "to": to}); got.Err != "" || got.Errno == 0 {
		t.Errorf("got %+v, want the refusal told", got)
	}
	if text, err := os.ReadFile(to); err != nil || string(text) != "carried: " {
		t.Errorf("got %q, %v; want an empty load", text, err)
	}
}
