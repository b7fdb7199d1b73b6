package bundle

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/unix"

	"fumehood/diffreview"
	"fumehood/session"
)

// Bundle is one that was read and found whole: every byte of the file is what its
// manifest says. Content stays in the file, and is checked again when it is
// read. It is a diffreview.Source. Close it.
type Bundle struct {
	Manifest Manifest
	// ID is the SHA-256 of the manifest, which pins all members: the bundle's hash.
	ID string
	// Decisions are those that it came with; nobody changes them.
	Decisions *diffreview.Decisions
	Policy    []byte

	file    io.ReaderAt
	closing func() error
	blobs   map[diffreview.Blob]extent
	changes []diffreview.Change
	state   changes
	facts   session.Facts
	events  extent
	egress  extent
}

// extent is where a member's bytes lie.
type extent struct{ at, size int64 }

// openFile takes a bundle's file over and checks all of it. An error that is
// ErrDamaged says that the file is not as it was written, any other that it could
// not be read.
func openFile(ctx context.Context, f *os.File, path string) (*Bundle, error) {
	b, err := open(ctx, f, f.Close)
	if err != nil {
		_ = f.Close() // read-only
		return nil, fmt.Errorf("bundle %s: %w", diffreview.SafeName(path), err)
	}
	return b, nil
}

// openRegular opens a regular file of at most limit bytes.
func openRegular(path string, limit int64) (f *os.File, size int64, err error) {
	// Without O_NONBLOCK a fifo would hold the reader up before it is known as one.
	f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case !fi.Mode().IsRegular():
		err = fmt.Errorf("%s is no regular file", diffreview.SafeName(path))
	case fi.Size() > limit:
		err = fmt.Errorf("%s has %d bytes: the limit is %d", diffreview.SafeName(path), fi.Size(), limit)
	default:
		return f, fi.Size(), nil
	}
	_ = f.Close() // read-only
	return nil, 0, err
}

// thrifty has the collector run more often until back is called. What a file from
// elsewhere takes is bounded in live bytes, beside which as many dead ones would
// wait: it is to be read in 500 MiB.
func thrifty() (back func()) {
	was := debug.SetGCPercent(20)
	return func() { debug.SetGCPercent(was) }
}

// open reads a bundle of at most MaxBytes out of file.
func open(ctx context.Context, file io.ReaderAt, closing func() error) (*Bundle, error) {
	defer thrifty()()
	b := &Bundle{file: file, closing: closing, blobs: map[diffreview.Blob]extent{}}
	return b, b.read(ctx)
}

// Close gives the file back.
func (b *Bundle) Close() error { return b.closing() }

func (b *Bundle) read(ctx context.Context) error {
	r := bufio.NewReaderSize(io.NewSectionReader(b.file, 0, MaxBytes), 32<<10)
	at, err := b.readManifest(r)
	if err != nil {
		return err
	}
	parts := map[string][]byte{}
	for _, m := range b.Manifest.Members {
		if err := ctx.Err(); err != nil {
			return err
		}
		at += block
		part, err := readMember(r, m)
		if err != nil {
			return err
		}
		where := extent{at, m.Size}
		switch blob := blobOf(m.Name); {
		case blob != "":
			b.blobs[blob] = where
		case m.Name == eventsName:
			b.events = where
		case m.Name == egressName:
			b.egress = where
		default:
			parts[m.Name] = part
		}
		at += m.Size + padding(m.Size)
	}
	if err := b.readEnd(r); err != nil {
		return err
	}
	return b.take(parts)
}

func (b *Bundle) readManifest(r io.Reader) (end int64, err error) {
	size, err := firstSize(r)
	if err != nil {
		return 0, err
	}
	var raw bytes.Buffer
	if err := readBody(r, &raw, manifestName, size); err != nil {
		return 0, err
	}
	if err := peekVersion(raw.Bytes()); err != nil {
		return 0, err
	}
	if err := decode(manifestName, raw.Bytes(), &b.Manifest); err != nil {
		return 0, err
	}
	b.ID = hexSum(raw.Bytes())
	return block + size + padding(size), b.Manifest.check()
}

// readMember checks one member against the manifest. Of a part that is read
// whole it gives the bytes.
func readMember(r io.Reader, m Member) ([]byte, error) {
	if err := readHeader(r, m.Name, m.Size); err != nil {
		return nil, err
	}
	sum := sha256.New()
	var whole bytes.Buffer
	var w io.Writer = sum
	if blobOf(m.Name) == "" && m.Name != eventsName && m.Name != egressName {
		whole.Grow(int(m.Size)) // at most maxPart
		w = io.MultiWriter(sum, &whole)
	}
	if err := readBody(r, w, m.Name, m.Size); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return nil, damaged("member %s: its bytes have the hash %s, not %s", m.Name, got, m.SHA256)
	}
	return whole.Bytes(), nil
}

