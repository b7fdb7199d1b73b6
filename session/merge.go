package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"fumehood/diffreview"
	"fumehood/diffreview/apply"
	"fumehood/diffreview/linediff"
	"fumehood/diffreview/merge"
	"fumehood/session/store"
)

// Merge is a file that host and agent both changed since they had the same.
type Merge struct {
	Path string
	// To is where the agent moved the file to, "" when it is where it was: what is
	// merged is written there, and Path goes.
	To string
	// ID is of this very merge: the path, what the host has and what is approved.
	// TakeLeave, and a choice where Why says that lines can't be, stand under it.
	ID  string
	Why string // why it can't be merged by lines, such as "binary"; Parts is nil then
	// Base is what both started from, Host what is there now, Agent what is approved.
	Base, Host, Agent diffreview.Entry
	// Parts have Take and Edit filled in. They are nil, too, where only modes are to
	// be joined.
	Parts []merge.Part
	Open  int             // conflicts without a choice
	Take  diffreview.Take // chosen for the whole file, where Why is not empty
	Left  bool            // left out of the apply by TakeLeave
	// Commit: Host is what this commit has, which a branch is to follow.
	Commit string
	// Risks are what the rules find above a note in the merged lines, against what
	// the host has; nil while a conflict is open.
	Risks []diffreview.Finding
	fresh []diffreview.Finding // of Risks, those that the agent's lines do not have
	want  diffreview.Entry
	text  []byte // merged; nil when the content is one that is stored: want.Blob
	host  []byte // what the host has, where there is a text
}

// Merges gives the files of which something is approved and that the host
// changed as well, or the commit that a branch is to follow has otherwise, in
// the order of their paths, without those that have all of
// it already. Nothing is written.
func (h *Host) Merges(ctx context.Context, d store.Dir, o ApplyOptions) ([]Merge, error) {
	r, err := h.Review(ctx, d, false, o.Ignored...)
	if err != nil {
		return nil, err
	}
	if o.Only, err = withoutIgnored(r.Set, o); err != nil {
		return nil, err
	}
	unlock, err := d.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	targets, _, err := targetsOf(ctx, r, o.Only)
	if err != nil {
		return nil, err
	}
	if o.To.Branch != "" {
		repo, err := h.sameRepository(ctx, r, o)
		if err != nil {
			return nil, err
		}
		_, p, err := branchPlanOf(ctx, repo, r, o, targets)
		if err != nil {
			return nil, err
		}
		return p.merges, nil
	}
	o.DryRun = true
	ao, err := h.applyOptions(ctx, d, r, o)
	if err != nil {
		return nil, err
	}
	moved, err := movedIn(ctx, ao, r, targets)
	if err != nil {
		return nil, err
	}
	var out []Merge
	err = apply.Compare(ctx, ao, targets, linediff.MaxBytes, func(x apply.Differs) error {
		if x.Fixed {
			return nil
		}
		m, err := mergeOf(x, r, moved[x.Target.Path])
		if err != nil || m.there(x.Content) && !m.conflicts() {
			return err
		}
		out = append(out, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]*Merge, len(out))
	for i := range out {
		all[i] = &out[i]
	}
	return out, r.judgeMerges(all)
}

// movedIn gives the targets that files are moved to by approved renames, by the
// path that each was at. One whose new place is in conflict itself is not among
// them: there is no merging that.
func movedIn(ctx context.Context, ao apply.Options, r *Review, targets []apply.Target) (map[string]*apply.Target, error) {
	out := movesOf(r, targets)
	if len(out) == 0 {
		return out, nil
	}
	conflict := map[string]bool{}
	err := apply.Compare(ctx, ao, targets, 0, func(x apply.Differs) error {
		conflict[x.Target.Path] = true
		return nil
	})
	for from, to := range out {
		if conflict[to.Path] {
			delete(out, from)
		}
	}
	return out, err
}

// movesOf gives the targets that files are moved to by approved renames, by the
// path that each was at.
func movesOf(r *Review, targets []apply.Target) map[string]*apply.Target {
	out := map[string]*apply.Target{}
	at := map[string]*apply.Target{}
	for i := range targets {
		at[targets[i].Path] = &targets[i]
	}
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		if f.Status != diffreview.Renamed || f.WholeMark.Decision != diffreview.Approved {
			continue
		}
		if old, now := at[f.OldPath], at[f.Path]; old != nil && now != nil && old.Want.Kind == diffreview.KindAbsent {
			out[f.OldPath] = now
		}
	}
	return out
}

