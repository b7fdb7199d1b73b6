package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/limits/cgroup"
	"fumehood/isolate/policy"
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

// Sessions lists the sessions of repo, of every repository when it is "".
func (h *Host) Sessions(repo string) ([]Summary, error) { return h.list(repo) }

// ReachOf is what a policy lets through, one sentence each.
func ReachOf(p *policy.Policy) []string {
	var out []string
	for _, a := range p.Network.Allow {
		out = append(out, EntryText(a))
	}
	return out
}

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
	branches, err := d.Branches()
	if err != nil {
		return det, err
	}
	det.Stands = h.Undoable(d) > 0 || slices.ContainsFunc(branches, func(b store.Branch) bool { return b.Undone.IsZero() })
	pol, err := frozen(d, rec)
	if err != nil {
		return det, err
	}
	det.Reach = ReachOf(pol)
	standing, err := h.standingOf(d, pol)
	det.Walls, det.WallsErr = standing, errText(err)
	det.Block = policy.Block(pol, time.Now(), Verified(standing, err, time.Now()))
	r, err := ask(ctx, d, wire.Request{Op: wire.OpStatus})
	switch {
	case err == nil && r.Status != nil:
		det.State, det.Layers, det.Usage, det.LastLine = r.Status.State, r.Status.Layers, r.Status.Usage, r.Status.LastLine
	case err != nil && !errors.Is(err, ErrNotLive):
		return det, err
	}
	det.Limits = limitLines(pol, slices.ContainsFunc(det.Layers, func(f layer.Fact) bool { return f.What == "memory.max" }))
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

// frozen is a session's own policy.
func frozen(d store.Dir, rec *store.Record) (*policy.Policy, error) {
	src, err := readPrivate(d.Policy())
	if err != nil {
		return nil, err
	}
	pol, err := policy.Parse(d.Policy(), src)
	if err != nil {
		return nil, err
	}
	pol.Name = rec.PolicyName
	return pol, nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// useNote tells a limit that the kernel holds from one that is sampled.
func useNote(l LimitLine) string {
	who, _, _ := strings.Cut(l.How, ":")
	if who != string(limits.Sampled) && who != string(limits.Enforced) {
		return ""
	}
	return ", " + who
}

// limitLines says of each limit how it is enforced, and of those that the
// policy sets to none, that they are.
// grouped says that a cgroup of the session's own holds it.
func limitLines(p *policy.Policy, grouped bool) []LimitLine {
	l := p.Limits
	dur := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return policy.FormatDuration(d)
	}
	memory := limits.Memory(int64(l.Memory))
	if grouped {
		memory = limits.InGroup(memory)
	}
	out := []LimitLine{
		lineOf(limits.CPUs(l.CPUs, runtime.NumCPU())),
		lineOf(limits.Processes(l.Processes)),
		lineOf(memory),
		lineOf(limits.DiskLine(int64(l.Disk))),
	}
	return append(out,
		LimitLine{"run_time", dur(l.RunTime), "one captured command; enforced by the supervisor's clock"},
		LimitLine{"session_time", dur(l.SessionTime), "enforced by the supervisor's clock"},
		LimitLine{"idle", dur(p.Lifecycle.Idle), "enforced by the supervisor's clock"},
		LimitLine{"output", sizeText(l.OutputBytes), "stored log: head kept, tail in a ring"},
	)
}

// lineOf says of a limit who enforces it, and what that does not hold.
func lineOf(l limits.Line) LimitLine {
	how := string(l.How)
	switch {
	case l.How == limits.None:
		how = notBounded[l.Name]
	case l.Note != "":
		how += ": " + l.Note
	}
	return LimitLine{l.Name, l.Value, how}
}

