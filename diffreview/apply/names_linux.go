package apply

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Some file systems take several names for one: they fold case (vfat, exfat,
// ntfs, a folder of ext4 or tmpfs with casefold, shares of other systems), compare
// Unicode in a normal form, or know short names. There a path may lead to a file
// with another name, and a write to it would replace that one. So what stands at a
// path counts only if the folder lists it by that very name.

// maxListed bounds the names that are read of one folder.
const maxListed = 1_000_000

// listing is the names in a folder, nil where it can't be listed.
type listing map[string]bool

// aliases finds names that lead to others, with each folder listed once.
type aliases struct {
	t    *tree
	dirs map[string]listing
}

// of says which other name the file system has for what it shows at a path where
// something stands, "" when it is that very name, unknownName where it can't be
// told.
func (a *aliases) of(rel string) string {
	dir, name := parentOf(rel), baseOf(rel)
	list, ok := a.dirs[dir]
	if !ok {
		list = a.t.list(dir)
		a.dirs[dir] = list
	}
	switch {
	case list == nil:
		return a.t.swapped(rel)
	case list[name]:
		return ""
	}
	for other := range list {
		if strings.EqualFold(other, name) {
			return other
		}
	}
	// Gone since it was looked at, or one that is no matter of case.
	st, err := a.t.lstat(rel)
	if err != nil {
		return ""
	}
	for other := range list {
		if o, err := a.t.lstat(join(dir, other)); err == nil && o.Ino == st.Ino && o.Nlink < 2 {
			return other
		}
	}
	if list = a.t.list(dir); list[name] {
		return "" // it came in between
	}
	return unknownName
}

// list reads the names in a folder; nil when it can't, or they are too many.
func (t *tree) list(rel string) listing {
	names, whole, err := t.names(rel, maxListed)
	if err != nil && !errors.Is(err, io.EOF) || !whole {
		return nil
	}
	out := make(listing, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// swapped is for folders that can't be listed: a name in the other case leads to
// the same file only where case is folded, or where both are hard links.
func (t *tree) swapped(rel string) string {
	name := baseOf(rel)
	other := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, name)
	if other == name {
		return ""
	}
	a, err := t.lstat(rel)
	if err != nil {
		return ""
	}
	b, err := t.lstat(join(parentOf(rel), other))
	if err != nil || a.Ino != b.Ino || a.Dev != b.Dev || a.Mode&unix.S_IFMT == unix.S_IFREG && a.Nlink > 1 {
		return ""
	}
	return unknownName
}

// alias says which other name a path has that something was just found at.
func (t *tree) alias(rel string) string {
	a := aliases{t: t, dirs: map[string]listing{}}
	return a.of(rel)
}

// unknownName is no name that a folder can list.
const unknownName = "/"

// oneName is the reason of a conflict.
func oneName(other string) string {
	if other == unknownName {
		return "stands there under another name: the file system takes both names for one"
	}
	return fmt.Sprintf("stands there as %q: the file system takes both names for one", other)
}

// folding lets a tree behave as if its file system folded names; only tests set
// it, on kernels that have no such file system. It gives the name that a folder
// has for a name.
type folding func(names []string, name string) string

// real gives a path as the file system has it: the same, but where a test
// pretends that names fold.
func (t *tree) real(rel string) string {
	if t.folds == nil || rel == "" {
		return rel
	}
	at := ""
	for _, c := range strings.Split(rel, "/") {
		at = join(at, t.folds(t.namesAt(at), c))
	}
	return at
}

func (t *tree) namesAt(rel string) []string {
	if rel == "" {
		rel = "."
	}
	fd, err := unix.Openat2(t.fd, rel, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: resolve})
	if err != nil {
		return nil
	}
	d := os.NewFile(uintptr(fd), rel)
	defer d.Close()
	names, _ := d.Readdirnames(-1) // of a test's folder
	return names
}
