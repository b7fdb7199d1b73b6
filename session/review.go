package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/linediff"
	"fumehood/diffreview/risk"
	"fumehood/internal/atomicfile"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
	"fumehood/session/workspace"
)

// Snapshot reads the workspace's changed files into the session's store: a
// live session's supervisor does it with everything inside stopped, else this
// process. Review, decide and apply see only what it read.
func (h *Host) Snapshot(ctx context.Context, d store.Dir) error {
	_, err := ask(ctx, d, wire.Request{Op: wire.OpSnapshot})
	if !errors.Is(err, ErrNotLive) {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	m, err := baseline.Load(baselineDirs(d))
	if err != nil {
		return fmt.Errorf("read the baseline: %w", err)
	}
	_, err = baseline.Take(ctx, baselineDirs(d), m, baseline.Options{})
	return err
}

func baselineDirs(d store.Dir) baseline.Dirs {
	return baseline.Dirs{Workspace: d.Workspace(), Store: d.Store()}
}

// Review is a session's change set with the store that it was read from.
type Review struct {
	Set    *diffreview.ChangeSet
	Snap   *baseline.Snapshot
	Record *store.Record
	Lapsed int // decisions whose bytes are no longer there
}

// Review builds the change set of the newest snapshot, or of a fresh one, with
// its risks and the recorded decisions.
func (h *Host) Review(ctx context.Context, d store.Dir, fresh bool) (*Review, error) {
	r, err := Look(ctx, d)
	if !fresh && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if err := h.Snapshot(ctx, d); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return Look(ctx, d)
}

// Look builds the change set of the newest snapshot and keeps its counts for
// lists. The error is fs.ErrNotExist when no snapshot was taken yet.
func Look(ctx context.Context, d store.Dir) (*Review, error) {
	snap, err := baseline.Open(baselineDirs(d))
	if err != nil {
		return nil, err
	}
	rec, err := d.LoadRecord()
	if err != nil {
		return nil, fmt.Errorf("read the session's record: %v", err)
	}
	base, err := baseline.Load(baselineDirs(d))
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %v", err)
	}
	leftOut, err := d.LoadLeftOut()
	if err != nil {
		return nil, err
	}
	set, err := diffreview.Build(ctx, snap, diffreview.Options{
		Session: rec.ID, Repo: rec.Repo, SnapshotAt: snap.At,
		Ignored: snap.Ignored, LeftOut: append(leftOut, snap.LeftOut...),
		Risk: risks(rec, base, snap),
	})
	if err != nil {
		return nil, fmt.Errorf("change set: %v", err)
	}
	out := &Review{Set: set, Snap: snap, Record: rec}
	dec, err := loadDecisions(d)
	if err != nil {
		return nil, err
	}
	out.Lapsed = dec.Fill(set)
	saveCounts(d, set)
	return out, nil
}

// counts is what a list shows of a session's change set.
type counts struct{ Files, Added, Removed, Undecided int }

func countsPath(d store.Dir) string { return d.Store() + "/counts.json" }

func loadCounts(d store.Dir) (counts, bool) {
	var c counts
	b, err := os.ReadFile(countsPath(d))
	return c, err == nil && json.Unmarshal(b, &c) == nil
}

// saveCounts keeps the counts for lists; they are made again at each review,
// so a failure to keep them loses nothing.
func saveCounts(d store.Dir, set *diffreview.ChangeSet) {
	c := counts{Files: len(set.Files)}
	for i := range set.Files {
		f := &set.Files[i]
		c.Added, c.Removed = c.Added+f.Added, c.Removed+f.Removed
		if f.Decision() == diffreview.Undecided {
			c.Undecided++
		}
	}
	if b, err := json.Marshal(c); err == nil {
		_ = atomicfile.Write(countsPath(d), b, 0o600)
	}
}

// undecided counts the files of a fresh snapshot that nobody decided on, and
// those that are approved but not applied, which a removal would lose as well.
func (h *Host) undecided(ctx context.Context, d store.Dir) (int, error) {
	r, err := h.Review(ctx, d, true)
	if err != nil {
		return 0, err
	}
	applied, err := written(d)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		switch f.Decision() {
		case diffreview.Rejected:
		case diffreview.Approved:
			if w, ok := applied[f.Path]; !ok || w != want(f.New) {
				n++
			}
		default:
			n++
		}
	}
	return n, nil
}

