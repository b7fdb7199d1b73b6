package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/isolate"
	"fumehood/isolate/egress/account"
	"fumehood/isolate/policy"
	"fumehood/session/agent"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// Progress is told how far a copy is: files done, files in all, bytes done.
type Progress func(done, total int, bytes int64)

// Prepared is what a new session will be made of, before anything is copied.
type Prepared struct {
	Repo      *workspace.Repo
	Policy    *policy.Policy
	Selection *workspace.Selection
	ReadOnly  []isolate.Mount
	Caches    []policy.Cache   // can be written inside, in a layer of the session's own
	ToolPath  []string         // folders to put into PATH
	Seed      []policy.Place   // toolchain managers' settings, copied into the session's home
	Refused   []policy.Refusal // folders of PATH that do not go in, and why
	Offered   []string         // folders on PATH that do not go in by themselves
	Agent     *agent.Profile   // nil for a plain command
	// Repository is the repository's own policy, nil when it has none; Policy is
	// then what comes of both. Widenings are what it asks for and does not have.
	Repository *RepositoryPolicy
	Widenings  []policy.Widening
}

// Prepare finds the repository and the policy and lists what would go in. It
// refuses what a start would refuse, and writes nothing. With an UnprovenError
// all else is as it would be.
func (h *Host) Prepare(ctx context.Context, req Request) (*Prepared, error) {
	repo, err := workspace.Inspect(ctx, req.Repo, h.Home)
	if err != nil {
		return nil, err
	}
	if err := h.refusePath(repo.Root); err != nil {
		return nil, err
	}
	prof, err := h.profileOf(req)
	if err != nil {
		return nil, err
	}
	pol, err := policy.Pick(req.Policy, h.agentPolicy(prof), h.Config)
	if err != nil {
		return nil, err
	}
	own, err := h.repositoryPolicy(repo, pol)
	if err != nil {
		return nil, err
	}
	if own != nil {
		pol = own.Merged
	}
	if req.Dependencies {
		pol = withDependencies(pol)
	}
	sel, err := workspace.Choose(ctx, repo, workspace.Options{
		Include: include(pol), Exclude: pol.Filesystem.Exclude, History: pol.Filesystem.History,
	})
	if err != nil {
		return nil, err
	}
	p := &Prepared{Repo: repo, Policy: pol, Selection: sel, Agent: prof, Repository: own}
	if own != nil {
		p.Widenings = own.refused()
	}
	if err := h.readOnly(p); err != nil || req.Proving {
		return p, err
	}
	if err := h.canRun(prof, p); err != nil {
		return p, err
	}
	return p, own.explain(h.proven(pol))
}

// refusePath refuses repositories whose own path can't be given inside.
func (h *Host) refusePath(root string) error {
	for _, taken := range []string{"/fumehood", "/proc", "/dev", "/sys", "/run"} {
		if root == taken || strings.HasPrefix(root, taken+"/") {
			return fmt.Errorf("the repository is at %q, a place that every sandbox has of its own; move it elsewhere", root)
		}
	}
	if rel, err := filepath.Rel(string(h.Root), root); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return fmt.Errorf("the repository %q lies in fumehood's own state folder %q", root, string(h.Root))
	}
	return nil
}

// Create makes a session out of the request and starts its supervisor. When it
// returns without an error the walls are closed; a held command has not begun.
// On any error nothing of the session is left.
func (h *Host) Create(ctx context.Context, req Request, progress Progress) (string, error) {
	p, err := h.Prepare(ctx, req)
	if err != nil {
		return "", err
	}
	d, err := h.Root.Create()
	if err != nil {
		return "", err
	}
	unlock, err := d.Lock()
	if err != nil {
		return "", err
	}
	err = h.fill(ctx, d, p, req, progress)
	unlock()
	if err == nil {
		err = h.launchWith(ctx, d, p.Policy, req.Stand)
	}
	if err != nil {
		if rmErr := workspace.Remove(string(d)); rmErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the unfinished session: %w", rmErr))
		}
		return "", err
	}
	return d.ID(), nil
}

