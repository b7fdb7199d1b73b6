package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"

	"fumehood/diffreview"
)

// Report is what verify finds in a file.
type Report struct {
	File    string    `json:"file"`
	Kind    string    `json:"kind"` // "bundle" or "decisions"
	Intact  bool      `json:"intact"`
	Damage  []string  `json:"damage"`
	ID      string    `json:"bundle,omitempty"` // the bundle's hash; of decisions: of the bundle that they are on
	By      string    `json:"by,omitempty"`     // of decisions
	Signed  string    `json:"signed_by,omitempty"`
	Session *Session  `json:"session,omitempty"`
	Build   string    `json:"build,omitempty"`
	Content bool      `json:"content"`
	Paths   bool      `json:"paths"`
	Members []Member  `json:"members,omitempty"`
	Changes []Changed `json:"changes"`
	Units   int       `json:"decisions"`
	Notes   int       `json:"comments"`
	Events  *Chain    `json:"events,omitempty"`
	Egress  *Chain    `json:"egress,omitempty"`
}

// Changed is one changed path as a bundle lists it.
type Changed struct {
	Path    string          `json:"path"`
	PathB64 []byte          `json:"path_b64,omitempty"`
	OldMode string          `json:"old_mode"`
	NewMode string          `json:"new_mode"`
	OldSize int64           `json:"old_size"`
	NewSize int64           `json:"new_size"`
	OldBlob diffreview.Blob `json:"old_blob,omitempty"`
	NewBlob diffreview.Blob `json:"new_blob,omitempty"`
}

// Verify checks a bundle, or a file of decisions, offline. What is wrong with the
// file is in the report; an error says that it could not be looked at. The file is
// opened once: what was signed is what was read. confine is called when no more is
// needed of the machine, before any byte of the file is interpreted.
func Verify(ctx context.Context, path string, sig *Signers, confine func() error) (*Report, error) {
	f, size, err := openRegular(path, MaxBytes)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var signed string
	var badly error
	if sig != nil {
		signed, badly = CheckSignature(ctx, func() io.Reader { return io.NewSectionReader(f, 0, size) }, *sig)
		if badly != nil && !errors.Is(badly, ErrBadSignature) {
			return nil, badly
		}
	}
	if err := confine(); err != nil {
		return nil, err
	}
	rep := &Report{Signed: signed, File: diffreview.SafeName(path), Kind: "bundle", Damage: []string{}, Changes: []Changed{}}
	var first [1]byte
	if n, _ := f.ReadAt(first[:], 0); n == 1 && first[0] == '{' { // an empty file is neither
		rep.Kind = "decisions"
		err = rep.ofDecided(f, size)
	} else {
		err = rep.ofBundle(ctx, f)
	}
	switch {
	case errors.Is(err, ErrDamaged):
		rep.Damage = append(rep.Damage, err.Error())
	case err != nil:
		return nil, err
	}
	if badly != nil {
		rep.Damage = append(rep.Damage, badly.Error())
	}
	rep.Intact = len(rep.Damage) == 0
	return rep, nil
}

func (r *Report) ofDecided(f io.ReaderAt, size int64) error {
	if size > maxDecided {
		return fmt.Errorf("decisions of %d bytes: the limit is %d", size, maxDecided)
	}
	raw := make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil {
		return err
	}
	d, err := parseDecided(raw)
	if err != nil {
		return err
	}
	r.ID, r.By = d.Bundle, d.By
	r.Session = &Session{ID: d.Session, Repo: d.Repo, SnapshotAt: d.SnapshotAt, Command: []string{}}
	r.Units, r.Notes = len(d.Decisions.Units)+len(d.Back), len(d.Decisions.Comments)
	return nil
}

func (r *Report) ofBundle(ctx context.Context, f io.ReaderAt) error {
	b, err := open(ctx, f, func() error { return nil })
	if err != nil {
		return err
	}
	m := b.Manifest
	r.ID, r.Session, r.Build, r.Content, r.Paths, r.Members = b.ID, &m.Session, m.Build, m.Content, m.Paths, m.Members
	r.Units, r.Notes = len(b.Decisions.Units), len(b.Decisions.Comments)
	for _, c := range b.changes {
		x := Changed{
			Path: clean(c.Path), OldMode: c.Old.Mode(), NewMode: c.New.Mode(), OldSize: c.Old.Size, NewSize: c.New.Size,
			OldBlob: c.Old.Blob, NewBlob: c.New.Blob,
		}
		if x.Path != c.Path {
			x.PathB64 = []byte(c.Path)
		}
		r.Changes = append(r.Changes, x)
	}
	for _, p := range []struct {
		name string
		at   extent
		into **Chain
	}{{eventsName, b.events, &r.Events}, {egressName, b.egress, &r.Egress}} {
		c, err := walk(ctx, b.section(p.at), func([]byte) {})
		if err != nil {
			return err
		}
		if *p.into = &c; c.Broken > 0 {
			r.Damage = append(r.Damage, fmt.Sprintf("%s: line %d does not follow from the one before", p.name, c.Broken))
		}
	}
	// That the risks can be found shows that all of it can be read.
	if m.Content {
		if _, err := b.ChangeSet(ctx, b.Decisions, nil); err != nil {
			return err
		}
	}
	return nil
}

// Blobs counts the contents in a bundle.
func (r *Report) Blobs() (n int, bytes int64) {
	for _, m := range r.Members[min(len(partNames), len(r.Members)):] {
		n, bytes = n+1, bytes+m.Size
	}
	return n, bytes
}
