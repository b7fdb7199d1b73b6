package isolate_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/seccomp"
	"fumehood/isolate/testkit"
)

func init() {
	parts["calls"] = makeCalls
	parts["int80"] = func() { fmt.Println(testkit.Int80(20, 0, 0, 0)) } // getpid
	parts["x32"] = func() {
		_, _, e := syscall.RawSyscall(0x40000000|39, 0, 0, 0)
		fmt.Println(int(e))
	}
	parts["unshare"] = unshareSingle
}

// probes is one call for each row of the table: with arguments for which the
// row holds, and else with descriptors and pointers that the kernel's own code
// refuses. Both are harmless where nothing is in the way.
func probes() map[string][6]uintptr {
	bad := ^uintptr(0)
	all := [6]uintptr{bad, bad, bad, bad, bad, bad}
	out := map[string][6]uintptr{}
	for i, r := range seccomp.Table() {
		args := all
		for _, c := range r.When {
			switch c.Op {
			case seccomp.Equal:
				args[c.Arg] = uintptr(c.Val)
			case seccomp.NotEqual:
				if c.Mask == 0xffffffff {
					args[c.Arg] = 97
				} else {
					args[c.Arg] = uintptr(c.Mask)
				}
			case seccomp.Above, seccomp.AboveOrHigh:
				args[c.Arg] = uintptr(c.Val) + 1
			}
		}
		switch r.Call {
		case "clone":
			args = [6]uintptr{unix.CLONE_NEWNS | unix.CLONE_FS} // not allowed together
		case "unshare":
			args = [6]uintptr{unix.CLONE_NEWUSER} // not from a process of several threads
		case "personality":
			args = [6]uintptr{0x0400000}
		case "shmget":
			args = [6]uintptr{1, 64<<10 + 1, 0} // no such segment
		}
		out[fmt.Sprintf("%03d %s", i, r.Call)] = args
	}
	return out
}

func makeCalls() {
	got := map[string]int{}
	rows := seccomp.Table()
	for name, a := range probes() {
		var i int
		var call string
		if _, err := fmt.Sscanf(name, "%d %s", &i, &call); err != nil {
			panic(err)
		}
		nr, ok := seccomp.Native().Calls[rows[i].Call]
		if !ok {
			continue
		}
		if call == "vhangup" && os.Getenv("TEST_INSIDE") == "" {
			continue // it would do it
		}
		_, _, e := syscall.RawSyscall6(uintptr(nr), a[0], a[1], a[2], a[3], a[4], a[5])
		got[name] = int(e)
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		panic(err)
	}
}

// inWorkspace puts this test binary where a session can run it.
func inWorkspace(t *testing.T, sp isolate.Spec) string {
	t.Helper()
	src, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(sp.Workspace.Host, "probe"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
	return sp.Workspace.Inside + "/probe"
}

// part runs a part of this binary inside.
func part(t *testing.T, s *isolate.Sandbox, probe, name string) outcome {
	t.Helper()
	return sh(t, s, "TEST_INSIDE=1 FUMEHOOD_TEST_PART="+name+" exec "+probe)
}

// Every refused call, in a real process: inside with the errno of its row,
// outside reaching the kernel's own code, which answers otherwise.
func TestEveryRefusedCall(t *testing.T) {
	sp := spec(t)
	probe := inWorkspace(t, sp)
	s := start(t, sp)
	var inside, beyond map[string]int
	o := part(t, s, probe, "calls")
	if err := json.Unmarshal([]byte(o.out), &inside); err != nil {
		t.Fatalf("%v: %v", err, o)
	}
	out, err := testkit.RunInSubprocess(t, "calls").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &beyond); err != nil {
		t.Fatal(err)
	}
	reached := 0
	for i, r := range seccomp.Table() {
		name := fmt.Sprintf("%03d %s", i, r.Call)
		got, ok := inside[name]
		if !ok {
			continue // not on this machine
		}
		if got != int(r.Errno) {
			t.Errorf("%s: got errno %v inside, want %v", name, syscall.Errno(got), syscall.Errno(r.Errno))
		}
		free, ok := beyond[name]
		switch {
		case !ok, free == int(unix.ENOSYS): // left out, or this kernel lacks it
		case free != got:
			reached++
		case os.Getuid() == 0 && !sameForRoot[r.Call]:
			t.Errorf("%s: got errno %v outside too: the probe shows nothing", name, syscall.Errno(free))
		}
	}
	if reached < 60 {
		t.Errorf("only %d calls answer otherwise outside, want 60", reached)
	}
	t.Logf("%d calls refused inside, %d of them answer otherwise outside", len(inside), reached)
}

