package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/session/agent"
	"fumehood/session/store"
	"fumehood/session/wire"
	"fumehood/session/workspace"
)

// RepositoryAround gives the root of the repository around dir, or dir itself
// when it is in none.
func RepositoryAround(ctx context.Context, dir, home string) (string, error) {
	r, err := workspace.Inspect(ctx, dir, home)
	if err != nil {
		return "", err
	}
	return r.Root, nil
}

// Agents lists what can run by name.
func Agents() []string { return agent.Names() }

// AgentCommand gives the command of a named agent.
func AgentCommand(name string) ([]string, error) {
	p, err := agent.Find(name, isolate.HomeInside)
	return p.Command, err
}

// Sessions lists the sessions of repo, of every repository when it is "".
func (h *Host) Sessions(repo string) ([]Summary, error) { return h.list(repo) }

// DetailOf gives one session in full; a live one's supervisor is asked.
func (h *Host) DetailOf(ctx context.Context, d store.Dir) (Detail, error) {
	rec, err := d.LoadRecord()
	if err != nil {
		return Detail{}, err
	}
	det := Detail{Summary: h.summary(d, rec), Files: rec.Files, Bytes: rec.Bytes, PolicyID: rec.PolicyHash, Notes: rec.Notes}
	if det.LeftOut, err = d.LoadLeftOut(); err != nil {
		return det, err
	}
	src, err := readPrivate(d.Policy())
	if err != nil {
		return det, err
	}
	pol, err := policy.Parse(d.Policy(), src)
	if err != nil {
		return det, err
	}
	pol.Name = rec.PolicyName
	det.Block = policy.Block(pol, time.Now())
	det.Limits = limitLines(pol)
	r, err := ask(ctx, d, wire.Request{Op: wire.OpStatus})
	switch {
	case err == nil && r.Status != nil:
		det.State, det.Layers, det.Usage, det.LastLine = r.Status.State, r.Status.Layers, r.Status.Usage, r.Status.LastLine
	case err != nil && !errors.Is(err, ErrNotLive):
		return det, err
	}
	events, broken, err := d.ReadEvents()
	if err != nil {
		return det, err
	}
	for _, e := range events[max(0, len(events)-20):] {
		det.Events = append(det.Events, e.Time.Local().Format("15:04:05")+" "+e.Kind+" "+e.Text)
	}
	if broken > 0 {
		det.Events = append(det.Events, fmt.Sprintf("the event log is damaged at line %d", broken))
	}
	return det, nil
}

// limitLines says of each limit how it is enforced, and of those that the
// policy sets to none, that they are.
func limitLines(p *policy.Policy) []LimitLine {
	l := p.Limits
	dur := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return policy.FormatDuration(d)
	}
	procs := "none"
	if l.Processes > 0 {
		procs = fmt.Sprint(l.Processes)
	}
	mem := "none"
	if l.Memory > 0 {
		mem = sizeText(l.Memory)
	}
	return []LimitLine{
		{"processes", procs, "enforced by the kernel"},
		{"memory", mem, "each process by the kernel; the sum sampled every 250 ms at work, 2 s at rest, and can overshoot"},
		{"run_time", dur(l.RunTime), "one captured command; enforced by the supervisor's clock"},
		{"session_time", dur(l.SessionTime), "enforced by the supervisor's clock"},
		{"idle", dur(p.Lifecycle.Idle), "enforced by the supervisor's clock"},
		{"output", sizeText(l.OutputBytes), "stored log: head kept, tail in a ring"},
		{"disk", "not in force", "the workspace and home can fill this file system"},
		{"cpus", "not in force", "every processor can be used"},
	}
}

// sizeText is a size for people: exact when it is whole, else rounded.
func sizeText(b policy.Bytes) string {
	const gib = 1 << 30
	if b > gib && b%gib != 0 {
		return fmt.Sprintf("%.1fGiB", float64(b)/gib)
	}
	return b.String()
}

