package diffreview

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sort"

	"fumehood/diffreview/linediff"
)

// Find puts findings into the files of a change set whose units are there.
type Find func(cs *ChangeSet, content func(Blob) ([]byte, error)) error

// Judge has find look at the change set as it would be with outcomes in the place
// of what it has at their paths, and gives a file for each of them, with its
// findings: one without any where the outcome is the base. The change set stays
// as it is.
func (cs *ChangeSet) Judge(outcomes []Outcome, content func(Blob) ([]byte, error), find Find) ([]File, error) {
	as, err := cs.judge(outcomes, everyFile, content, find)
	if err != nil {
		return nil, err
	}
	at := make(map[string]*File, len(as.Files))
	for i := range as.Files {
		at[as.Files[i].Path] = &as.Files[i]
	}
	out := make([]File, len(outcomes))
	for i := range outcomes {
		if f := at[outcomes[i].Path]; f != nil {
			out[i] = *f
		}
	}
	return out, nil
}

func everyFile(*File) bool { return true }

// judge gives what rest takes of the change set with outcomes in it. As in Build, a
// file that moved is one that goes and one that comes.
func (cs *ChangeSet) judge(outcomes []Outcome, rest func(*File) bool, content func(Blob) ([]byte, error), find Find) (*ChangeSet, error) {
	as := &ChangeSet{Session: cs.Session, Repo: cs.Repo, SnapshotAt: cs.SnapshotAt, Files: make([]File, 0, len(cs.Files)+len(outcomes))}
	texts := map[Blob][]byte{}
	read := func(b Blob) ([]byte, error) {
		if text, ok := texts[b]; ok {
			return text, nil
		}
		return content(b)
	}
	left := &room{text: maxText, lines: maxHeld}
	taken := map[string]bool{}
	put := func(path string, base, want Entry) error {
		if taken[path] {
			return nil
		}
		taken[path] = true
		if base == want {
			return nil
		}
		f := File{Path: path, Old: base, New: want, Status: statusOf(Change{Path: path, Old: base, New: want})}
		err := fillContent(&f, read, left)
		as.Files = append(as.Files, f)
		return err
	}
	for _, o := range outcomes {
		if o.Want.Kind == KindFile && o.Want.Blob == "" {
			sum := sha256.Sum256(o.Content)
			o.Want.Blob = Blob(hex.EncodeToString(sum[:]))
			o.Want.Size = int64(len(o.Content))
			texts[o.Want.Blob] = o.Content
		}
		if err := put(o.Path, o.Base, o.Want); err != nil {
			return nil, err
		}
	}
	for i := range cs.Files {
		if !rest(&cs.Files[i]) {
			continue
		}
		f := cs.Files[i]
		if f.Status == Renamed {
			if err := errors.Join(put(f.OldPath, f.Old, Entry{}), put(f.Path, Entry{}, f.New)); err != nil {
				return nil, err
			}
			continue
		}
		if !taken[f.Path] {
			f.Findings = nil
			as.Files = append(as.Files, f)
		}
	}
	return as, find(as, read)
}

// JudgeEdits has find look at what stands in the place of a hunk because a
// reviewer wrote it, as if all else were approved, and adds what it finds. A
// finding in such a text names the hunk and the text, and counts as long as it
// stands there; that in the agent's own lines does not meanwhile. Decisions.Fill
// has run before.
func (cs *ChangeSet) JudgeEdits(content func(Blob) ([]byte, error), find Find) error {
	type written struct {
		f    *File
		text editedText
	}
	var all []written
	var outcomes []Outcome
	for i := range cs.Files {
		f := &cs.Files[i]
		f.Findings = slices.DeleteFunc(f.Findings, func(x Finding) bool { return x.Edit != "" })
		if f.edits() == nil {
			continue
		}
		t, err := f.withEdits(content)
		if err != nil {
			return err
		}
		all = append(all, written{f, t})
		want := f.New
		if f.Status == Deleted {
			want = f.Old
		}
		want.Blob = ""
		switch f.Status {
		case Renamed:
			stays := want
			stays.Exec = f.Old.Exec // the bit belongs to the move
			outcomes = append(outcomes, Outcome{f.Path, Entry{}, want, t.text}, Outcome{f.OldPath, f.Old, stays, t.text})
		case Added, Modified, Deleted, TypeOf, ModeOnly:
			outcomes = append(outcomes, Outcome{f.Path, f.Old, want, t.text})
		}
	}
	if len(all) == 0 {
		return nil
	}
	as, err := cs.judge(outcomes, everyFile, content, find)
	if err != nil {
		return err
	}
	at := make(map[string]*File, len(as.Files))
	for i := range as.Files {
		at[as.Files[i].Path] = &as.Files[i]
	}
	edited := map[*File]bool{}
	for _, w := range all {
		edited[w.f] = true
		if now := at[w.f.Path]; now != nil {
			w.text.take(w.f, now.Findings, "")
		}
		if now := at[w.f.OldPath]; now != nil && w.f.OldPath != "" {
			w.text.take(w.f, now.Findings, moveRejected)
		}
	}
	// An edit can show in other files: one of ignore rules, one that takes out the
	// test that had moved there.
	for i := range cs.Files {
		f := &cs.Files[i]
		if now := at[f.Path]; now != nil && !edited[f] {
			f.takeOther(now.Findings)
		}
	}
	cs.order()
	return nil
}

