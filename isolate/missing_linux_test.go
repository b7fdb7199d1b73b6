package isolate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
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

	var sp isolate.Spec
	if err := json.Unmarshal([]byte(os.Getenv("TEST_SPEC")), &sp); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	s, err := isolate.Start(context.Background(), sp)
	var le *layer.Error
	switch {
	case errors.As(err, &le):
		fmt.Printf("%s\n%s\n%s\n", le.Layer, le, le.Hint)
		os.Exit(125)
	case err != nil:
		fmt.Printf("no layer\n%v\n", err)
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
	}{
		{name: "no namespaces", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "namespaces used up", how: arg(unix.SYS_CLONE, 0, namespacesOfGo, syscall.ENOSPC), want: layer.Namespaces, hint: "max_user_namespaces"},
		{name: "no mounts", how: is(unix.SYS_MOUNT, syscall.EPERM), want: layer.Namespaces, hint: "user namespaces"},
		{name: "no new mount calls", how: is(unix.SYS_FSOPEN, syscall.ENOSYS), want: layer.Namespaces},
		{name: "no move_mount", how: is(unix.SYS_MOVE_MOUNT, syscall.EACCES), want: layer.Namespaces},
		{name: "no pivot_root", how: is(unix.SYS_PIVOT_ROOT, syscall.EINVAL), want: layer.Namespaces},
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
		{name: "no seccomp", how: is(unix.SYS_SECCOMP, syscall.ENOSYS), want: layer.Seccomp, hint: "seccomp"},

		{name: "a lie about Landlock", how: is(unix.SYS_LANDLOCK_RESTRICT_SELF, 0), want: layer.Landlock},
		{name: "a lie about seccomp", how: is(unix.SYS_SECCOMP, 0), want: layer.Seccomp},
		{name: "a lie about the bounding set", how: arg(unix.SYS_PRCTL, 0, unix.PR_CAPBSET_DROP, 0), want: layer.Identity},
		{name: "a lie about limits", how: arg(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NPROC, 0), want: layer.Limits},
		{name: "a lie about the canary's unmount", how: arg(unix.SYS_UMOUNT2, 1, unix.MNT_DETACH, 0), want: layer.Namespaces},
		{name: "a lie about read-only", how: is(unix.SYS_MOUNT_SETATTR, 0), want: layer.Namespaces},
		{name: "a lie about mounts", how: is(unix.SYS_MOUNT, 0), want: layer.Namespaces},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sp := spec(t)
			how, err := json.Marshal(tt.how)
			if err != nil {
				t.Fatal(err)
			}
			cmd := testkit.RunInSubprocess(t, "cripple", specEnv(t, sp), "TEST_CRIPPLE="+string(how))
			out, _ := cmd.CombinedOutput() // the exit status is looked at below
			lines := strings.Split(string(out), "\n")
			if cmd.ProcessState.ExitCode() != 125 || lines[0] != string(tt.want) {
				t.Errorf("got exit %d, %q, want 125 and layer %s", cmd.ProcessState.ExitCode(), out, tt.want)
			}
			if tt.hint != "" && (len(lines) < 3 || !strings.Contains(lines[2], tt.hint)) {
				t.Errorf("got %q, want a hint with %q", out, tt.hint)
			}
			if _, err := os.Stat(sp.Workspace.Host + "/marker"); err == nil {
				t.Error("the command ran")
			}
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
