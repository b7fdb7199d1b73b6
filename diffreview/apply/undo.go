package apply

import (
	"context"
	"errors"
	"time"

	"fumehood/diffreview"
)

// Undo takes back the newest apply that is not undone yet: bytes, modes and
// times as it found them. It works only while every file is as that apply left
// it; otherwise Conflicts names the others and nothing is written. It can be
// repeated for the apply before. ErrNothing says that there is none.
func Undo(ctx context.Context, o Options) (Result, error) {
	if o.SkipConflicts {
		return Result{}, errors.New("undo takes all or nothing: it can't skip conflicts")
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
	t := b.journal.undoable()
	if t == nil {
		return Result{Recovered: rec}, ErrNothing
	}
	if t.Root.Dev != o.Root.Dev || t.Root.Ino != o.Root.Ino {
		return Result{Recovered: rec}, &MovedError{Path: o.Root.Path, Why: "it is another folder than the one that was written to"}
	}
	gs, rules := t.backwards()
	res, err := b.carryOut(ctx, gs, rules, beginRec{Kind: "undo", Undoes: t.ID}, b.journal.blobs)
	res.Recovered = rec
	return res, err
}

// undoable gives the newest apply that was done and not undone.
func (j *journal) undoable() *txn {
	by := j.undone()
	for i := len(j.txns) - 1; i >= 0; i-- {
		if t := j.txns[i]; t.Kind == "apply" && t.state == recDone && by[t.ID] == "" {
			return t
		}
	}
	return nil
}

// undone gives the undo of each apply that has one.
func (j *journal) undone() map[string]string {
	by := map[string]string{}
	for _, t := range j.txns {
		if t.Kind == "undo" && t.state == recDone {
			by[t.Undoes] = t.ID
		}
	}
	return by
}

// backwards turns what an apply did into the goals of its undo.
func (t *txn) backwards() ([]goal, dirRules) {
	gs := make([]goal, 0, len(t.moves))
	for _, m := range t.moves {
		left := m.To.entry()
		gs = append(gs, goal{
			path: m.Path, base: left, ok: []diffreview.Entry{left}, want: m.From.entry(),
			undo: &undoOf{left: m.To, orig: m.From}, note: note{units: m.units, merged: m.merged},
		})
	}
	rules := dirRules{only: map[string]bool{}, modes: map[string]dirMove{}}
	for _, d := range t.Mkdirs {
		rules.only[d.Path] = true
	}
	for _, d := range t.Rmdirs {
		rules.modes[d.Path] = d
	}
	return gs, rules
}

// Entry is one apply or undo in a session's history.
type Entry struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // "apply" or "undo"
	At       time.Time `json:"at"`
	Who      string    `json:"who"`
	TTY      string    `json:"tty"`
	State    string    `json:"state"` // "done", "rolled back" or "interrupted"
	Why      string    `json:"why,omitempty"`
	Undoes   string    `json:"undoes,omitempty"`
	UndoneBy string    `json:"undone_by,omitempty"`
	Files    []Written `json:"files"`
	Left     []PathWhy `json:"left,omitempty"`
}

// Written is one path of an apply or undo: what it found and what it wrote.
type Written struct {
	Path  string           `json:"path"`
	Base  diffreview.Entry `json:"base"`
	From  diffreview.Entry `json:"from"`
	To    diffreview.Entry `json:"to"`
	Units []string         `json:"units,omitempty"`
	// Merged: To joins Approved with the host's own changes.
	Merged   bool             `json:"merged,omitempty"`
	Approved diffreview.Entry `json:"approved,omitzero"`
}

// History lists the applies and undos of a journal folder, the oldest first.
// It reads only, and needs no repository.
func History(journalDir string) ([]Entry, error) {
	j, err := readJournals(journalDir)
	if err != nil {
		return nil, err
	}
	by := j.undone()
	out := make([]Entry, 0, len(j.txns))
	for _, t := range j.txns {
		e := Entry{
			ID: t.ID, Kind: t.Kind, At: t.At, Who: t.Who, TTY: t.TTY, State: t.state, Why: t.why,
			Undoes: t.Undoes, UndoneBy: by[t.ID], Left: t.left,
		}
		if t.state != recDone && t.state != recRolledBack {
			e.State = "interrupted"
		}
		for _, m := range t.moves {
			e.Files = append(e.Files, Written{Path: m.Path, Base: m.Base, From: m.From.entry(), To: m.To.entry(), Units: m.units, Merged: m.merged, Approved: m.approved})
		}
		out = append(out, e)
	}
	return out, nil
}
