package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"fumehood/diffreview"
)

const decidedFormat = "fumehood decisions"

// Limits of a file of decisions.
const (
	maxDecided = 64 << 20
	maxEdits   = 32 << 20 // bytes of reviewers' own texts in all
)

// Decided is what a reviewer of a bundle did: beside the bundle while it is
// reviewed, then taken home. It holds what differs from the decisions that the
// bundle came with.
type Decided struct {
	Bundle     string // the bundle's hash
	Session    string
	Repo       string
	SnapshotAt time.Time
	By         string // the reviewer's account, as it says itself
	At         time.Time
	// Units and Comments are new or other than the bundle's.
	Decisions *diffreview.Decisions
	// Back are units, and CommentsBack comments, of the bundle that were taken back.
	Back         []Unit
	CommentsBack []string
	Edits        map[diffreview.Blob][]byte // the texts that decisions name
}

// Unit is one unit of a change set at its path.
type Unit struct{ ID, Path string }

type savedDecided struct {
	Format       string                     `json:"format"`
	Version      int                        `json:"version"`
	Bundle       string                     `json:"bundle"`
	Session      string                     `json:"session"`
	Repo         string                     `json:"repo"`
	SnapshotAt   time.Time                  `json:"snapshot_at"`
	By           string                     `json:"by"`
	At           time.Time                  `json:"at"`
	Back         []savedUnit                `json:"back"`
	CommentsBack []string                   `json:"comments_back"`
	Edits        map[diffreview.Blob][]byte `json:"edits"`
	Decisions    json.RawMessage            `json:"decisions"`
	// Sum is the SHA-256 of the file with this field empty. It shows damage.
	Sum string `json:"sum"`
}

type savedUnit struct {
	Unit string `json:"unit"`
	Path []byte `json:"path"`
}

// since gives what dec has beyond the decisions that a bundle came with.
func since(base, dec *diffreview.Decisions) (out *diffreview.Decisions, back []Unit, commentsBack []string) {
	out = &diffreview.Decisions{Units: map[string]diffreview.Decision{}, Resolutions: map[string]diffreview.Resolution{}}
	for id, rec := range dec.Units {
		if was, ok := base.Units[id]; !ok || was != rec {
			out.Units[id] = rec
		}
	}
	for _, id := range slices.Sorted(maps.Keys(base.Units)) {
		if _, ok := dec.Units[id]; !ok {
			back = append(back, Unit{id, base.Units[id].Path})
		}
	}
	were := commentsByID(base)
	for _, c := range dec.Comments {
		if was, ok := were[c.ID]; !ok || was != c {
			out.Comments = append(out.Comments, c)
		}
	}
	now := commentsByID(dec)
	for _, c := range base.Comments {
		if _, ok := now[c.ID]; !ok {
			commentsBack = append(commentsBack, c.ID)
		}
	}
	return out, back, commentsBack
}

// onto gives the decisions of a bundle with what was done since.
func (d *Decided) onto(base *diffreview.Decisions) *diffreview.Decisions {
	out := &diffreview.Decisions{Version: base.Version, Units: map[string]diffreview.Decision{}, Resolutions: maps.Clone(base.Resolutions), Comments: slices.Clone(base.Comments)}
	maps.Copy(out.Units, base.Units)
	for _, u := range d.Back {
		delete(out.Units, u.ID)
	}
	maps.Copy(out.Units, d.Decisions.Units)
	out.Comments = slices.DeleteFunc(out.Comments, func(c diffreview.Comment) bool { return slices.Contains(d.CommentsBack, c.ID) })
	for _, c := range d.Decisions.Comments {
		putComment(out, c)
	}
	return out
}

func commentsByID(d *diffreview.Decisions) map[string]diffreview.Comment {
	out := make(map[string]diffreview.Comment, len(d.Comments))
	for _, c := range d.Comments {
		out[c.ID] = c
	}
	return out
}

// putComment puts a comment in the place of the one with its ID, or at the end.
func putComment(d *diffreview.Decisions, c diffreview.Comment) {
	at := slices.IndexFunc(d.Comments, func(o diffreview.Comment) bool { return o.ID == c.ID })
	if at < 0 {
		d.Comments = append(d.Comments, c)
		return
	}
	d.Comments[at] = c
}

// Encode gives the bytes of the file.
func (d *Decided) Encode() ([]byte, error) {
	dec, err := d.Decisions.Encode()
	if err != nil {
		return nil, err
	}
	used := map[diffreview.Blob][]byte{}
	for _, e := range editsOf(d.Decisions) {
		if text, ok := d.Edits[e]; ok {
			used[e] = text
		}
	}
	s := savedDecided{
		Format: decidedFormat, Version: Version, Bundle: d.Bundle, Session: d.Session, Repo: clean(d.Repo), SnapshotAt: d.SnapshotAt.UTC(),
		By: clean(d.By), At: d.At.UTC(), Back: []savedUnit{}, CommentsBack: append([]string{}, d.CommentsBack...), Edits: used, Decisions: dec,
	}
	for _, u := range d.Back {
		s.Back = append(s.Back, savedUnit{u.ID, []byte(u.Path)})
	}
	b, err := s.encode()
	if err == nil && len(b) > maxDecided {
		err = fmt.Errorf("decisions of %d bytes: the limit is %d", len(b), maxDecided)
	}
	return b, err
}

// encode gives the bytes of the file, with their sum.
func (s *savedDecided) encode() ([]byte, error) {
	s.Sum = ""
	b, err := encode(s)
	if err != nil {
		return nil, err
	}
	s.Sum = hexSum(b)
	return encode(s)
}

