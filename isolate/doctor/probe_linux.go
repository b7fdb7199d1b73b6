package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"fumehood/isolate/limits/cgroup"
)

// probeTime bounds each child process of a probe.
const probeTime = 5 * time.Second

// Probe finds the facts. stateDir is where fumehood keeps its state; it need
// not exist. It starts up to two throw-away children and git, makes and
// removes one folder under stateDir (or where that would be made), and leaves
// nothing behind. The program's main must call Dispatch.
func Probe(ctx context.Context, stateDir string) Facts {
	f := Facts{Arch: runtime.GOARCH, Root: os.Geteuid() == 0, State: stateDir}
	f.Kernel = kernelRelease()
	if exe, err := os.Executable(); err == nil {
		f.Exe = exe
	}
	f.Container = container()
	f.MaxUserNS = sysctlNumber("user/max_user_namespaces")
	f.CloneSysc = sysctl("kernel/unprivileged_userns_clone")
	f.AppArmor = sysctl("kernel/apparmor_restrict_unprivileged_userns")
	f.Yama = int(sysctlNumber("kernel/yama/ptrace_scope"))
	f.namespaces(ctx)
	f.landlock()
	f.Seccomp = seccompFilter()
	f.cgroups()
	f.git(ctx)
	f.Ptmx = opens("/dev/ptmx")
	f.state()
	f.Groups = supplementary()
	return f
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// sysctl reads a kernel setting; "" when there is none.
func sysctl(name string) string {
	b, err := readSmall("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func sysctlNumber(name string) int64 {
	n, err := strconv.ParseInt(sysctl(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// readSmall reads at most 64 KiB.
func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 64<<10))
}

// container says by what sign this process is in a container.
func container() string {
	for _, sign := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(sign); err == nil {
			return sign
		}
	}
	if kind := os.Getenv("container"); kind != "" {
		return "the variable container=" + strconv.Quote(kind)
	}
	b, err := readSmall("/proc/1/cgroup")
	if err != nil {
		return ""
	}
	for _, sign := range []string{"/docker", "/kubepods", "/libpod", "/lxc/", "/containerd"} {
		if strings.Contains(string(b), sign) {
			return "/proc/1/cgroup, which names " + sign
		}
	}
	return ""
}

// namespaces starts the throw-away child as the stage would be started.
func (f *Facts) namespaces(ctx context.Context) {
	const users = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	const all = users | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	var t tried
	if f.Namespaces, t = child(ctx, all); f.Namespaces.Done {
		f.Users = Step{Done: true}
	} else {
		f.Users, t = child(ctx, users)
		// A new /proc needs a process namespace, which this child has not.
		t.Proc = Step{}
	}
	f.Tmpfs, f.Overlay, f.Proc, f.Devpts, f.ReadOnly = t.Tmpfs, t.Overlay, t.Proc, t.Devpts, t.ReadOnly
}

// child runs the throw-away child in new namespaces and reads its report.
func child(ctx context.Context, flags uintptr) (Step, tried) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	outside, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return Step{Err: "/proc/self/ns can't be read: " + errnoName(err)}, tried{}
	}
	// Pdeathsig fires when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, errs bounded
	cmd := exec.CommandContext(ctx, "/proc/self/exe", childArg)
	cmd.Env = []string{outsideEnv + "=" + outside}
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	uid, gid := os.Geteuid(), os.Getegid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_ADMIN},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return Step{Err: "the child did not answer in " + probeTime.String()}, tried{}
		case errors.As(err, &exit):
			return Step{Err: fmt.Sprintf("the child ended with %v: %.200q", exit, errs.String())}, tried{}
		}
		return Step{Err: errnoName(err)}, tried{}
	}
	var t tried
	if err := json.Unmarshal(out.Bytes(), &t); err != nil {
		return Step{Err: "the child's report can't be read: is doctor.Dispatch called in main?"}, tried{}
	}
	return Step{Done: true}, t
}

// bounded keeps the first 64 KiB that are written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := 64<<10 - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (f *Facts) landlock() {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		f.LandlockErr = errnoName(err)
		return
	}
	f.LandlockABI = abi
}

// seccompFilter asks for a filter at a null address: the kernel answers EFAULT
// when it would have read one, and installs nothing.
func seccompFilter() Step {
	const setSeccomp, modeFilter = 22, 2
	err := unix.Prctl(setSeccomp, modeFilter, 0, 0, 0)
	switch {
	case errors.Is(err, unix.EFAULT):
		return Step{Done: true}
	case err == nil:
		return Step{Err: "the kernel took no filter for one"}
	}
	return stepOf(err)
}

