package isolate

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"fumehood/isolate/layer"
	"fumehood/isolate/plan"
)

var errNoProc = errors.New("it is no file system of the kernel's processes")

// lookHost finds what the plan needs to know of this machine.
func lookHost() (plan.Host, error) {
	var st unix.Statfs_t
	if err := unix.Statfs("/proc", &st); err != nil || st.Type != unix.PROC_SUPER_MAGIC {
		return plan.Host{}, &layer.Error{Layer: layer.Namespaces, Op: "look at /proc", Err: errors.Join(err, errNoProc), Hint: hintProc}
	}
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return plan.Host{}, hinted(&layer.Error{Layer: layer.Landlock, Op: "ask for the ABI", Err: err})
	}
	h := plan.Host{LandlockABI: abi}
	for _, name := range plan.Top() {
		e, found, err := lookTop(name)
		if err != nil {
			return plan.Host{}, err
		}
		if found {
			h.Top = append(h.Top, e)
		}
	}
	for _, name := range plan.EtcFiles() {
		if e, ok := lookEtcFile(name); ok {
			h.EtcFiles = append(h.EtcFiles, e)
		}
	}
	for _, name := range plan.EtcFolders() {
		if st, err := os.Stat("/etc/" + name); err == nil && st.IsDir() {
			h.EtcFolders = append(h.EtcFolders, plan.Entry{Name: name})
		}
	}
	for _, name := range plan.Bundles() {
		if st, err := os.Lstat("/etc/" + name); err == nil && st.Mode().IsRegular() {
			h.Bundles = append(h.Bundles, name)
		}
	}
	for _, name := range plan.ProcMasks() {
		if _, err := os.Lstat("/proc/" + name); err == nil {
			h.ProcFiles = append(h.ProcFiles, name)
		}
	}
	return h, nil
}

// idsMapped refuses the ids of a session that this process's user namespace does
// not have: who is root in a namespace of one id is nobody's root.
func idsMapped(uid, gid int) error {
	for file, id := range map[string]int{"/proc/self/uid_map": uid, "/proc/self/gid_map": gid} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // there is no /proc, which is said next
		}
		mapped := false
		for line := range strings.Lines(string(text)) {
			var inside, outside, size int
			if n, _ := fmt.Sscan(line, &inside, &outside, &size); n == 3 && id >= inside && id-inside < size {
				mapped = true
			}
		}
		if !mapped {
			return &layer.Error{Layer: layer.Namespaces, Op: fmt.Sprintf("run as %d:%d", uid, gid), Err: fmt.Errorf("%d is not in %s", id, file), Hint: hintMaps}
		}
	}
	return nil
}

func lookTop(name string) (plan.Entry, bool, error) {
	st, err := os.Lstat("/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return plan.Entry{}, false, nil
	}
	if err != nil {
		return plan.Entry{}, false, fmt.Errorf("system folder: %w", err)
	}
	switch {
	case st.IsDir():
		return plan.Entry{Name: name}, true, nil
	case st.Mode()&fs.ModeSymlink == 0:
		return plan.Entry{}, false, nil
	}
	target, err := os.Readlink("/" + name)
	if err != nil {
		return plan.Entry{}, false, fmt.Errorf("system folder: %w", err)
	}
	// A link into another folder that appears inside stays a link; anything
	// else is shown as the folder it leads to.
	first, _, _ := strings.Cut(strings.TrimPrefix(path.Join("/", target), "/"), "/")
	if first == "usr" && !path.IsAbs(target) {
		return plan.Entry{Name: name, Link: target}, true, nil
	}
	if st, err := os.Stat("/" + name); err != nil || !st.IsDir() {
		return plan.Entry{}, false, nil //nolint:nilerr // a link to nothing on the host is absent inside too
	}
	return plan.Entry{Name: name}, true, nil
}

// lookEtcFile takes only what everyone may read: the account of the session is
// not the one that looks when root does.
func lookEtcFile(name string) (plan.Entry, bool) {
	full := "/etc/" + name
	st, err := os.Stat(full)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o004 == 0 || st.Size() > 4<<20 {
		return plan.Entry{}, false
	}
	if target, err := os.Readlink(full); err == nil {
		if abs := path.Join(path.Dir(full), target); path.IsAbs(target) {
			abs = path.Clean(target)
			if strings.HasPrefix(abs, "/usr/") {
				return plan.Entry{Name: name, Link: abs}, true
			}
		} else if strings.HasPrefix(abs, "/usr/") {
			return plan.Entry{Name: name, Link: abs}, true
		}
	}
	return plan.Entry{Name: name}, true
}

