package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
)

// small is a bundle of a few kilobytes.
func small(t *testing.T) []byte {
	t.Helper()
	k := newDesk(t, map[string]string{"a": "1\n", "b": "x\n"})
	k.agent(map[string]string{"a": "2\n", "b": ""})
	k.gather(Options{})
	return k.bytes(Options{})
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	raw := small(t)
	if _, err := opened(raw); err != nil {
		t.Fatal(err)
	}
	missed := 0
	for i := range raw {
		bits := []byte{0x01, 0x80, 0xff, 0x20}[i%4]
		raw[i] ^= bits
		if _, err := opened(raw); err == nil {
			if missed++; missed < 10 {
				t.Errorf("byte %d of %d (%q): got it opened with a change of %#x, want it refused", i, len(raw), raw[max(0, i-8):i+1], bits)
			}
		}
		raw[i] ^= bits
	}
}

func TestEveryCutIsFound(t *testing.T) {
	raw := small(t)
	for n := range raw {
		if _, err := opened(raw[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d of %d bytes: got %v, want it found damaged", n, len(raw), err)
		}
	}
	for _, more := range []string{"\x00", "x", string(make([]byte, block))} {
		_, err := opened(append(slices.Clone(raw), more...))
		wantDamaged(t, err, "with something behind its end")
	}
}

// forged writes a bundle by hand: what is wrong in it has the right hashes.
type forged struct {
	manifest Manifest
	parts    map[string][]byte
	blobs    [][]byte
	header   func(name string, h *[block]byte)
	text     func(manifest []byte) []byte
	only     bool // nothing behind the manifest
}

func newForged(t *testing.T) *forged {
	t.Helper()
	f := &forged{
		manifest: Manifest{Format: formatName, Version: Version, Session: Session{ID: "abcd2345", Name: "s", Command: []string{}}, Content: true},
		parts:    map[string][]byte{},
	}
	f.changes(change{Path: []byte("a"), Old: f.blob("1\n"), New: f.blob("2\n")})
	f.part(factsName, facts{Paths: bytesOf([]string{"a"}), Links: []link{}, HooksPath: []byte{}, Untracked: [][]byte{}})
	dec, err := (&diffreview.Decisions{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	f.parts[decisionsName] = dec
	return f
}

func (f *forged) part(name string, v any) {
	b, err := encode(v)
	if err != nil {
		panic(err)
	}
	f.parts[name] = b
}

func (f *forged) changes(list ...change) {
	f.part(changesName, changes{Changes: list, LeftOut: []leftOut{}, NewlyIgnored: [][]byte{}, Applied: []string{}, Ignored: ignored{Paths: [][]byte{}}})
}

func (f *forged) blob(text string) entry {
	f.blobs = append(f.blobs, []byte(text))
	return entry{Kind: diffreview.KindFile, Blob: diffreview.Blob(hexSum([]byte(text))), Size: int64(len(text))}
}

func (f *forged) bytes() []byte {
	m := f.manifest
	if m.Members == nil {
		for _, name := range partNames {
			m.Members = append(m.Members, Member{name, int64(len(f.parts[name])), hexSum(f.parts[name])})
		}
		slices.SortFunc(f.blobs, func(a, b []byte) int { return strings.Compare(hexSum(a), hexSum(b)) })
		for _, b := range f.blobs {
			m.Members = append(m.Members, Member{blobPrefix + hexSum(b), int64(len(b)), hexSum(b)})
		}
	}
	first, err := encode(m)
	if err != nil {
		panic(err)
	}
	if f.text != nil {
		first = f.text(first)
	}
	var out bytes.Buffer
	member := func(name string, b []byte) {
		h := header(name, int64(len(b)))
		if f.header != nil {
			f.header(name, &h)
		}
		out.Write(h[:])
		out.Write(b)
		out.Write(make([]byte, padding(int64(len(b)))))
	}
	member(manifestName, first)
	if f.only {
		return out.Bytes()
	}
	blobs := f.blobs
	for _, x := range m.Members {
		b, ok := f.parts[x.Name]
		if !ok && blobOf(x.Name) != "" && len(blobs) > 0 {
			b, blobs = blobs[0], blobs[1:]
		}
		member(x.Name, b)
	}
	sum := sha256.Sum256(first)
	member(endName, []byte(hex.EncodeToString(sum[:])+"\n"))
	out.Write(make([]byte, 2*block))
	return out.Bytes()
}

func TestAForgedBundleIsRefused(t *testing.T) {
	sneak := func(name string) func(*forged) {
		return func(f *forged) {
			f.bytes()
			for _, n := range partNames {
				f.manifest.Members = append(f.manifest.Members, Member{n, int64(len(f.parts[n])), hexSum(f.parts[n])})
			}
			f.manifest.Members = append(f.manifest.Members, Member{name, 2, hexSum([]byte("x\n"))})
			f.parts[name] = []byte("x\n")
		}
	}
	typed := func(flag byte) func(*forged) {
		return func(f *forged) {
			f.header = func(name string, h *[block]byte) {
				if name != factsName {
					return
				}
				h[156] = flag
				copy(h[157:], "/etc/passwd")
				sum := 0
				copy(h[148:], "        ")
				for _, c := range h {
					sum += int(c)
				}
				copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
			}
		}
	}
	path := func(p string) func(*forged) {
		return func(f *forged) {
			f.blobs = nil
			f.changes(change{Path: []byte(p), Old: f.blob("1\n"), New: f.blob("2\n")})
		}
	}
	replace := func(old, now string) func(*forged) {
		return func(f *forged) {
			f.text = func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(now), 1) }
		}
	}
	cases := []struct {
		name string
		do   func(*forged)
		want string // in the error
	}{
		{"as it should be", func(*forged) {}, ""},
		{"a member above", sneak("../x"), "unknown"},
		{"an absolute member", sneak("/etc/passwd"), "unknown"},
		{"a member of no kind", sneak("notes.txt"), "unknown"},
		{"a blob with a path behind it", sneak(blobPrefix + strings.Repeat("a", 64) + "/../../x"), "unknown"},
		{"a blob by another hash", sneak(blobPrefix + strings.Repeat("a", 64)), "not its hash"},
		{"a member twice", sneak(changesName), "unknown"},
		{"a link", typed('2'), "header"},
		{"a hard link", typed('1'), "header"},
		{"a device", typed('3'), "header"},
		{"a folder", typed('5'), "header"},
		{"an extended header", typed('x'), "header"},
		{"a path above", path("../x"), "not relative"},
		{"an absolute path", path("/x"), "not relative"},
		{"an unclean path", path("a//b"), "not relative"},
		{"no path", path(""), "no path"},
		{"a NUL in a path", path("a\x00b"), "no path"},
		{"an unknown key", replace(`"build"`, `"buildx"`), "unknown field"},
		{"a key twice", replace(`"content": true`, `"content": false, "content": true`), "not written as"},
		{"another spelling of a key", replace(`"content"`, `"Content"`), "not written as"},
		{"another version", replace(`"version": 1`, `"version": 2`), "version 2"},
		{"another format", replace(formatName, "fumehood bungle"), "format"},
		{"no ID of a session", replace("abcd2345", "../../x"), "not the ID"},
		{"huge declared size", replace(`"size": 2`, `"size": 99999999999`), "limit"},
		{"size below 0", replace(`"size": 2`, `"size": -2`), "limit"},
		{"content that nothing names", func(f *forged) { f.blob("stray") }, "belongs to nothing"},
		{"content that is not there", func(f *forged) { f.blobs = f.blobs[:1] }, "not there"},
		{"content of another size", func(f *forged) {
			f.changes(change{Path: []byte("a"), Old: entry{Kind: "file", Blob: diffreview.Blob(hexSum([]byte("1\n"))), Size: 7}, New: f.blob("3\n")})
			f.blobs = f.blobs[len(f.blobs)-1:]
			f.blob("1\n")
		}, "not of its size"},
		{"content though none is said", func(f *forged) { f.manifest.Content = false }, "belongs to nothing"},
		{"paths out of order", func(f *forged) {
			f.blobs = nil
			a, b := f.blob("1\n"), f.blob("2\n")
			f.changes(change{Path: []byte("b"), Old: a, New: b}, change{Path: []byte("a"), Old: a, New: b})
		}, "out of order"},
		{"a link without a target", func(f *forged) {
			f.blobs = nil
			f.changes(change{Path: []byte("a"), New: entry{Kind: diffreview.KindSymlink}})
		}, "not complete"},
		{"a device as an entry", func(f *forged) { f.blobs = nil; f.changes(change{Path: []byte("a"), New: entry{Kind: "device"}}) }, "not complete"},
		{"a resolution", func(f *forged) {
			d := diffreview.Decisions{Resolutions: map[string]diffreview.Resolution{strings.Repeat("a", 40): {Take: "host", Path: "a"}}}
			var err error
			if f.parts[decisionsName], err = d.Encode(); err != nil {
				t.Fatal(err)
			}
		}, "resolves"},
		{"decisions of another version", func(f *forged) { f.parts[decisionsName] = []byte(`{"version":99,"units":{}}`) }, "version 99"},
		{"a million members", func(f *forged) {
			f.only = true
			one := `  {"name": "blobs/` + strings.Repeat("a", 64) + "\", \"size\": 0, \"sha256\": \"\"},\n"
			f.text = func(b []byte) []byte { return append(b, bytes.Repeat([]byte(one), 1_000_000)...) }
		}, "limit"},
		{"more members than there may be", func(f *forged) {
			f.only = true
			f.manifest.Members = make([]Member, maxMembers+1)
		}, "limit"},
		{"a manifest of a gigabyte", func(f *forged) {
			f.header = func(name string, h *[block]byte) {
				if name == manifestName {
					*h = header(name, 1<<30)
				}
			}
		}, "limit"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newForged(t)
			c.do(f)
			began := time.Now()
			_, err := opened(f.bytes())
			switch {
			case c.want == "" && err != nil:
				t.Errorf("got %v, want it opened", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if d := time.Since(began); d > 30*time.Second {
				t.Errorf("got the answer after %s, want it soon", d)
			}
		})
	}
}

// A broken chain is no broken container: the bundle opens, and verify says it.
func TestVerifySaysWhichLineDoesNotFollow(t *testing.T) {
	lines := func(t *testing.T) []string {
		k := newDesk(t, map[string]string{"a": "1\n"})
		k.must(k.d.AppendEvent(time.Now(), "more", "x", nil))
		b, err := os.ReadFile(k.d.Events())
		k.must(err)
		return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	cases := []struct {
		name string
		edit func([]string) []string
		want int
	}{
		{"untouched", func(l []string) []string { return l }, 0},
		{"a line changed", func(l []string) []string { l[0] = strings.Replace(l[0], "copied", "Copied", 1); return l }, 2},
		{"a line taken out", func(l []string) []string { return slices.Delete(l, 1, 2) }, 2},
		{"the first taken out", func(l []string) []string { return l[1:] }, 1},
		{"no JSON", func(l []string) []string { return append(l, "x\n") }, 4},
		{"a line that claims a hash", func(l []string) []string {
			l[1] = strings.Replace(l[1], `"prev":"`, `"was":"x","prev":"`, 1)
			return l
		}, 2},
		{"cut in its last line", func(l []string) []string { l[2] = strings.TrimSuffix(l[2], "\n"); return l }, 3},
		{"a line without end", func(l []string) []string { return append(l, strings.Repeat("x", 2<<20)) }, 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := lines(t)
			l[len(l)-1] += "\n"
			f := newForged(t)
			f.parts[eventsName] = []byte(strings.Join(c.edit(l), ""))
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, f.bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			rep, err := Verify(context.Background(), name, nil, free)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Events.Broken != c.want || rep.Intact != (c.want == 0) {
				t.Errorf("got damage at line %d, intact %v, want %d", rep.Events.Broken, rep.Intact, c.want)
			}
		})
	}
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, fifo, "/dev/zero", filepath.Join(dir, "none")} {
		if _, err := reviewOf(name, filepath.Join(dir, "absent")); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want it refused as no file", name, err)
		}
		if _, err := decidedIn(name); err == nil || errors.Is(err, ErrDamaged) {
			t.Errorf("decisions %s: got %v, want it refused as no file", name, err)
		}
		if _, err := Verify(context.Background(), name, nil, free); err == nil {
			t.Errorf("verify %s: got no error, want one", name)
		}
	}
}