// readEnd reads the last member and the two blocks of zeros that end a tar.
func (b *Bundle) readEnd(r io.Reader) error {
	want := b.ID + "\n"
	if err := readHeader(r, endName, int64(len(want))); err != nil {
		return err
	}
	var got bytes.Buffer
	if err := readBody(r, &got, endName, int64(len(want))); err != nil {
		return err
	}
	if got.String() != want {
		return damaged("the manifest is not the one that it was written with")
	}
	if err := readZeros(r, 2*block, endName); err != nil {
		return err
	}
	if n, err := io.CopyN(io.Discard, r, 1); n != 0 || !errors.Is(err, io.EOF) {
		return damaged("something stands behind its end")
	}
	return nil
}

// take reads the parts.
func (b *Bundle) take(parts map[string][]byte) error {
	var f facts
	if err := decode(changesName, parts[changesName], &b.state); err != nil {
		return err
	}
	delete(parts, changesName) // each is read in what the one before took
	if err := decode(factsName, parts[factsName], &f); err != nil {
		return err
	}
	delete(parts, factsName)
	dec, err := diffreview.DecodeDecisions(parts[decisionsName])
	if err != nil {
		return damaged("%s: %v", decisionsName, err)
	}
	if len(dec.Resolutions) > 0 {
		return damaged("%s: it resolves conflicts, which only the host knows of", decisionsName)
	}
	plain(dec)
	b.Decisions, b.Policy = dec, parts[policyName]
	for _, c := range b.state.Changes {
		b.changes = append(b.changes, diffreview.Change{Path: string(c.Path), Old: c.Old.entry(), New: c.New.entry(), Ignored: c.Ignored})
	}
	b.facts = f.facts(b.state.NewlyIgnored)
	return b.checkBlobs()
}

// checkBlobs holds the content to what changes and decisions name: each is there
// with the size that is said of it, and no other.
func (b *Bundle) checkBlobs() error {
	named := map[diffreview.Blob]bool{}
	for _, c := range b.changes {
		if err := c.Check(); err != nil {
			return damaged("%s: %v", changesName, err)
		}
		for _, e := range []diffreview.Entry{c.Old, c.New} {
			if e.Blob == "" {
				continue
			}
			named[e.Blob] = true
			if x, ok := b.blobs[e.Blob]; b.Manifest.Content && (!ok || x.size != e.Size) {
				return damaged("the content of %s is not there, or not of its size", diffreview.SafeName(c.Path))
			}
		}
	}
	for _, e := range editsOf(b.Decisions) {
		named[e] = true
	}
	for blob := range b.blobs {
		if !named[blob] || !b.Manifest.Content {
			return damaged("content %s belongs to nothing in it", blob)
		}
	}
	if !slices.IsSortedFunc(b.changes, byPath) {
		return damaged("%s: paths out of order", changesName)
	}
	return nil
}

// Changes lists every differing path, sorted by bytes.
func (b *Bundle) Changes() []diffreview.Change { return b.changes }

// Content reads a blob out of the file, whole, and checks it.
func (b *Bundle) Content(blob diffreview.Blob, limit int64) ([]byte, error) {
	x, ok := b.blobs[blob]
	switch {
	case !ok:
		return nil, fmt.Errorf("content %s is not in the bundle", blob)
	case x.size > limit:
		return nil, fmt.Errorf("content %s: %d bytes, more than the limit of %d", blob, x.size, limit)
	}
	buf := make([]byte, x.size)
	if _, err := b.file.ReadAt(buf, x.at); err != nil {
		return nil, damaged("content %s: %v", blob, err)
	}
	if hexSum(buf) != string(blob) {
		return nil, damaged("content %s has changed since the bundle was opened", blob)
	}
	return buf, nil
}

// section reads a member where it lies.
func (b *Bundle) section(x extent) io.Reader { return io.NewSectionReader(b.file, x.at, x.size) }

// ErrNoContent says that there is nothing to review.
var ErrNoContent = errors.New("it was exported with --no-content: there is nothing in it to review; \"fumehood verify\" lists what it has")

// ChangeSet builds the change set, finds the risks and fills in the decisions.
// edits are reviewers' own texts that the bundle does not have.
func (b *Bundle) ChangeSet(ctx context.Context, dec *diffreview.Decisions, edits map[diffreview.Blob][]byte) (*diffreview.ChangeSet, error) {
	if !b.Manifest.Content {
		return nil, ErrNoContent
	}
	set, err := diffreview.Build(ctx, b, diffreview.Options{
		Session: b.Manifest.Session.ID, Repo: b.Manifest.Session.Repo, SnapshotAt: b.Manifest.Session.SnapshotAt,
		Ignored: b.state.Ignored.ignored(), LeftOut: leftOuts(b.state.LeftOut), Risk: b.facts.Find,
	})
	if err != nil {
		return nil, fmt.Errorf("change set of the bundle: %w", err)
	}
	dec.Fill(set)
	read := func(blob diffreview.Blob) ([]byte, error) {
		if text, ok := edits[blob]; ok {
			return text, nil
		}
		return b.Content(blob, maxBlob)
	}
	if err := set.JudgeEdits(read, b.facts.Find); err != nil {
		return nil, fmt.Errorf("look for risks in reviewers' own texts: %w", err)
	}
	applied := map[string]bool{}
	for _, u := range b.state.Applied {
		applied[u] = true
	}
	set.MarkApplied(applied)
	set.MarkNew(nil)
	return set, nil
}