// mergeOf merges one file and puts the recorded choices in. moved is where it is
// moved to, nil when it is not.
func mergeOf(x apply.Differs, r *Review, moved *apply.Target) (Merge, error) {
	m := Merge{Path: x.Target.Path, Base: x.Ancestor, Host: x.Found, Agent: x.Target.Want}
	// Where it was moved already, what stands at the old place is another file.
	if moved != nil && x.Found.Kind == diffreview.KindFile && x.Ancestor.Kind == diffreview.KindFile {
		m.To, m.Agent = moved.Path, moved.Want
	}
	m.ID = merge.ID(m.Path, m.To, entryKey(m.Host), entryKey(m.Agent))
	taken := r.Decisions.Resolutions[m.ID].Take
	m.Left = taken == diffreview.TakeLeave
	if m.Why = byWhole(m.Base, m.Host, m.Agent); m.Why == "" {
		if err := m.lines(x, r); err != nil {
			return m, err
		}
	}
	if m.Why == "" {
		return m, nil
	}
	m.Open = 1
	if taken == diffreview.TakeHost || taken == diffreview.TakeAgent {
		m.Take, m.Open, m.want = taken, 0, m.Agent
	}
	return m, nil
}

// byWhole says why two entries can only be chosen from as wholes, or "".
func byWhole(base, host, agent diffreview.Entry) string {
	const file, link, none = diffreview.KindFile, diffreview.KindSymlink, diffreview.KindAbsent
	switch {
	case host.Kind == none:
		return "you deleted it, the agent changed it"
	case agent.Kind == none:
		return "the agent deleted it, you changed it"
	case host.Kind == link || agent.Kind == link:
		return "a symlink can't be merged"
	case base.Kind != file && base.Kind != none:
		return "it was no file before"
	}
	return ""
}

// lines merges content and mode of two files. Where only one side changed the
// content there is nothing to merge, whatever it is.
func (m *Merge) lines(x apply.Differs, r *Review) error {
	m.want = m.Agent
	m.want.Exec = joinExec(m.Base, m.Host, m.Agent)
	switch {
	case m.Host.Blob == m.Base.Blob, m.Host.Blob == m.Agent.Blob:
		return nil
	case m.Agent.Blob == m.Base.Blob:
		m.want.Blob, m.want.Size, m.text = "", 0, x.Content
		if m.text == nil {
			m.Why = "too large to merge its mode"
		}
		return nil
	case x.Content == nil:
		m.Why = "too large to compare by lines"
		return nil
	}
	var texts [2][]byte
	for i, e := range []diffreview.Entry{m.Base, m.Agent} {
		switch {
		case e.Kind == diffreview.KindAbsent:
			continue
		case e.Size > linediff.MaxBytes:
			m.Why = "too large to compare by lines"
			return nil
		}
		var err error
		if texts[i], err = r.Snap.Content(e.Blob, MaxContent); err != nil {
			return fmt.Errorf("read %s: %w", diffreview.SafeName(m.Path), err)
		}
	}
	if m.Why = merge.Unfit(texts[0], x.Content, texts[1]); m.Why != "" {
		return nil
	}
	m.Parts = merge.Lines(m.Path, texts[0], x.Content, texts[1])
	var err error
	m.Open, err = merge.Resolve(m.Parts, r.Decisions.Resolutions, func(b diffreview.Blob) ([]byte, error) { return r.Snap.Content(b, maxEdit) })
	if err != nil {
		return fmt.Errorf("%s: %w", diffreview.SafeName(m.Path), err)
	}
	if m.Open > 0 {
		return nil
	}
	m.want.Blob, m.want.Size = "", 0
	m.host = x.Content
	if m.text, err = merge.Text(m.Parts); m.text == nil {
		m.text = []byte{}
	}
	return err
}

