package workspace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/session/baseline"
)

// dotGit writes the workspace's .git, file by file, into a folder that nothing
// from inside has touched yet. It starts no program, and brings no hook, no
// credential, no include and no setting that runs one.
type dotGit struct {
	repo   *Repo
	sel    *Selection
	copied *Copied
	refs   []ref
	w      *copyWorker // copies packs, knows the owner
	root   string      // the .git folder
	kept   string      // where the same is kept in the store, without packs
	err    error       // the first one; later steps do nothing
}

func (d *dotGit) mkdir(rel string) {
	if d.err != nil {
		return
	}
	path := filepath.Join(d.root, rel)
	if d.err = os.Mkdir(path, 0o700); d.err != nil {
		return
	}
	if d.err = os.Mkdir(filepath.Join(d.kept, rel), 0o700); d.err != nil {
		return
	}
	fd, err := unix.Open(path, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if d.err = err; err != nil {
		return
	}
	d.err = d.w.settle(fd, 0o755)
	_ = unix.Close(fd) // a folder
}

// create makes a file with its final owner and mode and lets fill write it.
func (d *dotGit) create(rel string, mode uint32, fill func(fd int) error) {
	if d.err != nil {
		return
	}
	fd, err := unix.Open(filepath.Join(d.root, rel), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		d.err = fmt.Errorf("write .git/%s: %w", rel, err)
		return
	}
	if err = fill(fd); err == nil {
		err = d.w.settle(fd, mode)
	}
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		d.err = fmt.Errorf("write .git/%s: %w", rel, err)
	}
}

// write makes a file of the workspace's .git, and the same in the store: what
// lies in the workspace is the inside's to change, and a try needs it as it was.
func (d *dotGit) write(rel string, data []byte) {
	d.create(rel, 0o644, func(fd int) error { return writeFull(fd, data) })
	if d.err != nil {
		return
	}
	fd, err := openAt(unix.AT_FDCWD, filepath.Join(d.kept, rel), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		err = writeFull(fd, data)
		if cerr := unix.Close(fd); err == nil {
			err = cerr
		}
	}
	if err != nil {
		d.err = fmt.Errorf("keep .git/%s: %w", rel, err)
	}
}

// run writes everything. packs are those of the store, with their index files.
func (d *dotGit) run(packs []*baseline.Pack, idx []string) error {
	for _, dir := range []string{"", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"} {
		d.mkdir(dir)
	}
	has := func(oid []byte) bool {
		for _, p := range packs {
			if p.Has(oid) {
				return true
			}
		}
		return false
	}
	none := d.sel.history == "none"
	if !none {
		for _, path := range idx {
			d.copy(strings.TrimSuffix(path, ".idx")+".pack", "objects/pack")
			d.copy(path, "objects/pack")
		}
	}
	d.write("HEAD", d.head(none))
	d.write("packed-refs", d.packedRefs(none))
	d.write("config", renderConfig(sections(d.repo.config, d.repo.Format, d.branches())))
	d.info()
	if !none {
		d.shallow(has)
		if d.sel.history == "all" {
			d.stashes()
		}
		d.write("index", renderIndex(d.sel.index, d.copied.stats, d.sel.skipped, d.repo.hashSize(), has))
	}
	return d.err
}

// copy brings a pack file in as a file of its own: a hard link would let the
// inside write into the store.
func (d *dotGit) copy(path, to string) {
	if d.err != nil {
		return
	}
	in, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		d.err = fmt.Errorf("read %q: %w", path, err)
		return
	}
	defer unix.Close(in) // read-only
	d.create(filepath.Join(to, filepath.Base(path)), 0o444, func(fd int) error {
		if unix.IoctlFileClone(fd, in) == nil {
			return nil
		}
		return d.w.rest(in, fd)
	})
}

func (d *dotGit) head(none bool) []byte {
	if d.repo.Detached && !none {
		return []byte(d.repo.Head + "\n")
	}
	branch := d.repo.Branch
	if branch == "" {
		branch = "refs/heads/main"
	}
	return []byte("ref: " + branch + "\n")
}

func (d *dotGit) branches() []string {
	var out []string
	for _, r := range d.refs {
		if b, ok := strings.CutPrefix(r.name, "refs/heads/"); ok {
			out = append(out, b)
		}
	}
	if b, ok := strings.CutPrefix(d.repo.Branch, "refs/heads/"); ok && len(out) == 0 {
		out = append(out, b)
	}
	return out
}

// packedRefs writes the references in the order of their names, as git listed
// them.
func (d *dotGit) packedRefs(none bool) []byte {
	var b bytes.Buffer
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	if none {
		return b.Bytes()
	}
	for _, r := range d.refs {
		fmt.Fprintf(&b, "%s %s\n", r.oid, r.name)
		if r.peeled != "" {
			fmt.Fprintf(&b, "^%s\n", r.peeled)
		}
	}
	return b.Bytes()
}

// info carries the rules that only this repository has, and the account's own,
// which are out of reach inside.
func (d *dotGit) info() {
	text := d.repo.excludes
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	own, err := gitText(d.repo.CommonDir, "info/exclude")
	if err != nil && d.err == nil {
		d.err = err
	}
	d.write("info/exclude", []byte(text+own))
	for _, name := range []string{"attributes", "sparse-checkout"} {
		dir := d.repo.CommonDir
		if name == "sparse-checkout" {
			dir = d.repo.GitDir
		}
		text, err := gitText(dir, "info/"+name)
		if err != nil && d.err == nil {
			d.err = err
		}
		if text != "" {
			d.write("info/"+name, []byte(text))
		}
	}
}

// shallow carries the ends of a shallow history, those that are inside.
func (d *dotGit) shallow(has func([]byte) bool) {
	if !d.repo.Shallow {
		return
	}
	text, err := gitText(d.repo.CommonDir, "shallow")
	if err != nil && d.err == nil {
		d.err = err
	}
	var b bytes.Buffer
	for _, line := range strings.Fields(text) {
		if oid, err := hex.DecodeString(line); err == nil && has(oid) {
			b.WriteString(line + "\n")
		}
	}
	d.write("shallow", b.Bytes())
}

// stashes carries the list of stashes, which is the log of their reference.
func (d *dotGit) stashes() {
	text, err := gitText(d.repo.CommonDir, "logs/refs/stash")
	if err != nil && d.err == nil {
		d.err = err
	}
	if text == "" {
		return
	}
	d.mkdir("logs")
	d.mkdir("logs/refs")
	d.write("logs/refs/stash", []byte(text))
}
