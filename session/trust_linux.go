package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/internal/atomicfile"
	"fumehood/internal/beneath"
	"fumehood/isolate/policy"
	"fumehood/session/workspace"
)

// Bounds of what is read of a repository's policy and of a trust record, in
// bytes, and of how many records are listed.
const (
	maxRepoPolicy = 64 << 10
	maxTrust      = 1 << 20
	maxTrusts     = 10000
)

// RepositoryPolicyOf gives what the policy of the repository around dir comes
// to together with the user's: the one asked for, or the one that a session
// there would have. It is nil, beside the user's, where the repository has none.
func (h *Host) RepositoryPolicyOf(ctx context.Context, dir, asked string) (*policy.Policy, *RepositoryPolicy, error) {
	repo, err := workspace.Inspect(ctx, dir, h.Home)
	if err != nil {
		return nil, nil, err
	}
	user, err := policy.Pick(asked, "", h.Config)
	if err != nil {
		return nil, nil, err
	}
	r, err := h.repositoryPolicy(repo, user)
	return user, r, err
}

// repositoryPolicy reads a repository's own policy and intersects it with the
// user's; nil when it has none.
func (h *Host) repositoryPolicy(repo *workspace.Repo, user *policy.Policy) (*RepositoryPolicy, error) {
	src, err := readRepositoryPolicy(repo)
	if err != nil || src == nil {
		return nil, err
	}
	own, err := policy.ParseRepository(filepath.Join(repo.Root, RepositoryPolicyFile), src, user)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(src)
	r := &RepositoryPolicy{Repo: repo.Root, Dev: repo.RootDev, Ino: repo.RootIno, SHA256: hex.EncodeToString(sum[:]), User: user}
	t, err := readTrust(h.trustPath(repo.Root))
	if errors.Is(err, fs.ErrNotExist) {
		t = nil
	} else if err != nil {
		return nil, err
	}
	return r, r.join(own, t)
}

// readRepositoryPolicy gives the file's bytes, nil when there is none. The work
// tree is not trusted: nothing in it leads elsewhere, and nothing blocks.
func readRepositoryPolicy(repo *workspace.Repo) ([]byte, error) {
	path := filepath.Join(repo.Root, RepositoryPolicyFile)
	bad := func(err error) error {
		return &policy.Error{File: path, Msg: err.Error(), Hint: "nothing starts beside a policy of the repository's that can't be read; move it away, or make it a regular file"}
	}
	root, err := beneath.OpenRoot(repo.Root)
	if err != nil {
		return nil, bad(err)
	}
	defer func() { _ = root.Close() }() // only read from
	if st, err := root.Stat(); err != nil {
		return nil, bad(err)
	} else if st.Dev != repo.RootDev || st.Ino != repo.RootIno {
		return nil, bad(errors.New("the repository's folder was replaced meanwhile"))
	}
	f, _, err := root.OpenFile(RepositoryPolicyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil, nil
	case errors.Is(err, unix.ELOOP):
		return nil, bad(errors.New("a symbolic link, which is not followed"))
	case err != nil:
		return nil, bad(err)
	}
	defer func() { _ = f.Close() }() // only read from
	src, err := io.ReadAll(io.LimitReader(f, maxRepoPolicy+1))
	if err != nil {
		return nil, bad(err)
	}
	if len(src) > maxRepoPolicy {
		return nil, bad(fmt.Errorf("more than the limit of %d bytes", maxRepoPolicy))
	}
	// Never nil: an empty file is a policy, and a wrong one.
	return append([]byte{}, src...), nil
}

// TrustPolicy brings into force what can be: it records the widenings of r as
// they were shown.
func (h *Host) TrustPolicy(r *RepositoryPolicy) error {
	path := h.trustPath(r.Repo)
	before, err := readTrust(path)
	if err != nil {
		before = nil // what can't be read grants nothing, and is replaced
	}
	b, err := json.MarshalIndent(r.record(h.User, h.TTY, time.Now().UTC(), before), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the trust in %q: %w", r.Repo, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder for trust: %w", err)
	}
	return atomicfile.Write(path, append(b, '\n'), 0o600)
}

// RevokeTrust takes back what was trusted in a repository, which may be gone.
func (h *Host) RevokeTrust(dir string) (had bool, err error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return false, fmt.Errorf("look at %q: %w", dir, err)
	}
	for _, p := range []string{path, h.workTree(path)} {
		err := os.Remove(h.trustPath(p))
		if err == nil {
			return true, atomicfile.SyncDir(h.trustDir())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("revoke the trust in %q: %w", p, err)
		}
	}
	return false, nil
}

// workTree is the top of the repository around path, or path itself.
func (h *Host) workTree(path string) string {
	if root, err := RepositoryAround(context.Background(), path, h.Home); err == nil {
		return root
	}
	return path
}

// TrustLine is one repository in the list, and why its trust does not hold now.
type TrustLine struct {
	Trust
	Void string `json:"void"`
}

// Trusts lists what was trusted, by repository.
func (h *Host) Trusts(ctx context.Context) ([]TrustLine, error) {
	entries, err := os.ReadDir(h.trustDir())
	if errors.Is(err, fs.ErrNotExist) {
		return []TrustLine{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list what is trusted: %w", err)
	}
	if len(entries) > maxTrusts {
		return nil, fmt.Errorf("list what is trusted: %d records, the limit is %d", len(entries), maxTrusts)
	}
	out := []TrustLine{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		t, err := readTrust(filepath.Join(h.trustDir(), e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, TrustLine{Trust: *t, Void: h.voidNow(ctx, t)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Repo < out[j].Repo })
	return out, nil
}

// voidNow compares a record with what is there.
func (h *Host) voidNow(ctx context.Context, t *Trust) string {
	repo, err := workspace.Inspect(ctx, t.Repo, h.Home)
	if err != nil {
		return "the repository can't be read: " + err.Error()
	}
	src, err := readRepositoryPolicy(repo)
	if err != nil {
		return err.Error()
	}
	if src == nil {
		return "the repository has no policy of its own any more"
	}
	sum := sha256.Sum256(src)
	return t.void(&RepositoryPolicy{Repo: repo.Root, Dev: repo.RootDev, Ino: repo.RootIno, SHA256: hex.EncodeToString(sum[:])})
}

func (h *Host) trustDir() string { return filepath.Join(filepath.Dir(string(h.Root)), "trust") }

// trustPath names a repository's record by the hash of its path, which can be
// longer than a name may be.
func (h *Host) trustPath(repo string) string {
	sum := sha256.Sum256([]byte(repo))
	return filepath.Join(h.trustDir(), hex.EncodeToString(sum[:])+".json")
}

// readTrust reads a record: a regular file that only this account can write.
// Anything else is an error, and grants nothing.
func readTrust(path string) (*Trust, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read trust: %w", err)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || fi.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("read trust %q: not a regular file that only this account can write", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTrust+1))
	if err != nil {
		return nil, fmt.Errorf("read trust %q: %w", path, err)
	}
	if len(b) > maxTrust {
		return nil, fmt.Errorf("read trust %q: more than the limit of %d bytes", path, maxTrust)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var t Trust
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("read trust %q: damaged: %w; \"fumehood policy trust --revoke\" in the repository removes it", path, err)
	}
	if t.Version != TrustVersion {
		return nil, fmt.Errorf("read trust %q: version %d, this build reads %d", path, t.Version, TrustVersion)
	}
	return &t, nil
}