// judgeMerges has the risk rules look at what merges come to: lines of two sides
// and of the reviewer stand together in it, which no rule has seen so.
func (r *Review) judgeMerges(all []*Merge) error {
	var joined []*Merge
	var outcomes []diffreview.Outcome
	hosts := map[diffreview.Blob][]byte{}
	for _, m := range all {
		if m.host == nil || m.leave() != "" {
			continue
		}
		path := m.Path
		if m.To != "" {
			path = m.To
		}
		hosts[m.Host.Blob] = m.host
		joined = append(joined, m)
		outcomes = append(outcomes, diffreview.Outcome{Path: path, Base: m.Host, Want: m.want, Content: m.text})
	}
	if len(joined) == 0 {
		return nil
	}
	files, err := r.Set.Judge(outcomes, func(b diffreview.Blob) ([]byte, error) {
		if text, ok := hosts[b]; ok {
			return text, nil
		}
		return r.Content(b)
	}, r.Facts.Find)
	if err != nil {
		return fmt.Errorf("look for risks in merged files: %w", err)
	}
	known := map[string]map[string]bool{} // by path: what is found in approved lines of the agent's
	for i := range r.Set.Files {
		f := &r.Set.Files[i]
		known[f.Path] = map[string]bool{}
		for _, x := range f.Risks() {
			if h := f.HunkAt(x.Line); h != nil && h.Decision != diffreview.Approved && !slices.Contains(h.Part, diffreview.Approved) {
				continue
			}
			known[f.Path][foundAt(f, x)] = true
		}
	}
	for i, m := range joined {
		for _, x := range files[i].Findings {
			if x.Severity.Rank() <= diffreview.Note.Rank() {
				continue
			}
			m.Risks = append(m.Risks, x)
			if !known[outcomes[i].Path][foundAt(&files[i], x)] {
				m.fresh = append(m.fresh, x)
			}
		}
	}
	return nil
}

// foundAt names a finding by its rule and the text of its line, which a merge may
// have at another number.
func foundAt(f *diffreview.File, x diffreview.Finding) string {
	text := ""
	if h := f.HunkAt(x.Line); h != nil && x.Edit == "" {
		for i := range h.Lines {
			if h.Lines[i].New == x.Line {
				text = string(h.Lines[i].Text)
			}
		}
	}
	return x.Rule + "\x00" + text
}

// there says that the merge is what the host has, whose content is given: a merge
// that was written before, say.
func (m *Merge) there(content []byte) bool {
	if m.Why != "" || m.Open > 0 || m.To != "" || m.want.Exec != m.Host.Exec {
		return false
	}
	if m.text != nil {
		return bytes.Equal(m.text, content)
	}
	return m.want.Blob == m.Host.Blob
}

// conflicts says whether there are any, settled or not.
func (m *Merge) conflicts() bool {
	return slices.ContainsFunc(m.Parts, func(p merge.Part) bool { return p.Kind == merge.Conflict })
}

// joinExec merges the executable bit: of three, two are alike, and if base's is
// among these the third is a change of one side.
func joinExec(base, host, agent diffreview.Entry) bool {
	if host.Exec == (base.Kind == diffreview.KindFile && base.Exec) {
		return agent.Exec
	}
	return host.Exec
}

func entryKey(e diffreview.Entry) string {
	return string(e.Kind) + " " + e.Mode() + " " + string(e.Blob) + " " + e.Target
}

// ResolutionChoice is what a reviewer chose for a conflict, or for a merge as a
// whole by its ID. Take "" takes a choice back.
type ResolutionChoice struct {
	Conflict, Path string
	Take           diffreview.Take
	Edit           []byte // of TakeEdit
}

// Resolve records choices, all or none. They count for these very texts: when
// one of them changes there is another conflict, without a choice.
func (h *Host) Resolve(d store.Dir, choices []ResolutionChoice) error {
	edits := make([]diffreview.Blob, len(choices))
	for i, c := range choices {
		if c.Take != diffreview.TakeEdit {
			continue
		}
		var err error
		if edits[i], err = keepEdit(d, c.Path, c.Edit); err != nil {
			return err
		}
	}
	said := make([]map[string]any, len(choices))
	at := h.verdictBy("", "")
	err := h.decide(d, func(dec *diffreview.Decisions) error {
		if dec.Resolutions == nil {
			dec.Resolutions = map[string]diffreview.Resolution{}
		}
		for i, c := range choices {
			said[i] = map[string]any{"conflict": c.Conflict, "path": c.Path, "take": c.Take}
			if edits[i] != "" {
				said[i]["edit"] = edits[i]
			}
			if c.Take == "" {
				delete(dec.Resolutions, c.Conflict)
				continue
			}
			dec.Resolutions[c.Conflict] = diffreview.Resolution{
				Take: c.Take, Edit: edits[i], Path: c.Path, By: at.By, TTY: at.TTY, At: at.At,
			}
		}
		return nil
	})
	if err != nil || len(choices) == 0 {
		return err
	}
	return d.AppendEvent(at.At, "resolved", conflictsOf(len(choices)), map[string]any{"by": h.User, "tty": h.TTY, "resolutions": said})
}

func conflictsOf(n int) string {
	if n == 1 {
		return "1 conflict"
	}
	return fmt.Sprintf("%d conflicts", n)
}

// errStale: what was shown is no longer what would be written.
var errStale = errors.New("the repository, a decision or a risk changed after this was shown; nothing was written: look at it again")
