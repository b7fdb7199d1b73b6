package workspace

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fumehood/diffreview"
	"fumehood/internal/beneath"
	"fumehood/session/baseline"
)

// ref is one reference that goes into the workspace.
type ref struct {
	name, oid string
	peeled    string // of an annotated tag
}

// packer brings the git objects of a session into its store: what History asks
// for and what the index names beside it. The host's git lists them and packs
// what it must; a pack of the host that holds nothing else is copied as it is.
type packer struct {
	repo *Repo
	sel  *Selection
	dir  string // the store's git folder
	refs []ref
	copy func(from, to string) error // copies a file, sharing blocks where it can

	// secrets are paths in the history that the policy excludes or whose names
	// look like secrets: whoever is inside can read them there.
	secrets []diffreview.LeftOut
}

// run lists the references and fills the store.
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
	list, err := p.list(ctx)
	if err != nil {
		return err
	}
	rest, err := p.whole(ctx, list)
	if err != nil || len(rest) == 0 {
		return err
	}
	return p.pack(ctx, bytes.NewReader(rest))
}

// list gives the names of all objects that go in, a line each, with the path
// that an object was met at.
func (p *packer) list(ctx context.Context) ([]byte, error) {
	if p.sel.history == "all" && p.repo.sharesObjects() {
		return p.repo.git.output(ctx, nil, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects", "--missing=allow-promisor")
	}
	if p.sel.history == "all" {
		return p.repo.git.output(ctx, nil, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)")
	}
	staged, err := p.staged(ctx)
	if err != nil {
		return nil, err
	}
	var in bytes.Buffer
	fmt.Fprintln(&in, p.repo.Head)
	for _, r := range p.refs {
		fmt.Fprintln(&in, r.oid)
	}
	for _, oid := range staged {
		fmt.Fprintln(&in, oid)
	}
	return p.repo.git.output(ctx, &in, "rev-list", "--objects", "--missing=allow-promisor", "--stdin")
}

// whole copies each pack of the host that holds listed objects only, and gives
// the lines of the list that are in none of them. Such a pack is neither read
// nor hashed, which is most of the time of a start with a large history.
func (p *packer) whole(ctx context.Context, list []byte) ([]byte, error) {
	size := p.repo.hashSize()
	wanted := map[string]bool{} // name in raw bytes: already in a copied pack
	name := make([]byte, size)
	lines := func(fn func(line []byte) error) error {
		for rest := list; len(rest) > 0; {
			var line []byte
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
			if len(line) < 2*size {
				return fmt.Errorf("list of objects: not understood: %q", clip(line))
			}
			if _, err := hex.Decode(name, line[:2*size]); err != nil {
				return fmt.Errorf("list of objects: not understood: %q", clip(line))
			}
			if err := fn(line); err != nil {
				return err
			}
		}
		return nil
	}
	seen := map[string]bool{}
	err := lines(func(line []byte) error {
		wanted[string(name)] = false
		if len(line) > 2*size+1 {
			p.secret(string(line[2*size+1:]), seen)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(globQuote(p.repo.CommonDir), "objects", "pack", "pack-*.idx"))
	if err != nil {
		return nil, err
	}
	for _, idx := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.wholePack(idx, wanted); err != nil {
			return nil, err
		}
	}
	var rest []byte
	err = lines(func(line []byte) error {
		if !wanted[string(name)] {
			rest = append(append(rest, line...), '\n')
		}
		return nil
	})
	return rest, err
}

// secret notes a path of the history that should not be there.
func (p *packer) secret(path string, seen map[string]bool) {
	why := secretInHistory(path)
	if why == "" && p.sel.exclude != nil && beneath.Check(path) == nil && p.sel.exclude.Path(path, false) {
		why = "excluded by the policy"
	}
	if why == "" || seen[path] || len(seen) >= maxSecrets {
		return
	}
	seen[path] = true
	p.secrets = append(p.secrets, diffreview.LeftOut{Path: path, Reason: why})
}

// wholePack copies one pack if all that is in it is wanted. A pack that can't
// be read, or that git replaced meanwhile, is left to git.
func (p *packer) wholePack(idx string, wanted map[string]bool) error {
	k, err := baseline.OpenPack(idx, p.repo.hashSize())
	if err != nil {
		return nil // an older index, or gone: git itself packs the objects
	}
	defer k.Close()
	if k.Len() > len(wanted) {
		return nil
	}
	names, err := k.Names()
	if err != nil {
		return nil // as above
	}
	for _, n := range names {
		if _, ok := wanted[n]; !ok {
			return nil
		}
	}
	base := strings.TrimSuffix(idx, ".idx")
	to := filepath.Join(p.dir, "objects", "pack", filepath.Base(base))
	for _, ext := range []string{".pack", ".idx"} {
		err := p.copy(base+ext, to+ext)
		if errors.Is(err, os.ErrNotExist) && ext == ".pack" {
			return nil // repacked just now
		}
		if err != nil {
			return err
		}
	}
	for _, n := range names {
		wanted[n] = true
	}
	return nil
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
	if root := rootTree(p.sel.index, p.repo.hashSize()); root != "" && root == p.repo.headTree {
		return nil, nil
	}
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

// pack has the host's git write one pack into the store: the store is its
// object folder and the host's repository only an alternate, so that not even
// a temporary file is made there.
func (p *packer) pack(ctx context.Context, in io.Reader) error {
	objects := filepath.Join(p.dir, "objects")
	g := p.repo.git.with(
		"GIT_OBJECT_DIRECTORY="+objects,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoteAlternate(filepath.Join(p.repo.CommonDir, "objects")),
	)
	// Existing deltas are used as they are; new ones are not sought, and what
	// is not packed yet is compressed lightly: a start should not wait for it.
	_, err := g.output(ctx, in,
		"pack-objects", "-q", "--non-empty", "--delta-base-offset", "--window=0", "--compression=1",
		filepath.Join(objects, "pack", "pack"))
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