// fill copies the repository in and records baseline, policy and start.
func (h *Host) fill(ctx context.Context, d store.Dir, p *Prepared, req Request, progress Progress) error {
	uid, gid, user := h.insideIDs(d.ID())
	var own *workspace.Owner
	if h.UID == 0 {
		own = &workspace.Owner{UID: uid, GID: gid}
	}
	mark, err := account.Random(account.MarkLen)
	if err != nil {
		return err
	}
	if err := h.seedHome(d.Home(), own, p, mark); err != nil {
		return fmt.Errorf("make the session's home: %w", err)
	}
	if err := prepareCaches(d, p.Caches, uid, gid); err != nil {
		return err
	}
	copied, err := workspace.CopyIn(ctx, p.Repo, p.Selection, workspace.Target{Dirs: baselineDirs(d), Own: own, Progress: workspace.Progress(progress)})
	if err != nil {
		return err
	}
	leftOut := append(p.Selection.LeftOut, copied.LeftOut...)
	for _, path := range copied.Changed {
		leftOut = append(leftOut, diffreview.LeftOut{Path: path, Reason: "changed on the host while it was copied; the session has what was read"})
	}
	if err := d.SaveLeftOut(leftOut); err != nil {
		return err
	}
	if err := writePrivate(d.Policy(), policy.Encode(p.Policy)); err != nil {
		return err
	}
	tenant := p.Policy.Tenant
	if tenant == "" {
		tenant = h.User
	}
	if err := writePrivate(d.Tenant(), []byte(tenant)); err != nil {
		return err
	}
	name, err := h.freeName(req, p.Repo.Root)
	if err != nil {
		return err
	}
	rec := &store.Record{
		ID: d.ID(), Name: name, Repo: p.Repo.Root,
		RepoDev: p.Repo.RootDev, RepoIno: p.Repo.RootIno,
		GitDir: p.Repo.GitDir, GitDev: p.Repo.GitDev, GitIno: p.Repo.GitIno, Branch: branchName(p.Repo.Branch), Head: p.Repo.Head, HooksPath: p.Repo.HooksPath(),
		ObjectFormat: p.Repo.Format,
		Files:        len(copied.Entries), Bytes: copied.Bytes,
		PolicyName: p.Policy.Name, PolicyHash: policy.Hash(p.Policy),
		Agent: req.Agent, UID: uid, GID: gid, User: user,
		Mark: mark, Command: req.Command, TTY: req.TTY, State: StatePreparing, Created: time.Now().UTC(),
	}
	if p.Repo.Git {
		for _, f := range p.Selection.Files {
			if f.Origin == workspace.Untracked || f.Origin == workspace.Included {
				rec.Untracked = append(rec.Untracked, f.Path)
			}
		}
	}
	rec.Notes = slices.Concat(notes(p.Selection, leftOut, copied), p.Repository.notes(), h.agentNotes(p.Agent, p.Policy))
	if err := d.SaveRecord(rec); err != nil {
		return err
	}
	if err := d.AppendEvent(time.Now(), "created", "copied in", p.Repository.event(map[string]any{
		"by": h.User, "tty": h.TTY, "repo": p.Repo.Root, "branch": branchName(p.Repo.Branch), "head": p.Repo.Head,
		"files": len(copied.Entries), "bytes": copied.Bytes, "left_out": len(leftOut), "policy": p.Policy.Name, "policy_hash": rec.PolicyHash,
	})); err != nil {
		return err
	}
	st := h.startOf(req, p, user)
	st.Folder = req.startFolder(d, p.Repo.Root, "")
	return d.SaveStart(st)
}

func (h *Host) startOf(req Request, p *Prepared, user string) *store.Start {
	st := &store.Start{
		Command: req.Command, Env: slices.Concat(Environment(h.Env, user, p.ToolPath), cacheEnv(p.Caches), req.Env), TTY: req.TTY,
		Cols: req.Size.Cols, Rows: req.Size.Rows, Hold: req.Hold, Bound: req.Bound, RunTime: req.Timeout,
		HostHome: h.Home, ReadOnly: p.ReadOnly, Caches: cacheMounts(p.Caches),
	}
	if p.Agent != nil {
		st.Env = append(st.Env, p.Agent.Environ()...)
		st.Waits, st.Send = &p.Agent.Waits, &p.Agent.Send
	}
	return st
}

// freeName gives the session's name: the one asked for, which must be free in
// its repository, or the agent's with the next number.
func (h *Host) freeName(req Request, repo string) (string, error) {
	have, err := h.list(repo)
	if err != nil {
		return "", err
	}
	taken := map[string]bool{}
	for _, s := range have {
		taken[s.Name] = true
	}
	if req.Name != "" {
		if err := checkName(req.Name); err != nil {
			return "", err
		}
		if taken[req.Name] {
			return "", fmt.Errorf("this repository has a session named %q already; choose another name, or \"fumehood rm %s\" first", req.Name, req.Name)
		}
		return req.Name, nil
	}
	base := req.Agent
	if base == "" || base == "command" {
		base = "run"
	}
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s-%d", base, n); !taken[name] {
			return name, nil
		}
	}
}

