package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fumehood/diffreview"
)

// TreeFile is one path of a commit: what a tree of the repository holds there.
type TreeFile struct {
	Mode string // as git prints it: 100644, 100755, 120000, 160000; "" is absent
	OID  string
	Data []byte // of a file or a link; nil for a submodule
}

// CommitFile is one path that a commit changes. An Entry that is absent takes
// the path away.
type CommitFile struct {
	Path  string
	Entry diffreview.Entry // of a link the target, of a file the executable bit
	Data  []byte           // of a file
}

// Commit is what is to become a commit on a branch of its own.
type Commit struct {
	Branch  string // without refs/heads/; must not exist
	Parent  string // the commit that it follows, hex; "" for a first one
	Author  string // "Name <mail>"; "" is the repository's own identity
	Message string
	Files   []CommitFile
	Temp    string // an empty folder of the caller's own
	// Intend is called with the commit's name when all but the branch is there. On
	// its error no branch is made.
	Intend func(commit string) error
}

// ErrBranch says that a branch can't be made; what wraps it says why.
var ErrBranch = errors.New("no branch was made")

// maxTreeFile bounds one file that is read out of a commit, in bytes.
const maxTreeFile = 256 << 20

// FilesOf reads paths out of a commit, raw, as git holds them. A path that the
// commit does not have is absent in the answer.
func (r *Repo) FilesOf(ctx context.Context, commit string, paths []string) (map[string]TreeFile, error) {
	out := make(map[string]TreeFile, len(paths))
	if commit == "" || len(paths) == 0 {
		return out, nil
	}
	wanted := make(map[string]bool, len(paths))
	for _, p := range paths {
		wanted[p] = true
	}
	list, err := r.git.output(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var ask []string
	for line := range bytes.SplitSeq(list, []byte{0}) {
		head, path, ok := strings.Cut(string(line), "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 || !wanted[path] {
			continue
		}
		out[path] = TreeFile{Mode: f[0], OID: f[2]}
		if f[1] == "blob" {
			ask = append(ask, path)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	var in strings.Builder
	for _, p := range ask {
		in.WriteString(out[p].OID + "\n")
	}
	got, err := r.git.output(ctx, strings.NewReader(in.String()), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	rd := bufio.NewReader(bytes.NewReader(got))
	for _, p := range ask {
		f := out[p]
		if f.Data, err = nextObject(rd, f.OID); err != nil {
			return nil, fmt.Errorf("read %q of commit %.12s: %w", p, commit, err)
		}
		out[p] = f
	}
	return out, nil
}

// nextObject reads one answer of cat-file --batch.
func nextObject(r *bufio.Reader, oid string) ([]byte, error) {
	line, err := r.ReadString('\n')
	f := strings.Fields(line)
	if err != nil || len(f) != 3 || f[0] != oid || f[1] != "blob" {
		return nil, fmt.Errorf("git says %q", strings.TrimSpace(line))
	}
	n, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || n < 0 || n > maxTreeFile {
		return nil, fmt.Errorf("%s bytes, the limit is %d", f[2], maxTreeFile)
	}
	b := make([]byte, n+1)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return b[:n], nil
}

// CheckBranch says why no branch of that name can be made. The error wraps
// ErrBranch.
func (r *Repo) CheckBranch(ctx context.Context, name string) error {
	if _, err := r.git.output(ctx, nil, "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "-") {
		return fmt.Errorf("%q is no name for a branch; %w", name, ErrBranch)
	}
	if _, err := r.git.output(ctx, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+name); err == nil {
		return fmt.Errorf("the branch %q is there already, and no branch is ever moved: choose another name; %w", name, ErrBranch)
	}
	return nil
}

// Make makes the commit and the branch, and gives the commit's name. Nothing of
// the work tree, the index, HEAD or any other ref changes; no hook and no filter
// runs; CheckBranch was asked before. The objects are made in Temp, and come into the repository only past
// git's own check of them. The error wraps ErrBranch where another name, author
// or file would do.
func (r *Repo) Make(ctx context.Context, c Commit) (string, error) {
	ref := "refs/heads/" + c.Branch
	who, err := r.people(c.Author)
	if err != nil {
		return "", err
	}
	objects, err := r.git.output(ctx, nil, "rev-parse", "--git-path", "objects")
	if err != nil {
		return "", err
	}
	there := strings.TrimSuffix(string(objects), "\n")
	if !filepath.IsAbs(there) {
		there = filepath.Join(r.Root, there)
	}
	own := filepath.Join(c.Temp, "objects")
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", err
	}
	apart := r.git.with(append(who,
		"GIT_OBJECT_DIRECTORY="+own, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+strconv.Quote(there),
		"GIT_INDEX_FILE="+filepath.Join(c.Temp, "index"))...)
	tree, err := writeTree(ctx, apart, c, strings.Repeat("00", r.hashSize()))
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	if c.Parent != "" {
		args = append(args, "-p", c.Parent)
	}
	commit, err := line(apart.output(ctx, strings.NewReader(c.Message), args...))
	if err != nil {
		return "", err
	}
	revs := commit + "\n"
	if c.Parent != "" {
		revs += "^" + c.Parent + "\n"
	}
	pack, err := apart.output(ctx, strings.NewReader(revs), "pack-objects", "--revs", "--stdout", "--quiet")
	if err != nil {
		return "", err
	}
	// As "git fsck" does, so that no name or link that git itself distrusts ever
	// becomes part of the repository.
	if _, err := r.git.output(ctx, bytes.NewReader(pack), "-c", "core.fsync=committed", "unpack-objects", "--strict", "-q"); err != nil {
		return "", fmt.Errorf("git does not take what would be committed: %w; %w", err, ErrBranch)
	}
	if err := c.Intend(commit); err != nil {
		return "", err
	}
	_, err = r.git.with(who...).output(ctx, nil, "-c", "core.fsync=committed,reference",
		"update-ref", "-m", "fumehood apply", ref, commit, strings.Repeat("0", len(commit)))
	if err != nil {
		// A git that is stopped may have made it: what is there counts.
		if at, _, aerr := r.branchAt(context.WithoutCancel(ctx), c.Branch); aerr != nil || at != commit {
			return "", fmt.Errorf("make branch %q: %w; %w", c.Branch, err, ErrBranch)
		}
	}
	return commit, nil
}

// HasBranch says whether a branch is there and points at a commit.
func (r *Repo) HasBranch(ctx context.Context, branch, commit string) (bool, error) {
	at, _, err := r.branchAt(ctx, branch)
	return err == nil && at == commit, err
}

// branchAt gives the commit that a branch points at, "" where there is none, and
// the work tree that is on it.
func (r *Repo) branchAt(ctx context.Context, branch string) (oid, tree string, err error) {
	ref := "refs/heads/" + branch
	out, err := r.git.output(ctx, nil, "for-each-ref", "--format=%(refname) %(objectname) %(worktreepath)", ref)
	if err != nil {
		return "", "", err
	}
	for l := range strings.SplitSeq(string(out), "\n") {
		if rest, ok := strings.CutPrefix(l, ref+" "); ok { // and not one below it
			oid, tree, _ = strings.Cut(rest, " ")
		}
	}
	return oid, tree, nil
}

// writeTree makes the parent's tree with the files changed, in an index and an
// object folder of its own.
func writeTree(ctx context.Context, g *hostGit, c Commit, null string) (string, error) {
	base := []string{"read-tree", "--empty"}
	if c.Parent != "" {
		base = []string{"read-tree", c.Parent}
	}
	if _, err := g.output(ctx, nil, base...); err != nil {
		return "", err
	}
	// Content is hashed from files of ours with plain names: a path of the
	// workspace is never an argument nor a line.
	var names, gone, come bytes.Buffer
	var put []CommitFile
	for _, f := range c.Files {
		if f.Entry.Kind == diffreview.KindAbsent {
			continue
		}
		data := f.Data
		if f.Entry.Kind == diffreview.KindSymlink {
			data = []byte(f.Entry.Target)
		}
		name := filepath.Join(c.Temp, fmt.Sprintf("f%d", len(put)))
		if err := writeNew(name, data); err != nil {
			return "", err
		}
		fmt.Fprintln(&names, name)
		put = append(put, f)
	}
	var oids []string
	if len(put) > 0 {
		out, err := g.output(ctx, &names, "hash-object", "-w", "--no-filters", "--stdin-paths")
		if err != nil {
			return "", err
		}
		if oids = strings.Fields(string(out)); len(oids) != len(put) {
			return "", fmt.Errorf("git hashed %d of %d files", len(oids), len(put))
		}
	}
	for _, f := range c.Files {
		if f.Entry.Kind == diffreview.KindAbsent {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", null, f.Path)
		}
	}
	for i, f := range put {
		fmt.Fprintf(&come, "%s %s\t%s\x00", f.Entry.Mode(), oids[i], f.Path)
	}
	gone.Write(come.Bytes()) // a file may come where a folder went
	if _, err := g.output(ctx, &gone, "-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "update-index", "-z", "--index-info"); err != nil {
		return "", fmt.Errorf("git does not take a path: %w; %w", err, ErrBranch)
	}
	return line(g.output(ctx, nil, "write-tree"))
}

// writeNew writes a file that must not be there.
func writeNew(name string, data []byte) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}

func line(out []byte, err error) (string, error) {
	return strings.TrimSpace(string(out)), err
}

// people is git's environment for author and committer.
func (r *Repo) people(author string) ([]string, error) {
	name, mail := r.Identity()
	if author != "" {
		n, rest, ok := strings.Cut(author, "<")
		m, tail, closed := strings.Cut(rest, ">")
		n, m = strings.TrimSpace(n), strings.TrimSpace(m)
		if !ok || !closed || n == "" || m == "" || strings.TrimSpace(tail) != "" || strings.ContainsAny(author, "\n\x00") {
			return nil, fmt.Errorf("the author %q is not of the form Name <mail>; %w", author, ErrBranch)
		}
		if name == "" || mail == "" {
			name, mail = n, m
		}
		return environOf(n, m, name, mail), nil
	}
	if name == "" || mail == "" {
		return nil, fmt.Errorf("this repository's git names no author: set user.name and user.email, or give --author \"Name <mail>\"; %w", ErrBranch)
	}
	return environOf(name, mail, name, mail), nil
}

func environOf(name, mail, committer, committerMail string) []string {
	at := fmt.Sprintf("@%d +0000", time.Now().Unix())
	return []string{
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + at,
		"GIT_COMMITTER_NAME=" + committer, "GIT_COMMITTER_EMAIL=" + committerMail, "GIT_COMMITTER_DATE=" + at,
	}
}

// RemoveBranch takes a branch away that still points at a commit and that no
// work tree is on. moved says why it was left alone, "" when it is gone.
func (r *Repo) RemoveBranch(ctx context.Context, branch, commit string) (moved string, err error) {
	oid, tree, err := r.branchAt(ctx, branch)
	switch {
	case err != nil:
		return "", err
	case oid == "":
		return "", nil
	case oid != commit:
		return fmt.Sprintf("the branch points at %.12s by now, not at %.12s", oid, commit), nil
	case tree != "":
		return "a work tree is on the branch: check out another one first", nil
	}
	_, err = r.git.output(ctx, nil, "update-ref", "-d", "refs/heads/"+branch, commit)
	return "", err
}
