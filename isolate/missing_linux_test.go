package isolate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/limits"
	"fumehood/isolate/testkit"
)

func init() {
	parts["cripple"] = cripple
}

// crippled is a kernel that answers one system call with one errno. 0 makes it
// lie: the call does nothing and reports success.
type crippled struct {
	Call  int
	Arg   int // compared with Val unless -1
	Val   uint32
	Errno int
}

// cripple loads the filter and starts a session under it.
func cripple() {
	var c crippled
	if err := json.Unmarshal([]byte(os.Getenv("TEST_CRIPPLE")), &c); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	const ld, jeq, ret = 0x20, 0x15, 0x06
	prog := []unix.SockFilter{
		{Code: ld, K: 0},
		{Code: jeq, Jf: 1, K: uint32(c.Call)},
		{Code: ret, K: 0x00050000 | uint32(c.Errno)},
		{Code: ret, K: 0x7fff0000},
	}
	if c.Arg >= 0 {
		prog = []unix.SockFilter{
			{Code: ld, K: 0},
			{Code: jeq, Jf: 3, K: uint32(c.Call)},
			{Code: ld, K: uint32(16 + 8*c.Arg)},
			{Code: jeq, Jf: 1, K: c.Val},
			{Code: ret, K: 0x00050000 | uint32(c.Errno)},
			{Code: ret, K: 0x7fff0000},
		}
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if os.Getuid() != 0 { // root may load a filter without
		if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
			fmt.Println("no_new_privs", e)
			os.Exit(2)
		}
	}
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_SECCOMP, 1, 0, uintptr(unsafe.Pointer(&fprog))); e != 0 {
		fmt.Println("filter", e)
		os.Exit(2)
	}
	runtime.KeepAlive(prog)

	startHere()
}

// startHere starts a session where this process is, and prints the layer that
// is missing, the error, the hint and how many processes are left; or runs the
// command, which leaves a marker.
func startHere() {
	var sp isolate.Spec
	if err := json.Unmarshal([]byte(os.Getenv("TEST_SPEC")), &sp); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	s, err := isolate.Start(context.Background(), sp)
	if err != nil {
		var le layer.Error
		if p := new(layer.Error); errors.As(err, &p) {
			le = *p
		}
		left, lerr := limits.Tree(os.Getpid())
		if os.IsNotExist(lerr) {
			left = nil // no /proc to look at
		}
		fmt.Printf("%s\n%s\n%s\n%d left\n", le.Layer, strings.ReplaceAll(err.Error(), "\n", "; "), le.Hint, len(left))
		os.Exit(125)
	}
	// It started: then it has to be whole.
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/sh", "-c", "echo began > marker"}, Env: env, Dir: sp.Workspace.Inside})
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	fmt.Println("started", p.Wait())
}

// refused checks what startHere printed and left.
func refused(t *testing.T, sp isolate.Spec, cmd *exec.Cmd, want layer.Name, hint string) {
	t.Helper()
	before := mountsHere(t)
	out, _ := cmd.CombinedOutput() // the exit status is looked at below
	lines := append(strings.Split(string(out), "\n"), "", "", "", "")
	if cmd.ProcessState.ExitCode() != 125 || lines[0] != string(want) {
		t.Errorf("got exit %d, %q, want 125 and layer %s", cmd.ProcessState.ExitCode(), out, want)
	}
	if lines[2] == "" || !strings.Contains(lines[2], hint) {
		t.Errorf("got %q, want a hint with %q", out, hint)
	}
	if lines[3] != "0 left" {
		t.Errorf("got %q, want no process left", out)
	}
	if _, err := os.Stat(sp.Workspace.Host + "/marker"); err == nil {
		t.Error("the command ran")
	}
	empty := []string{sp.Workspace.Host, sp.Home.Host, sp.Canary + "/allowed", sp.Canary + "/denied"}
	if sp.HostHome != "" {
		empty = slices.Delete(empty, 1, 2) // what is mounted below HOME has its place there
	}
	for _, dir := range empty {
		if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
			t.Errorf("%s holds %v, want nothing", dir, left)
		}
	}
	if after := mountsHere(t); after != before {
		t.Errorf("the mount table has changed from\n%s\nto\n%s", before, after)
	}
	t.Logf("%s: %s", lines[0], lines[1])
}

