package prove

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls/probe"
)

// writeDeed is one call that changes a folder of targets.
type writeDeed struct {
	id, tried, call string
	steps           func(dir string) []probe.Step
	// silent says that nothing on the host would show it.
	silent bool
	// everywhere says that it is tried in each place, not in the first alone.
	everywhere bool
}

func flagText(f int) string { return fmt.Sprint(f) }

// openAndWrite opens a file and writes to it.
func openAndWrite(path string, how int) []probe.Step {
	return []probe.Step{
		{Call: "openat", Args: []string{"-100", "s:" + path, flagText(how), "0o644"}, Save: "fd"},
		{Call: "write", Args: []string{"$fd", "d:" + base64.StdEncoding.EncodeToString([]byte("written\n")), "len:1"}},
		{Call: "close", Args: []string{"$fd"}},
	}
}

// onPath is a deed of a single call on a path.
func onPath(call, name string, args func(path string) []string) func(string) []probe.Step {
	return func(dir string) []probe.Step { return []probe.Step{{Call: call, Args: args(filepath.Join(dir, name))}} }
}

// longAgo is the time that a target's times are set to: 2001.
var longAgo = []unix.Timespec{{Sec: 1e9}, {Sec: 1e9}}

// laterTimes is two struct timespec of one second in 2002.
func laterTimes() string {
	var b [32]byte
	for _, i := range []int{0, 16} {
		binary.NativeEndian.PutUint64(b[i:], 1e9+1e7)
	}
	return "d:" + base64.StdEncoding.EncodeToString(b[:])
}

