package stage

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

const (
	maxCopy = 4 << 20 // bytes of one file copied into the root
	staging = ".fumehood"
	// covering is the file that cover shows in a covered one's place.
	covering = "fumehood/covered"

	hintUserns = "this machine restricts mounts in user namespaces (AppArmor, or a container without that right); see \"fumehood doctor\""
	hintProc   = "the /proc here is partly covered, as in a container: start the container with an unmasked /proc"
)

// maxTerminals bounds what a session takes of the machine's pseudoterminals: all
// namespaces together have some three thousand, and each keeps memory that no
// process maps.
const maxTerminals = 256

// buildRoot mounts an empty tmpfs over the old root and fills it by the plan.
// The working folder is the new root from here on, and targets are relative to
// it. Nothing hostile can be in it, except below HOME.
func buildRoot(p *plan.Plan) error {
	// Nothing that is mounted here may reach the host's own namespace.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &layer.Error{Layer: layer.Namespaces, Op: "mount / private", Err: err, Hint: hintUserns}
	}
	unix.Umask(0)
	defer unix.Umask(0o022)
	if err := mountRoot(); err != nil {
		return &layer.Error{Layer: layer.Namespaces, Op: "mount tmpfs for the new root", Err: err, Hint: hintUserns}
	}
	for _, s := range p.Steps {
		if err := do(s); err != nil {
			return at(layer.Namespaces, fmt.Sprintf("%s %q", s.Do, "/"+s.Target), err)
		}
	}
	return nil
}