func mountsHere(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// namespacesOfGo is the first argument of the clone that makes PID 1.
const namespacesOfGo = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_PIDFD | uint32(syscall.SIGCHLD)

// W15 of the walls: whatever can't be closed is named, and nothing runs. A
// kernel that only claims to have closed it is found out from outside.
func TestMissingLayerIsNamedAndNothingRuns(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("got %s, want a little-endian machine", runtime.GOARCH)
	}
	is := func(call int, errno syscall.Errno) crippled { return crippled{Call: call, Arg: -1, Errno: int(errno)} }
	arg := func(call, arg int, val uint32, errno syscall.Errno) crippled {
		return crippled{call, arg, val, int(errno)}
	}
	tests := []struct {
		name string
		how  crippled
		want layer.Name
		hint string
		edit func(*isolate.Spec)
		root bool // an ordinary user has that by the crippling itself
	}{
		{name: "no namespaces", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "namespaces used up", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.ENOSPC), want: layer.Namespaces, hint: "max_user_namespaces"},
		{name: "namespaces that the kernel was built without", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.EINVAL), want: layer.Namespaces, hint: "doctor"},
		{name: "no fork", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.EAGAIN), want: layer.Namespaces, hint: "doctor"},
		{name: "no settings of a mount", how: is(unix.SYS_FSCONFIG, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no detached mounts", how: is(unix.SYS_FSMOUNT, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no cloned mounts", how: is(unix.SYS_OPEN_TREE, syscall.ENOSYS), want: layer.Namespaces, hint: "5.19"},
		{name: "no mount attributes", how: is(unix.SYS_MOUNT_SETATTR, syscall.ENOSYS), want: layer.Namespaces, hint: "5.19"},
		{name: "no mounts", how: is(unix.SYS_MOUNT, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no new mount calls", how: is(unix.SYS_FSOPEN, syscall.ENOSYS), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no openat2", how: is(unix.SYS_OPENAT2, syscall.ENOSYS), want: layer.Namespaces, hint: "5.19", edit: func(s *isolate.Spec) {
			s.HostHome, s.ReadOnly = "/home/someone", []isolate.Mount{{Host: "/usr/share", Inside: "/home/someone/share"}}
		}},
		{name: "no move_mount", how: is(unix.SYS_MOVE_MOUNT, syscall.EACCES), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no pivot_root", how: is(unix.SYS_PIVOT_ROOT, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no pivot_root here", how: is(unix.SYS_PIVOT_ROOT, syscall.EINVAL), want: layer.Namespaces},
		{name: "no loopback", how: arg(unix.SYS_IOCTL, 1, unix.SIOCSIFFLAGS, syscall.EPERM), want: layer.Namespaces},
		{name: "no close_range", how: is(unix.SYS_CLOSE_RANGE, syscall.ENOSYS), want: layer.Identity, hint: "5.19"},
		{name: "no pidfd_open", how: is(unix.SYS_PIDFD_OPEN, syscall.ENOSYS), want: layer.Namespaces, hint: "5.19"},
		{name: "no core limit", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_CORE, syscall.EPERM), want: layer.Limits},
		{name: "no data limit", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_DATA, syscall.EPERM), want: layer.Limits},
		{name: "no umount", how: is(unix.SYS_UMOUNT2, syscall.EPERM), want: layer.Namespaces},
		{name: "no host name", how: is(unix.SYS_SETHOSTNAME, syscall.EPERM), want: layer.Namespaces},
		{name: "no limits", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NPROC, syscall.EPERM), want: layer.Limits},
		{name: "no capset", how: is(unix.SYS_CAPSET, syscall.EPERM), want: layer.Namespaces}, // already the runtime needs it to start PID 1
		{name: "no no_new_privs", how: arg(unix.SYS_PRCTL, 0, unix.PR_SET_NO_NEW_PRIVS, syscall.EINVAL), want: layer.Identity},
		{name: "no bounding set", how: arg(unix.SYS_PRCTL, 0, unix.PR_CAPBSET_DROP, syscall.EPERM), want: layer.Identity},
		{name: "no dumpable", how: arg(unix.SYS_PRCTL, 0, unix.PR_SET_DUMPABLE, syscall.EPERM), want: layer.Identity},
		{name: "Landlock off", how: is(unix.SYS_LANDLOCK_CREATE_RULESET, syscall.EOPNOTSUPP), want: layer.Landlock, hint: "lsm="},
		{name: "no Landlock", how: is(unix.SYS_LANDLOCK_CREATE_RULESET, syscall.ENOSYS), want: layer.Landlock, hint: "lsm="},
		{name: "no Landlock rules", how: is(unix.SYS_LANDLOCK_ADD_RULE, syscall.EINVAL), want: layer.Landlock},
		{name: "no Landlock domain", how: is(unix.SYS_LANDLOCK_RESTRICT_SELF, syscall.EPERM), want: layer.Landlock},
		{name: "Landlock forbidden", how: is(unix.SYS_LANDLOCK_CREATE_RULESET, syscall.EPERM), want: layer.Landlock},
		{name: "an older Landlock: none", how: arg(unix.SYS_LANDLOCK_CREATE_RULESET, 2, 1, 0), want: layer.Landlock, hint: "5.19"},
		{name: "no socket for the canary", how: is(unix.SYS_LISTEN, syscall.EPERM), want: layer.Landlock},
		{name: "seccomp forbidden", how: is(unix.SYS_SECCOMP, syscall.EPERM), want: layer.Seccomp, hint: "container"},
		{name: "no filter for all threads", how: arg(unix.SYS_SECCOMP, 1, 1, syscall.EINVAL), want: layer.Seccomp, hint: "seccomp"},
		{name: "no seccomp", how: is(unix.SYS_SECCOMP, syscall.ENOSYS), want: layer.Seccomp, hint: "seccomp"},

		{name: "a lie about Landlock", how: is(unix.SYS_LANDLOCK_RESTRICT_SELF, 0), want: layer.Landlock},
		{name: "a lie about seccomp", how: is(unix.SYS_SECCOMP, 0), want: layer.Seccomp},
		{name: "a lie about the bounding set", how: arg(unix.SYS_PRCTL, 0, unix.PR_CAPBSET_DROP, 0), want: layer.Identity},
		{name: "a lie about limits", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NPROC, 0), want: layer.Limits},
		{name: "a lie about the canary's unmount", how: arg(unix.SYS_UMOUNT2, 1, unix.MNT_DETACH, 0), want: layer.Namespaces},
		{name: "a lie about read-only", how: is(unix.SYS_MOUNT_SETATTR, 0), want: layer.Namespaces},
		{name: "a lie about the host's root", how: is(unix.SYS_PIVOT_ROOT, 0), want: layer.Landlock},                                   // what it is to guard is not where it should be
		{name: "a lie about capabilities", how: is(unix.SYS_CAPSET, 0), want: layer.Namespaces},                                        // as above
		{name: "a lie about no_new_privs", how: arg(unix.SYS_PRCTL, 0, unix.PR_SET_NO_NEW_PRIVS, 0), want: layer.Landlock, root: true}, // which needs it
		{name: "a lie about dumpable", how: arg(unix.SYS_PRCTL, 0, unix.PR_SET_DUMPABLE, 0), want: layer.Identity},
		{name: "a lie about descriptors", how: is(unix.SYS_CLOSE_RANGE, 0), want: layer.Identity},
		{name: "a lie about moved mounts", how: is(unix.SYS_MOVE_MOUNT, 0), want: layer.Namespaces},
		{name: "a lie about core files", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_CORE, 0), want: layer.Limits},
		{name: "a lie about mounts", how: is(unix.SYS_MOUNT, 0), want: layer.Namespaces},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Getuid() != 0 {
				t.Skip("got an ordinary user, want root")
			}
			sp := spec(t)
			if tt.edit != nil {
				tt.edit(&sp)
			}
			how, err := json.Marshal(tt.how)
			if err != nil {
				t.Fatal(err)
			}
			refused(t, sp, testkit.RunInSubprocess(t, "cripple", specEnv(t, sp), "TEST_CRIPPLE="+string(how)), tt.want, tt.hint)
		})
	}
}

