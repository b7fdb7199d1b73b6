package bundle

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// desk is a session that nothing ran in: its workspace is written by hand.
type desk struct {
	*testing.T
	h    *session.Host
	d    store.Dir
	top  string
	repo string
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	top := t.TempDir()
	k := &desk{T: t, top: top, repo: filepath.Join(top, "repo"), h: &session.Host{
		Root: store.Root(filepath.Join(top, "state")), Home: filepath.Join(top, "home"), User: "ada", TTY: "/dev/pts/7", UID: os.Getuid(), GID: os.Getgid(),
	}}
	k.write(k.repo, files)
	ctx := context.Background()
	repo, err := workspace.Inspect(ctx, k.repo, "")
	k.must(err)
	sel, err := workspace.Choose(ctx, repo, workspace.Options{})
	k.must(err)
	k.d, err = k.h.Root.Create()
	k.must(err)
	_, err = workspace.CopyIn(ctx, repo, sel, workspace.Target{Dirs: session.StoreDirs(k.d)})
	k.must(err)
	k.must(os.WriteFile(k.d.Tenant(), []byte("ada"), 0o600))
	k.must(os.WriteFile(k.d.Policy(), []byte("tool = \"t\"\n[filesystem]\ninputs = [\""+k.h.Home+"/in\"]\n"), 0o600))
	code := 0
	k.must(k.d.SaveRecord(&store.Record{
		ID: k.d.ID(), Name: "run-1", Repo: repo.Root, RepoDev: repo.RootDev, RepoIno: repo.RootIno, State: session.StateExited, Code: &code,
		Command: []string{"sh", "-c", "cd " + k.repo}, Agent: "command", PolicyName: "default", Created: time.Now(),
	}))
	k.must(k.d.AppendEvent(time.Now(), "created", "copied in", map[string]any{"repo": k.repo}))
	k.must(k.d.AppendEvent(time.Now(), "end", "exited", nil))
	return k
}

func (k *desk) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// write puts files below a folder; an empty text removes one.
func (k *desk) write(dir string, files map[string]string) {
	k.Helper()
	for p, text := range files {
		full := filepath.Join(dir, p)
		k.must(os.MkdirAll(filepath.Dir(full), 0o755))
		if text == "" {
			k.must(os.Remove(full))
			continue
		}
		k.must(os.WriteFile(full, []byte(text), 0o644))
	}
}

func (k *desk) agent(files map[string]string) { k.Helper(); k.write(k.d.Workspace(), files) }

// gather is what would be exported, of a new snapshot.
func (k *desk) gather(o Options) *Export {
	k.Helper()
	o.Fresh = true
	e, err := Gather(context.Background(), k.h, k.d, o)
	k.must(err)
	return e
}

// bytes is the bundle of the newest snapshot.
func (k *desk) bytes(o Options) []byte {
	k.Helper()
	e, err := Gather(context.Background(), k.h, k.d, o)
	k.must(err)
	var b bytes.Buffer
	k.must(e.write(context.Background(), &b))
	return b.Bytes()
}

// file is the bundle in a file of its own folder, as export writes it.
func (k *desk) file(o Options) string {
	k.Helper()
	name := filepath.Join(k.TempDir(), "s.fumehood")
	k.must(k.gather(o).WriteFile(context.Background(), name, false))
	return name
}

// opened is a bundle out of bytes.
func opened(raw []byte) (*Bundle, error) {
	return open(context.Background(), bytes.NewReader(raw), func() error { return nil })
}

// free stands for the confinement in tests of what is read: the test goes on in
// this process.
func free() error { return nil }

// reviewOf opens a review as bea, in this process.
func reviewOf(file, decisions string) (*Remote, error) {
	return Review(context.Background(), Reader{File: file, Decisions: decisions, By: "bea", TTY: "/dev/pts/1"}, &files{decisions: decisions}, free)
}

func decidedIn(file string) (*Decided, error) {
	d, _, err := LoadSigned(context.Background(), file, nil, free)
	return d, err
}

// remote opens a review of a bundle's file as bea.
func (k *desk) remote(file string) (*Remote, *diffreview.ChangeSet) {
	k.Helper()
	r, err := reviewOf(file, file+".decisions")
	k.must(err)
	k.Cleanup(func() { k.must(r.Close()) })
	set, _, err := r.ChangeSet(context.Background(), "", false)
	k.must(err)
	return r, set
}

func (k *desk) review() *session.Review {
	k.Helper()
	r, err := k.h.Review(context.Background(), k.d, false)
	k.must(err)
	return r
}

// bring imports the decisions beside a bundle's file.
func (k *desk) bring(file string, o ImportOptions) *Imported {
	k.Helper()
	d, err := decidedIn(file + ".decisions")
	k.must(err)
	res, err := Import(k.review(), k.h, k.d, d, o)
	k.must(err)
	return res
}

// unitsOf gives the units of a path.
func unitsOf(t *testing.T, set *diffreview.ChangeSet, path string) []string {
	t.Helper()
	for i := range set.Files {
		if set.Files[i].Path == path {
			return set.Files[i].UnitIDs()
		}
	}
	t.Fatalf("got no change of %q, want one", path)
	return nil
}

func pathsOf(set *diffreview.ChangeSet) (out []string) {
	for i := range set.Files {
		out = append(out, set.Files[i].Path)
	}
	slices.Sort(out)
	return out
}

func wantDamaged(t *testing.T, err error, what string) {
	t.Helper()
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: got %v, want it found damaged", what, err)
	}
}
