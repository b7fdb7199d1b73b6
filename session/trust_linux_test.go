package session

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fumehood/isolate/policy"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// trusting is a host and a plain folder with a policy of its own.
func trusting(t *testing.T, src string) (*Host, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Root: store.Root(filepath.Join(base, "state", "fumehood", "sessions")), Config: filepath.Join(base, "config"), Home: filepath.Join(base, "home"), User: "ada"}
	repo := filepath.Join(base, "repo")
	for _, dir := range []string{filepath.Join(repo, ".fumehood"), h.Home, filepath.Join(h.Config, "fumehood")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(h.Config, "fumehood", "policy.toml"), "[limits]\nprocesses = 100\nmemory = \"1GiB\"\n")
	put(t, filepath.Join(repo, RepositoryPolicyFile), src)
	return h, repo
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func own(t *testing.T, h *Host, repo string) *RepositoryPolicy {
	t.Helper()
	_, r, err := h.RepositoryPolicyOf(t.Context(), repo, "")
	if err != nil || r == nil {
		t.Fatalf("got %v, %v, want the repository's own policy", r, err)
	}
	return r
}

const wider = "[limits]\nprocesses = 500\nmemory = \"none\"\n"

func TestTrustHoldsForThisContentHere(t *testing.T) {
	h, repo := trusting(t, wider)
	r := own(t, h, repo)
	if r.Merged.Limits.Processes != 100 || len(r.Widenings) != 2 || len(r.Waiting()) != 1 {
		t.Fatalf("untrusted: got %d processes, %v, want 100 and two widenings, one to trust", r.Merged.Limits.Processes, r.Widenings)
	}
	if err := h.TrustPolicy(r); err != nil {
		t.Fatal(err)
	}
	if r = own(t, h, repo); r.Merged.Limits.Processes != 500 || r.Merged.Limits.Memory != 1<<30 || len(r.Waiting()) != 0 || r.Void != "" {
		t.Errorf("trusted: got %+v, %v, want 500 processes and 1GiB still", r.Merged.Limits, r.Widenings)
	}
	path := h.trustPath(repo)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if st, err := os.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %v", name, st.Mode(), err, want)
		}
	}
	// More than was shown is not in what was trusted.
	put(t, filepath.Join(h.Config, "fumehood", "policy.toml"), "[limits]\nprocesses = 100\nmemory = \"1GiB\"\nrun_time = \"1m\"\n")
	put(t, filepath.Join(repo, RepositoryPolicyFile), wider+"run_time = \"2m\"\n")
	if r = own(t, h, repo); r.Merged.Limits.Processes != 100 || r.Void == "" {
		t.Errorf("changed content: got %d processes, %q, want 100 and why", r.Merged.Limits.Processes, r.Void)
	}
}

