package diffreview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// decisionsVersion is the version of the stored form. Version 1 had units only.
const decisionsVersion = 2

// Limits of a stored decisions file.
const (
	MaxDecisionsBytes = 64 << 20
	maxDecisionUnits  = 500_000
	maxComments       = 10_000
	maxResolutions    = 100_000
	maxDecisionText   = 64 << 10 // of one comment, path, account or terminal
	maxDecisionLines  = 1 << 20  // letters of one hunk
)

// The stored form: paths that are not UTF-8 stand beside it exactly, since JSON
// text can't hold them.
type (
	storedDecisions struct {
		Version     int                         `json:"version"`
		Units       map[string]storedDecision   `json:"units"`
		Comments    []storedComment             `json:"comments,omitempty"`
		Resolutions map[string]storedResolution `json:"resolutions,omitempty"`
	}
	storedDecision struct {
		Decision
		PathB64 []byte `json:"path_b64,omitempty"`
	}
	storedComment struct {
		Comment
		PathB64 []byte `json:"path_b64,omitempty"`
	}
	storedResolution struct {
		Resolution
		PathB64 []byte `json:"path_b64,omitempty"`
	}
)

// Encode gives the stored form of the decisions.
func (d *Decisions) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	out := storedDecisions{
		Version: decisionsVersion, Units: make(map[string]storedDecision, len(d.Units)),
		Resolutions: make(map[string]storedResolution, len(d.Resolutions)),
	}
	for id, rec := range d.Units {
		out.Units[id] = storedDecision{rec, b64IfOdd(rec.Path)}
	}
	for _, c := range d.Comments {
		c.Body, c.Quote = lossy(c.Body), lossy(c.Quote)
		out.Comments = append(out.Comments, storedComment{c, b64IfOdd(c.Path)})
	}
	for id, r := range d.Resolutions {
		out.Resolutions[id] = storedResolution{r, b64IfOdd(r.Path)}
	}
	b, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		return nil, err
	}
	if len(b) >= MaxDecisionsBytes {
		return nil, fmt.Errorf("decisions of %d bytes: more than %d", len(b), MaxDecisionsBytes)
	}
	return append(b, '\n'), nil
}

// maxHeads is how many objects the stored form has beside the records.
const maxHeads = 3

// objects counts the objects that a JSON text opens. Each becomes a record of some
// hundred bytes, which "{}" is not: the limits have to hold before they are made.
func objects(b []byte) (n int) {
	text := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++ // whatever stands behind it
		case c == '"':
			text = !text
		case c == '{' && !text:
			n++
		}
	}
	return n
}

// DecodeDecisions reads the stored form. Anything that Encode would not write
// is an error: an unknown version, key or verdict, or more than the limits.
func DecodeDecisions(b []byte) (*Decisions, error) {
	if len(b) > MaxDecisionsBytes {
		return nil, fmt.Errorf("decisions of %d bytes: more than %d", len(b), MaxDecisionsBytes)
	}
	if n := objects(b); n > maxDecisionUnits+maxComments+maxResolutions+maxHeads {
		return nil, fmt.Errorf("decisions that hold %d records: more than any review has", n)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var in storedDecisions
	if err := dec.Decode(&in); err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("read decisions: something follows their end")
	}
	if in.Version < 1 || in.Version > decisionsVersion {
		return nil, fmt.Errorf("decisions of version %d: want %d", in.Version, decisionsVersion)
	}
	out := &Decisions{
		Version: decisionsVersion, Units: make(map[string]Decision, len(in.Units)),
		Resolutions: make(map[string]Resolution, len(in.Resolutions)),
	}
	for id, rec := range in.Units {
		if rec.PathB64 != nil {
			rec.Path = string(rec.PathB64)
		}
		out.Units[id] = rec.Decision
	}
	for _, c := range in.Comments {
		if c.PathB64 != nil {
			c.Path = string(c.PathB64)
		}
		out.Comments = append(out.Comments, c.Comment)
	}
	for id, r := range in.Resolutions {
		if r.PathB64 != nil {
			r.Path = string(r.PathB64)
		}
		out.Resolutions[id] = r.Resolution
	}
	return out, out.check()
}

