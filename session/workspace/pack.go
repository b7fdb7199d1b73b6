package workspace

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fumehood/session/baseline"
)

// ref is one reference that goes into the workspace.
type ref struct {
	name, oid string
	peeled    string // of an annotated tag
}

// packer writes the git objects of a session into its store, by the host's git
// reading the host's repository. The pack that git makes carries what History
// asked for and what the index names beside it.
type packer struct {
	repo *Repo
	sel  *Selection
	dir  string // the store's git folder
	refs []ref
}

// run lists the references and writes the pack.
func (p *packer) run(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(p.dir, "objects", "pack"), 0o700); err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	if p.sel.history == "none" || p.repo.Unborn {
		return p.packIndex(ctx)
	}
	if err := p.listRefs(ctx); err != nil {
		return err
	}
	if p.sel.history == "all" {
		return p.packAll(ctx)
	}
	staged, err := p.staged(ctx)
	if err != nil {
		return err
	}
	var in bytes.Buffer
	fmt.Fprintln(&in, p.repo.Head)
	for _, r := range p.refs {
		fmt.Fprintln(&in, r.oid)
	}
	for _, oid := range staged {
		fmt.Fprintln(&in, oid)
	}
	return p.pack(ctx, &in, "--revs")
}

// listRefs finds the branches, tags and remote branches that HEAD reaches, or
// all references.
func (p *packer) listRefs(ctx context.Context) error {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname) %(*objectname)"}
	if p.sel.history == "head" {
		args = append(args, "--merged="+p.repo.Head)
	}
	args = append(args, "refs/heads", "refs/tags", "refs/remotes")
	if p.sel.history == "all" {
		args = append(args, "refs/stash")
	}
	out, err := p.repo.git.output(ctx, nil, args...)
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(out), "\n") {
		f := strings.Split(line, " ")
		// refs/remotes/NAME/HEAD is a pointer to another; as a copy it would
		// stand still.
		if len(f) != 3 || strings.HasPrefix(f[1], "refs/remotes/") && strings.HasSuffix(f[1], "/HEAD") {
			continue
		}
		p.refs = append(p.refs, ref{name: f[1], oid: f[0], peeled: f[2]})
	}
	return nil
}

// staged lists the blobs that the index has and HEAD's tree has not.
func (p *packer) staged(ctx context.Context) ([]string, error) {
	out, err := p.repo.git.output(ctx, nil, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv", p.repo.Head)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var list []string
	for _, item := range strings.Split(string(out), "\x00") {
		// ":100644 100644 OLD NEW M", then the path as an item of its own.
		f := strings.Split(item, " ")
		if len(f) != 5 || !strings.HasPrefix(f[0], ":") || f[1] == "160000" || strings.Trim(f[3], "0") == "" || seen[f[3]] {
			continue
		}
		seen[f[3]] = true
		list = append(list, f[3])
	}
	for i := range p.sel.index {
		if e := &p.sel.index[i]; e.stage != 0 && e.mode != modeGitlink {
			if oid := hex.EncodeToString(e.oid[:p.repo.hashSize()]); !seen[oid] {
				seen[oid] = true
				list = append(list, oid)
			}
		}
	}
	return list, nil
}

// packIndex packs what the index names and nothing else.
func (p *packer) packIndex(ctx context.Context) error {
	var in bytes.Buffer
	for i := range p.sel.index {
		if e := &p.sel.index[i]; e.mode != modeGitlink && e.flags&flagIntentToAdd == 0 {
			fmt.Fprintf(&in, "%x %s\n", e.oid[:p.repo.hashSize()], strings.ReplaceAll(e.path, "\n", "_"))
		}
	}
	if in.Len() == 0 {
		return nil
	}
	return p.pack(ctx, &in)
}

// packAll packs every object that there is.
func (p *packer) packAll(ctx context.Context) error {
	list := p.repo.git.command(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
	errs := &head{max: 2000}
	list.Stderr = errs
	pipe, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return &GitError{Args: []string{"cat-file"}, Err: err}
	}
	packErr := p.pack(ctx, pipe)
	_, _ = io.Copy(io.Discard, pipe) // so that the lister can end
	if err := list.Wait(); err != nil && packErr == nil {
		return &GitError{Args: []string{"cat-file"}, Err: err, Stderr: strings.TrimSpace(errs.b.String())}
	}
	return packErr
}

// pack has the host's git write one pack into the store: the store is its
// object folder and the host's repository only an alternate, so that not even
// a temporary file is made there.
func (p *packer) pack(ctx context.Context, in io.Reader, extra ...string) error {
	objects := filepath.Join(p.dir, "objects")
	g := p.repo.git.with(
		"GIT_OBJECT_DIRECTORY="+objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoteAlternate(filepath.Join(p.repo.CommonDir, "objects")),
	)
	// Existing deltas are used as they are; new ones are not sought, and what
	// is not packed yet is compressed lightly: a start should not wait for it.
	args := append([]string{
		"pack-objects", "-q", "--non-empty", "--delta-base-offset", "--window=0", "--compression=1", "--missing=allow-promisor",
	}, extra...)
	_, err := g.output(ctx, in, append(args, filepath.Join(objects, "pack", "pack"))...)
	return err
}

// quoteAlternate writes a path as git reads it in a list of object folders.
func quoteAlternate(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// packs opens the packs of the store.
func (p *packer) packs() ([]*baseline.Pack, []string, error) {
	names, err := filepath.Glob(filepath.Join(globQuote(p.dir), "objects", "pack", "pack-*.idx"))
	if err != nil {
		return nil, nil, err
	}
	var out []*baseline.Pack
	for _, n := range names {
		k, err := baseline.OpenPack(n, p.repo.hashSize())
		if err != nil {
			closePacks(out)
			return nil, nil, err
		}
		out = append(out, k)
	}
	return out, names, nil
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

func closePacks(list []*baseline.Pack) {
	for _, k := range list {
		k.Close()
	}
}
