package credential

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

const maxLinks = 40 // as many as the kernel follows

var errNever = errors.New("it lies in a folder that the session can write to, or its path leads through one")

// place is a file that was found without passing through anything that another
// may change: not the session, not another user.
type place struct {
	path string // without links
	stat unix.Stat_t
}

// find goes a path link by link. Looking at the end alone would not do: a link
// within the workspace may point at any file of the user's, and the agent
// would choose which of them is sent out as a secret.
func find(name string, never []string) (place, error) {
	barred, err := identities(never)
	if err != nil {
		return place{}, err
	}
	at, rest, links := "/", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..": // of a link; at has none in it
			at = path.Dir(at)
			continue
		}
		p := place{path: path.Join(at, part)}
		if err := unix.Lstat(p.path, &p.stat); err != nil {
			return place{}, plain(err)
		}
		switch p.stat.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			if links++; links > maxLinks {
				return place{}, errors.New("too many links")
			}
			if !trusted(p.stat.Uid) {
				return place{}, errors.New("its path leads over a link that another user made")
			}
			to, err := os.Readlink(p.path)
			if err != nil {
				return place{}, plain(err)
			}
			if strings.HasPrefix(to, "/") {
				at = "/"
			}
			rest = append(strings.Split(to, "/"), rest...)
		case unix.S_IFDIR:
			if barred[identity{p.stat.Dev, p.stat.Ino}] {
				return place{}, errNever
			}
			if p.stat.Mode&0o002 != 0 && p.stat.Mode&unix.S_ISVTX == 0 {
				return place{}, errors.New("its path leads through a folder that anyone may write to")
			}
			at = p.path
		default:
			if len(rest) > 0 {
				return place{}, plain(unix.ENOTDIR)
			}
			return p, p.check()
		}
	}
	return place{}, errors.New("a folder")
}

func (p place) check() error {
	switch {
	case p.stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case !trusted(p.stat.Uid):
		return errors.New("it belongs to another user")
	}
	return nil
}

// trusted says that a file's owner is who could do anything here anyway.
func trusted(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

type identity struct{ dev, ino uint64 }

func identities(folders []string) (map[identity]bool, error) {
	out := map[identity]bool{}
	for _, f := range folders {
		var st unix.Stat_t
		err := unix.Stat(f, &st)
		if errors.Is(err, unix.ENOENT) {
			continue // nothing is in it
		}
		if err != nil {
			return nil, fmt.Errorf("a folder that it must not lie in: %w", plain(err))
		}
		out[identity{st.Dev, st.Ino}] = true
	}
	return out, nil
}

// plain is an error without the path: what is written into a session's record
// need not say where the user keeps secrets.
func plain(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return errors.New("it can't be read")
}