// Preview says what a new session would bring in and be able to do.
func (h *Host) Preview(ctx context.Context, req Request) (Preview, error) {
	p, err := h.Prepare(ctx, req)
	if err != nil {
		return Preview{Repo: req.Repo, Err: err.Error()}, nil //nolint:nilerr // the page shows why a start would be refused
	}
	out := Preview{
		Repo: p.Repo.Root, Branch: branchName(p.Repo.Branch), Git: p.Repo.Git,
		Dirty: p.Selection.Dirty, Files: len(p.Selection.Files), Untracked: p.Selection.Untracked, Bytes: p.Selection.Bytes, LeftOut: p.Selection.LeftOut,
		Write: []string{"the copy, its own home and /tmp; nothing of yours"},
		Reach: []string{"no network: only loopback of its own"},
		Block: policy.Block(p.Policy, time.Now()),
	}
	for _, m := range p.ReadOnly {
		out.Use = append(out.Use, "reads "+m.Host)
	}
	for _, l := range limitLines(p.Policy) {
		if l.Value != "none" && l.Value != "not in force" {
			out.Use = append(out.Use, l.Name+" "+l.Value)
		}
	}
	out.Warnings = h.warnings(p)
	return out, nil
}

// warnings are what a person should know before a start.
func (h *Host) warnings(p *Prepared) []string {
	out := append([]string(nil), p.Selection.Notes...)
	for _, r := range p.Refused {
		out = append(out, fmt.Sprintf("on PATH but not inside: %s (%s)", r.Path, r.Why))
	}
	for _, o := range p.Offered {
		out = append(out, fmt.Sprintf("on PATH but not inside: %s (filesystem.toolchains can name it)", o))
	}
	if !p.Repo.Git {
		out = append(out, "this folder is no git repository: everything in it but secret-looking files goes in")
	}
	if groups, err := os.Getgroups(); err == nil && h.UID != 0 {
		extra := 0
		for _, g := range groups {
			if g != h.GID {
				extra++
			}
		}
		if extra > 0 {
			out = append(out, fmt.Sprintf("your %d supplementary groups can't be dropped by an ordinary account; no rule depends on them", extra))
		}
	}
	if note := policy.RepositoryNote(exists(filepath.Join(p.Repo.Root, ".fumehood", "policy.toml"))); note != "" {
		out = append(out, note)
	}
	out = append(out, "disk and cpu are not bounded yet: only processes, memory, time and output are")
	return out
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Prune removes the ended sessions of repo ("" is every repository) that hold
// nothing undecided, and what a cut-short start left behind.
func (h *Host) Prune(ctx context.Context, repo string, force bool) (removed []string, kept []PathWhy, err error) {
	list, err := h.list(repo)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range list {
		if s.Live {
			kept = append(kept, PathWhy{s.ID, "it is running"})
			continue
		}
		if n := h.Standing(h.Root.Dir(s.ID)); n > 0 && !force {
			kept = append(kept, PathWhy{s.ID, "an apply of it can still be undone; \"fumehood rm\" ends that"})
			continue
		}
		if err := h.Remove(ctx, h.Root.Dir(s.ID), force); err != nil {
			kept = append(kept, PathWhy{s.ID, err.Error()})
			continue
		}
		removed = append(removed, s.ID)
	}
	half, err := h.Root.Unfinished()
	if err != nil {
		return removed, kept, err
	}
	for _, d := range half {
		if err := workspace.Remove(string(d)); err != nil {
			kept = append(kept, PathWhy{d.ID(), err.Error()})
			continue
		}
		removed = append(removed, d.ID()+" (unfinished)")
	}
	return removed, kept, nil
}

// maxPolicy bounds what is read of a frozen policy, in bytes.
const maxPolicy = 1 << 20

func readPrivate(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > maxPolicy {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", path, len(b), maxPolicy)
	}
	return b, err
}
