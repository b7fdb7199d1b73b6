package bundle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"fumehood/diffreview"
	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/store"
)

// ImportOptions are how decisions are taken home.
type ImportOptions struct {
	Replace bool // they win over decisions that were made here
	DryRun  bool // nothing is recorded
}

// Imported is what became of the decisions of a file.
type Imported struct {
	Session string `json:"session"`
	Bundle  string `json:"bundle"`
	By      string `json:"by"` // as the reviewer claims
	// Signed is whose signature over the file holds; "" when none was checked.
	Signed string `json:"signed_by,omitempty"`
	// Known: this session's record has an export of that bundle.
	Known    bool   `json:"known"`
	DryRun   bool   `json:"dry_run"`
	Taken    []Fate `json:"taken"`
	Same     []Fate `json:"same"`     // decided so here already
	Kept     []Fate `json:"kept"`     // decided otherwise here, which stands
	Unfit    []Fate `json:"unfit"`    // the bytes that it was made on are not in the newest snapshot
	Comments int    `json:"comments"` // taken
	// CommentsKept are comments that read otherwise here, or were taken back there,
	// and stay as they are here.
	CommentsKept int `json:"comments_kept"`
	CommentsSame int `json:"comments_same"` // said here already
}

// Fate is one decision of the file. Verdict is approved, rejected, undecided, or
// "lines" for one line by line.
type Fate struct {
	Unit    string `json:"unit"`
	Path    string `json:"path"`
	PathB64 []byte `json:"path_b64,omitempty"`
	Verdict string `json:"verdict"`
	Risk    string `json:"risk,omitempty"` // the rule of the strongest finding that covers an approved unit
	Why     string `json:"why,omitempty"`
}

// Import records the decisions of d in the session: those that fit the newest
// snapshot's bytes, as made by who claims to have made them, via the bundle. One
// that was decided otherwise here stays unless it is to be replaced.
func Import(r *session.Review, h *session.Host, dir store.Dir, d *Decided, o ImportOptions) (*Imported, error) {
	if d.Session != r.Record.ID {
		return nil, fmt.Errorf("these decisions are on session %s, not on %s", d.Session, r.Record.ID)
	}
	out := &Imported{
		Session: d.Session, Bundle: d.Bundle, By: d.By, DryRun: o.DryRun,
		Taken: []Fate{}, Same: []Fate{}, Kept: []Fate{}, Unfit: []Fate{},
	}
	var err error
	if out.Known, err = exportedAs(dir, d.Bundle); err != nil {
		return nil, err
	}
	record := func(dec *diffreview.Decisions) error {
		return takeIn(r, dec, d, o.Replace, out)
	}
	if o.DryRun {
		dec, err := session.LoadDecisions(dir)
		if err != nil {
			return nil, err
		}
		return out, record(dec)
	}
	// The texts first: a decision never names one that is not there.
	blobs := baseline.NewBlobs(session.StoreDirs(dir).BlobsDir())
	for _, e := range editsOf(d.Decisions) {
		if b, err := blobs.Put(d.Edits[e]); err != nil || b != e {
			return nil, errors.Join(fmt.Errorf("keep the edit %s", e), err)
		}
	}
	if err := h.ChangeDecisions(dir, record); err != nil {
		return nil, err
	}
	return out, dir.AppendEvent(time.Now(), "imported", fmt.Sprintf("decisions of %s, made on bundle %.12s", diffreview.SafeName(d.By), d.Bundle), map[string]any{
		"by": h.User, "tty": h.TTY, "from": d.By, "bundle": d.Bundle, "replace": o.Replace,
		"taken": out.Taken, "kept": out.Kept, "unfit": out.Unfit, "comments": out.Comments,
	})
}