func (d *Decisions) check() error {
	for _, n := range []struct {
		what      string
		have, max int
	}{{"decisions", len(d.Units), maxDecisionUnits}, {"comments", len(d.Comments), maxComments}, {"resolutions", len(d.Resolutions), maxResolutions}} {
		if n.have > n.max {
			return fmt.Errorf("%d %s: more than %d", n.have, n.what, n.max)
		}
	}
	for id, rec := range d.Units {
		if err := checkDecision(rec); err != nil || !isID(id) {
			return fmt.Errorf("decision on %q: %w", id, orNotUnit(err))
		}
	}
	for _, c := range d.Comments {
		if err := checkComment(c); err != nil {
			return fmt.Errorf("comment %q: %w", c.ID, err)
		}
	}
	for id, r := range d.Resolutions {
		if err := checkResolution(r); err != nil || !isID(id) {
			return fmt.Errorf("resolution of %q: %w", id, orNotUnit(err))
		}
	}
	return nil
}

func orNotUnit(err error) error {
	if err == nil {
		return fmt.Errorf("not the name of a unit")
	}
	return err
}

func checkDecision(rec Decision) error {
	switch rec.Verdict {
	case Undecided, Approved, Rejected:
	default:
		return fmt.Errorf("unknown verdict %q", rec.Verdict)
	}
	switch {
	case rec.Path == "":
		return fmt.Errorf("no path")
	case rec.Lines != "" && rec.Verdict != Undecided:
		return fmt.Errorf("a verdict on the whole and on lines of it")
	case rec.Edit != "" && (rec.Verdict == Rejected || rec.Lines != "" || !isBlob(rec.Edit)):
		return fmt.Errorf("an edit that is rejected, or is no content")
	case len(rec.Lines) > maxDecisionLines || strings.Trim(rec.Lines, "ar.") != "":
		return fmt.Errorf("unreadable verdicts on lines")
	}
	return checkTexts(rec.Path, rec.By, rec.TTY, rec.Via)
}

func checkComment(c Comment) error {
	switch {
	case c.ID == "" || len(c.ID) > idLen || !isHex(c.ID):
		return fmt.Errorf("not the name of a comment")
	case c.Unit != "" && !isID(c.Unit):
		return fmt.Errorf("on %q, which is no unit", c.Unit)
	case c.Was != "" && !isBlob(c.Was):
		return fmt.Errorf("made on %q, which is no content", c.Was)
	case c.Line < 0 || c.OldLine < 0:
		return fmt.Errorf("on a line below 0")
	case strings.TrimSpace(c.Body) == "":
		return fmt.Errorf("it says nothing")
	}
	return checkTexts(c.Path, c.Quote, c.Body, c.By, c.TTY)
}

func checkResolution(r Resolution) error {
	switch r.Take {
	case TakeHost, TakeAgent, TakeBoth, TakeLeave:
	case TakeEdit:
		if !isBlob(r.Edit) {
			return fmt.Errorf("an edit that is no content")
		}
	default:
		return fmt.Errorf("unknown choice %q", r.Take)
	}
	if r.Path == "" {
		return fmt.Errorf("no path")
	}
	return checkTexts(r.Path, r.By, r.TTY)
}

func checkTexts(texts ...string) error {
	for _, s := range texts {
		if len(s) > maxDecisionText {
			return fmt.Errorf("a text of %d bytes: more than %d", len(s), maxDecisionText)
		}
	}
	return nil
}

func isID(s string) bool { return len(s) == idLen && isHex(s) }

func isBlob(b Blob) bool { return len(b) == 64 && isHex(string(b)) }

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