// The same start with a filter that cripples nothing: the refusals above are
// of the crippling and not of the filter.
func TestUnderAnotherFilterItStarts(t *testing.T) {
	sp := spec(t)
	how, err := json.Marshal(crippled{Call: unix.SYS_ACCT, Arg: -1, Errno: int(syscall.EPERM)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := testkit.RunInSubprocess(t, "cripple", specEnv(t, sp), "TEST_CRIPPLE="+string(how)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(sp.Workspace.Host + "/marker"); err != nil {
		t.Error(err)
	}
}

func TestSpecIsChecked(t *testing.T) {
	tests := []struct {
		name string
		edit func(*isolate.Spec)
		want string
	}{
		{name: "root", edit: func(s *isolate.Spec) { s.UID = 0 }, want: "session ids"},
		{name: "no home", edit: func(s *isolate.Spec) { s.Home.Host += "/absent" }, want: "no such file"},
		{name: "no canary", edit: func(s *isolate.Spec) { s.Canary += "/absent" }, want: "no such file"},
		{name: "no input", edit: func(s *isolate.Spec) {
			s.ReadOnly = []isolate.Mount{{Host: "/usr/share/absent", Inside: "/data"}}
		}, want: "no such file"},
		{name: "no workspace", edit: func(s *isolate.Spec) { s.Workspace.Host += "/absent" }, want: "no such file"},
		{name: "workspace is a file", edit: func(s *isolate.Spec) { s.Workspace.Host = "/etc/passwd" }, want: "is a file"},
		{name: "workspace at /", edit: func(s *isolate.Spec) { s.Workspace.Inside = "/" }, want: "sandbox's own"},
		{name: "workspace above /proc", edit: func(s *isolate.Spec) { s.Workspace.Inside = "/proc/x" }, want: "sandbox's own"},
		{name: "workspace at /usr", edit: func(s *isolate.Spec) { s.Workspace.Inside = "/usr" }, want: "sandbox's own"},
		{name: "workspace through a link", edit: func(s *isolate.Spec) { s.Workspace.Inside = "/bin/x" }, want: "/bin"},
		{name: "relative", edit: func(s *isolate.Spec) { s.Workspace.Inside = "project" }, want: "absolute"},
		{name: "dots", edit: func(s *isolate.Spec) { s.Workspace.Inside = "/home/../etc" }, want: "absolute"},
		{name: "home elsewhere", edit: func(s *isolate.Spec) { s.Home.Inside = "/home/x" }, want: "home inside"},
		{name: "user name", edit: func(s *isolate.Spec) { s.User = "x:0:0" }, want: "session user"},
		{name: "unknown layer", edit: func(s *isolate.Spec) { s.Require = []string{"landlok"} }, want: "not known"},
		{name: "level too high", edit: func(s *isolate.Spec) { s.Require = []string{"landlock>=99"} }, want: "landlock"},
		{name: "input in the workspace", edit: func(s *isolate.Spec) {
			s.ReadOnly = []isolate.Mount{{Host: "/usr/share", Inside: "/home/someone/project/x"}}
		}, want: "lies in the workspace"},
		{name: "input holds the home", edit: func(s *isolate.Spec) {
			s.HostHome = "/usr/share/someone"
			s.ReadOnly = []isolate.Mount{{Host: "/usr/share", Inside: "/data"}}
		}, want: "holds the home"},
		{name: "canary in use", edit: func(s *isolate.Spec) { s.Canary = "/usr" }, want: "canary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			testkit.LeakCheck(t)
			sp := spec(t)
			tt.edit(&sp)
			s, err := isolate.Start(t.Context(), sp)
			if err == nil {
				t.Fatal("it started", s.Kill())
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
		})
	}
	if !slices.Contains(layer.All(), layer.Seccomp) {
		t.Error("no seccomp among the layers")
	}
}