// notBounded is what a limit of none means.
var notBounded = map[string]string{
	"cpus":      "every processor can be used",
	"processes": "only the host's own limit holds",
	"memory":    "the session can use all memory",
	"disk":      "the workspace and home can fill this file system",
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
	if p == nil {
		return Preview{Repo: req.Repo, Err: err.Error()}, nil // the page shows why a start would be refused
	}
	var unproven *UnprovenError
	wants := errors.As(err, &unproven) // only a proof
	standing, standErr := h.Standing(p.Policy)
	out := Preview{
		Repo: p.Repo.Root, Branch: branchName(p.Repo.Branch), Git: p.Repo.Git,
		Dirty: p.Selection.Dirty, Files: len(p.Selection.Files), Untracked: p.Selection.Untracked, Bytes: p.Selection.Bytes, LeftOut: p.Selection.LeftOut, Dependencies: p.Selection.Dependencies,
		Write: []string{"the copy, its own home and /tmp; nothing of yours"},
		Reach: reachLines(p.Policy), As: accountLines(p.Policy),
		Block: policy.Block(p.Policy, time.Now(), Verified(standing, standErr, time.Now())),
		Err:   errText(err), Unproven: wants,
		Walls: standing, WallsErr: errText(standErr), Repository: p.Repository,
	}
	for _, m := range p.ReadOnly {
		out.Read = append(out.Read, h.short(m.Host))
	}
	for _, c := range p.Caches {
		out.Caches = append(out.Caches, h.short(c.Real))
	}
	group, err := cgroup.Offer()
	if err != nil {
		out.Warnings = append(out.Warnings, "a start would be refused: "+err.Error())
	}
	for _, l := range limitLines(p.Policy, group.Place != nil || group.Bus != nil) {
		if l.Value != "none" {
			out.Use = append(out.Use, l.Name+" "+l.Value+useNote(l))
		}
	}
	out.Warnings = append(out.Warnings, h.warnings(p)...)
	if req.Dependencies {
		out.Warnings = append(out.Warnings, "with its dependencies brought in it has a policy of its own: what is proven of "+p.Policy.Name+" is not proven of that")
	}
	return out, nil
}

// short is a path as people write it, with ~ for the account's home.
func (h *Host) short(path string) string {
	if rest, ok := strings.CutPrefix(path, h.Home+"/"); ok && h.Home != "" {
		return "~/" + rest
	}
	return path
}

// warnings are what a person should know before a start.
func (h *Host) warnings(p *Prepared) []string {
	out := append([]string(nil), p.Selection.Notes...)
	for _, r := range p.Refused {
		out = append(out, fmt.Sprintf("on PATH but not inside: %s (%s)", r.Path, r.Why))
	}
	for _, o := range p.Offered {
		out = append(out, fmt.Sprintf("on PATH but not inside: %s (filesystem.inputs can name it)", o))
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
	out = append(out, p.Repository.unasked()...)
	if l := p.Policy.Limits; l.Disk == 0 {
		out = append(out, "disk is not bounded: limits.disk is none")
	}
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
		if s.TryOf != "" {
			continue
		}
		if s.Live {
			kept = append(kept, PathWhy{s.ID, "it is running"})
			continue
		}
		if n := h.Undoable(h.Root.Dir(s.ID)); n > 0 && !force {
			kept = append(kept, PathWhy{s.ID, "an apply of it can still be undone; \"fumehood rm\" ends that"})
			continue
		}
		if err := h.Remove(ctx, h.Root.Dir(s.ID), force); err != nil {
			kept = append(kept, PathWhy{s.ID, err.Error()})
			continue
		}
		removed = append(removed, s.ID)
	}
	tries, busy, err := h.sweepTries(ctx, func(rec *store.Record) bool { return repo == "" || rec.Repo == repo })
	for _, id := range tries {
		removed = append(removed, id+" (a try)")
	}
	if kept = append(kept, busy...); err != nil {
		return removed, kept, err
	}
	if place, err := cgroup.Find(); err == nil && place != nil {
		place.Sweep() // of supervisors that were killed
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