// takeIn puts what fits into dec, and says what became of each.
func takeIn(r *session.Review, dec *diffreview.Decisions, d *Decided, replace bool, out *Imported) error {
	files := map[string]*diffreview.File{}
	for i := range r.Set.Files {
		files[r.Set.Files[i].Path] = &r.Set.Files[i]
	}
	var taken []comingHome
	decide := func(id string, rec diffreview.Decision) {
		fate := fateOf(id, rec)
		here, decidedHere := dec.Units[id]
		f := files[rec.Path]
		switch {
		case f == nil || !f.Decide(id, rec):
			fate.Why = unfit(f)
			out.Unfit = append(out.Unfit, fate)
		case same(here, rec) || !decidedHere && fate.Verdict == undecided:
			out.Same = append(out.Same, fate)
		case decidedHere && !replace:
			f.Decide(id, here)
			fate.Why = "decided otherwise here: " + verdictOf(here)
			out.Kept = append(out.Kept, fate)
		default:
			taken = append(taken, comingHome{id, rec})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.Decisions.Units)) {
		rec := d.Decisions.Units[id]
		rec.By, rec.Via = claimed(rec.By, d.By), d.Bundle
		decide(id, rec)
	}
	for _, u := range d.Back {
		decide(u.ID, diffreview.Decision{Path: u.Path, By: d.By, Via: d.Bundle})
	}
	risky, err := riskyWith(r, d)
	if err != nil {
		return err
	}
	for _, t := range taken {
		out.Taken = append(out.Taken, t.take(dec, risky[t.id]))
	}
	takeComments(dec, d, replace, out)
	return nil
}

// comingHome is a decision that is taken.
type comingHome struct {
	id  string
	rec diffreview.Decision
}

// take puts the decision into dec. x is the strongest finding above a note that
// covers the unit with it. A text under one is proposed and not approved: it was
// seen elsewhere, and nobody who works here has read it.
func (t comingHome) take(dec *diffreview.Decisions, x *diffreview.Finding) Fate {
	rec := t.rec
	fate := fateOf(t.id, rec)
	if x != nil && (rec.Verdict == diffreview.Approved || rec.Lines != "") {
		fate.Risk = x.Rule
		if rec.Edit != "" {
			rec.Verdict = diffreview.Undecided
			fate.Verdict = verdictOf(rec)
			fate.Why = fmt.Sprintf("%s: %s; it is left open: read it in the review before you approve it", x.Severity, x.Why)
		}
	}
	dec.Set(rec, t.id)
	return fate
}

// riskyWith gives the strongest finding above a note for each unit as it is
// decided now, with reviewers' own texts that came in d.
func riskyWith(r *session.Review, d *Decided) (map[string]*diffreview.Finding, error) {
	read := func(b diffreview.Blob) ([]byte, error) {
		if text, ok := d.Edits[b]; ok {
			return text, nil
		}
		return r.Content(b)
	}
	if err := r.Set.JudgeEdits(read, r.Facts.Find); err != nil {
		return nil, fmt.Errorf("look for risks in reviewers' own texts: %w", err)
	}
	out := map[string]*diffreview.Finding{}
	for i := range r.Set.Files {
		maps.Copy(out, r.Set.Files[i].Risky())
	}
	return out, nil
}

func takeComments(dec *diffreview.Decisions, d *Decided, replace bool, out *Imported) {
	have := commentsByID(dec)
	for _, c := range d.Decisions.Comments {
		c.Sent = time.Time{}
		here, there := have[c.ID]
		switch {
		case there && here.Body == c.Body:
			out.CommentsSame++
		case there && !replace:
			out.CommentsKept++
		default:
			putComment(dec, c)
			out.Comments++
		}
	}
	for _, id := range d.CommentsBack {
		if _, there := have[id]; !there {
			continue
		}
		if !replace {
			out.CommentsKept++
			continue
		}
		dec.Comments = slices.DeleteFunc(dec.Comments, func(c diffreview.Comment) bool { return c.ID == id })
		out.Comments++
	}
}

func claimed(by, of string) string {
	if by == "" {
		return of
	}
	return by
}

func unfit(f *diffreview.File) string {
	if f == nil {
		return "nothing has changed at this path in the newest snapshot"
	}
	return "the bytes that it was made on are not those of the newest snapshot"
}

const undecided = "undecided"

func verdictOf(rec diffreview.Decision) string {
	switch {
	case rec.Lines != "":
		return "lines"
	case rec.Verdict == diffreview.Undecided && rec.Edit == "":
		return undecided
	case rec.Verdict == diffreview.Undecided:
		return undecided + " with an edit"
	case rec.Edit != "":
		return string(rec.Verdict) + " with an edit"
	}
	return string(rec.Verdict)
}

func fateOf(id string, rec diffreview.Decision) Fate {
	f := Fate{Unit: id, Path: clean(rec.Path), Verdict: verdictOf(rec)}
	if f.Path != rec.Path {
		f.PathB64 = []byte(rec.Path)
	}
	return f
}

// exportedAs says whether a session's record has an export of a bundle.
func exportedAs(dir store.Dir, bundle string) (bool, error) {
	events, _, err := dir.ReadEvents()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(events, func(e store.Event) bool { return e.Kind == exportedKind && e.Fields["bundle"] == bundle }), nil
}
