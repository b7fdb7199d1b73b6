package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/risk"
	"fumehood/internal/atomicfile"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/wire"
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

// Standing counts the applies of a session that could still be undone.
func (h *Host) Standing(d store.Dir) int {
	history, err := apply.History(d.Journal())
	if err != nil {
		return 0 // a damaged journal can't be undone from either
	}
	n := 0
	for _, e := range history {
		if e.Kind == "apply" && e.State == "done" && e.UndoneBy == "" && len(e.Files) > 0 {
			n++
		}
	}
	return n
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
	var paths []string
	for i, u := range units {
		ids[i] = u.ID
		if p := diffreview.SafeName(u.Path); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	word := string(v)
	if v == diffreview.Undecided {
		word = "back to undecided"
	}
	return d.AppendEvent(time.Now(), "decided", word+": "+strings.Join(paths[:min(len(paths), 10)], ", ")+andMore(len(paths)-10), map[string]any{"by": h.User, "tty": h.TTY, "units": ids})
}

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
			f := &set.Files[i]
			if f.Status == diffreview.Deleted && slices.Contains(rec.Untracked, f.Path) {
				f.Findings = append(f.Findings, diffreview.Finding{
					Rule: onlyCopyDeleted, Severity: diffreview.Warn,
					Why: "git on this machine does not hold this file: once it is deleted only fumehood's undo brings it back",
				})
			}
			if hidden[f.Path] {
				f.Findings = append(f.Findings, diffreview.Finding{
					Rule: hiddenByRule, Severity: diffreview.Warn,
					Why: "ignore rules that this change set adds would hide this file from git on this machine",
				})
			}
		}
		return nil
	}
}

// The findings that the rules of package risk can't make: they know neither the
// baseline's ignore rules nor what git holds.
const (
	hiddenByRule    = "hidden-by-new-ignore-rule"
	onlyCopyDeleted = "only-copy-deleted"
)

// MaxContent bounds one file's content in a patch, in bytes: what a snapshot
// reads at most.
const MaxContent = 256 << 20
