package bundle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/isolate/confine"
	"fumehood/isolate/testkit"
	"fumehood/session"
)

// TestMain is what main is to a porter: this binary re-executed.
func TestMain(m *testing.M) {
	Dispatch(func(path string) error {
		if os.Getenv("EDITOR") == "" {
			return errors.New("the editor ended with exit status 7")
		}
		return os.WriteFile(path, []byte(os.Getenv("EDITOR")), 0o600)
	})
	testkit.Parts(map[string]func(){"confined review": confinedReview})
	os.Exit(m.Run())
}

// porter starts one that writes to a folder of the test's own, with a runtime
// folder that is empty.
func porter(t *testing.T, key string) (p *Porter, decisions, runtime string) {
	t.Helper()
	decisions, runtime = filepath.Join(t.TempDir(), "d"), t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	p, err := StartPorter(decisions, key)
	if err != nil {
		t.Fatal(err)
	}
	return p, decisions, runtime
}

func TestAnEditOfABundleLeavesNothingBehind(t *testing.T) {
	t.Setenv("EDITOR", "now")
	p, _, runtime := porter(t, "")
	path, err := p.OpenEdit([]byte("was"))
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o700 || !strings.HasPrefix(path, runtime) {
		t.Errorf("got %s with mode %o, want a private folder in %s", path, fi.Mode().Perm(), runtime)
	}
	if err := p.Edit(path); err != nil {
		t.Fatal(err)
	}
	if got, err := p.CloseEdit(path); err != nil || string(got) != "now" {
		t.Errorf("got %q, %v, want what the editor wrote", got, err)
	}
	if _, err := p.OpenEdit([]byte("left open")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(runtime); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v left, want nothing", left, err)
	}
}

// What asks may have been taken over by what it read.
func TestAPorterDoesNothingElse(t *testing.T) {
	t.Setenv("EDITOR", "overwritten")
	p, decisions, runtime := porter(t, "")
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := p.OpenEdit([]byte("was"))
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"another file edited":       p.Edit(precious),
		"a signature without a key": func() error { _, err := p.Sign(); return err }(),
		"another file read":         func() error { _, err := p.CloseEdit(precious); return err }(),
		"edited once it is closed":  p.Edit(path),
		"too long a text":           func() error { _, err := p.OpenEdit(make([]byte, maxEdit+1)); return err }(),
		"an unknown errand":         func() error { _, err := p.run(errand{Do: "run", Path: "/bin/sh"}); return err }(),
	} {
		if e := new(porterError); !errors.As(err, &e) {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
	n := 1 // the text above was not taken back
	for err = nil; err == nil && n <= maxLeft; n++ {
		_, err = p.OpenEdit([]byte("x"))
	}
	if err == nil || n != maxLeft+1 {
		t.Errorf("got %d texts left with an editor and %v, want %d and no more", n-1, err, maxLeft)
	}
	if err := p.Save([]byte("decided")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{precious: "kept", decisions: "decided"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if left, err := os.ReadDir(runtime); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v left, want nothing", left, err)
	}
	if err := p.Save(nil); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("after its end: got %v, want an error", err)
	}
}

func TestAPorterGivesTheEditorsErrorAndItsOwn(t *testing.T) {
	t.Setenv("EDITOR", "")
	p, decisions, _ := porter(t, "/nowhere/key")
	defer p.Close()
	path, err := p.OpenEdit(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Edit(path); err == nil || err.Error() != "the editor ended with exit status 7" {
		t.Errorf("got %v, want the editor's end", err)
	}
	if err := os.Mkdir(decisions, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Save([]byte("x")); err == nil || !strings.Contains(err.Error(), decisions) {
		t.Errorf("got %v, want the path that can't be written", err)
	}
	if _, err := p.Sign(); err == nil {
		t.Error("got a signature with a key that is not there, want an error")
	}
	if _, err := p.Sign(); err == nil || !strings.Contains(err.Error(), "or it is done") {
		t.Errorf("got %v, want one try to sign", err)
	}
}

// A porter goes when the review does, however that ends; a signal that is meant
// for the review leaves it time to tidy up.
func TestAPorterOutlivesSignalsAndEndsWithTheReview(t *testing.T) {
	t.Setenv("EDITOR", "now")
	p, _, runtime := porter(t, "")
	if _, err := p.OpenEdit([]byte("was")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Save([]byte("x")); err != nil {
		t.Errorf("after the signals: %v", err)
	}
	// As the kernel does when the review is killed.
	if err := p.conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(runtime); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v left, want nothing", left, err)
	}
}

// What is read from elsewhere is interpreted once this process is confined, and
// not at all when it can't be.
func TestNothingIsInterpretedUnconfined(t *testing.T) {
	// Each would be told as damaged by whoever looks at it.
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	asked := 0
	no := func() error { asked++; return refused }
	_, err := Verify(context.Background(), bad, nil, no)
	_, _, err2 := LoadSigned(context.Background(), bad, nil, no)
	_, err3 := Review(context.Background(), Reader{File: bad, Decisions: bad}, &files{}, no)
	for what, err := range map[string]error{"verify": err, "import": err2, "review": err3} {
		if !errors.Is(err, refused) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want %v and the file not looked at", what, err, refused)
		}
	}
	if asked != 3 {
		t.Errorf("got %d confinements, want 3", asked)
	}
}

// confinedReview reviews a bundle in a confined process: what it needs works, and
// what it does not need is refused.
func confinedReview() {
	die := func(what string, err error) {
		if err != nil {
			_, _ = os.Stderr.WriteString(what + ": " + err.Error() + "\n")
			os.Exit(1)
		}
	}
	file := os.Getenv("BUNDLE")
	p, err := StartPorter(file+".decisions", "")
	die("porter", err)
	r, err := Review(ctx, Reader{File: file, Decisions: file + ".decisions", By: "bea"}, p, func() error {
		_, err := confine.Process(confine.Keep{})
		return err
	})
	die("review", err)
	for _, name := range []string{file, "/etc/passwd"} {
		if _, err := os.ReadFile(name); !errors.Is(err, unix.EACCES) {
			die("read", errors.New(name+" was read"))
		}
	}
	set, _, err := r.ChangeSet(ctx, "", false)
	die("change set", err)
	var unit string
	set.Files[0].Each(func(id string, _ *diffreview.Mark, _ *diffreview.Hunk) { unit = id })
	path, err := r.OpenEdit(ctx, "", []byte("was"))
	die("open", err)
	die("edit", p.Edit(path))
	text, err := r.CloseEdit(ctx, "", path)
	die("close", err)
	die("decide", r.Decide(ctx, "", []session.Choice{{Unit: unit, Path: set.Files[0].Path, Verdict: diffreview.Approved, Edit: text}}))
	die("end", p.Close())
}

func TestAConfinedReviewDecidesAndReadsNothingElse(t *testing.T) {
	testkit.RequireABI(t, 1)
	k := newDesk(t, map[string]string{"a": "one\n"})
	k.agent(map[string]string{"a": "two\n"})
	file := k.file(Options{})
	cmd := testkit.RunInSubprocess(t, "confined review", "BUNDLE="+file, "EDITOR=three\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d, err := decidedIn(file + ".decisions")
	k.must(err)
	if len(d.Decisions.Units) != 1 || len(d.Edits) != 1 {
		t.Errorf("got %d decisions and %d texts, want one of each", len(d.Decisions.Units), len(d.Edits))
	}
}
