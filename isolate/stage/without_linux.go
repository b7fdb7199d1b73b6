package stage

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/plan"
	"fumehood/isolate/seccomp"
)

// leftOut is the one part that this sandbox is started without: none, but in
// one that is thrown away to show what a part is good for. The starter looks
// from outside at every other, and that this one is missing. It is set once,
// before anything is closed.
var leftOut plan.Omit

// unless does one part's work, if the part is not the one that is left out.
func unless(part plan.Omit, do func() error) error {
	if leftOut == part {
		return nil
	}
	return do()
}

// less takes the flag from a mount's that is left out. The flags of mount and
// of mount_setattr have the same values here.
func less[T int | uint64 | uintptr](flags T) T {
	if leftOut == plan.NoSUID {
		flags &^= unix.MOUNT_ATTR_NOSUID
	}
	if leftOut == plan.NoDev {
		flags &^= unix.MOUNT_ATTR_NODEV
	}
	return flags
}

// bindHost shows the host's own folder or file, with what is mounted below it:
// the kernel does not let an ordinary user uncover what a mount hides.
func bindHost(s plan.Step) error {
	tree := s.FD
	if tree == 0 {
		fd, err := unix.OpenTree(unix.AT_FDCWD, s.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		tree = fd
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	place := func() error { return mkdirs(s.Target, 0o755) }
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		place = func() error { return makeFile(s.Target, 0o644, nil) }
	}
	if err := place(); err != nil {
		return err
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, s.Target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	attrs := uint64(unix.MOUNT_ATTR_NOSUID)
	if s.Do != plan.Devpts {
		attrs |= unix.MOUNT_ATTR_NODEV
	}
	if s.Do == plan.Overlay {
		attrs |= unix.MOUNT_ATTR_RDONLY
	}
	if err := restrict(tree, attrs); err != nil {
		return err
	}
	if s.Do == plan.Proc {
		return setSysctls(s.Target + "/sys")
	}
	return nil
}

// reached says whether what was left out lets PID 1 through, where nothing
// outside shows it. PID 1 is behind the same filter as the commands by then.
func reached(p *plan.Plan) bool {
	switch {
	case p.Omit == plan.FilterGroup:
		t, refused, ok := seccomp.TrialOf(seccomp.Group(p.Group))
		nr, here := seccomp.Native().Calls[t.Call]
		if !ok || !here {
			return false
		}
		a := t.Args
		_, _, e := unix.RawSyscall6(uintptr(nr), uintptr(a[0]), uintptr(a[1]), uintptr(a[2]), uintptr(a[3]), uintptr(a[4]), uintptr(a[5]))
		return uint16(e) != refused
	case p.Omit == plan.ForeignABIs:
		return foreignCall()
	case p.Omit == plan.NestedUserNS:
		return differs("/proc/sys/user/max_user_namespaces", "0")
	case p.Omit == plan.WatchShare:
		all, err := readNumber("/proc/sys/fs/inotify/max_user_instances")
		return err == nil && differs("/proc/sys/user/max_inotify_instances", strconv.Itoa(shareOf(all, leastInstances)))
	}
	return false
}

func differs(path, value string) bool {
	text, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(text)) != value
}
