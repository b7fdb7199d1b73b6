package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fumehood/diffreview"
	"fumehood/session"
)

func TestTheSameSessionGivesTheSameBytes(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n", "b": "2\n"})
	k.agent(map[string]string{"a": "1\n2\n", "c": "3\n"})
	first := k.file(Options{})
	again := filepath.Join(k.top, "again")
	e, err := Gather(context.Background(), k.h, k.d, Options{})
	k.must(err)
	k.must(e.WriteFile(context.Background(), again, false))
	a, err := os.ReadFile(first)
	k.must(err)
	b, err := os.ReadFile(again)
	k.must(err)
	if !bytes.Equal(a, b) {
		t.Error("got other bytes the second time, though only the export itself was noted in between")
	}
	if int64(len(a)) != e.Size() {
		t.Errorf("got %d bytes, want the %d that were announced", len(a), e.Size())
	}
	k.must(k.d.AppendEvent(e.Manifest.Session.SnapshotAt, "other", "x", nil))
	if bytes.Equal(a, k.bytes(Options{})) {
		t.Error("got the same bytes after an event, want that one in it")
	}
	if err := e.WriteFile(context.Background(), again, false); err == nil {
		t.Error("got a file replaced that was there, want it refused")
	}
}

// Any tar reads it.
func TestABundleIsATar(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n"})
	k.agent(map[string]string{"a": "other\n"})
	k.gather(Options{})
	var names []string
	r := tar.NewReader(bytes.NewReader(k.bytes(Options{})))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		k.must(err)
		n, err := io.Copy(io.Discard, r)
		k.must(err)
		if n != h.Size || h.Typeflag != tar.TypeReg {
			t.Errorf("%s: got %d bytes of type %c, want %d of a regular file", h.Name, n, h.Typeflag, h.Size)
		}
		names = append(names, strings.SplitAfter(h.Name, "/")[0])
	}
	want := append(append([]string{manifestName}, partNames...), "blobs/", "blobs/", endName)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("members (-want +got):\n%s", d)
	}
}

func TestHostPathsStayHere(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n"})
	k.agent(map[string]string{"a": "2\n"})
	k.gather(Options{})
	raw := k.bytes(Options{})
	if bytes.Contains(raw, []byte(k.top)) {
		t.Errorf("got %s in the bundle, want no path of this host", k.top)
	}
	b, err := opened(raw)
	k.must(err)
	c, err := walk(context.Background(), b.section(b.events), func([]byte) {})
	k.must(err)
	if c != (Chain{Lines: 2, Cleaned: 1}) {
		t.Errorf("got %+v, want two lines that hold together, one without its paths", c)
	}
	if !strings.Contains(string(b.Policy), `"~/in"`) || b.Manifest.Session.Command[2] != "cd (repository)" {
		t.Errorf("got the policy %q and the command %q, want the paths replaced", b.Policy, b.Manifest.Session.Command)
	}
	if !bytes.Contains(k.bytes(Options{Paths: true}), []byte(k.repo)) {
		t.Error("got no path though they were asked for")
	}
}

func TestWithoutContentThereIsNoByteOfAFile(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "before-marker\n"})
	k.agent(map[string]string{"a": "after-marker\n"})
	k.gather(Options{})
	_, err := k.h.Comment(k.d, diffreview.Comment{Path: "a", Line: 1, Quote: "after-marker", Body: "why?"})
	k.must(err)
	raw := k.bytes(Options{NoContent: true})
	if i := bytes.Index(raw, []byte("-marker")); i >= 0 && !bytes.Contains(raw, []byte(`"quote":"after-marker"`)) {
		t.Errorf("got %q in it, want no content", raw[i-10:i+10])
	}
	b, err := opened(raw)
	k.must(err)
	if len(b.changes) != 1 || b.changes[0].New.Size != 13 || len(b.Decisions.Comments) != 1 || b.Decisions.Comments[0].Quote != "" {
		t.Errorf("got %+v and %+v, want the change with its size and the comment without its quote", b.changes, b.Decisions.Comments)
	}
	if _, err := b.ChangeSet(context.Background(), b.Decisions, nil); err != ErrNoContent {
		t.Errorf("got %v, want a word that there is nothing to review", err)
	}
}