// written is what the applies that still stand left at each path.
func written(d store.Dir) (map[string]diffreview.Entry, error) {
	history, err := apply.History(d.Journal())
	if err != nil {
		return nil, err
	}
	out := map[string]diffreview.Entry{}
	for _, e := range history {
		if e.Kind != "apply" || e.State != "done" || e.UndoneBy != "" {
			continue
		}
		for _, f := range e.Files {
			out[f.Path] = want(f.To)
		}
	}
	return out, nil
}

// want is an entry as apply compares it: content and kind, without the size.
func want(e diffreview.Entry) diffreview.Entry {
	e.Size = 0
	return e
}

// maxDecisions bounds decisions.json, in bytes.
const maxDecisions = 64 << 20

func loadDecisions(d store.Dir) (*diffreview.Decisions, error) {
	f, err := os.Open(d.Decisions())
	if errors.Is(err, fs.ErrNotExist) {
		return &diffreview.Decisions{Version: 1, Units: map[string]diffreview.Decision{}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxDecisions {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", d.Decisions(), fi.Size(), maxDecisions)
	}
	b := make([]byte, fi.Size())
	if _, err := f.ReadAt(b, 0); err != nil && fi.Size() > 0 {
		return nil, err
	}
	dec, err := diffreview.DecodeDecisions(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Decisions(), err)
	}
	return dec, nil
}

// decide changes the recorded decisions under the session's lock.
func (h *Host) decide(d store.Dir, change func(*diffreview.Decisions) error) error {
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	dec, err := loadDecisions(d)
	if err != nil {
		return err
	}
	if err := change(dec); err != nil {
		return err
	}
	b, err := dec.Encode()
	if err != nil {
		return err
	}
	return atomicfile.Write(d.Decisions(), b, 0o600)
}

// verdictBy is a decision by this account, now, on this terminal.
func (h *Host) verdictBy(v diffreview.Verdict, path string) diffreview.Decision {
	return diffreview.Decision{Verdict: v, Path: path, By: h.User, TTY: h.TTY, At: time.Now().UTC()}
}

// Unit is one thing to decide: a hunk's or a file's ID and the path it is of.
type Unit struct{ ID, Path string }

// Decide records one verdict on several units.
func (h *Host) Decide(d store.Dir, units []Unit, v diffreview.Verdict) error {
	err := h.decide(d, func(dec *diffreview.Decisions) error {
		for _, u := range units {
			dec.Set(h.verdictBy(v, u.Path), u.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.ID
	}
	return d.AppendEvent(time.Now(), "decided", string(v), map[string]any{"by": h.User, "tty": h.TTY, "units": ids})
}

// ApplyOptions narrow an apply.
type ApplyOptions struct {
	All           bool     // approve every undecided unit first, but not under an open warn or danger finding
	AcceptRisk    []string // rules whose findings do not hold All back
	Only          func(path string) bool
	DryRun        bool // nothing is written and no decision recorded
	SkipConflicts bool
	Repo          string // re-points a session to where its repository is now
}

// ErrNothing says that there was nothing to write; what wraps it says why.
var ErrNothing = errors.New("nothing was written")

// ErrNothingToUndo says that no apply stands.
var ErrNothingToUndo = errors.New("there is no apply to take back; nothing was written")

// ErrConflict says that the host changed; nothing was written.
var ErrConflict = errors.New("the host's files changed since the copy; nothing was written")

// Apply writes what is approved of a fresh snapshot to the host's work tree,
// all or nothing.
func (h *Host) Apply(ctx context.Context, d store.Dir, o ApplyOptions) (Applied, error) {
	if err := knownRules(o.AcceptRisk); err != nil {
		return Applied{}, err
	}
	r, err := h.Review(ctx, d, o.All)
	if err != nil {
		return Applied{}, err
	}
	out := Applied{Session: r.Record.ID, Applied: []string{}, Conflicts: []PathWhy{}, Skipped: []PathWhy{}}
	if o.All {
		skipped, err := h.approveAll(d, r, o)
		if err != nil {
			return out, err
		}
		out.Skipped = append(out.Skipped, skipped...)
	}
	unlock, err := d.Lock()
	if err != nil {
		return out, err
	}
	defer unlock()
	targets, skipped, err := targetsOf(ctx, r, o.Only)
	if err != nil {
		return out, err
	}
	out.Skipped = append(out.Skipped, without(skipped, out.Skipped)...)
	if len(targets) == 0 {
		return out, fmt.Errorf("nothing is approved; %w", ErrNothing)
	}
	ao, err := h.applyOptions(ctx, d, r, o)
	if err != nil {
		return out, err
	}
	res, err := apply.Apply(ctx, ao, targets)
	if !o.DryRun {
		for _, p := range res.Applied {
			if !slices.Contains(res.Written, p) {
				out.Skipped = append(out.Skipped, PathWhy{p, "the repository has it already"})
			}
		}
		res.Applied = res.Written
	}
	h.fold(&out, res)
	if err != nil {
		return out, err
	}
	if len(res.Conflicts) > 0 && !o.SkipConflicts {
		return out, ErrConflict
	}
	switch {
	case o.DryRun:
		return out, nil
	case res.ID == "" && len(res.Conflicts)+len(res.Skipped) > 0:
		return out, fmt.Errorf("all that is approved and not there yet is in conflict with the host; %w", ErrNothing)
	case res.ID == "":
		return out, fmt.Errorf("the repository has all that is approved already; %w", ErrNothing)
	}
	return out, d.AppendEvent(time.Now(), "applied", countOf(out.Applied), map[string]any{
		"by": h.User, "tty": h.TTY, "apply": res.ID, "paths": out.Applied, "conflicts": out.Conflicts, "skipped": out.Skipped,
		"targets": targets,
	})
}

// knownRules refuses a misspelt rule, which would accept nothing and say so only
// by what is skipped.
func knownRules(names []string) error {
	known := map[string]bool{hiddenByRule: true}
	for _, r := range risk.Rules() {
		known[r.Name] = true
	}
	for _, n := range names {
		if !known[n] {
			return fmt.Errorf("no risk rule is named %q; \"fumehood diff --risks\" shows the names", n)
		}
	}
	return nil
}

// countOf says how many paths there are.
func countOf(paths []string) string {
	if len(paths) == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", len(paths))
}

// without gives the entries of more whose path was not said before: why --all
// left a file undecided says more than that it is undecided.
func without(more, said []PathWhy) []PathWhy {
	var out []PathWhy
	for _, m := range more {
		if !slices.ContainsFunc(said, func(s PathWhy) bool { return s.Path == m.Path }) {
			out = append(out, m)
		}
	}
	return out
}

func (h *Host) fold(out *Applied, res apply.Result) {
	out.Applied = append(out.Applied, res.Applied...)
	for _, c := range res.Conflicts {
		out.Conflicts = append(out.Conflicts, PathWhy{c.Path, c.Why})
	}
	for _, c := range append(res.Skipped, res.Notes...) {
		out.Skipped = append(out.Skipped, PathWhy{c.Path, c.Why})
	}
}

// approveAll decides what --all decides, on the change set and, unless it is a
// dry run, in the record.
func (h *Host) approveAll(d store.Dir, r *Review, o ApplyOptions) ([]PathWhy, error) {
	var skipped []PathWhy
	mark := func(dec *diffreview.Decisions) error {
		for _, s := range dec.ApproveAll(r.Set, o.AcceptRisk, o.Only, h.verdictBy(diffreview.Approved, "")) {
			skipped = append(skipped, PathWhy{s.Path, s.Why})
		}
		dec.Fill(r.Set)
		return nil
	}
	if o.DryRun {
		dec, err := loadDecisions(d)
		if err != nil {
			return nil, err
		}
		return skipped, mark(dec)
	}
	if err := h.decide(d, mark); err != nil {
		return nil, err
	}
	saveCounts(d, r.Set)
	return skipped, d.AppendEvent(time.Now(), "decided", "approved all but what is risky", map[string]any{
		"by": h.User, "tty": h.TTY, "accept_risk": o.AcceptRisk, "skipped": skipped,
	})
}

// targetsOf turns the approved part of a change set into what apply writes.
func targetsOf(ctx context.Context, r *Review, only func(string) bool) ([]apply.Target, []PathWhy, error) {
	var out []apply.Target
	var skipped []PathWhy
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		if only != nil && !only(f.Path) {
			continue
		}
		switch f.Decision() {
		case diffreview.Undecided:
			if !partly(f) {
				skipped = append(skipped, PathWhy{f.Path, "undecided"})
				continue
			}
		case diffreview.Approved:
		case diffreview.Rejected:
			if !partly(f) {
				skipped = append(skipped, PathWhy{f.Path, "rejected"})
				continue
			}
		}
		var base []byte
		if f.Old.Kind == diffreview.KindFile && len(f.Hunks) > 0 {
			b, err := r.Snap.Content(f.Old.Blob, linediff.MaxBytes)
			if err != nil {
				return nil, nil, fmt.Errorf("baseline of %s: %w", diffreview.SafeName(f.Path), err)
			}
			base = b
		}
		e, content, changed, err := diffreview.Result(f, base)
		if err != nil {
			return nil, nil, fmt.Errorf("approved part of %s: %w", diffreview.SafeName(f.Path), err)
		}
		if !changed {
			continue
		}
		if e.Kind == diffreview.KindFile && e.Blob == "" {
			if e.Blob, err = r.Snap.PutBlob(content); err != nil {
				return nil, nil, err
			}
			e.Size = int64(len(content))
		}
		out = append(out, apply.Target{Path: f.Path, Base: f.Old, Want: e, Units: f.UnitIDs()})
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	return out, skipped, nil
}

// partly tells whether any unit of the file is approved.
func partly(f *diffreview.File) bool {
	if f.Whole != "" && f.WholeDecision == diffreview.Approved {
		return true
	}
	for i := range f.Hunks {
		if f.Hunks[i].Decision == diffreview.Approved {
			return true
		}
	}
	return false
}

func (h *Host) applyOptions(ctx context.Context, d store.Dir, r *Review, o ApplyOptions) (apply.Options, error) {
	rec := r.Record
	root := apply.Root{Path: rec.Repo, Dev: rec.RepoDev, Ino: rec.RepoIno, GitDir: rec.GitDir, GitDev: rec.GitDev, GitIno: rec.GitIno}
	if o.Repo != "" {
		repo, err := workspace.Inspect(ctx, o.Repo, h.Home)
		if err != nil {
			return apply.Options{}, err
		}
		root = apply.Root{Path: repo.Root, Dev: repo.RootDev, Ino: repo.RootIno, GitDir: repo.GitDir, GitDev: repo.GitDev, GitIno: repo.GitIno}
	}
	return apply.Options{
		Root: root, Store: r.Snap, Journal: d.Journal(), DryRun: o.DryRun, SkipConflicts: o.SkipConflicts,
		Now: time.Now, Who: h.User, TTY: h.TTY,
	}, nil
}

// Undo takes the newest apply back, if the files are still as it left them.
func (h *Host) Undo(ctx context.Context, d store.Dir, repo string) (Applied, error) {
	r, err := h.Review(ctx, d, false)
	if err != nil {
		return Applied{}, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return Applied{}, err
	}
	defer unlock()
	out := Applied{Session: r.Record.ID, Applied: []string{}, Conflicts: []PathWhy{}, Skipped: []PathWhy{}}
	ao, err := h.applyOptions(ctx, d, r, ApplyOptions{Repo: repo})
	if err != nil {
		return out, err
	}
	res, err := apply.Undo(ctx, ao)
	if errors.Is(err, apply.ErrNothing) {
		return out, ErrNothingToUndo
	}
	h.fold(&out, res)
	if err != nil {
		return out, err
	}
	if len(res.Conflicts) > 0 {
		return out, ErrConflict
	}
	return out, d.AppendEvent(time.Now(), "undone", countOf(out.Applied), map[string]any{
		"by": h.User, "tty": h.TTY, "apply": res.ID, "paths": out.Applied,
	})
}

// hiddenByRule names the finding that the rules of package risk can't make.
const hiddenByRule = "hidden-by-new-ignore-rule"

// risks runs the risk rules, and flags what was added under ignore rules that
// the agent wrote itself: git on the host would not list it.
func risks(rec *store.Record, base *baseline.Manifest, snap *baseline.Snapshot) func(*diffreview.ChangeSet, func(diffreview.Blob) ([]byte, error)) error {
	env := risk.Env{Links: map[string]string{}, HooksPath: rec.HooksPath}
	for i := range base.Entries {
		e := &base.Entries[i]
		env.Paths = append(env.Paths, e.Path)
		if e.Kind == diffreview.KindSymlink {
			env.Links[e.Path] = e.Target
		}
	}
	hidden := map[string]bool{}
	for _, p := range snap.NewlyIgnored {
		hidden[p] = true
	}
	return func(set *diffreview.ChangeSet, content func(diffreview.Blob) ([]byte, error)) error {
		if err := risk.Run(set, content, env); err != nil {
			return err
		}
		for i := range set.Files {
			if f := &set.Files[i]; hidden[f.Path] {
				f.Findings = append(f.Findings, diffreview.Finding{
					Rule: hiddenByRule, Severity: diffreview.Warn,
					Why: "ignore rules that this change set adds would hide this file from git on this machine",
				})
			}
		}
		return nil
	}
}

// MaxContent bounds one file's content in a patch, in bytes: what a snapshot
// reads at most.
const MaxContent = 256 << 20
