package isolate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/testkit"
)

func init() {
	parts["place"] = func() { place(); startHere() }
	parts["old"] = func() { old(); startHere() }
	parts["here"] = startHere
}

// somewhere is a place in which a session is started: a user namespace, in
// which something is missing.
type somewhere struct {
	Sysctl string // set to 0
	Cover  string // a tmpfs is mounted over it
	Chroot string // entered, after the host's root was bound to it
}

// place turns the namespace that this process was born into, into the place.
func place() {
	var w somewhere
	must := func(what string, err error) {
		if err != nil {
			fmt.Println(what, err)
			os.Exit(2)
		}
	}
	must("place", json.Unmarshal([]byte(os.Getenv("TEST_PLACE")), &w))
	if w.Sysctl != "" {
		must(w.Sysctl, os.WriteFile("/proc/sys/user/"+w.Sysctl, []byte("0"), 0))
	}
	if w.Cover != "" {
		must(w.Cover, unix.Mount("tmpfs", w.Cover, "tmpfs", 0, ""))
	}
	if w.Chroot != "" {
		must("bind", unix.Mount("/", w.Chroot, "", unix.MS_BIND|unix.MS_REC, ""))
		must("chroot", unix.Chroot(w.Chroot))
		must("chdir", unix.Chdir("/"))
	}
}

// inUserNamespace has cmd born in a user and a mount namespace of its own, as
// the same user with what it takes to arrange the place.
func inUserNamespace(cmd *exec.Cmd) {
	ids := func(id int) []syscall.SysProcIDMap {
		if os.Getuid() == 0 {
			return []syscall.SysProcIDMap{{Size: 65535}} // root's sessions run as another
		}
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: ids(os.Getuid()), GidMappings: ids(os.Getgid()), GidMappingsEnableSetgroups: os.Getuid() == 0,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_SYS_CHROOT},
	}
}

// requireUserNamespaces skips where none can be made: there everything is
// refused, and other tests show it.
func requireUserNamespaces(t *testing.T) {
	t.Helper()
	cmd := exec.Command("/bin/true")
	inUserNamespace(cmd)
	if err := cmd.Run(); err != nil {
		t.Skipf("got %v, want a user namespace", err)
	}
}