func TestWhatLooksLikeASecretIsListed(t *testing.T) {
	// A shape that copy-in lets pass and the risk rules know.
	key := "h" + "f_" + strings.Repeat("aB3dE6gH9k", 4) + "\n"
	token := "gh" + "p_" + strings.Repeat("aB3dE6gH9k", 4)
	k := newDesk(t, map[string]string{"plain": "1\n", "old.txt": key, "cfg": "x = 1\n", "gone": "1\n"})
	k.agent(map[string]string{"plain": "2\n", "old.txt": "no longer\n", "cfg": "x = \"" + token + "\"\n", "deploy.pem": "anything\n"})
	k.must(k.d.AppendEvent(k.review().Snap.At, "resumed", "curl -H 'Authorization: "+token+"'", nil))
	var got []string
	for _, s := range k.gather(Options{}).Secrets {
		got = append(got, s.Place()+" "+s.Side)
	}
	want := []string{"cfg after", "deploy.pem after", "old.txt before", "events.jsonl events.jsonl"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("secrets (-want +got):\n%s", d)
	}
	left, err := session.Pathspec([]string{"cfg", "*.pem", "old.txt"})
	k.must(err)
	e := k.gather(Options{LeaveOut: left})
	if len(e.Secrets) != 1 {
		t.Errorf("got %v left, want the event alone", e.Secrets)
	}
	raw := k.bytes(Options{LeaveOut: left})
	if bytes.Contains(raw, []byte(key)) {
		t.Error("got the key in a bundle that leaves its file out")
	}
	b, err := opened(raw)
	k.must(err)
	set, err := b.ChangeSet(context.Background(), b.Decisions, nil)
	k.must(err)
	if d := cmp.Diff([]string{"plain"}, pathsOf(set)); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	if len(set.LeftOut) < 3 {
		t.Errorf("got %+v, want what was left out listed", set.LeftOut)
	}
}

// The risks are those that the session finds, though no finding is in the bundle.
func TestRisksAreFoundAnew(t *testing.T) {
	k := newDesk(t, map[string]string{"a": "1\n", "keep": "x\n"})
	k.agent(map[string]string{".vscode/tasks.json": "{}\n", ".gitignore": "hidden\n", "hidden": "h\n"})
	k.gather(Options{})
	b, err := opened(k.bytes(Options{}))
	k.must(err)
	set, err := b.ChangeSet(context.Background(), b.Decisions, nil)
	k.must(err)
	here := k.review().Set
	for i := range here.Files {
		if d := cmp.Diff(here.Files[i].Findings, set.Files[i].Findings); d != "" || here.Files[i].Path != set.Files[i].Path {
			t.Errorf("%s (-here +bundle):\n%s", here.Files[i].Path, d)
		}
	}
	found := 0
	for i := range set.Files {
		found += len(set.Files[i].Findings)
	}
	if found == 0 {
		t.Error("got no finding on tasks that an editor runs, want some")
	}
}

func TestOddNamesTravel(t *testing.T) {
	odd := "inv\xff\x1b[31m"
	k := newDesk(t, map[string]string{odd: "1\n", "x": "1\n"})
	k.agent(map[string]string{odd: "2\n", "new\xfe/y\n": "n\n"})
	file := k.file(Options{})
	r, set := k.remote(file)
	if d := cmp.Diff([]string{odd, "new\xfe/y\n"}, pathsOf(set)); d != "" {
		t.Fatalf("paths (-want +got):\n%s", d)
	}
	k.must(r.Decide(context.Background(), "", []session.Choice{{Unit: unitsOf(t, set, odd)[0], Path: odd, Verdict: diffreview.Approved}}))
	if res := k.bring(file, ImportOptions{}); len(res.Taken) != 1 || string(res.Taken[0].PathB64) != odd {
		t.Errorf("got %+v, want the decision on %q taken", res, odd)
	}
	if _, err := k.h.Apply(context.Background(), k.d, session.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(k.repo, odd)); err != nil || string(got) != "2\n" {
		t.Errorf("got %q, %v on the host, want what was approved elsewhere", got, err)
	}
}
