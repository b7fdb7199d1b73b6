package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

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
//
// ignored are pathspecs of changes under ignored paths to bring in as well.
func (h *Host) Snapshot(ctx context.Context, d store.Dir, ignored ...string) error {
	o, err := SnapshotOptions(ignored)
	if err != nil {
		return err
	}
	_, err = ask(ctx, d, wire.Request{Op: wire.OpSnapshot, Ignored: ignored})
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
	_, err = baseline.Take(ctx, baselineDirs(d), m, o)
	return err
}

// SnapshotOptions are those of a snapshot that brings in ignored paths.
func SnapshotOptions(ignored []string) (baseline.Options, error) {
	if len(ignored) == 0 {
		return baseline.Options{}, nil
	}
	fits, err := Pathspec(ignored)
	return baseline.Options{Ignored: fits, Asked: ignored}, err
}

func baselineDirs(d store.Dir) baseline.Dirs {
	return baseline.Dirs{Workspace: d.Workspace(), Store: d.Store()}
}

// Review is a session's change set with the store that it was read from.
type Review struct {
	Set    *diffreview.ChangeSet
	Snap   *baseline.Snapshot
	Record *store.Record
	Lapsed int // files with a decision whose bytes are no longer there
	// Decisions are the recorded ones, which the set's marks come of.
	Decisions *diffreview.Decisions
	// Facts are what the set was judged with.
	Facts *Facts
}

// Review builds the change set of the newest snapshot, or of a fresh one, with
// its risks and the recorded decisions. ignored are pathspecs of ignored paths
// that belong to it; a snapshot without one of them does not do.
func (h *Host) Review(ctx context.Context, d store.Dir, fresh bool, ignored ...string) (*Review, error) {
	if !fresh {
		r, err := Look(ctx, d)
		if err == nil && !asked(r.Snap, ignored) || errors.Is(err, fs.ErrNotExist) {
			fresh = true
		} else {
			return r, err
		}
	}
	if err := h.Snapshot(ctx, d, ignored...); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return Look(ctx, d)
}

func asked(s *baseline.Snapshot, ignored []string) bool {
	return !slices.ContainsFunc(ignored, func(p string) bool { return !slices.Contains(s.Asked, p) })
}

// Look builds the change set of the newest snapshot and keeps its counts for
// lists. The error is fs.ErrNotExist when no snapshot was taken yet.
func Look(ctx context.Context, d store.Dir) (*Review, error) {
	opened := roomToOpen(baseline.ListSize(baselineDirs(d)))
	defer opened()
	// Neither needs the other, and each takes as long as reading a thousand files.
	var base *baseline.Manifest
	var noBase error
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(risk.Prepare)
	wg.Go(func() { base, noBase = baseline.Load(baselineDirs(d)) })
	snap, err := baseline.Open(baselineDirs(d))
	if err != nil {
		return nil, err
	}
	rec, err := d.LoadRecord()
	if err != nil {
		return nil, fmt.Errorf("read the session's record: %v", err)
	}
	wg.Wait()
	if noBase != nil {
		return nil, fmt.Errorf("read the baseline: %v", noBase)
	}
	leftOut, err := d.LoadLeftOut()
	if err != nil {
		return nil, err
	}
	o := diffreview.Options{
		Session: rec.ID, Repo: rec.Repo, SnapshotAt: snap.At,
		Ignored: snap.Ignored, LeftOut: append(leftOut, snap.LeftOut...),
	}
	facts := FactsOf(rec, base, snap)
	facts.Rules(&o)
	defer roomFor(snap)()
	opened()
	set, err := diffreview.Build(ctx, snap, o)
	if err != nil {
		return nil, fmt.Errorf("change set: %v", err)
	}
	out := &Review{Set: set, Snap: snap, Record: rec, Facts: facts}
	dec, err := loadDecisions(d)
	if err != nil {
		return nil, err
	}
	out.Decisions, out.Lapsed = dec, dec.Fill(set)
	if err := set.JudgeEdits(out.Content, facts.Find); err != nil {
		return nil, fmt.Errorf("look for risks in reviewers' own texts: %v", err)
	}
	if err := markApplied(d, set); err != nil {
		return nil, err
	}
	set.MarkNew(before(d, snap.At))
	markTried(d, set)
	saveCounts(d, set)
	return out, nil
}

// Content reads a blob of either side, or a reviewer's own text, whole.
func (r *Review) Content(b diffreview.Blob) ([]byte, error) { return r.Snap.Content(b, MaxContent) }

// Counts is what a list shows of a session's change set.
type Counts struct{ Files, Added, Removed, Undecided int }

// CountsOf counts a change set.
func CountsOf(set *diffreview.ChangeSet) Counts {
	c := Counts{Files: len(set.Files)}
	for i := range set.Files {
		f := &set.Files[i]
		c.Added, c.Removed = c.Added+f.Added, c.Removed+f.Removed
		if f.Decision() == diffreview.Undecided {
			c.Undecided++
		}
	}
	return c
}

func countsPath(d store.Dir) string { return d.Store() + "/counts.json" }

func loadCounts(d store.Dir) (Counts, bool) {
	var c Counts
	b, err := os.ReadFile(countsPath(d))
	return c, err == nil && json.Unmarshal(b, &c) == nil
}

// saveCounts keeps the counts for lists; they are made again at each review,
// so a failure to keep them loses nothing.
func saveCounts(d store.Dir, set *diffreview.ChangeSet) {
	if b, err := json.Marshal(CountsOf(set)); err == nil {
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
	n := 0
	for i := range r.Set.Files {
		open := false
		r.Set.Files[i].Each(func(_ string, m *diffreview.Mark, _ *diffreview.Hunk) {
			switch m.Decision {
			case diffreview.Rejected:
			case diffreview.Undecided:
				open = true
			case diffreview.Approved, diffreview.Mixed:
				open = open || !m.Applied
			}
		})
		if open {
			n++
		}
	}
	return n, nil
}

// Undoable counts the applies of a session that could still be undone.
func (h *Host) Undoable(d store.Dir) int {
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

// The findings that the rules of package risk can't make: they know neither the
// baseline's ignore rules nor what git holds.
const (
	hiddenByRule    = "hidden-by-new-ignore-rule"
	onlyCopyDeleted = "only-copy-deleted"
)

// MaxContent bounds one file's content in a patch, in bytes: what a snapshot
// reads at most.
const MaxContent = 256 << 20
