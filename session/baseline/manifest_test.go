package baseline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fumehood/diffreview"
)

func sampleManifest() *Manifest {
	m := &Manifest{
		RecordedAt: 1_800_000_000_000_000_123,
		Rules: Rules{
			Global: "*.swp\n", Fold: true,
			Roots: []IgnoreFile{{"", "x"}, {"v/o", "y\n"}},
			Files: []IgnoreFile{{"", "a\n"}, {"d", "b"}},
		},
		LeftOut: []diffreview.LeftOut{{Path: "\xff\n", Reason: "socket", Size: -1}},
	}
	for i := range 50 {
		e := Entry{
			Path: fmt.Sprintf("d%d/\xff-%d\n", i%7, i), Kind: diffreview.KindFile, Mode: 0o644,
			Size: int64(i) << 33, Ino: uint64(i) << 40, Mtime: -int64(i), Ctime: int64(i) << 50, Ignored: i%3 == 0,
			Ref: Ref{Kind: RefKind(i % 5)},
		}
		for j := range e.Ref.Kind.size() {
			e.Ref.Sum[j] = byte(i + j)
		}
		if i%10 == 9 {
			e.Kind, e.Target, e.Ref = diffreview.KindSymlink, "../\x1b", Ref{}
		}
		m.Entries = append(m.Entries, e)
	}
	return m
}

func TestManifestRoundTrip(t *testing.T) {
	d := Dirs{Store: t.TempDir()}
	want := sampleManifest()
	if err := Record(d, want); err != nil {
		t.Fatal(err)
	}
	got, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Manifest{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range want.Entries {
		e := got.Lookup(want.Entries[i].Path)
		if e == nil || e.Path != want.Entries[i].Path {
			t.Errorf("Lookup(%q): got %v, want it", want.Entries[i].Path, e)
		}
	}
	if got.Lookup("d0/none") != nil || got.Lookup("none/none") != nil {
		t.Error("Lookup of a missing path: got an entry, want nil")
	}
}

// Every cut and every flipped byte is seen, none of them panics.
func TestManifestDamageIsSeen(t *testing.T) {
	m := sampleManifest()
	m.order()
	raw := m.encode()
	for i := range raw {
		if _, err := decode(raw[:i]); err == nil {
			t.Fatalf("cut at %d: got no error", i)
		}
		bad := append([]byte(nil), raw...)
		bad[i] ^= 0x40
		if _, err := decode(bad); err == nil {
			t.Fatalf("byte %d changed: got no error", i)
		}
	}
}

func TestBlobsCheckWhatTheyRead(t *testing.T) {
	s := NewBlobs(filepath.Join(t.TempDir(), "blobs"))
	for _, data := range []string{"", "x", "\x00\xff"} {
		b, err := s.Put([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Read(b, 10)
		if err != nil || string(got) != data {
			t.Errorf("got %q, %v, want %q", got, err, data)
		}
	}
	b, err := s.Put([]byte("twelve bytes"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(b, 11); err == nil {
		t.Error("over the limit: got no error")
	}
	if err := os.WriteFile(s.Path(b), []byte("twelve bytez"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(b, 100); !errors.Is(err, ErrDamaged) {
		t.Errorf("changed on disk: got %v, want ErrDamaged", err)
	}
	for _, name := range []diffreview.Blob{"", "..", "../../../../etc/passwd", "ZZ"} {
		if _, err := s.Read(name, 100); err == nil {
			t.Errorf("Read(%q): got no error", name)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "new-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("temporary files left: got %q, want none", left)
	}
}