// sameForRoot is what answers EPERM, or what the table says, by itself: a call
// that wants a capability which this machine's root may lack, or a family that
// this kernel may not have.
var sameForRoot = map[string]bool{
	"prctl": true, "socket": true, "fcntl": true, "process_madvise": true, "lookup_dcookie": true, "kexec_load": true,
	"kexec_file_load": true, "socketpair": true, "acct": true, "quotactl": true, "swapon": true, "swapoff": true,
}

func TestForeignABIsAreRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("got %s, want amd64", runtime.GOARCH)
	}
	sp := spec(t)
	probe := inWorkspace(t, sp)
	s := start(t, sp)
	part(t, s, probe, "x32").must(t, fmt.Sprint(int(unix.ENOSYS)))
	cmd := testkit.RunInSubprocess(t, "int80")
	out, err := cmd.Output()
	if err != nil || strings.HasPrefix(string(out), "-") {
		t.Skipf("got no 32-bit ABI outside (%v, %s), want one", err, out)
	}
	part(t, s, probe, "int80").must(t, fmt.Sprint(-int(unix.ENOSYS)))
}

// unshareSingle asks for a user namespace as a process of one thread does.
func unshareSingle() {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	fmt.Println(cmd.Run())
}

// W24: what is refused fails with an errno, and the caller lives to say so.
func TestNamespacesAndMountsFailWithAnErrno(t *testing.T) {
	testkit.RequireProgram(t, "unshare", "python3")
	s := start(t, spec(t))
	sh(t, s, "unshare -U true").mustFail(t, "Operation not permitted")
	sh(t, s, "mount -t tmpfs x /tmp").mustFail(t, "") // its own words differ by version
	sh(t, s, "/usr/sbin/chroot / true").mustFail(t, "Operation not permitted")
	sh(t, s, "taskset -c 0 true").mustFail(t, "Operation not permitted")
	run(t, s, "/usr/bin/python3", "-c", `
import ctypes,errno
l=ctypes.CDLL(None,use_errno=True)
for nr,a in ((425,(1,0)),(248,(0,0,0,0,0)),(250,(0,0)),(435,(0,88))):
    r=l.syscall(nr,*a); print(r,errno.errorcode[ctypes.get_errno()])`).must(t, "-1 ENOSYS\n-1 ENOSYS\n-1 ENOSYS\n-1 ENOSYS")
	// The namespace's own limit holds should the filter have a hole.
	sh(t, s, "cat /proc/sys/user/max_user_namespaces").must(t, "0")
}

// Without route netlink getifaddrs fails, and node's os.networkInterfaces with it.
func TestInterfacesCanBeListed(t *testing.T) {
	s := start(t, spec(t))
	if _, err := os.Stat("/usr/bin/node"); err != nil {
		t.Skipf("got no /usr/bin/node (%v), want it", err)
	}
	if _, err := exec.Command("/usr/bin/node", "-e", "0").Output(); err != nil {
		t.Skipf("got %v from node outside, want it to run", err)
	}
	run(t, s, "/usr/bin/node", "-e", "console.log(Object.keys(require('os').networkInterfaces()).join())").must(t, "lo")
}
