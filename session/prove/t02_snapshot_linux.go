package prove

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// snapshotOf writes down all that a change to a folder of targets could change:
// names, kinds, modes, owners, links, sizes, times, attributes and content. The
// time of the last status change is among them, so that a change which was
// taken back shows as well.
func snapshotOf(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s mode %o owner %d:%d links %d size %d mtime %d.%09d ctime %d.%09d", rel, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size,
			st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " sha256 %x", sha256.Sum256(text))
		case unix.S_IFLNK:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " to %q", to)
		}
		var value [64]byte
		n, err := unix.Lgetxattr(path, attribute, value[:])
		switch {
		case err == nil:
			fmt.Fprintf(&b, " %s=%q", attribute, value[:n])
		case !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM): // EPERM: links and pipes have none
			return err
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("look at the targets in %q: %w", dir, err)
	}
	return b.String(), nil
}

// attribute is an extended attribute that every account may set.
const attribute = "user.fumehood"

// changes says in words how two snapshots differ; "" when they don't.
func changes(before, after string) string {
	was, is := map[string]string{}, map[string]string{}
	for _, side := range []struct {
		text string
		into map[string]string
	}{{before, was}, {after, is}} {
		for line := range strings.Lines(side.text) {
			name, rest, _ := strings.Cut(strings.TrimSpace(line), " mode ")
			side.into[name] = rest
		}
	}
	var out []string
	for line := range strings.Lines(before + after) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " mode ")
		a, there := was[name]
		b, here := is[name]
		delete(was, name)
		delete(is, name)
		switch {
		case !there && !here: // looked at above
		case !there:
			out = append(out, fmt.Sprintf("%s is new: mode %s", name, b))
		case !here:
			out = append(out, name+" is gone")
		case a != b:
			out = append(out, fmt.Sprintf("%s was mode %s, is mode %s", name, a, b))
		}
	}
	return strings.Join(out, "; ")
}

// digest names a snapshot in one short word.
func digest(snapshot string) string {
	sum := sha256.Sum256([]byte(snapshot))
	return fmt.Sprintf("%d entries, %x", strings.Count(snapshot, "\n"), sum[:8])
}
