package stage

import (
	"fmt"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

const hintCache = "a language cache of the account can't be shown to the session; filesystem.toolchains = \"none\" leaves caches out"

// mountCache shows a host folder through an overlay whose upper layer is the
// session's own: what is written inside goes there, and the host's files are
// only ever read. In a user namespace the kernel keeps its marks in user
// attributes (5.11) and follows no redirect out of a lower folder. Volatile
// (5.10): else the end of a session would wait until all that anyone has written
// to that file system is on the disk.
func mountCache(s plan.Step) error {
	if err := mkdirs(s.Target, 0o755); err != nil {
		return err
	}
	lower, letGo, err := reach(s, staging)
	if err != nil {
		return err
	}
	defer letGo()
	upper, letGoUpper, err := reach(plan.Step{Source: s.Upper.Path, FD: s.Upper.FD, Dev: s.Upper.Dev, Ino: s.Upper.Ino}, stagingUpper)
	if err != nil {
		return err
	}
	defer letGoUpper()
	opts := fmt.Sprintf("userxattr,volatile,lowerdir=%s,upperdir=%s/%s,workdir=%s/%s", lower, upper, plan.UpperDir, upper, plan.WorkDir)
	if err := unix.Mount("overlay", s.Target, "overlay", less[uintptr](unix.MS_NOSUID|unix.MS_NODEV), opts); err != nil {
		return &layer.Error{Layer: layer.Namespaces, Op: fmt.Sprintf("mount %q as overlay with a layer of the session's own", s.Source), Err: err, Hint: hintCache}
	}
	return nil
}

// stagingUpper is where a cache's layers are attached for the moment, beside
// its lower folder.
const stagingUpper = ".fumehood-upper"

// reach gives a path to a folder that can be written in mount options, and what
// lets go of it. Options show in the mount table inside, and a number there
// tells nothing of where the session lies.
func reach(s plan.Step, at string) (string, func(), error) {
	if s.FD > 0 {
		// The kernel takes no layer from a mount that is in no namespace of
		// ours, so it is attached for the moment.
		if err := mkdirs(at, 0o700); err != nil {
			return "", nil, err
		}
		if err := same(s.FD, s); err != nil {
			return "", nil, err
		}
		if err := unix.MoveMount(s.FD, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return "", nil, fmt.Errorf("move_mount: %w", err)
		}
		return at, func() {
			_ = unix.Unmount(at, unix.MNT_DETACH) // checked by the next line: a mount point can't be removed
			_ = unix.Rmdir(at)                    // and from outside, by the mount table
			delete(made, at)
		}, nil
	}
	fd, err := unix.Open(s.Source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open %q: %w", s.Source, err)
	}
	letGo := func() { _ = unix.Close(fd) } // a path descriptor: nothing to lose
	if err := same(fd, s); err != nil {
		letGo()
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), letGo, nil
}