var writeDeeds = []writeDeed{
	{id: "create", tried: "create a file in", call: "openat", everywhere: true, steps: func(dir string) []probe.Step {
		return openAndWrite(filepath.Join(dir, "new"), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	}},
	{id: "overwrite", tried: "overwrite a file in", call: "openat", steps: func(dir string) []probe.Step {
		return openAndWrite(filepath.Join(dir, "file"), unix.O_WRONLY)
	}},
	{id: "append", tried: "append to a file in", call: "openat", everywhere: true, steps: func(dir string) []probe.Step {
		return openAndWrite(filepath.Join(dir, "file"), unix.O_WRONLY|unix.O_APPEND)
	}},
	{id: "open to truncate", tried: "open for truncation a file in", call: "openat", steps: func(dir string) []probe.Step {
		return openAndWrite(filepath.Join(dir, "file"), unix.O_WRONLY|unix.O_TRUNC)
	}},
	{id: "truncate", tried: "truncate a file in", call: "truncate", steps: onPath("truncate", "file", func(p string) []string { return []string{"s:" + p, "0"} })},
	{id: "unlink", tried: "remove a file from", call: "unlinkat", everywhere: true, steps: onPath("unlinkat", "file", func(p string) []string { return []string{"-100", "s:" + p, "0"} })},
	{id: "rename", tried: "rename a file in", call: "renameat2", everywhere: true, steps: onPath("renameat2", "file", func(p string) []string {
		return []string{"-100", "s:" + p, "-100", "s:" + p + ".renamed", "0"}
	})},
	{id: "mkdir", tried: "make a folder in", call: "mkdirat", steps: onPath("mkdirat", "folder", func(p string) []string { return []string{"-100", "s:" + p, "0o755"} })},
	{id: "rmdir", tried: "remove a folder from", call: "unlinkat", steps: onPath("unlinkat", "sub", func(p string) []string {
		return []string{"-100", "s:" + p, flagText(unix.AT_REMOVEDIR)}
	})},
	{id: "chmod", tried: "change the mode of a file in", call: "fchmodat", everywhere: true, steps: onPath("fchmodat", "file", func(p string) []string {
		return []string{"-100", "s:" + p, "0o600"}
	})},
	{id: "fchmodat2", tried: "change, by fchmodat2, the mode of a file in", call: "fchmodat2", steps: onPath("fchmodat2", "file", func(p string) []string {
		return []string{"-100", "s:" + p, "0o600", "0"}
	})},
	// To the owner that it has: only the time of change shows it.
	{id: "chown", tried: "change the owner of a file in", call: "fchownat", steps: onPath("fchownat", "file", func(p string) []string {
		return []string{"-100", "s:" + p, "-1", "-1", "0"}
	})},
	{id: "utime", tried: "set the times of a file in", call: "utimensat", everywhere: true, steps: onPath("utimensat", "file", func(p string) []string {
		return []string{"-100", "s:" + p, laterTimes(), "0"}
	})},
	{id: "setxattr", tried: "set an attribute of a file in", call: "setxattr", steps: onPath("setxattr", "file", func(p string) []string {
		return []string{"s:" + p, "s:" + attribute, "s:changed", "7", "0"}
	})},
	{id: "removexattr", tried: "remove an attribute of a file in", call: "removexattr", steps: onPath("removexattr", "file", func(p string) []string {
		return []string{"s:" + p, "s:" + attribute}
	})},
	{id: "link", tried: "link a file in", call: "linkat", steps: onPath("linkat", "file", func(p string) []string {
		return []string{"-100", "s:" + p, "-100", "s:" + p + ".linked", "0"}
	})},
	{id: "symlink", tried: "make a symbolic link in", call: "symlinkat", steps: onPath("symlinkat", "symbolic", func(p string) []string {
		return []string{"s:file", "-100", "s:" + p}
	})},
	{id: "mkfifo", tried: "make a pipe in", call: "mknodat", steps: onPath("mknodat", "pipe", func(p string) []string {
		return []string{"-100", "s:" + p, flagText(unix.S_IFIFO | 0o600), "0"}
	})},
	{id: "tmpfile", tried: "open a file without a name in", call: "openat", silent: true, steps: func(dir string) []probe.Step {
		return openAndWrite(dir, unix.O_WRONLY|unix.O_TMPFILE)
	}},
}

// setTargets makes, or makes anew, the folder that one deed acts on. open lets
// every account write there, for root's sessions, which run as another: what
// refuses has to be the wall and not the mode.
func setTargets(dir string, uid, gid int, open bool) error {
	// Whatever an earlier round has changed goes.
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("make targets: %w", err)
	}
	fileMode, dirMode := uint32(0o644), uint32(0o755)
	if open {
		fileMode, dirMode = 0o666, 0o777
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		return fmt.Errorf("make targets: %w", err)
	}
	file := filepath.Join(dir, "file")
	if err := writeTarget(file); err != nil {
		return err
	}
	for _, t := range []struct {
		path string
		mode uint32
	}{{file, fileMode}, {filepath.Join(dir, "sub"), dirMode}, {dir, dirMode}} {
		if err := unix.Chmod(t.path, t.mode); err != nil {
			return fmt.Errorf("make targets: %w", err)
		}
		if uid >= 0 {
			if err := os.Lchown(t.path, uid, gid); err != nil {
				return fmt.Errorf("make targets: %w", err)
			}
		}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, t.path, longAgo, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return fmt.Errorf("make targets: %w", err)
		}
	}
	return nil
}

func writeTarget(file string) error {
	if err := newFile(file, "as it was\n"); err != nil {
		return err
	}
	// A file system without attributes has none to change; see unknownHere.
	if err := unix.Lsetxattr(file, attribute, []byte("kept"), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
		return fmt.Errorf("make a target: %w", err)
	}
	return nil
}

// newFile makes a file that is not there yet, and follows no link to it.
func newFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("make a target: %w", err)
	}
	_, err = unix.Write(fd, []byte(text))
	if err := errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("make a target: %w", err)
	}
	return nil
}

// unknownHere says why a deed can't exist in a place: the host itself tries it
// on targets of its own. "" when it can.
func unknownHere(d writeDeed, dir string) string {
	file := filepath.Join(dir, "file")
	var err error
	switch d.id {
	case "fchmodat2":
		err = unix.Fchmodat(unix.AT_FDCWD, file, 0o644, unix.AT_SYMLINK_NOFOLLOW) // which it needs fchmodat2 for
	case "setxattr", "removexattr":
		var value [64]byte
		_, err = unix.Lgetxattr(file, attribute, value[:])
	case "tmpfile":
		var fd int
		if fd, err = unix.Open(dir, unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600); err == nil {
			err = unix.Close(fd)
		}
	}
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EISDIR) {
		return fmt.Sprintf("not even the host can do it there: %v", err)
	}
	return ""
}