// place looks at a host folder or file that the spec names. When root starts,
// the session's own id may not reach it by path, so a detached mount of it (or,
// of a file, a descriptor) goes along.
func (l *launch) place(m Mount) (plan.Place, error) {
	p := plan.Place{Host: m.Host, Inside: m.Inside}
	var st unix.Stat_t
	if err := unix.Stat(m.Host, &st); err != nil {
		return p, fmt.Errorf("look at %q: %w", m.Host, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFREG:
		p.File = true
	default:
		return p, fmt.Errorf("%q is neither a folder nor a file", m.Host)
	}
	p.Dev, p.Ino = st.Dev, st.Ino
	if os.Getuid() != 0 {
		return p, nil
	}
	var fd int
	var err error
	if p.File {
		fd, err = unix.Open(m.Host, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	} else {
		fd, err = unix.OpenTree(unix.AT_FDCWD, m.Host, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	}
	if err != nil {
		return p, hinted(&layer.Error{Layer: layer.Namespaces, Op: fmt.Sprintf("open_tree %q", m.Host), Err: err})
	}
	p.FD = plan.FDMounts + len(l.mounts)
	l.mounts = append(l.mounts, os.NewFile(uintptr(fd), m.Host))
	return p, nil
}

// ownProgram is the file that this process runs from. When root starts, a
// detached mount of it goes along, as of every other place.
func (l *launch) ownProgram() (plan.Place, error) {
	const exe = "/proc/self/exe"
	var p plan.Place
	path, err := os.Readlink(exe)
	if err != nil {
		return p, fmt.Errorf("look at fumehood itself: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(exe, &st); err != nil {
		return p, fmt.Errorf("look at fumehood itself: %w", err)
	}
	p = plan.Place{Host: path, File: true, Dev: st.Dev, Ino: st.Ino}
	if os.Getuid() != 0 {
		return p, nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, exe, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return p, nil //nolint:nilerr // it was replaced since it started, say: the stage copies it then
	}
	p.FD = plan.FDMounts + len(l.mounts)
	l.mounts = append(l.mounts, os.NewFile(uintptr(fd), path))
	return p, nil
}

// prepareCanary makes the two folders that differ only in what Landlock says.
// They may be there from an earlier start, empty.
func prepareCanary(spec Spec) error {
	left, err := os.ReadDir(spec.Canary)
	if err != nil {
		return fmt.Errorf("canary folder: %w", err)
	}
	for _, e := range left {
		if !e.IsDir() || e.Name() != "allowed" && e.Name() != "denied" {
			return fmt.Errorf("canary folder %q: %q is in it, want it empty", spec.Canary, e.Name())
		}
	}
	for _, dir := range []string{spec.Canary, spec.Canary + "/allowed", spec.Canary + "/denied"} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("canary folder: %w", err)
		}
		if os.Getuid() == 0 {
			if err := os.Lchown(dir, spec.UID, spec.GID); err != nil {
				return fmt.Errorf("canary folder: %w", err)
			}
		}
	}
	return nil
}

// seeCanary says whether what Landlock grants was done and what it refuses was
// not, as seen on the host.
func seeCanary(spec Spec, nonce string) (allowed, denied bool, err error) {
	see := func(dir string) (bool, error) {
		_, err := os.Lstat(path.Join(spec.Canary, dir, nonce))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	}
	allowed, err = see("allowed")
	if err != nil {
		return false, false, fmt.Errorf("look at the canary: %w", err)
	}
	denied, err = see("denied")
	if err != nil {
		return false, false, fmt.Errorf("look at the canary: %w", err)
	}
	for dir, made := range map[string]bool{"allowed": allowed, "denied": denied} {
		if !made {
			continue
		}
		if err := os.Remove(path.Join(spec.Canary, dir, nonce)); err != nil {
			return false, false, fmt.Errorf("take the canary away: %w", err)
		}
	}
	return allowed, denied, nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails: it ends the program instead
	return hex.EncodeToString(b)
}
