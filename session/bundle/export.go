package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fumehood/diffreview"
	"fumehood/internal/atomicfile"
	"fumehood/session"
	"fumehood/session/baseline"
	"fumehood/session/store"
	"fumehood/session/workspace"
)

// Options are how a session is exported.
type Options struct {
	NoContent bool // names, sizes, hashes and decisions, but no file's content
	Paths     bool // with the host's paths, which are taken out else
	Fresh     bool // of a new snapshot rather than the newest one
	LeaveOut  func(path string) bool
	Build     string // of this program, as the manifest says it
}

// Export is a session's bundle, gathered and not yet written. What it holds is
// read from the session's store, which nothing inside can change any more.
type Export struct {
	Manifest Manifest
	Secrets  []Secret // what looks like one among what would leave
	Broken   []string // records whose chain does not hold, as it is here

	host  *session.Host
	dir   store.Dir
	parts map[string][]byte
	blobs *baseline.Blobs
	first []byte // the manifest
}

// Gather reads what a bundle of the session would hold. The bytes are the same
// for the same state.
func Gather(ctx context.Context, h *session.Host, d store.Dir, o Options) (*Export, error) {
	r, err := h.Review(ctx, d, o.Fresh)
	if err != nil {
		return nil, err
	}
	if o.LeaveOut == nil {
		o.LeaveOut = func(string) bool { return false }
	}
	e := &Export{host: h, dir: d, parts: map[string][]byte{}, blobs: baseline.NewBlobs(session.StoreDirs(d).BlobsDir())}
	hidden := &hide{}
	if !o.Paths {
		hidden = hideOf(r.Record.Repo, h.Home)
	}
	if err := e.gatherParts(r, o, hidden); err != nil {
		return nil, err
	}
	e.Manifest = Manifest{Format: formatName, Version: Version, Build: clean(o.Build), Session: sessionOf(r, o.Paths, hidden), Content: !o.NoContent, Paths: o.Paths}
	for _, name := range partNames {
		if n := int64(len(e.parts[name])); n > sizeLimit(name) {
			return nil, fmt.Errorf("%s of this session has %d bytes: a bundle's limit is %d", name, n, sizeLimit(name))
		}
		e.Manifest.Members = append(e.Manifest.Members, Member{name, int64(len(e.parts[name])), hexSum(e.parts[name])})
	}
	if !o.NoContent {
		if err := e.gatherContent(ctx, r, o); err != nil {
			return nil, err
		}
	}
	e.lookInParts()
	if e.first, err = encode(e.Manifest); err != nil {
		return nil, err
	}
	return e, e.Manifest.check()
}

