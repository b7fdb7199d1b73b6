package session

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/internal/atomicfile"
	"fumehood/session/store"
)

// What a review showed of one snapshot is kept, so that the next one can mark what
// is new: a line with the version, one with the snapshot's time, then the ID of
// each unit on a line of its own. Losing it loses marks, no decision. It is no
// JSON, of which 50,000 units would take longer than the comparison of their files.
const shownVersion = "fumehood shown 1"

func shownPath(d store.Dir) string  { return filepath.Join(d.Store(), "shown") }
func beforePath(d store.Dir) string { return filepath.Join(d.Store(), "before") }

// before gives the units of the review before the one of a snapshot; nil when
// there was none.
func before(d store.Dir, snapshot time.Time) map[string]bool {
	path := shownPath(d)
	if at, ok := shownAt(path); ok && at.Equal(snapshot) {
		path = beforePath(d)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_, list, ok := cutShown(string(b))
	if !ok {
		return nil
	}
	units := make(map[string]bool, strings.Count(list, "\n"))
	for id := range strings.Lines(list) {
		units[strings.TrimSuffix(id, "\n")] = true
	}
	return units
}

// cutShown takes the head off what a review showed, or off the beginning of it.
func cutShown(text string) (at time.Time, list string, ok bool) {
	version, rest, ok := strings.Cut(text, "\n")
	if !ok || version != shownVersion {
		return at, "", false
	}
	when, list, ok := strings.Cut(rest, "\n")
	if !ok {
		return at, "", false
	}
	at, err := time.Parse(time.RFC3339Nano, when)
	return at, list, err == nil
}

// shownAt is the time of the snapshot that a file is about.
func shownAt(path string) (time.Time, bool) {
	f, err := os.Open(path)
	if err != nil {
		return time.Time{}, false
	}
	defer f.Close() // read-only
	head := make([]byte, 128)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return time.Time{}, false
	}
	at, _, ok := cutShown(string(head[:n]))
	return at, ok
}

// noteShown records that a person is shown a change set. The one that was shown
// of an older snapshot becomes the one before.
func noteShown(d store.Dir, set *diffreview.ChangeSet) error {
	if at, ok := shownAt(shownPath(d)); ok {
		if at.Equal(set.SnapshotAt) {
			return nil
		}
		if err := os.Rename(shownPath(d), beforePath(d)); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	b.WriteString(shownVersion + "\n" + set.SnapshotAt.Format(time.RFC3339Nano) + "\n")
	for i := range set.Files {
		for _, id := range set.Files[i].UnitIDs() {
			b.WriteString(id)
			b.WriteByte('\n')
		}
	}
	return atomicfile.Write(shownPath(d), b.Bytes(), 0o600)
}

// markApplied marks the units that the applies which still stand have written.
func markApplied(d store.Dir, set *diffreview.ChangeSet) error {
	units, err := AppliedUnits(d)
	if err != nil {
		return err
	}
	set.MarkApplied(units)
	return nil
}

// AppliedUnits are the units that the applies which still stand have written, as
// diffreview.File.ApprovedUnits names them.
func AppliedUnits(d store.Dir) (map[string]bool, error) {
	history, err := apply.History(d.Journal())
	if err != nil {
		return nil, err
	}
	at := map[string][]string{} // by path, of the newest apply that stands
	for _, e := range history {
		if e.Kind != "apply" || e.State != "done" || e.UndoneBy != "" {
			continue
		}
		for _, f := range e.Files {
			at[f.Path] = f.Units
		}
	}
	units := map[string]bool{}
	for _, list := range at {
		for _, u := range list {
			units[u] = true
		}
	}
	return units, nil
}