// mountRoot mounts the new root on top of the old one, where it hides nothing:
// absolute paths still begin at the old root, relative ones at the new.
func mountRoot() error {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	for _, kv := range [][2]string{{"mode", "0755"}, {"size", "64m"}} {
		if err := unix.FsconfigSetString(fs, kv[0], kv[1]); err != nil {
			return fmt.Errorf("%s: %w", kv[0], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, less(unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV))
	if err != nil {
		return err
	}
	defer unix.Close(mnt)
	if err := unix.MoveMount(mnt, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	return unix.Fchdir(mnt)
}

// enterRoot makes the new root the root and lets go of the old one. What the
// stage still needs of the old is held by descriptors.
func enterRoot() error {
	if err := unix.PivotRoot(".", "."); err != nil {
		return at(layer.Namespaces, "pivot_root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return at(layer.Namespaces, "umount the host's root", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return at(layer.Namespaces, "enter /", err)
	}
	err := unless(plan.ReadOnlyRoot, func() error {
		return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	})
	return wrap(layer.Namespaces, "make / read-only", err)
}

func wrap(l layer.Name, op string, err error) error {
	if err == nil {
		return nil
	}
	return at(l, op, err)
}

func do(s plan.Step) error {
	if s.Host {
		return bindHost(s)
	}
	switch s.Do {
	case plan.Dir:
		return mkdirs(s.Target, os.FileMode(s.Mode))
	case plan.File:
		return makeFile(s.Target, s.Mode, []byte(s.Text))
	case plan.Copy:
		return copyFile(s)
	case plan.Symlink:
		if err := mkdirs(path.Dir(s.Target), 0o755); err != nil {
			return err
		}
		return unix.Symlink(s.Text, s.Target)
	case plan.Tmpfs:
		return mountTmpfs(s)
	case plan.Overlay:
		return mountOverlay(s)
	case plan.Cache:
		return mountCache(s)
	case plan.HomeView, plan.CacheView:
		return mountHomeView(s)
	case plan.Bind:
		return mountBind(s)
	case plan.Device:
		if err := makeFile(s.Target, 0o666, nil); err != nil {
			return err
		}
		return mountTree(s.Source, s.Target, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	case plan.Devpts:
		if err := mkdirs(s.Target, 0o755); err != nil {
			return err
		}
		return unix.Mount("devpts", s.Target, "devpts", less[uintptr](unix.MS_NOSUID|unix.MS_NOEXEC), fmt.Sprintf("newinstance,ptmxmode=0666,mode=0600,max=%d", maxTerminals))
	case plan.Proc:
		return mountProc(s)
	case plan.ReadOnly:
		return mountTree(s.Target, s.Target, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	case plan.HostTree:
		return bindHost(s)
	case plan.Program:
		return placeProgram(s)
	case plan.Mask:
		return cover(s.Target)
	case plan.Cover:
		return mountTree(s.Source, s.Target, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
	}
	return fmt.Errorf("step %q is not known", s.Do)
}

// made is the folders that mkdirs has seen. Nothing else changes the new root
// while it is built.
var made = map[string]bool{".": true}

// mkdirs makes a folder and its parents. An existing one is left as it is, a
// link in the way is an error.
func mkdirs(target string, mode os.FileMode) error {
	if made[target] {
		return nil
	}
	if err := mkdirs(path.Dir(target), 0o755); err != nil {
		return err
	}
	err := unix.Mkdir(target, uint32(mode.Perm()))
	if err != nil {
		if err != unix.EEXIST && err != unix.EROFS {
			return err
		}
		var st unix.Stat_t
		if lerr := unix.Lstat(target, &st); lerr != nil {
			return fmt.Errorf("make folder: %w", err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return fmt.Errorf("make folder %q: %w", "/"+target, unix.ENOTDIR)
		}
	}
	made[target] = true
	return nil
}

func makeFile(target string, mode uint32, content []byte) error {
	if err := mkdirs(path.Dir(target), 0o755); err != nil {
		return err
	}
	fd, err := unix.Open(target, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	for len(content) > 0 {
		n, err := unix.Write(fd, content)
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		content = content[n:]
	}
	return unix.Close(fd)
}

// copyFile copies by descriptors of its own: there are some thirty files to
// copy in each start.
func copyFile(s plan.Step) error {
	src := s.Source
	if s.FD > 0 {
		src = fmt.Sprintf("/proc/self/fd/%d", s.FD)
	}
	// Without O_NONBLOCK a fifo in its place would hold the start up.
	fd, err := unix.Open(src, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxCopy {
		return fmt.Errorf("copy %q: not a regular file of at most %d bytes", s.Source, maxCopy)
	}
	if err := same(fd, s); err != nil {
		return err
	}
	content := make([]byte, st.Size)
	read := 0
	for read < len(content) {
		n, err := unix.Read(fd, content[read:])
		if err != nil {
			return err
		}
		if n == 0 {
			break // it became shorter
		}
		read += n
	}
	// The host's execute bit stays, nothing else of its mode.
	return makeFile(s.Target, s.Mode|st.Mode&0o111, content[:read])
}

// cover hides a file behind an empty one that nobody may open: it has no mode
// bits, Landlock grants nothing on it, and its mount is read-only. The null
// device in its place can be opened for writing, and whoever tries whether the
// real file can be then sees that it can.
func cover(target string) error {
	if !made[covering] {
		if err := makeFile(covering, 0, nil); err != nil {
			return err
		}
		made[covering] = true
	}
	return mountTree(covering, target, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY)
}

func mountTmpfs(s plan.Step) error {
	if err := mkdirs(s.Target, 0o755); err != nil {
		return err
	}
	opts := fmt.Sprintf("mode=%04o", s.Mode)
	if s.Size > 0 {
		opts += fmt.Sprintf(",size=%d,nr_inodes=%d", s.Size, s.Size/4096+1024)
	}
	return unix.Mount("tmpfs", s.Target, "tmpfs", less[uintptr](unix.MS_NOSUID|unix.MS_NODEV), opts)
}

// mountOverlay shows a host folder through an overlay that has lower layers
// only: a lock, a lease or a time set inside then meets the overlay's inode and
// not the host's, which a read-only bind would let through.
func mountOverlay(s plan.Step) error {
	if err := mkdirs(s.Target, 0o755); err != nil {
		return err
	}
	lower := s.Source
	// A path can't be written in mount options when it has their separators; and
	// one that was looked at before is held while it is compared.
	if s.FD > 0 || s.Ino != 0 || strings.ContainsAny(s.Source, ":,\\\"") {
		path, letGo, err := reach(s, staging)
		if err != nil {
			return err
		}
		defer letGo()
		lower = path
	}
	err := unix.Mount("overlay", s.Target, "overlay", less[uintptr](unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV), "lowerdir="+lower+":"+plan.Empty)
	if err == unix.EINVAL {
		return &layer.Error{
			Layer: layer.Namespaces, Op: fmt.Sprintf("mount %q as overlay", s.Source), Err: err,
			Hint: "the folder has other mounts below it, or lies on two overlays already, as in a nested container",
		}
	}
	return err
}

// mountBind attaches the workspace, HOME or the canary for writing. It is one
// mount, without what may be mounted below it.
func mountBind(s plan.Step) error {
	if err := mkdirs(s.Target, 0o755); err != nil {
		return err
	}
	return mountChecked(s, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

func mountChecked(s plan.Step, attrs uint64) error {
	if s.FD > 0 {
		if err := same(s.FD, s); err != nil {
			return err
		}
		return attach(s.FD, s.Target, attrs)
	}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if leftOut == plan.OwnProc {
		flags |= unix.AT_RECURSIVE // the host's /proc may have mounts below it, which can't be uncovered
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, s.Source, flags)
	if err != nil {
		return fmt.Errorf("open_tree %q: %w", s.Source, err)
	}
	defer unix.Close(fd)
	if err := same(fd, s); err != nil {
		return err
	}
	return attach(fd, s.Target, attrs)
}

// mountTree binds something that is not looked at before.
func mountTree(source, target string, attrs uint64) error {
	return mountChecked(plan.Step{Source: source, Target: target}, attrs)
}

func attach(tree int, target string, attrs uint64) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return restrict(tree, attrs)
}

// restrict sets the attributes of a tree that is attached: tree itself is then
// the mount in our namespace.
func restrict(tree int, attrs uint64) error {
	err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: less(attrs), Propagation: unix.MS_PRIVATE})
	if err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	return nil
}

// same refuses a folder that was swapped for another since the starter looked.
func same(fd int, s plan.Step) error {
	if s.Ino == 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat %q: %w", s.Source, err)
	}
	if st.Dev != s.Dev || st.Ino != s.Ino {
		return fmt.Errorf("%q is not the folder that was looked at before", s.Source)
	}
	return nil
}

// mountHomeView shows a mount that is already made at its place below HOME.
// HOME's content is hostile: an earlier process may have left a link there, so
// each part of the path is opened by itself and no link is followed.
func mountHomeView(s plan.Step) error {
	dir, err := unix.Open(strings.TrimPrefix(plan.Home, "/"), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(s.Target, "/") {
		if err := unix.Mkdirat(dir, part, 0o755); err != nil && err != unix.EEXIST {
			_ = unix.Close(dir)
			return err
		}
		next, err := unix.Openat2(dir, part, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		_ = unix.Close(dir) // a path descriptor: nothing to lose
		if err != nil {
			return fmt.Errorf("%q in HOME: %w", part, err)
		}
		dir = next
	}
	defer unix.Close(dir)
	tree, err := unix.OpenTree(unix.AT_FDCWD, strings.TrimPrefix(s.Source, "/"), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open_tree %q: %w", s.Source, err)
	}
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", dir, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

func mountProc(s plan.Step) error {
	if err := mkdirs(s.Target, 0o555); err != nil {
		return err
	}
	if err := unix.Mount("proc", s.Target, "proc", less[uintptr](unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC), ""); err != nil {
		return &layer.Error{Layer: layer.Namespaces, Op: "mount proc", Err: err, Hint: hintProc}
	}
	return setSysctls(s.Target + "/sys")
}

// setSysctls is for what belongs to the session's own user namespace, before
// /proc/sys becomes read-only.
func setSysctls(sys string) error {
	// No user namespace below this one. The filter refuses to make one; this
	// holds should the filter have a hole.
	if err := unless(plan.NestedUserNS, func() error { return writeFile(sys+"/user/max_user_namespaces", "0") }); err != nil {
		return fmt.Errorf("write user.max_user_namespaces: %w", err)
	}
	if err := unless(plan.NetNS, func() error { return shortQueues(sys) }); err != nil {
		return err
	}
	return unless(plan.WatchShare, func() error { return shareWatches(sys) })
}

// shareWatches bounds what the session may take of the account's inotify
// instances and watches, which the kernel counts together for the account's
// own programs and everything in its namespaces.
func shareWatches(sys string) error {
	for _, w := range []struct {
		of, to string
		least  int // what a build with a watcher or two needs
	}{
		{"/fs/inotify/max_user_instances", "/user/max_inotify_instances", leastInstances},
		{"/fs/inotify/max_user_watches", "/user/max_inotify_watches", 4096},
	} {
		all, err := readNumber(sys + w.of)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without inotify
		}
		if err != nil {
			return err
		}
		if err := writeFile(sys+w.to, strconv.Itoa(shareOf(all, w.least))); err != nil {
			return fmt.Errorf("write %s: %w", w.to, err)
		}
	}
	return nil
}

const leastInstances = 16 // of inotify

func shareOf(all, least int) int { return max(least, all/4) }

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return n, nil
}
