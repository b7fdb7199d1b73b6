package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"fumehood/diffreview"
)

const (
	// journalVersion is what is written. Version 1 knew no merges.
	journalVersion = 2
	maxLine        = 1 << 20 // bytes of one record
)

// raw is a name as the kernel has it. In JSON one that is not UTF-8 is kept
// exactly, as {"b64": "..."}.
type raw string

func (r raw) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(r)) {
		return json.Marshal(string(r))
	}
	return json.Marshal(map[string]string{"b64": base64.StdEncoding.EncodeToString([]byte(r))})
}

func (r *raw) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*r = raw(s)
		return nil
	}
	var o struct {
		B64 []byte `json:"b64"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return fmt.Errorf("a name is neither text nor base64: %w", err)
	}
	*r = raw(o.B64)
	return nil
}

// What a record says, in the order in which one journal holds them.
const (
	recBegin      = "begin"       // who, when, where; folders; how many moves follow
	recMove       = "move"        // one path
	recCommit     = "commit"      // all new content is staged: the tree is changed from here on
	recMoved      = "moved"       // every move was made and its displaced file was the expected one
	recDone       = "done"        // and the displaced files are removed
	recRolledBack = "rolled back" // or: the tree is as it was before
)

// record is one line of a journal.
type record struct {
	Version int    `json:"version"`
	Record  string `json:"record"`
	Prev    string `json:"prev"` // hash of the line before: damage shows

	Begin *beginRec `json:"begin,omitempty"`
	Move  *moveRec  `json:"move,omitempty"`
	Left  []PathWhy `json:"left,omitempty"` // what a rollback found changed and left alone
	Why   string    `json:"why,omitempty"`  // of a rollback
}

type beginRec struct {
	ID     string    `json:"id"`
	Kind   string    `json:"kind"` // "apply" or "undo"
	Undoes string    `json:"undoes,omitempty"`
	Root   Root      `json:"root"`
	Who    string    `json:"who"`
	TTY    string    `json:"tty"`
	At     time.Time `json:"at"`
	Moves  int       `json:"moves"`
	Rmdirs []dirMove `json:"rmdirs,omitempty"`
	Mkdirs []dirMove `json:"mkdirs,omitempty"`
}

type moveRec struct {
	Path  raw      `json:"path"`
	Base  entryRec `json:"base"`
	From  state    `json:"from"`
	To    state    `json:"to"`
	Temp  raw      `json:"temp"`
	Units []string `json:"units,omitempty"` // of the decisions behind it
	// Merged: To (of an undo, From) is no content that was approved: it holds the
	// host's own changes too. Approved is what was, of an apply.
	Merged   bool      `json:"merged,omitempty"`
	Approved *entryRec `json:"approved,omitempty"`
}

func (r moveRec) move() move {
	m := move{Path: string(r.Path), Base: r.Base.entry(), From: r.From, To: r.To, Temp: string(r.Temp), note: note{units: r.Units, merged: r.Merged}}
	if r.Approved != nil {
		m.approved = r.Approved.entry()
	}
	return m
}

func moveRecOf(m move) *moveRec {
	r := &moveRec{Path: raw(m.Path), Base: recOf(m.Base), From: m.From, To: m.To, Temp: raw(m.Temp), Units: m.units, Merged: m.merged}
	if m.merged && m.approved.Kind != diffreview.KindAbsent {
		a := recOf(m.approved)
		r.Approved = &a
	}
	return r
}

// entryRec is a change set's entry with its target kept exactly.
type entryRec struct {
	Kind   diffreview.Kind `json:"kind"`
	Exec   bool            `json:"exec,omitempty"`
	Blob   diffreview.Blob `json:"blob,omitempty"`
	Size   int64           `json:"size,omitempty"`
	Target raw             `json:"target,omitempty"`
}

func (e entryRec) entry() diffreview.Entry {
	return diffreview.Entry{Kind: e.Kind, Exec: e.Exec, Blob: e.Blob, Size: e.Size, Target: string(e.Target)}
}

func recOf(e diffreview.Entry) entryRec {
	return entryRec{Kind: e.Kind, Exec: e.Exec, Blob: e.Blob, Size: e.Size, Target: raw(e.Target)}
}

// txn is one journal: an apply or an undo, how far it came, what it did.
type txn struct {
	beginRec
	moves []move
	state string // the newest record's name: recBegin while moves are missing or not committed
	left  []PathWhy
	why   string
	prev  string // hash of the last line
	size  int64  // bytes of whole lines; what follows is a torn one
}

// parse reads a journal's bytes. A torn last line counts as not written; a
// journal without a whole beginning gives nil: nothing was done on its behalf.
// Anything else that does not fit is damage, and an error.
func parse(data []byte) (*txn, error) {
	t := &txn{}
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		var r record
		err := decode(line, &r)
		if !whole || (err != nil && len(rest) == 0 && !json.Valid(line)) {
			break
		}
		if err == nil {
			err = t.add(r)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		t.prev = lineHash(line)
		t.size += int64(len(line)) + 1
		data = rest
	}
	if t.state == "" || (t.state == recBegin && len(t.moves) < t.Moves) {
		return nil, nil
	}
	return t, nil
}

func decode(line []byte, r *record) error {
	if len(line) > maxLine {
		return fmt.Errorf("a record is longer than %d bytes", maxLine)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(r)
}

// add takes the next record in, in the one order that is allowed.
func (t *txn) add(r record) error {
	if r.Version < 1 || r.Version > journalVersion {
		return fmt.Errorf("version %d, this build reads 1 to %d", r.Version, journalVersion)
	}
	if r.Prev != t.prev {
		return errors.New("the line before it is not the one that was written")
	}
	after := map[string][]string{
		recBegin: {""}, recMove: {recBegin}, recCommit: {recBegin}, recMoved: {recCommit}, recDone: {recMoved},
		recRolledBack: {recBegin, recCommit},
	}
	from, known := after[r.Record]
	if !known {
		return fmt.Errorf("unknown record %q", r.Record)
	}
	for _, s := range from {
		if s == t.state {
			return t.take(r)
		}
	}
	return fmt.Errorf("record %q after %q", r.Record, t.state)
}

func (t *txn) take(r record) error {
	switch r.Record {
	case recBegin:
		if r.Begin == nil {
			return errors.New("an empty beginning")
		}
		t.beginRec = *r.Begin
		for _, list := range [][]dirMove{t.Rmdirs, t.Mkdirs} {
			for i := range list {
				list[i].Path = string(list[i].Raw)
				if err := checkPath(list[i].Path); err != nil {
					return fmt.Errorf("folder %q: %w", list[i].Path, err)
				}
			}
		}
	case recMove:
		if r.Move == nil {
			return errors.New("an empty move")
		}
		if len(t.moves) == t.Moves {
			return fmt.Errorf("more than the %d moves announced", t.Moves)
		}
		m := r.Move.move()
		if err := m.valid(); err != nil {
			return err
		}
		t.moves = append(t.moves, m)
		return nil
	case recCommit:
		if len(t.moves) != t.Moves {
			return fmt.Errorf("%d moves, announced were %d", len(t.moves), t.Moves)
		}
	case recRolledBack, recDone:
		t.left, t.why = r.Left, r.Why
	}
	t.state = r.Record
	return nil
}

// valid: a journal is the account's own file, yet replaying it writes to the
// repository, so it gets the same checks as a target.
func (m move) valid() error {
	if err := checkPath(m.Path); err != nil {
		return fmt.Errorf("%q: %w", m.Path, err)
	}
	if dir := parentOf(m.Temp); dir != "" {
		if err := checkPath(dir); err != nil {
			return fmt.Errorf("temporary name %q: %w", m.Temp, err)
		}
	}
	if !isTemp(baseOf(m.Temp)) {
		return fmt.Errorf("%q is no temporary name of apply", m.Temp)
	}
	for _, e := range []diffreview.Entry{m.From.entry(), m.To.entry(), m.approved} {
		if err := checkEntry(e); err != nil {
			return fmt.Errorf("%q: %w", m.Path, err)
		}
	}
	return nil
}

func lineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:8])
}
