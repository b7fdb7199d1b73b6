package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

func loadDecisions(d store.Dir) (*diffreview.Decisions, error) {
	f, err := os.Open(d.Decisions())
	if errors.Is(err, fs.ErrNotExist) {
		return &diffreview.Decisions{Units: map[string]diffreview.Decision{}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() > diffreview.MaxDecisionsBytes {
		return nil, fmt.Errorf("%s: %d bytes, the limit is %d", d.Decisions(), fi.Size(), diffreview.MaxDecisionsBytes)
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

// Choice is one decision to record: on a hunk's or a file's ID, at its path.
type Choice struct {
	Unit, Path string
	Verdict    diffreview.Verdict
	Lines      string // as in diffreview.Decision; Verdict is then Undecided
	// Edit is the reviewer's own text for the new side of the hunk; nil is none.
	// Verdict is then Approved, or Undecided for one that is only proposed.
	Edit []byte
}

// maxEdit bounds a reviewer's own text for one hunk, in bytes.
const maxEdit = 1 << 20

// Decide records decisions, all or none.
func (h *Host) Decide(d store.Dir, choices []Choice) error {
	recs := make([]diffreview.Decision, len(choices))
	for i, c := range choices {
		recs[i] = h.verdictBy(c.Verdict, c.Path)
		recs[i].Lines = c.Lines
		if c.Edit == nil {
			continue
		}
		blob, err := keepEdit(d, c.Path, c.Edit)
		if err != nil {
			return err
		}
		recs[i].Edit = blob
	}
	err := h.decide(d, func(dec *diffreview.Decisions) error {
		for i, c := range choices {
			dec.Set(recs[i], c.Unit)
		}
		return nil
	})
	if err != nil || len(choices) == 0 {
		return err
	}
	var paths []string
	said := make([]map[string]any, len(choices))
	for i, c := range choices {
		said[i] = map[string]any{"unit": c.Unit, "path": c.Path, "verdict": c.Verdict}
		if c.Lines != "" {
			said[i]["lines"] = c.Lines
		}
		if recs[i].Edit != "" {
			said[i]["edit"] = recs[i].Edit
		}
		if p := diffreview.SafeName(c.Path); !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return d.AppendEvent(time.Now(), "decided", choices[0].word()+": "+strings.Join(paths[:min(len(paths), 10)], ", ")+andMore(len(paths)-10),
		map[string]any{"by": h.User, "tty": h.TTY, "decisions": said})
}

// keepEdit stores a reviewer's own text.
func keepEdit(d store.Dir, path string, text []byte) (diffreview.Blob, error) {
	if len(text) > maxEdit {
		return "", fmt.Errorf("an edit of %d bytes: the limit is %d", len(text), maxEdit)
	}
	blob, err := baseline.NewBlobs(baselineDirs(d).BlobsDir()).Put(text)
	if err != nil {
		return "", fmt.Errorf("keep the edit of %s: %w", diffreview.SafeName(path), err)
	}
	return blob, nil
}

func (c Choice) word() string {
	switch {
	case c.Lines != "":
		return "line by line"
	case c.Verdict == diffreview.Undecided:
		return "back to undecided"
	case c.Edit != nil:
		return "approved with an edit"
	}
	return string(c.Verdict)
}

// Comment records a comment, or replaces the body of the one with its ID; an
// empty body takes it back. It gives the comment as it is recorded.
func (h *Host) Comment(d store.Dir, c diffreview.Comment) (diffreview.Comment, error) {
	if c.ID == "" {
		id := make([]byte, 8)
		if _, err := rand.Read(id); err != nil {
			return c, err
		}
		c.ID = hex.EncodeToString(id)
	}
	c.By, c.TTY, c.At = h.User, h.TTY, time.Now().UTC()
	gone := strings.TrimSpace(c.Body) == ""
	err := h.decide(d, func(dec *diffreview.Decisions) error {
		at := slices.IndexFunc(dec.Comments, func(o diffreview.Comment) bool { return o.ID == c.ID })
		switch {
		case at >= 0 && gone:
			dec.Comments = slices.Delete(dec.Comments, at, at+1)
		case at >= 0:
			old := dec.Comments[at]
			old.Body, old.By, old.TTY, old.At, old.Sent = c.Body, c.By, c.TTY, c.At, time.Time{}
			dec.Comments[at], c = old, old
		case gone:
			return errors.New("a comment that says nothing is not kept")
		default:
			dec.Comments = append(dec.Comments, c)
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	what := "commented"
	if gone {
		what = "comment taken back"
	}
	return c, d.AppendEvent(time.Now(), "commented", what, map[string]any{"by": h.User, "tty": h.TTY, "comment": c})
}