// edits gives the reviewers' own texts by their hunks, nil where there are none.
func (f *File) edits() map[string]Blob {
	var out map[string]Blob
	for i := range f.Hunks {
		if h := &f.Hunks[i]; h.Edit != "" {
			if out == nil {
				out = map[string]Blob{}
			}
			out[h.ID] = h.Edit
		}
	}
	return out
}

// Standing gives a function that says whether a finding is of what stands in the
// file now: of the agent's lines, or of the text that a reviewer wrote in their
// place.
func (f *File) Standing() func(*Finding) bool {
	edits := f.edits()
	return func(x *Finding) bool {
		if x.Edit != "" {
			return edits[x.Unit] == x.Edit
		}
		h := f.HunkAt(x.Line)
		return h == nil || h.Edit == ""
	}
}

// Risks gives the findings of what stands in the file now.
func (f *File) Risks() []Finding {
	stands := f.Standing()
	out := make([]Finding, 0, len(f.Findings))
	for i := range f.Findings {
		if stands(&f.Findings[i]) {
			out = append(out, f.Findings[i])
		}
	}
	return out
}

// EditStart is the number of the first line of the new side, where a text in its
// place begins as well.
func (h *Hunk) EditStart() int {
	if h.NewLines == 0 {
		return h.NewStart + 1
	}
	return h.NewStart
}

// editedText is a file with reviewers' own texts in it, and where these lie.
type editedText struct {
	text  []byte
	spans []editSpan // in order
}

// editSpan is one of the texts: n lines from from on, in the place of hunk's.
type editSpan struct {
	hunk    *Hunk
	from, n int
	before  int // how many lines more the file has, up to here, than without edits
}

// withEdits gives what the file comes to when all is approved, edits as they stand.
func (f *File) withEdits(content func(Blob) ([]byte, error)) (editedText, error) {
	var out editedText
	all := *f
	all.Hunks = make([]Hunk, len(f.Hunks))
	more := 0
	for i := range f.Hunks {
		h := &all.Hunks[i]
		*h = f.Hunks[i]
		h.Decision, h.Part = Approved, nil
		if h.Edit == "" {
			continue
		}
		text, err := content(h.Edit)
		if err != nil {
			return out, editError(f, err)
		}
		n := len(linediff.Split(text))
		out.spans = append(out.spans, editSpan{&f.Hunks[i], h.EditStart() + more, n, more})
		more += n - h.NewLines
	}
	var base []byte
	if f.Old.Kind == KindFile {
		var err error
		if base, err = content(f.Old.Blob); err != nil {
			return out, readError(f, err)
		}
	}
	var err error
	out.text, err = splice(&all, base, true, content)
	var join *JoinError
	if errors.As(err, &join) { // nothing can be written with it, yet it is shown
		err = nil
	}
	return out, err
}

// take gives f what was found in it with the edits in place.
func (t editedText) take(f *File, found []Finding, when string) {
	var other []Finding
	for _, x := range found {
		at := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].from > x.Line }) - 1
		if x.Line > 0 && at >= 0 {
			s := t.spans[at]
			if x.Line < s.from+s.n {
				x.Line += s.hunk.EditStart() - s.from
				x.Unit, x.Edit = s.hunk.ID, s.hunk.Edit
				if when == "" || !f.found(x) {
					x.Why = when + x.Why
					f.Findings = append(f.Findings, x)
				}
				continue
			}
			x.Line -= s.before + s.n - s.hunk.NewLines
		}
		x.Why = when + x.Why
		other = append(other, x)
	}
	f.takeOther(other)
}

// takeOther adds findings above a note that the file does not have yet.
func (f *File) takeOther(found []Finding) {
	for _, x := range found {
		if x.Severity.Rank() > Note.Rank() && !f.found(x) {
			f.Findings = append(f.Findings, x)
		}
	}
}
