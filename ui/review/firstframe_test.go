package review

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

// sources are ordinary lines by a file's ending; the numbers keep them apart.
var sources = map[string]string{
	".go":  "// Read%[1]d reads the file below root, at most limit bytes of it.\nfunc Read%[1]d(ctx context.Context, path string) ([]byte, error) {\n\tif err := check(ctx, path, %[1]d); err != nil {\n\t\treturn nil, fmt.Errorf(\"check %%q: %%w\", path, err)\n\t}\n\treturn os.ReadFile(path) // %[1]d\n}\n\n",
	".ts":  "export async function load%[1]d(id: string): Promise<User> {\n  const response = await client.get(`/users/${id}?page=%[1]d`);\n  if (!response.ok) {\n    throw new Error(`could not load user %[1]d`);\n  }\n  return parseUser(response.body, %[1]d);\n}\n\n",
	".py":  "def handle_%[1]d(request, session):\n    \"\"\"Answer one request of kind %[1]d.\"\"\"\n    rows = session.query(User).filter(User.id == request.args[\"id\"]).all()\n    if not rows:\n        raise NotFound(f\"no user %[1]d\")\n    return jsonify([row.as_dict() for row in rows])\n\n\n",
	".rs":  "/// Parses part %[1]d of the header.\npub fn parse_%[1]d(input: &[u8]) -> Result<Header, ParseError> {\n    let (rest, version) = take_u16(input)?;\n    if version != %[1]d {\n        return Err(ParseError::Version { got: version });\n    }\n    Ok(Header { version, body: rest.to_vec() })\n}\n",
	".css": ".panel-%[1]d {\n  display: flex;\n  align-items: center;\n  border: %[1]dpx solid rgba(0, 0, 0, 0.15);\n  padding: 0.5rem 1rem;\n}\n\n.panel-%[1]d > .title { font-weight: %[1]d; }\n",
}

// agentsDay fills a session's folder as an agent's long day leaves it: files
// with each about lines changed ones, two in three edited in several places, the
// others new.
func agentsDay(tb testing.TB, files, lines int) store.Dir {
	tb.Helper()
	ok := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	d, err := store.Root(tb.TempDir()).Create()
	ok(err)
	ok(os.Mkdir(d.Workspace(), 0o700))
	dirs := baseline.Dirs{Workspace: d.Workspace(), Store: d.Store()}
	blobs := baseline.NewBlobs(dirs.BlobsDir())
	m := &baseline.Manifest{RecordedAt: time.Now().Add(-time.Hour).UnixNano()}
	exts := []string{".go", ".ts", ".py", ".rs", ".css"}
	for i := range files {
		ext := exts[i%len(exts)]
		name := fmt.Sprintf("lib%d/part%d/file_%d%s", i%70, i%11, i, ext)
		var old, text strings.Builder
		if i%3 == 0 {
			for n := 0; n < lines; n += 8 {
				fmt.Fprintf(&text, sources[ext], i*1000+n)
			}
		} else {
			for n := 0; n < 2*lines; n += 8 {
				fmt.Fprintf(&old, sources[ext], i*1000+n)
				// Two blocks of five are other ones.
				if n/8%5 == 1 || n/8%5 == 3 {
					fmt.Fprintf(&text, sources[ext], i*1000+n+500)
					continue
				}
				fmt.Fprintf(&text, sources[ext], i*1000+n)
			}
			sum := sha256.Sum256([]byte(old.String()))
			ok(blobs.PutSum(sum, []byte(old.String())))
			m.Entries = append(m.Entries, baseline.Entry{
				Path: name, Kind: diffreview.KindFile, Mode: 0o644, Size: int64(old.Len()),
				Ref: baseline.Ref{Kind: baseline.RefBlob, Sum: sum},
			})
		}
		path := filepath.Join(d.Workspace(), name)
		ok(os.MkdirAll(filepath.Dir(path), 0o755))
		ok(os.WriteFile(path, []byte(text.String()), 0o644))
	}
	ok(baseline.Record(dirs, m))
	ok(d.SaveRecord(&store.Record{ID: d.ID(), Repo: "/repo"}))
	_, err = baseline.Take(context.Background(), dirs, m, baseline.Options{})
	ok(err)
	return d
}

// BenchmarkOpenReview5000Files is what a person waits for after opening a review:
// from the session's store to the painted frame, risks included. best-ms and
// best-cpu-ms are those of the best round: what it takes where nothing else runs.
func BenchmarkOpenReview5000Files(b *testing.B) {
	d := agentsDay(b, 5000, 124)
	var r *session.Review
	open := func() {
		var err error
		if r, err = session.Look(context.Background(), d); err != nil {
			b.Fatal(err)
		}
		arrive(large(b, r.Set), r.Set)
	}
	b.ReportAllocs()
	wall, cpu := time.Hour, time.Hour
	for b.Loop() {
		t, c := time.Now(), processTime(b)
		open()
		wall, cpu = min(wall, time.Since(t)), min(cpu, processTime(b)-c)
	}
	b.ReportMetric(float64(changedLines(r.Set)), "lines")
	b.ReportMetric(float64(wall.Microseconds())/1000, "best-ms")
	b.ReportMetric(float64(cpu.Microseconds())/1000, "best-cpu-ms")
}

// What a review of many files costs is told by ratios, which hold on a machine
// that does other things as well: processor time against that of reading the
// bytes that it is made of, and memory for each changed line. The limits are some
// two times what was measured; 300 MiB for 500,000 lines are 600 bytes each.
func TestOpeningAReviewStaysCheap(t *testing.T) {
	d := agentsDay(t, 500, 124)
	snap, err := baseline.Open(baseline.Dirs{Workspace: d.Workspace(), Store: d.Store()})
	if err != nil {
		t.Fatal(err)
	}
	look := func() *diffreview.ChangeSet {
		r, err := session.Look(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		return r.Set
	}
	cost := func(f func()) time.Duration {
		least := time.Hour
		for range 5 {
			from := processTime(t)
			f()
			least = min(least, processTime(t)-from)
		}
		return least
	}
	look() // the tables of the rules are made
	read := cost(func() {
		for _, c := range snap.Changes() {
			for _, e := range []diffreview.Entry{c.Old, c.New} {
				if e.Blob == "" {
					continue
				}
				if _, err := snap.Content(e.Blob, 1<<20); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	whole := cost(func() { set := look(); arrive(large(t, set), set) })
	t.Logf("%v, %.1f times the %v of reading", whole, float64(whole)/float64(read), read)
	if whole > slower*8*read {
		t.Errorf("got %v, %.1f times the %v of reading all content, want at most 8 times", whole, float64(whole)/float64(read), read)
	}

	var before, built, kept runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	set := look()
	runtime.ReadMemStats(&built)
	runtime.GC()
	runtime.ReadMemStats(&kept)
	lines := uint64(changedLines(set))
	used, held := (built.TotalAlloc-before.TotalAlloc)/lines, (kept.HeapAlloc-min(before.HeapAlloc, kept.HeapAlloc))/lines
	t.Logf("%d lines: %d bytes a line allocated, %d held", lines, used, held)
	if used > slower*600 || held > 500 {
		t.Errorf("got %d bytes allocated for each changed line and %d held, want at most 600 and 500", used, held)
	}
	runtime.KeepAlive(set)
}

// processTime is what this process has computed so far: it says more than the
// clock does on a machine with other work.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func changedLines(set *diffreview.ChangeSet) (n int) {
	for i := range set.Files {
		n += set.Files[i].Added + set.Files[i].Removed
	}
	return n
}
