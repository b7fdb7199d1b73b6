package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fumehood/diffreview"
)

// Target is one path and the bytes approved for it.
type Target struct {
	Path string // raw bytes, slash-separated, relative to the root, clean
	// Base is the path's entry in the baseline; the zero Entry is "absent".
	Base diffreview.Entry
	// Want is what shall stand there. The zero Entry deletes; Blob names bytes
	// in the Store; of the mode only Exec counts.
	Want diffreview.Entry
	// Units are the tags of the decisions behind it, for the record alone.
	Units []string
	// Merged: Want joins what is approved with changes of the host's own. Base is
	// then the host's entry that was read for it, and nothing else counts as
	// unchanged: see Compare. Approved is what was approved, before it was joined.
	Merged   bool
	Approved diffreview.Entry
}

// Root is the repository as it was at copy-in. Apply refuses when the folder at
// Path, or the git folder, has another identity now.
type Root struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
	// GitDir is absolute; empty for a folder that is no git repository.
	GitDir string `json:"git_dir,omitempty"`
	GitDev uint64 `json:"git_dev,omitempty"`
	GitIno uint64 `json:"git_ino,omitempty"`
}

// Store gives content by hash. What it gives is checked against the hash.
type Store interface {
	Open(diffreview.Blob) (io.ReadCloser, error)
}

// Options are what Apply, Undo and Recover work with. Root and Journal are
// mandatory, Store for Apply.
type Options struct {
	Root  Root
	Store Store
	// Journal is a folder of the session's own, outside the repository. It is
	// made when it is not there. It holds the records and what undo needs.
	Journal string
	// Last is what fumehood last wrote at a path, beyond what this journal
	// knows itself. A host file that equals it counts as unchanged.
	Last map[string]diffreview.Entry
	// DryRun compares and plans, and writes nothing.
	DryRun bool
	// SkipConflicts applies the others when some targets are in conflict.
	// Undo refuses it: it takes all or nothing.
	SkipConflicts bool
	Now           func() time.Time // nil: time.Now
	Who, TTY      string           // account and terminal, for the record
	// Fault, when not nil, is called before every step with its name. Tests
	// end the process or change the host there.
	Fault func(step string)
	lacks lacks
}

// lacks is what the file system can't do; tests pretend with it.
type lacks struct {
	nameless, exchange bool
	names              folding
}

// PathWhy is a path and a reason, a clause in lower case.
type PathWhy struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Result is what an apply or undo did. When Conflicts is not empty nothing was
// written and Applied is empty: that is an answer and no error.
type Result struct {
	ID      string   // of the journal entry; empty when nothing had to be written
	Applied []string // sorted; the host has the wanted bytes, written now or there already
	// Written is the part of Applied that was written now, or would be in a dry
	// run.
	Written   []string
	Conflicts []PathWhy
	Skipped   []PathWhy // conflicts left out by SkipConflicts
	Notes     []PathWhy // worth telling, such as a group that could not be kept
	Recovered Recovered // of an earlier interruption, done first
}

// MovedError: the repository is not the one that the session was made of.
type MovedError struct{ Path, Why string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("the repository moved or was replaced: %q: %s", e.Path, e.Why)
}

// BusyError: another apply or undo is at work.
type BusyError struct{ What string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another apply or undo is at work on %s; try again when it has ended", e.What)
}

// InterruptedError: an earlier apply or undo was interrupted, and a dry run
// must not write what would put that right.
type InterruptedError struct{ ID string }

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("apply %s was interrupted; it is taken back by the next apply or undo that may write", e.ID)
}

// ErrNothing: there is no apply to take back.
var ErrNothing = errors.New("there is no apply to undo")

// Apply writes the targets to the repository, all or nothing. A path of the
// host is unchanged when it equals the target's Base, what fumehood last wrote
// there, or what is wanted; any other is a conflict, and then nothing is
// written. An interrupted apply is recovered first. On an error everything was
// put back, as it is when ctx ends; where even that could not be done, the error
// says so and the next call tries again. Only a Result with an ID beside an
// error was written, and lacks the last sync.
func Apply(ctx context.Context, o Options, ts []Target) (Result, error) {
	if err := checkTargets(ts); err != nil {
		return Result{}, err
	}
	b, err := openBench(o)
	if err != nil {
		return Result{}, err
	}
	defer b.close()
	rec, err := b.ready(ctx)
	if err != nil {
		return Result{Recovered: rec}, err
	}
	gs := goals(ts, b.journal.last(), o.Last)
	res, err := b.carryOut(ctx, gs, dirRules{}, beginRec{Kind: "apply"}, o.Store)
	res.Recovered = rec
	return res, err
}

// carryOut compares, decides on conflicts and runs what is left.
func (b *bench) carryOut(ctx context.Context, gs []goal, rules dirRules, begin beginRec, from Store) (Result, error) {
	b.fault("look")
	h, err := b.tree.observe(ctx, gs)
	if err != nil {
		return Result{}, err
	}
	p := check(gs, h, rules)
	if len(p.conflicts) > 0 && !b.SkipConflicts {
		return Result{Conflicts: p.conflicts}, nil
	}
	res := Result{Skipped: p.conflicts}
	moves := p.moves()
	if b.DryRun || len(moves) == 0 {
		res.Applied, res.Written = applied(p.already, moves), applied(nil, moves)
		return res, nil
	}
	for i := range moves {
		moves[i].Temp = join(p.tempDir(moves[i].Path, h), tempStart+randomHex())
	}
	begin.Root, begin.Who, begin.TTY, begin.At = b.Root, b.Who, b.TTY, b.now().UTC()
	begin.Rmdirs, begin.Mkdirs = withRaw(p.rmdirs), withRaw(p.mkdirs)
	t := &txn{beginRec: begin, moves: moves}
	notes, conflicts, err := b.run(ctx, t, from)
	if len(conflicts) > 0 {
		return Result{Conflicts: conflicts}, err
	}
	if err != nil && t.state != recMoved && t.state != recDone {
		return Result{}, err
	}
	res.ID, res.Notes, res.Applied, res.Written = t.ID, append(notes, t.left...), applied(p.already, moves), applied(nil, moves)
	return res, err
}
