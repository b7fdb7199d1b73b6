package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// layerFilesystems are those that the kernel takes as the upper layer of an
// overlay, and whose mounts can have ids mapped (5.12 to 6.3).
var layerFilesystems = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
}

// CacheFits says why a cache can't be given, its host folder and the folder of
// sessions being where they are; nil when it can. It writes nothing.
func CacheFits(host, sessions string) error {
	dirs := []string{sessions}
	if os.Getuid() == 0 {
		dirs = append(dirs, host) // is mounted with its owner mapped
	}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return fmt.Errorf("look at %q: %w", dir, err)
		}
		_, err := unix.Lgetxattr(dir, "user.fumehood", nil)
		if !layerFilesystems[int64(st.Type)] || errors.Is(err, unix.ENOTSUP) { // a tmpfs before 6.6
			return fmt.Errorf("%q lies on a file system that can't hold the session's own layer of it", dir)
		}
	}
	return nil
}

// PrepareLayer makes the folder of a cache's layer, once, before the first start:
// it follows links. Each path of hidden, below the cache, is not there inside.
// All of it belongs to the ids that the session runs as.
func PrepareLayer(dir string, uid, gid int, hidden []string) error {
	give := func(path string) error { return giveTo(path, uid, gid) }
	mkdir := func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		return give(path)
	}
	upper := filepath.Join(dir, plan.UpperDir)
	for _, path := range []string{dir, upper} {
		if err := mkdir(path); err != nil {
			return fmt.Errorf("make a cache's layer: %w", err)
		}
	}
	for _, name := range hidden {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("make a cache's layer: %q is not below it", name)
		}
		at := upper
		for _, part := range splitDir(name) {
			at = filepath.Join(at, part)
			if err := mkdir(at); err != nil {
				return fmt.Errorf("make a cache's layer: %w", err)
			}
		}
		// The overlay's own mark for what was deleted, which anyone may make (5.8).
		path := filepath.Join(upper, name)
		if err := unix.Mknod(path, unix.S_IFCHR, 0); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("hide %q of a cache: %w", name, err)
		}
		if err := give(path); err != nil {
			return fmt.Errorf("hide %q of a cache: %w", name, err)
		}
	}
	return nil
}

// WorkFolder is the kernel's own part of a layer.
func WorkFolder(dir string) string { return filepath.Join(dir, plan.WorkDir) }

// UpperFolder is the part of a layer that holds what the session wrote.
func UpperFolder(dir string) string { return filepath.Join(dir, plan.UpperDir) }

// RenewLayer readies a layer for a start. What WorkFolder names must be gone,
// since the kernel refuses that of an earlier one.
func RenewLayer(dir string, uid, gid int) error {
	err := os.Mkdir(WorkFolder(dir), 0o755)
	if err == nil {
		err = giveTo(WorkFolder(dir), uid, gid)
	}
	if err != nil {
		return fmt.Errorf("ready a cache's layer: %w", err)
	}
	return nil
}

func giveTo(path string, uid, gid int) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Lchown(path, uid, gid)
}

// splitDir is the folders above a local path, the outermost first.
func splitDir(name string) []string {
	var parts []string
	for dir := filepath.Dir(filepath.Clean(name)); dir != "."; dir = filepath.Dir(dir) {
		parts = append([]string{filepath.Base(dir)}, parts...)
	}
	return parts
}

// caches looks at the host folders of the caches and at their layers. When root
// starts, the session's ids stand for the owner of the host's folder, else what
// is in it could only be read.
func (l *launch) caches() ([]plan.Layered, error) {
	var out []plan.Layered
	maps := map[[2]uint32]*os.File{}
	defer func() {
		for _, f := range maps {
			_ = f.Close() // a namespace that only mounts use
		}
	}()
	for _, c := range l.spec.Caches {
		lower, err := l.place(c.Mount)
		if err != nil {
			return nil, err
		}
		if lower.FD > 0 && !lower.File {
			if err := l.mapOwner(c.Host, maps); err != nil {
				return nil, &layer.Error{Layer: layer.Namespaces, Op: fmt.Sprintf("map the owner of %q", c.Host), Err: err}
			}
		}
		upper, err := l.place(Mount{Host: c.Layer, Inside: c.Inside})
		if err != nil {
			return nil, err
		}
		out = append(out, plan.Layered{Lower: lower, Upper: upper})
	}
	return out, nil
}

// mapOwner has the detached mount that was made last show the owner of the
// folder as the session's ids.
func (l *launch) mapOwner(host string, maps map[[2]uint32]*os.File) error {
	var st unix.Stat_t
	if err := unix.Stat(host, &st); err != nil {
		return err
	}
	owner := [2]uint32{st.Uid, st.Gid}
	if maps[owner] == nil {
		f, err := namespaceOf(syscall.SysProcIDMap{ContainerID: int(st.Uid), HostID: l.spec.UID, Size: 1}, syscall.SysProcIDMap{ContainerID: int(st.Gid), HostID: l.spec.GID, Size: 1})
		if err != nil {
			return err
		}
		maps[owner] = f
	}
	mnt := l.mounts[len(l.mounts)-1]
	return unix.MountSetattr(int(mnt.Fd()), "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(maps[owner].Fd())})
}

// namespaceOf is a user namespace with these maps and nobody in it. It is taken
// from a child that the kernel stops before its first instruction, and that
// never runs.
func namespaceOf(uid, gid syscall.SysProcIDMap) (*os.File, error) {
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"fumehood"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, Ptrace: true, Pdeathsig: syscall.SIGKILL,
			UidMappings: []syscall.SysProcIDMap{uid}, GidMappings: []syscall.SysProcIDMap{gid},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make a user namespace: %w", err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
	killed := syscall.Kill(pid, syscall.SIGKILL)
	for {
		var ws syscall.WaitStatus // its stop first, then its end
		_, werr := syscall.Wait4(pid, &ws, syscall.WALL, nil)
		if werr != nil && !errors.Is(werr, syscall.EINTR) || werr == nil && (ws.Exited() || ws.Signaled()) {
			break
		}
	}
	if err := errors.Join(err, killed); err != nil {
		return nil, fmt.Errorf("take a user namespace: %w", err)
	}
	return f, nil
}
