package stage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

// ownFile is the program that this process runs from, a file of the host.
const ownFile = "/proc/self/exe"

// placeProgram brings fumehood's own program in, which the spawner is started
// from: the file on a read-only mount. A script whose first line names
// /proc/self/exe is executed by the spawner's child while that still means the
// spawner's own program. A process that others may look into then has it as its
// /proc/PID/exe, and its owner could set mode, times and attributes of the
// host's file through that: Landlock does not judge them.
//
// A file that was replaced since fumehood started, or that the session's id
// can't reach by name, is copied instead.
func placeProgram(s plan.Step) error {
	if err := makeFile(s.Target, 0o555, nil); err != nil {
		return err
	}
	tree := s.FD
	if tree == 0 {
		fd, err := unix.OpenTree(unix.AT_FDCWD, s.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return copyProgram(s.Target)
		}
		defer unix.Close(fd)
		tree = fd
	}
	if same(tree, s) != nil {
		return copyProgram(s.Target)
	}
	// A file without a name can't be mounted.
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, s.Target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return copyProgram(s.Target)
	}
	attrs := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY)
	if leftOut == plan.OwnProgram {
		attrs &^= unix.MOUNT_ATTR_RDONLY
	}
	return restrict(tree, attrs)
}

// copyProgram fills the file target of the new root, which ends read-only too.
func copyProgram(target string) error {
	from, err := os.Open(ownFile)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	defer from.Close()
	if err := os.Remove(target); err != nil { // the empty mount point
		return fmt.Errorf("copy: %w", err)
	}
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	_, err = to.ReadFrom(from)
	return errors.Join(err, to.Close())
}

// hideProgram takes the name of the program away once the spawner runs. Its
// mount stays read-only for what runs from it. A copy has no mount.
func hideProgram() error {
	err := unix.Unmount(plan.Spawner, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err == unix.EINVAL {
		return nil // not a mount: the copy
	}
	return wrap(layer.Namespaces, "umount "+plan.Spawner, err)
}
