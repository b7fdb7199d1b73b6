package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// childArg as the first argument makes this program the throw-away child.
const childArg = "__doctor-probe"

// Dispatch becomes the throw-away child when this process was started as one,
// and never returns then. It belongs in the first lines of main, and of
// TestMain where a test probes.
//
// The child's life: started in new namespaces with the capabilities that these
// give, it tries each mount that a sandbox needs, over folders of its own
// mount namespace alone, prints what came of it and ends; the kernel then
// takes the namespaces and every mount away.
func Dispatch() {
	if len(os.Args) != 2 || os.Args[1] != childArg {
		return
	}
	// Started by hand it would mount over the host's own /tmp, if root did so.
	if !ownMountNamespace() {
		_, _ = os.Stderr.WriteString("fumehood: " + childArg + " is not for use by hand\n") // the status says it as well
		os.Exit(125)
	}
	if err := json.NewEncoder(os.Stdout).Encode(tryAll()); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// ownMountNamespace tells whether the mount namespace is another than the
// parent's: the parent is outside, so its own is not to be had, or differs.
func ownMountNamespace() bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return false
	}
	return os.Getenv(outsideEnv) != "" && os.Getenv(outsideEnv) != own
}

// outsideEnv carries the parent's mount namespace to the child.
const outsideEnv = "FUMEHOOD_DOCTOR_OUTSIDE"

// tried is what the child reports.
type tried struct{ Tmpfs, Overlay, Proc, Devpts, ReadOnly Step }

func tryAll() tried {
	var t tried
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		step := stepOf(err)
		return tried{Tmpfs: step, Overlay: step, Proc: step, Devpts: step, ReadOnly: step}
	}
	// The folder is only a place to mount on; what lies in it is untouched
	// under the mount.
	base, err := mountBase()
	t.Tmpfs = stepOf(err)
	if err != nil {
		return t // the rest needs it, and stays not done with no reason of its own
	}
	dir := func(name string) string {
		path := filepath.Join(base, name)
		// A failure shows in the mount on it.
		_ = os.Mkdir(path, 0o700)
		return path
	}
	// As the stage makes it: two lower folders and no upper one, the first of
	// them of the host.
	t.Overlay = stepOf(unix.Mount("overlay", dir("over"), "overlay",
		unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "lowerdir=/usr:"+dir("empty")+",userxattr"))
	t.Proc = stepOf(unix.Mount("proc", dir("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
	t.Devpts = stepOf(unix.Mount("devpts", dir("pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"))
	t.ReadOnly = stepOf(unix.MountSetattr(-1, base, unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}))
	return t
}

// mountBase mounts a tmpfs on the first folder that is there.
func mountBase() (string, error) {
	var err error
	for _, dir := range []string{"/tmp", "/mnt", "/var/tmp"} {
		if err = unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=700"); err == nil {
			return dir, nil
		}
		if !errors.Is(err, unix.ENOENT) {
			break
		}
	}
	return "", err
}

func stepOf(err error) Step {
	if err == nil {
		return Step{Done: true}
	}
	return Step{Err: errnoName(err)}
}

// errnoName gives the kernel's name of an error where it has one, since that
// is what an engineer looks for.
func errnoName(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		if name := unix.ErrnoName(no); name != "" {
			return name
		}
	}
	return err.Error()
}