func (f *Facts) cgroups() {
	var st unix.Statfs_t
	f.CgroupV2 = unix.Statfs("/sys/fs/cgroup", &st) == nil && st.Type == unix.CGROUP2_SUPER_MAGIC
	place, err := cgroup.Find()
	switch {
	case err != nil:
		return
	case place != nil:
		f.grouped(place.Dir, place.CPU)
		return
	}
	bus, err := cgroup.FindBus()
	if err != nil {
		f.NoBus = err.Error()
		if none := (*cgroup.NoBus)(nil); errors.As(err, &none) {
			f.BusHint = none.Hint
		}
		return
	}
	f.ByBus = true
	f.grouped(bus.Dir, bus.CPU)
}

func (f *Facts) grouped(dir string, cpu bool) {
	f.CgroupV2, f.Delegated, f.CgroupPath, f.Controllers = true, true, dir, []string{"memory", "pids"}
	if cpu {
		f.Controllers = append(f.Controllers, "cpu")
	}
}

func (f *Facts) git(ctx context.Context) {
	path, err := exec.LookPath("git")
	if err == nil && !filepath.IsAbs(path) {
		err = errors.New("found through a relative entry of PATH, which could be anyone's")
	}
	if err != nil {
		if !errors.Is(err, exec.ErrNotFound) {
			f.GitErr = err.Error()
		}
		return
	}
	f.Git = path
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var out bounded
	cmd := exec.CommandContext(ctx, path, "version")
	// In the root folder and with an empty environment there is no
	// configuration of a repository or an account to read.
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.WaitDelay = "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, &out, time.Second
	if err := cmd.Run(); err != nil {
		f.GitErr = "\"git version\": " + err.Error()
		return
	}
	if words := strings.Fields(out.String()); len(words) >= 3 && words[0] == "git" && words[1] == "version" {
		f.GitVersion = words[2]
		return
	}
	f.GitErr = fmt.Sprintf("\"git version\" answered %.100q", out.String())
}

func opens(name string) Step {
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return stepOf(err)
	}
	return stepOf(unix.Close(fd))
}

// state tries the folder for sessions, or the nearest one above that exists.
func (f *Facts) state() {
	at := filepath.Clean(f.State)
	for {
		st, err := os.Stat(at)
		if err == nil && !st.IsDir() {
			f.StateOK = Step{Err: at + " is no folder"}
			return
		}
		if err == nil || !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	var st unix.Statfs_t
	if unix.Statfs(at, &st) == nil {
		f.StateFS = fsName(int64(st.Type))
	}
	dir, err := os.MkdirTemp(at, ".fumehood-doctor-")
	if err != nil {
		f.StateOK = Step{Err: at + ": " + errnoName(err)}
		return
	}
	defer func() { _ = os.RemoveAll(dir) }() // our own and empty but for two small files
	f.StateOK, f.Reflink = Step{Done: true}, reflink(dir)
}

// reflink clones a block of one file into another.
func reflink(dir string) Step {
	from, err := os.OpenFile(filepath.Join(dir, "a"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return stepOf(err)
	}
	defer from.Close()
	if _, err := from.Write(make([]byte, 64<<10)); err != nil {
		return stepOf(err)
	}
	to, err := os.OpenFile(filepath.Join(dir, "b"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return stepOf(err)
	}
	defer to.Close()
	return stepOf(unix.IoctlFileClone(int(to.Fd()), int(from.Fd())))
}

func fsName(magic int64) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.FUSE_SUPER_MAGIC:
		return "fuse"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case 0x2fc12fc1:
		return "zfs"
	case 0x01021997:
		return "9p"
	case 0xca451a4e:
		return "bcachefs"
	}
	return fmt.Sprintf("a filesystem of type %#x", magic)
}

// supplementary names the groups beside the account's own: in an unprivileged
// user namespace they stay, and can't be dropped.
func supplementary() []string {
	ids, err := os.Getgroups()
	if err != nil {
		return []string{"groups that can't be listed: " + errnoName(err)}
	}
	var names []string
	for _, id := range ids {
		if id == os.Getegid() {
			continue
		}
		name := strconv.Itoa(id)
		if g, err := user.LookupGroupId(name); err == nil {
			name = g.Name
		}
		names = append(names, name)
	}
	return names
}