// checkName keeps names short and plain, since they stand on every screen.
func checkName(s string) error {
	if len(s) > 40 {
		return fmt.Errorf("the name %q has %d bytes, the limit is 40", s, len(s))
	}
	for i, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || i > 0 && strings.ContainsRune("._-", r)
		if !ok {
			return fmt.Errorf("the name %q has %q in it; letters, digits and, after the first, . _ - are allowed", s, r)
		}
	}
	return nil
}

// seedHome makes the session's private home: the usual folders, what the agent
// needs, and toolchain managers' settings. Nothing else of the account's home.
func (h *Host) seedHome(dir string, own *workspace.Owner, p *Prepared, mark string) error {
	give := func(path string) error {
		if own == nil {
			return nil
		}
		return os.Lchown(path, own.UID, own.GID)
	}
	mkdir := func(path string) error {
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return give(path)
	}
	for _, sub := range []string{"", ".config", ".cache", ".local", ".local/bin", ".local/share", ".local/state"} {
		if err := mkdir(filepath.Join(dir, sub)); err != nil {
			return err
		}
	}
	write := func(mode os.FileMode) func(string, []byte) error {
		return func(path string, b []byte) error {
			rel, err := filepath.Rel(dir, filepath.Dir(path))
			if err != nil {
				return err
			}
			at := dir
			for _, part := range strings.Split(rel, "/") {
				at = filepath.Join(at, part)
				if err := mkdir(at); err != nil {
					return err
				}
			}
			if err := atomicfile.Write(path, b, mode); err != nil {
				return err
			}
			return give(path)
		}
	}
	seeds, err := agentSeed(p.Agent, p, mark)
	if err != nil {
		return err
	}
	for rel, f := range seeds {
		if err := write(f.mode)(filepath.Join(dir, rel), []byte(f.text)); err != nil {
			return err
		}
	}
	// Tests that make repositories of their own need an author too.
	if text := gitIdentity(p.Repo.Identity()); text != "" {
		if err := write(0o600)(filepath.Join(dir, ".gitconfig"), []byte(text)); err != nil {
			return err
		}
	}
	return seedFiles(dir, p.Seed, h.Home, write(0o600))
}

// notes are what a person should know of a copy beside what was left out.
func notes(sel *workspace.Selection, leftOut []diffreview.LeftOut, copied *workspace.Copied) []string {
	out := append([]string(nil), sel.Notes...)
	var secrets []string
	for _, l := range leftOut {
		if strings.Contains(l.Reason, "secret") {
			secrets = append(secrets, diffreview.SafeName(l.Path))
		}
	}
	var inside []string
	for _, f := range sel.Files {
		if f.Origin == workspace.Tracked && workspace.LooksSecret(f.Path) {
			inside = append(inside, diffreview.SafeName(f.Path))
		}
	}
	if n := len(inside); n > 0 {
		out = append(out, fmt.Sprintf("inside although it looks like a secret, since git tracks it: %s%s; filesystem.exclude keeps it out", strings.Join(inside[:min(n, 5)], ", "), andMore(n-5)))
	}
	if n := len(secrets); n > 0 {
		out = append(out, fmt.Sprintf("left out, since they look like secrets: %s%s", strings.Join(secrets[:min(n, 5)], ", "), andMore(n-5)))
	}
	if n := len(copied.InHistory); n > 0 {
		var some []string
		for _, l := range copied.InHistory[:min(n, 5)] {
			some = append(some, diffreview.SafeName(l.Path))
		}
		out = append(out, fmt.Sprintf("the git history inside holds excluded or secret-looking files: %s%s; filesystem.history = \"none\" leaves history out", strings.Join(some, ", "), andMore(n-5)))
	}
	return out
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// withDependencies is a policy that brings dependency folders in as well, where it
// names nothing to include. It is another policy, which the session keeps.
func withDependencies(p *policy.Policy) *policy.Policy {
	if p.Filesystem.Include.Word == "auto" || len(p.Filesystem.Include.List) > 0 {
		return p
	}
	with := *p
	with.Filesystem.Include = policy.Choice{Word: "auto"}
	return &with
}

func include(p *policy.Policy) []string {
	if p.Filesystem.Include.Word == "auto" {
		return []string{"auto"}
	}
	return p.Filesystem.Include.List
}

// branchName is a branch as people write it.
func branchName(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// gitIdentity is a git configuration that names an author and nothing else.
func gitIdentity(name, email string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\x00", "", "\r", "")
	text := ""
	if name != "" {
		text += "\tname = \"" + quote.Replace(name) + "\"\n"
	}
	if email != "" {
		text += "\temail = \"" + quote.Replace(email) + "\"\n"
	}
	if text == "" {
		return ""
	}
	return "[user]\n" + text
}