// Real kernels in which something is really missing.
func TestWhereSomethingIsMissingNothingRuns(t *testing.T) {
	requireUserNamespaces(t)
	tests := []struct {
		name  string
		place somewhere
		hint  string
	}{
		{name: "no user namespaces", place: somewhere{Sysctl: "max_user_namespaces"}, hint: "user.max_user_namespaces"},
		{name: "no mount namespaces", place: somewhere{Sysctl: "max_mnt_namespaces"}, hint: "user.max_mnt_namespaces"},
		{name: "no pid namespaces", place: somewhere{Sysctl: "max_pid_namespaces"}, hint: "user.max_"},
		{name: "no network namespaces", place: somewhere{Sysctl: "max_net_namespaces"}, hint: "user.max_"},
		{name: "no ipc namespaces", place: somewhere{Sysctl: "max_ipc_namespaces"}, hint: "user.max_"},
		{name: "no uts namespaces", place: somewhere{Sysctl: "max_uts_namespaces"}, hint: "user.max_"},
		{name: "no cgroup namespaces", place: somewhere{Sysctl: "max_cgroup_namespaces"}, hint: "user.max_"},
		{name: "no /proc", place: somewhere{Cover: "/proc"}, hint: "mount -t proc"},
		{name: "/proc partly covered", place: somewhere{Cover: "/proc/tty"}, hint: "unmasked /proc"},
		{name: "chroot", place: somewhere{Chroot: "here"}, hint: "chroot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sp := spec(t)
			if tt.place.Chroot != "" {
				tt.place.Chroot = testkit.Folder(t, "root")
				if err := os.Chmod(tt.place.Chroot, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			how, err := json.Marshal(tt.place)
			if err != nil {
				t.Fatal(err)
			}
			cmd := testkit.RunInSubprocess(t, "place", specEnv(t, sp), "TEST_PLACE="+string(how))
			inUserNamespace(cmd)
			refused(t, sp, cmd, layer.Namespaces, tt.hint)
		})
	}
}

// The same place with nothing missing: the refusals above are of what is.
func TestInAUserNamespaceItStarts(t *testing.T) {
	requireUserNamespaces(t)
	sp := spec(t)
	cmd := testkit.RunInSubprocess(t, "place", specEnv(t, sp), "TEST_PLACE={}")
	inUserNamespace(cmd)
	begins(t, sp, cmd)
}

func begins(t *testing.T, sp isolate.Spec, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(sp.Workspace.Host + "/marker"); err != nil {
		t.Error(err)
	}
}

// Who is root in a namespace that maps one id alone is not root, and its
// sessions would have nobody to run as.
func TestAsTheRootOfANamespaceNothingRuns(t *testing.T) {
	requireUserNamespaces(t)
	for _, as := range []struct{ uid, gid int }{{61999, 61999}, {0, 0}} {
		sp := spec(t)
		sp.UID, sp.GID = as.uid, as.gid
		cmd := testkit.RunInSubprocess(t, "here", specEnv(t, sp))
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, _ := cmd.CombinedOutput() // looked at below
		lines := append(strings.Split(string(out), "\n"), "", "", "")
		if cmd.ProcessState.ExitCode() != 125 || lines[3] != "0 left" {
			t.Errorf("as %d: got exit %d, %q, want 125 and no process left", as.uid, cmd.ProcessState.ExitCode(), out)
		}
		if as.uid != 0 && (lines[0] != string(layer.Namespaces) || !strings.Contains(lines[2], "unshare -r")) {
			t.Errorf("as %d: got %q, want the layer and a hint with \"unshare -r\"", as.uid, out)
		}
		if _, err := os.Stat(sp.Workspace.Host + "/marker"); err == nil {
			t.Error("the command ran")
		}
	}
}

// A session within a session: the outer filter refuses namespaces.
func TestInsideAnotherSandboxNothingRuns(t *testing.T) {
	sp := spec(t)
	probe := inWorkspace(t, sp)
	s := start(t, sp)
	sh(t, s, "mkdir -m 700 w h c && touch w/-")
	uid, gid := testkit.IDs()
	inner := isolate.Spec{
		ID: "inner", Workspace: isolate.Mount{Host: "/home/someone/project/w", Inside: "/home/someone/inner"},
		Home: isolate.Mount{Host: "/home/someone/project/h", Inside: isolate.HomeInside}, Canary: "/home/someone/project/c",
		UID: uid, GID: gid, User: "someone",
	}
	o := sh(t, s, fmt.Sprintf("FUMEHOOD_TEST_PART=here %s exec %s", shellQuoted(specEnv(t, inner)), probe))
	lines := append(strings.Split(o.out, "\n"), "", "", "", "")
	if o.status.Code != 125 || lines[0] != string(layer.Namespaces) || !strings.Contains(lines[2], "container") || lines[3] != "0 left" {
		t.Errorf("got %v, want 125, the layer, a hint and nothing left", o)
	}
	if _, err := os.Stat(filepath.Join(sp.Workspace.Host, "w/marker")); err == nil {
		t.Error("the command ran")
	}
}

func shellQuoted(assignment string) string {
	k, v, _ := strings.Cut(assignment, "=")
	return k + "='" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}

// Another sandbox's rules differ by how it was made: a session inside it is
// refused by name, or whole.
func TestInsideBubblewrapItIsWholeOrRefused(t *testing.T) {
	testkit.RequireProgram(t, "bwrap")
	tests := []struct {
		name string
		args []string
		want layer.Name // "" is a whole one
	}{
		{name: "the host's /proc", args: []string{"--dev-bind", "/", "/"}},
		{name: "its own /proc", args: []string{"--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc"}},
		{name: "without user namespaces", args: []string{"--dev-bind", "/", "/", "--unshare-user", "--disable-userns"}, want: layer.Namespaces},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sp := spec(t)
			if os.Getuid() == 0 {
				t.Skip("got root, want an ordinary user: bubblewrap maps root alone, and its sessions would have nobody to run as")
			}
			if out, err := exec.Command("bwrap", append(tt.args, "/bin/true")...).CombinedOutput(); err != nil {
				t.Skipf("got %v (%s), want bwrap to run", err, out)
			}
			cmd := exec.Command("bwrap", append(tt.args, exe(t))...)
			cmd.Env = testkit.RunInSubprocess(t, "here", specEnv(t, sp)).Env
			if tt.want != "" {
				refused(t, sp, cmd, tt.want, "user.max_user_namespaces")
				return
			}
			begins(t, sp, cmd)
		})
	}
}

