package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	maxJournal  = 512 << 20 // bytes of one journal
	maxJournals = 100_000
)

// journal is the folder that holds one file of records for each apply and
// undo of a session, and the content that undo needs.
type journal struct {
	dir   string
	blobs blobs
	txns  []*txn // the oldest first
	next  int
}

// readJournals reads every journal in a folder. A folder that is not there is
// an empty one.
func readJournals(dir string) (*journal, error) {
	j := &journal{dir: dir, blobs: blobs{filepath.Join(dir, "blobs")}, next: 1}
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	for _, e := range list {
		num, ok := strings.CutSuffix(e.Name(), ".jsonl")
		n, err := strconv.Atoi(num)
		if !ok || err != nil || !e.Type().IsRegular() {
			continue
		}
		if len(j.txns) >= maxJournals {
			return nil, fmt.Errorf("journal %q holds more than %d entries", dir, maxJournals)
		}
		j.next = max(j.next, n+1)
		t, err := readJournal(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue // its beginning was never whole: nothing was done
		}
		if t.ID != num {
			return nil, fmt.Errorf("journal %q says that it is %q", e.Name(), t.ID)
		}
		j.txns = append(j.txns, t)
	}
	slices.SortFunc(j.txns, func(a, b *txn) int { return strings.Compare(a.ID, b.ID) })
	return j, nil
}

func readJournal(path string) (*txn, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err != nil {
		return nil, fmt.Errorf("read journal %q: %w", path, err)
	}
	if len(data) > maxJournal {
		return nil, fmt.Errorf("journal %q is larger than %d bytes", path, maxJournal)
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("journal %q is damaged: %w", path, err)
	}
	return t, nil
}

// writer appends records to one journal.
type writer struct {
	f *os.File
	t *txn
}

// begin writes down what is to be done before anything is.
func (j *journal) begin(t *txn) (*writer, error) {
	t.ID = fmt.Sprintf("%06d", j.next)
	path := filepath.Join(j.dir, t.ID+".jsonl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start journal: %w", err)
	}
	j.next++
	w := &writer{f: f, t: t}
	t.Moves = len(t.moves)
	recs := []record{{Record: recBegin, Begin: &t.beginRec}}
	for _, m := range t.moves {
		recs = append(recs, record{Record: recMove, Move: moveRecOf(m)})
	}
	err = w.append(recs...)
	if err == nil {
		err = syncFolder(j.dir)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path) // nothing was done yet; a torn one is ignored anyway
		return nil, fmt.Errorf("start journal: %w", err)
	}
	t.state = recBegin
	return w, nil
}

// reopen continues a journal that was interrupted, after its last whole line.
func (j *journal) reopen(t *txn) (*writer, error) {
	f, err := os.OpenFile(filepath.Join(j.dir, t.ID+".jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("continue journal: %w", err)
	}
	if err := f.Truncate(t.size); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("continue journal: %w", err)
	}
	return &writer{f: f, t: t}, nil
}

// append writes records so that they last. On an error none of them counts.
func (w *writer) append(recs ...record) error {
	var buf []byte
	prev := w.t.prev
	for _, r := range recs {
		r.Version, r.Prev = journalVersion, prev
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if len(line) > maxLine {
			return fmt.Errorf("a journal record would be longer than %d bytes", maxLine)
		}
		prev = lineHash(line)
		buf = append(append(buf, line...), '\n')
	}
	_, err := w.f.Write(buf)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		// A part of it may be there: cut it off, or the next line would not
		// follow the last that counts.
		if terr := w.f.Truncate(w.t.size); terr != nil {
			return fmt.Errorf("write journal: %w (and cut it back: %v)", err, terr)
		}
		return fmt.Errorf("write journal: %w", err)
	}
	w.t.prev = prev
	w.t.size += int64(len(buf))
	return nil
}

// mark appends a record that changes the journal's state.
func (w *writer) mark(r record) error {
	if err := w.append(r); err != nil {
		return err
	}
	w.t.state, w.t.left, w.t.why = r.Record, r.Left, r.Why
	return nil
}

func (w *writer) close() error { return w.f.Close() }