func (e *Export) gatherParts(r *session.Review, o Options, hidden *hide) error {
	base, err := baseline.Load(session.StoreDirs(e.dir))
	if err != nil {
		return fmt.Errorf("read the baseline: %w", err)
	}
	left, err := e.dir.LoadLeftOut()
	if err != nil {
		return err
	}
	applied, err := session.AppliedUnits(e.dir)
	if err != nil {
		return err
	}
	dec := decisionsFor(r.Decisions, o)
	for _, p := range []struct {
		name string
		of   func() ([]byte, error)
	}{
		{changesName, func() ([]byte, error) { return encode(changesOf(r.Snap, left, applied, o.LeaveOut)) }},
		{factsName, func() ([]byte, error) { return encode(factsOf(session.FactsOf(r.Record, base, r.Snap))) }},
		{decisionsName, dec.Encode},
		{eventsName, func() ([]byte, error) { return e.record(e.dir.Events(), hidden) }},
		{egressName, func() ([]byte, error) { return e.record(e.dir.Egress(), hidden) }},
		{policyName, func() ([]byte, error) { b, err := readAll(e.dir.Policy(), maxPart); return hidden.text(b), err }},
	} {
		if e.parts[p.name], err = p.of(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// decisionsFor gives the decisions that leave: none on what is left out, and
// without content no quoted lines and no edits.
func decisionsFor(all *diffreview.Decisions, o Options) *diffreview.Decisions {
	out := &diffreview.Decisions{Units: map[string]diffreview.Decision{}, Resolutions: map[string]diffreview.Resolution{}}
	for id, rec := range all.Units {
		if o.LeaveOut(rec.Path) || o.NoContent && rec.Edit != "" {
			continue
		}
		out.Units[id] = rec
	}
	for _, c := range all.Comments {
		if c.Path != "" && o.LeaveOut(c.Path) {
			continue
		}
		if o.NoContent {
			c.Quote = ""
		}
		out.Comments = append(out.Comments, c)
	}
	// How conflicts with the host's files are resolved concerns only the host.
	return out
}

// record reads a chained record. The notes of earlier exports at its end are left
// off: the same session gives the same bytes twice.
func (e *Export) record(path string, hidden *hide) ([]byte, error) {
	raw, err := readAll(path, maxRecord)
	if err != nil {
		return nil, err
	}
	if end := bytes.LastIndexByte(raw, '\n'); end >= 0 {
		raw = raw[:end+1] // a line that is being written is not there yet
	}
	for {
		last := bytes.LastIndexByte(raw[:max(0, len(raw)-1)], '\n') + 1
		if !bytes.Contains(raw[last:], []byte(`,"kind":"`+exportedKind+`",`)) {
			break
		}
		raw = raw[:last]
	}
	out := hidden.record(raw)
	c, err := walk(context.Background(), bytes.NewReader(out), func([]byte) {})
	if err == nil && c.Broken > 0 {
		e.Broken = append(e.Broken, fmt.Sprintf("%s, line %d", filepath.Base(path), c.Broken))
	}
	return out, err
}

// exportedKind is the kind of the event that says what left.
const exportedKind = "exported"

// readAll reads a file of the session; one that is not there is empty.
func readAll(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: more than the %d bytes that a bundle takes", path, limit)
	}
	return b, err
}

// gatherContent lists both sides of what changed, and the reviewers' edits.
func (e *Export) gatherContent(ctx context.Context, r *session.Review, o Options) error {
	sizes := map[diffreview.Blob]int64{}
	var list []diffreview.Change
	for _, c := range r.Snap.Changes() {
		if o.LeaveOut(c.Path) {
			continue
		}
		list = append(list, c)
		for _, x := range []diffreview.Entry{c.Old, c.New} {
			if x.Kind != diffreview.KindFile {
				continue
			}
			if x.Size > maxBlob {
				return fmt.Errorf("%s has %d bytes, a bundle takes at most %d of one file; --leave-out leaves it out", diffreview.SafeName(c.Path), x.Size, int64(maxBlob))
			}
			sizes[x.Blob] = x.Size
		}
	}
	edits := map[string][]diffreview.Blob{}
	for _, rec := range r.Decisions.Units {
		if rec.Edit == "" || o.LeaveOut(rec.Path) {
			continue
		}
		b, err := e.blobs.Read(rec.Edit, maxBlob)
		if err != nil {
			return fmt.Errorf("a reviewer's edit of %s: %w", diffreview.SafeName(rec.Path), err)
		}
		sizes[rec.Edit] = int64(len(b))
		edits[rec.Path] = append(edits[rec.Path], rec.Edit)
	}
	for b, n := range sizes {
		e.Manifest.Members = append(e.Manifest.Members, Member{blobPrefix + string(b), n, string(b)})
	}
	slices.SortFunc(e.Manifest.Members[len(partNames):], func(a, b Member) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	var err error
	e.Secrets, err = secretsIn(ctx, list, edits, e.blobs)
	return err
}

// lookInParts looks for secrets in what the record itself says: a command line,
// an event, a comment.
func (e *Export) lookInParts() {
	look := func(name string, b []byte) {
		if why := workspace.SecretIn("", b); why != "" {
			e.Secrets = append(e.Secrets, Secret{Side: name, Why: why})
		}
	}
	look("the command", []byte(strings.Join(e.Manifest.Session.Command, "\n")))
	for _, name := range []string{decisionsName, eventsName, egressName, policyName} {
		look(name, e.parts[name])
	}
}

func sessionOf(r *session.Review, paths bool, hidden *hide) Session {
	rec := r.Record
	s := Session{
		ID: rec.ID, Name: rec.Name, Repo: clean(filepath.Base(rec.Repo)), Branch: clean(rec.Branch), Head: rec.Head, ObjectFormat: rec.ObjectFormat,
		Files: rec.Files, Bytes: rec.Bytes, Agent: clean(rec.Agent), Policy: clean(string(hidden.text([]byte(rec.PolicyName)))), PolicyHash: rec.PolicyHash,
		Command: []string{}, State: rec.State, ExitCode: rec.Code, Signal: session.SignalName(rec.Signal), Limit: rec.Limit, Began: rec.Began,
		Created: rec.Created.UTC(), Started: rec.Started.UTC(), Ended: rec.Ended.UTC(), SnapshotAt: r.Snap.At.UTC(),
	}
	if paths {
		s.Repo = clean(rec.Repo)
	}
	for _, a := range rec.Command {
		s.Command = append(s.Command, clean(string(hidden.text([]byte(a)))))
	}
	return s
}

// ID is the bundle's hash.
func (e *Export) ID() string { return hexSum(e.first) }

// Size is what the file will have, in bytes.
func (e *Export) Size() int64 {
	n := block + int64(len(e.first)) + padding(int64(len(e.first)))
	for _, m := range e.Manifest.Members {
		n += block + m.Size + padding(m.Size)
	}
	return n + 4*block
}

// write writes the bundle. It fails when a blob of the store is not what its
// name says.
func (e *Export) write(ctx context.Context, w io.Writer) error {
	if n := e.Size(); n > MaxBytes {
		return fmt.Errorf("the bundle would have %d bytes: the limit is %d; --leave-out leaves paths out", n, int64(MaxBytes))
	}
	whole := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}
	}
	if err := writeMember(w, manifestName, int64(len(e.first)), whole(e.first)); err != nil {
		return err
	}
	for _, m := range e.Manifest.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		fill := whole(e.parts[m.Name])
		if b := blobOf(m.Name); b != "" {
			fill = func(w io.Writer) error { return e.copyBlob(w, b) }
		}
		if err := writeMember(w, m.Name, m.Size, fill); err != nil {
			return err
		}
	}
	end := e.ID() + "\n"
	if err := writeMember(w, endName, int64(len(end)), whole([]byte(end))); err != nil {
		return err
	}
	_, err := w.Write(make([]byte, 2*block))
	return err
}