// FuzzBundle reads any bytes. The risk rules, which take seconds to be made
// ready in a fuzzing build, are package risk's to try.
func FuzzBundle(f *testing.F) {
	good := newForged(&testing.T{})
	f.Add(good.bytes())
	for _, edit := range []func(*forged){
		func(x *forged) { x.blobs = x.blobs[:1] },
		func(x *forged) { x.parts[eventsName] = []byte("{}\n{") },
		func(x *forged) { x.manifest.Members = []Member{{"../x", 1, "y"}} },
		func(x *forged) {
			x.text = func(b []byte) []byte { return bytes.Replace(b, []byte(`"size": 2`), []byte(`"size": 3`), 1) }
		},
		func(x *forged) { x.blobs = nil; x.changes(change{Path: []byte("../x")}) },
	} {
		x := newForged(&testing.T{})
		edit(x)
		f.Add(x.bytes())
	}
	f.Add(good.bytes()[:700])
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := opened(raw)
		if err != nil {
			return
		}
		// What opens is exactly what its manifest makes it.
		if b.Manifest.Content {
			_, _ = diffreview.Build(context.Background(), b, diffreview.Options{}) // it may refuse, in order
		}
	})
}

// FuzzParts forges bundles whose hashes are right around hostile parts.
func FuzzParts(f *testing.F) {
	seed := newForged(&testing.T{})
	f.Add(seed.parts[changesName], seed.parts[factsName], seed.parts[decisionsName], []byte("{}\n"), []byte("1\n"), []byte("2\n"))
	f.Fuzz(func(t *testing.T, ch, fa, de, ev, a, b []byte) {
		x := newForged(t)
		x.blobs = [][]byte{a, b}
		if bytes.Equal(a, b) {
			x.blobs = x.blobs[:1]
		}
		x.parts[changesName], x.parts[factsName], x.parts[decisionsName], x.parts[eventsName] = ch, fa, de, ev
		bundle, err := opened(x.bytes())
		if err != nil {
			return
		}
		set, err := diffreview.Build(context.Background(), bundle, diffreview.Options{})
		if err != nil {
			return
		}
		bundle.Decisions.Fill(set)
		for i := range set.Files {
			if p := set.Files[i].Path; p == "" || p[0] == '/' || strings.Contains("/"+p+"/", "/../") {
				t.Errorf("got the path %q in a change set", p)
			}
		}
		if _, err := walk(context.Background(), bundle.section(bundle.events), func([]byte) {}); err != nil {
			t.Error(err)
		}
	})
}