// holds says whether the sum is that of raw, which is written as this version
// writes it: the sum stands at the very end.
func (s *savedDecided) holds(raw []byte) bool {
	const end = "\"\n}\n"
	body, ok := bytes.CutSuffix(raw, []byte(s.Sum+end))
	if !ok {
		return false
	}
	sum := sha256.New()
	_, _ = sum.Write(body) // a hash takes all
	_, _ = sum.Write([]byte(end))
	return hex.EncodeToString(sum.Sum(nil)) == s.Sum
}

// LoadSigned reads a file of decisions whose signature must hold, and says whose
// it is. The bytes that were checked are the ones that are read. With nil signers
// no signature is checked. confine is called when no more is needed of the machine,
// before the bytes are interpreted. The error is ErrDamaged when the file is not
// one as it was written.
func LoadSigned(ctx context.Context, path string, signers *Signers, confine func() error) (d *Decided, signed string, err error) {
	raw, err := readDecided(path)
	if err != nil {
		return nil, "", err
	}
	if signers != nil {
		if signed, err = CheckSignature(ctx, func() io.Reader { return bytes.NewReader(raw) }, *signers); err != nil {
			return nil, "", err
		}
	}
	if err := confine(); err != nil {
		return nil, "", err
	}
	d, err = parsedFrom(path, raw)
	return d, signed, err
}

func parsedFrom(path string, raw []byte) (*Decided, error) {
	d, err := parseDecided(raw)
	if err != nil {
		return nil, fmt.Errorf("decisions %s: %w", diffreview.SafeName(path), err)
	}
	return d, nil
}

func readDecided(path string) ([]byte, error) {
	f, size, err := openRegular(path, maxDecided)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw := make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil && len(raw) > 0 {
		return nil, err
	}
	return raw, nil
}

func parseDecided(raw []byte) (*Decided, error) {
	defer thrifty()()
	var head struct {
		Format  string
		Version int
	}
	if json.Unmarshal(raw, &head) == nil && head.Format == decidedFormat && head.Version != Version {
		return nil, fmt.Errorf("of version %d: this build reads version %d", head.Version, Version)
	}
	if bytes.HasPrefix(raw, []byte(manifestName)) {
		return nil, errors.New("it is a bundle; what was decided on one is in the file that \"fumehood review\" writes beside it, with .decisions behind its name")
	}
	var s savedDecided
	if err := decode("decisions", raw, &s); err != nil {
		return nil, err
	}
	if !s.holds(raw) {
		return nil, damaged("the bytes are not those of its sum")
	}
	dec, err := diffreview.DecodeDecisions(s.Decisions)
	switch {
	case err != nil:
		return nil, damaged("%v", err)
	case s.Format != decidedFormat:
		return nil, damaged("the format is %q, not %q", s.Format, decidedFormat)
	case !isSum(s.Bundle) || !plainID(s.Session):
		return nil, damaged("it names no bundle or no session")
	case len(dec.Resolutions) > 0:
		return nil, damaged("it resolves conflicts, which only the host knows of")
	}
	plain(dec)
	d := &Decided{
		Bundle: s.Bundle, Session: s.Session, Repo: s.Repo, SnapshotAt: s.SnapshotAt, By: shownLine(s.By), At: s.At,
		Decisions: dec, CommentsBack: s.CommentsBack, Edits: s.Edits,
	}
	for _, u := range s.Back {
		d.Back = append(d.Back, Unit{u.Unit, string(u.Path)})
	}
	return d, d.check()
}

func (d *Decided) check() error {
	total := 0
	for b, text := range d.Edits {
		if total += len(text); hexSum(text) != string(b) {
			return damaged("an edit is not the text that its name says")
		}
	}
	if total > maxEdits {
		return fmt.Errorf("edits of %d bytes: the limit is %d", total, maxEdits)
	}
	for _, e := range editsOf(d.Decisions) {
		if _, ok := d.Edits[e]; !ok {
			return damaged("the edit %s is not there", e)
		}
	}
	for _, u := range d.Back {
		if !plainID(u.ID) || u.Path == "" {
			return damaged("%q is no unit at a path", u.ID)
		}
	}
	for _, id := range d.CommentsBack {
		if !plainID(id) {
			return damaged("%q is no comment", id)
		}
	}
	if len(d.Back) > maxMembers || len(d.CommentsBack) > maxMembers {
		return damaged("more than any review has")
	}
	return nil
}

// restored gives the decisions on a bundle out of the bytes of their file, or new
// ones when there is none.
func restored(b *Bundle, path string, raw []byte, by string) (*Decided, error) {
	if raw == nil {
		s := b.Manifest.Session
		return &Decided{
			Bundle: b.ID, Session: s.ID, Repo: s.Repo, SnapshotAt: s.SnapshotAt, By: by,
			Decisions: &diffreview.Decisions{Units: map[string]diffreview.Decision{}}, Edits: map[diffreview.Blob][]byte{},
		}, nil
	}
	d, err := parsedFrom(path, raw)
	switch {
	case err != nil:
		return nil, err
	case d.Bundle != b.ID:
		return nil, fmt.Errorf("%s has the decisions on another bundle (%.12s, this is %.12s); name another file with --decisions", diffreview.SafeName(path), d.Bundle, b.ID)
	}
	if d.Edits == nil {
		d.Edits = map[diffreview.Blob][]byte{}
	}
	d.By = by
	return d, nil
}

// same says whether two decisions decide the same, whoever made them.
func same(a, b diffreview.Decision) bool {
	return a.Verdict == b.Verdict && a.Lines == b.Lines && a.Edit == b.Edit && a.Path == b.Path
}

// saysNothing holds for a file that records no act of its reviewer.
func (d *Decided) saysNothing() bool {
	return len(d.Decisions.Units) == 0 && len(d.Decisions.Comments) == 0 && len(d.Back) == 0 && len(d.CommentsBack) == 0
}