func (e *Export) copyBlob(w io.Writer, b diffreview.Blob) error {
	f, err := e.blobs.Open(b)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), f); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != string(b) {
		return fmt.Errorf("content %s of the session's store: %w", b, baseline.ErrDamaged)
	}
	return nil
}

// WriteFile writes the bundle to a new file, 0600, whole or not at all; one that
// is there is replaced only on request. What left is an event of the session.
func (e *Export) WriteFile(ctx context.Context, path string, replace bool) error {
	if _, err := os.Lstat(path); err == nil && !replace {
		return fmt.Errorf("%s is there already; --force replaces it", diffreview.SafeName(path))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomicfile.WriteFrom(path, 0o600, func(w io.Writer) error { return e.write(ctx, w) }); err != nil {
		return err
	}
	return e.note()
}

// note records what left.
func (e *Export) note() error {
	var secret []string
	for _, s := range e.Secrets {
		if p := s.Place(); !slices.Contains(secret, p) {
			secret = append(secret, p)
		}
	}
	return e.dir.AppendEvent(time.Now(), exportedKind, "exported as bundle "+e.ID()[:12], map[string]any{
		"by": e.host.User, "tty": e.host.TTY, "bundle": e.ID(), "content": e.Manifest.Content, "paths": e.Manifest.Paths, "secrets": secret,
	})
}