// old has the kernel say that its Landlock is of another ABI, to this process
// and all that it starts: a thread answers in the kernel's name.
func old() {
	const ld, jeq, ret, notify, allow = 0x20, 0x15, 0x06, 0x7fc00000, 0x7fff0000
	prog := []unix.SockFilter{
		{Code: ld, K: 0},
		{Code: jeq, Jf: 3, K: unix.SYS_LANDLOCK_CREATE_RULESET},
		{Code: ld, K: 16 + 8*2},
		{Code: jeq, Jf: 1, K: 1}, // asks for the version
		{Code: ret, K: notify},
		{Code: ret, K: allow},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	fail := func(what string, e syscall.Errno) {
		if e != 0 {
			fmt.Println(what, e)
			os.Exit(2)
		}
	}
	_, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	fail("no_new_privs", e)
	const allThreads, listener, errno = 1, 8, 16
	fd, _, e := syscall.Syscall(unix.SYS_SECCOMP, 1, allThreads|listener|errno, uintptr(unsafe.Pointer(&fprog)))
	fail("listener", e)
	runtime.KeepAlive(prog)
	var abi int64
	_, _ = fmt.Sscan(os.Getenv("TEST_ABI"), &abi)
	go func() {
		for {
			var req [80]byte // struct seccomp_notif; its first word is the number
			if _, _, e := syscall.Syscall(unix.SYS_IOCTL, fd, 0xc0502100, uintptr(unsafe.Pointer(&req))); e != 0 {
				continue // who asked has ended
			}
			resp := struct {
				id    uint64
				val   int64
				err   int32
				flags uint32
			}{id: *(*uint64)(unsafe.Pointer(&req)), val: abi}
			_, _, _ = syscall.Syscall(unix.SYS_IOCTL, fd, 0xc0182101, uintptr(unsafe.Pointer(&resp))) // as above
		}
	}()
}

// An older Landlock is used at its own level, down to the floor; what a policy
// asks for beyond it is missing.
func TestAnOlderLandlockIsWholeOrRefused(t *testing.T) {
	testkit.RequireABI(t, 6)
	for _, tt := range []struct {
		abi     int
		require string
		want    layer.Name
	}{
		{abi: 0, want: layer.Landlock},
		{abi: 1, want: layer.Landlock},
		{abi: 2},
		{abi: 3},
		{abi: 4},
		{abi: 5},
		{abi: 5, require: "landlock>=6", want: layer.Landlock},
		{abi: 6, require: "landlock>=6"},
	} {
		t.Run(fmt.Sprint(tt.abi, " ", tt.require), func(t *testing.T) {
			sp := spec(t)
			if tt.require != "" {
				sp.Require = []string{tt.require}
			}
			cmd := testkit.RunInSubprocess(t, "old", specEnv(t, sp), fmt.Sprint("TEST_ABI=", tt.abi))
			if tt.want != "" {
				refused(t, sp, cmd, tt.want, "kernel")
				return
			}
			begins(t, sp, cmd)
		})
	}
}