func TestWhatVoidsTrust(t *testing.T) {
	r := &RepositoryPolicy{Repo: "/r", Dev: 1, Ino: 2, SHA256: "aa"}
	for _, tt := range []struct {
		name   string
		change func(*Trust)
		want   string
	}{
		{"nothing", func(*Trust) {}, ""},
		{"path", func(t *Trust) { t.Repo = "/other" }, "elsewhere"},
		{"device", func(t *Trust) { t.Dev++ }, "device or inode"},
		{"inode", func(t *Trust) { t.Ino++ }, "device or inode"},
		{"content", func(t *Trust) { t.SHA256 = "ab" }, "changed"},
	} {
		tr := &Trust{Repo: "/r", Dev: 1, Ino: 2, SHA256: "aa"}
		tt.change(tr)
		if got := tr.void(r); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestARecordGrantsOnlyWhatWasShown(t *testing.T) {
	shown := policy.Widening{Key: "limits.processes", Have: "100", Want: "500", Trustable: true}
	never := policy.Widening{Key: "limits.memory", Have: "1GiB", Want: "none"}
	r := &RepositoryPolicy{Repo: "/r", SHA256: "aa", Widenings: []policy.Widening{shown, never}}
	first := r.record("ada", "/dev/pts/1", time.Unix(0, 0), nil)
	if diff := cmp.Diff([]Granted{{"limits.processes", "500"}}, first.Granted); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	more := shown
	more.Want = "501"
	if first.grants(more) || first.grants(never) || !first.grants(shown) {
		t.Error("a widening that was not shown is granted, or one that was is not")
	}
	// Beside another policy of the user's the file asks for more: that adds.
	r.Widenings = []policy.Widening{{Key: "limits.run_time", Want: "1m", Trustable: true}}
	second := r.record("ada", "", time.Unix(1, 0), first)
	if !second.grants(shown) || !second.grants(r.Widenings[0]) {
		t.Errorf("got %v, want both", second.Granted)
	}
	r.SHA256 = "bb"
	if third := r.record("ada", "", time.Unix(1, 0), second); third.grants(shown) {
		t.Error("what was trusted of another content is granted")
	}
}

// TestADamagedTrustRecordGrantsNothing: whatever lies there, either it is an
// error or the widening stays out.
func TestADamagedTrustRecordGrantsNothing(t *testing.T) {
	h, repo := trusting(t, wider)
	if err := h.TrustPolicy(own(t, h, repo)); err != nil {
		t.Fatal(err)
	}
	path := h.trustPath(repo)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"cut short":        func() error { return os.WriteFile(path, good[:len(good)/2], 0o600) },
		"empty":            func() error { return os.WriteFile(path, nil, 0o600) },
		"another version":  func() error { return os.WriteFile(path, []byte(`{"version": 2}`), 0o600) },
		"an unknown key":   func() error { return os.WriteFile(path, []byte(`{"version": 1, "all": true}`), 0o600) },
		"writable by all":  func() error { return os.Chmod(path, 0o666) },
		"a pipe":           func() error { return syscall.Mkfifo(path, 0o600) },
		"a link to a good": func() error { put(t, path+".x", string(good)); return os.Symlink(path+".x", path) },
		"a folder":         func() error { return os.Mkdir(path, 0o700) },
		"far over a bound": func() error { return os.WriteFile(path, make([]byte, maxTrust+1), 0o600) },
		"of another folder": func() error {
			return os.WriteFile(path, []byte(strings.Replace(string(good), repo, "/elsewhere", 1)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if name == "writable by all" {
				put(t, path, string(good))
			}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			_, r, err := h.RepositoryPolicyOf(t.Context(), repo, "")
			if err == nil && r.Merged.Limits.Processes != 100 {
				t.Errorf("got %d processes, want 100", r.Merged.Limits.Processes)
			}
		})
	}
}

func TestRevokedTrustIsGone(t *testing.T) {
	h, repo := trusting(t, wider)
	if had, err := h.RevokeTrust(repo); had || err != nil {
		t.Errorf("got %v, %v, want nothing to revoke", had, err)
	}
	if err := h.TrustPolicy(own(t, h, repo)); err != nil {
		t.Fatal(err)
	}
	all, err := h.Trusts(t.Context())
	if err != nil || len(all) != 1 || all[0].Repo != repo || all[0].Void != "" {
		t.Fatalf("got %v, %v, want one that holds", all, err)
	}
	// A repository that is gone can be revoked all the same.
	if err := os.Rename(repo, repo+".gone"); err != nil {
		t.Fatal(err)
	}
	if all, err = h.Trusts(t.Context()); err != nil || len(all) != 1 || all[0].Void == "" {
		t.Errorf("got %v, %v, want one that is void", all, err)
	}
	if had, err := h.RevokeTrust(repo); !had || err != nil {
		t.Errorf("got %v, %v, want it revoked", had, err)
	}
	if all, err = h.Trusts(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v, want none", all, err)
	}
}

func TestTheRepositorysPolicyIsReadWithoutLeavingIt(t *testing.T) {
	h, repo := trusting(t, wider)
	file := filepath.Join(repo, RepositoryPolicyFile)
	info, err := workspace.Inspect(t.Context(), repo, h.Home)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(repo), "outside.toml")
	put(t, outside, wider)
	for name, make := range map[string]func() error{
		"a link out":         func() error { return os.Symlink(outside, file) },
		"a link within":      func() error { put(t, file+".x", wider); return os.Symlink("policy.toml.x", file) },
		"a pipe":             func() error { return syscall.Mkfifo(file, 0o600) },
		"a folder":           func() error { return os.Mkdir(file, 0o700) },
		"more than is read":  func() error { return os.WriteFile(file, make70k(), 0o600) },
		"a terminal's bytes": func() error { return os.WriteFile(file, []byte("tool = \"\x1b[2J\"\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if err := make(); err != nil {
				t.Fatal(err)
			}
			r, err := h.repositoryPolicy(info, own0(t))
			if r != nil || err == nil || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v, %v, want an error that can be printed", r, err)
			}
		})
	}
	other := *info
	other.RootIno++
	if r, err := h.repositoryPolicy(&other, own0(t)); r != nil || err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("another folder: got %v, %v, want an error", r, err)
	}
}

func own0(t *testing.T) *policy.Policy {
	t.Helper()
	p, ok := policy.Builtin(policy.DefaultName)
	if !ok {
		t.Fatal("no default")
	}
	return p
}

func make70k() []byte { return []byte("# " + strings.Repeat("x", 70<<10) + "\n") }

// What the page of a new session asks is not among its warnings as well; what it
// shows can be trusted as it is.
func TestThePreviewOfASessionAsksForTrust(t *testing.T) {
	h, repo := trusting(t, wider)
	look := func() Preview {
		t.Helper()
		p, err := h.Preview(t.Context(), Request{Repo: repo, Agent: "command", Command: []string{"true"}})
		if err != nil || p.Err != "" || p.Repository == nil {
			t.Fatalf("got %v, %q, %v, want a preview with the repository's policy", err, p.Err, p.Repository)
		}
		return p
	}
	p := look()
	warned := strings.Join(p.Warnings, "\n")
	if ws := p.Repository.Waiting(); len(ws) != 1 || ws[0].Key != "limits.processes" || strings.Contains(warned, "limits.processes") || !strings.Contains(warned, "limits.memory") {
		t.Fatalf("got %v waiting beside\n%s\nwant the processes to be asked for and the memory to be refused", ws, warned)
	}
	if !strings.Contains(strings.Join(p.Use, "\n"), "processes 100") {
		t.Errorf("got %v, want 100 processes", p.Use)
	}
	if err := h.TrustPolicy(p.Repository); err != nil {
		t.Fatal(err)
	}
	if p = look(); len(p.Repository.Waiting()) != 0 || !strings.Contains(strings.Join(p.Use, "\n"), "processes 500") || !strings.Contains(strings.Join(p.Warnings, "\n"), "which you trusted: limits.processes") {
		t.Errorf("got %v and %v, want 500 processes, trusted", p.Use, p.Warnings)
	}
}
