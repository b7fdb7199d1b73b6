package isolate_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/limits"
	"fumehood/isolate/testkit"
)

// startLess is Start, or StartWithout one part by name.
func startLess(ctx context.Context, sp isolate.Spec, without string) (*isolate.Sandbox, error) {
	if without == "" {
		return isolate.Start(ctx, sp)
	}
	for _, p := range isolate.Parts() {
		if p.Name == without {
			return isolate.StartWithout(ctx, sp, p)
		}
	}
	return nil, fmt.Errorf("no part %q", without)
}

// What a stopped supervisor's sandbox does without the watch: it runs on.
func TestWithoutTheWatchAStoppedSupervisorsSessionGoesOn(t *testing.T) {
	sup, pids := supervised(t, stubborn, "TEST_WITHOUT=watch of the starter")
	if err := sup.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stays(t, pids) // with it, TestStoppedSupervisorEndsTheSession
}

// A process 1 that hangs notices nothing; then the kernel ends it. A stop by
// signal would not do for a hang: the kernel continues what is orphaned.
func TestTheParentDeathSignalEndsAHangingProcessOne(t *testing.T) {
	for _, without := range []string{"", "parent-death signal"} {
		sup, pids := supervised(t, stubborn, "TEST_WITHOUT="+without)
		first := pids[len(pids)-1]
		hang(t, first)
		if err := sup.Kill(); err != nil {
			t.Fatal(err)
		}
		if without == "" {
			testkit.Eventually(t, 10*time.Second, "everything inside gone", func() bool { return !anyAlive(pids) })
			continue
		}
		stays(t, []int{first}) // the spawner goes: its own socket ends
		if !anyAlive(pids[:len(pids)-1]) {
			t.Error("no command was left, want them to stay without the part")
		}
	}
}

// hang stops every thread of a process as its tracer, until the test ends;
// then it ends the process.
func hang(t *testing.T, pid int) {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread; never unlocked, as the test ends with it
	tids, err := limits.Tasks(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(pid, unix.SIGKILL) // gone already, where it should be
		for _, tid := range tids {
			var ws unix.WaitStatus
			for err := error(nil); err == nil && !ws.Exited() && !ws.Signaled(); {
				_, err = unix.Wait4(tid, &ws, unix.WALL, nil)
			}
		}
	})
	for _, tid := range tids {
		if err := unix.PtraceSeize(tid); err != nil {
			t.Fatalf("trace thread %d: %v", tid, err)
		}
		if err := unix.PtraceInterrupt(tid); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Wait4(tid, nil, unix.WALL, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// stays waits longer than an end would take.
func stays(t *testing.T, pids []int) {
	t.Helper()
	for deadline := time.After(3500 * time.Millisecond); ; {
		select {
		case <-deadline:
			return
		case <-time.After(100 * time.Millisecond):
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("process %d ended, want it to stay without the part", pid)
				}
			}
		}
	}
}

// Root has no supplementary groups everywhere, so it gets one for this.
func TestRootsSupplementaryGroupsAreDropped(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("got an ordinary user, want root, which can drop them")
	}
	const test = "TestEachPartAloneRefusesWhatItSays"
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^"+test+"$/^supplementary_groups_dropped$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{someGroup}}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test+"/supplementary_groups_dropped/read") {
		t.Errorf("got %v: %s", err, out)
	}
}

const someGroup = 61777

// groupsFile is one that only its group may read.
func groupsFile(t *testing.T, sp *isolate.Spec) string {
	file := hostInput(t, sp)
	if err := os.Chown(file, 0, someGroup); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	return "/home/someone/input/file"
}

// ownsProgram is what chmod of this program says where no mount is in the way.
func ownsProgram(t *testing.T) string {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		t.Fatal(err)
	}
	if uid, _ := testkit.IDs(); int(st.Uid) == uid {
		return "0"
	}
	return "EPERM"
}

// chmodAsInterpreter has the kernel run the spawner's own program inside, by a
// script that names it as /proc/self/exe.
func chmodAsInterpreter(t *testing.T, sp isolate.Spec) string {
	file := filepath.Join(sp.Workspace.Host, "script")
	if err := os.WriteFile(file, []byte("#!/proc/self/exe\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, file)
	before := env
	env = append(slices.Clone(env), "FUMEHOOD_TEST_PART=act", "TEST_ACT=chmod as it is", "TEST_ARG=/proc/self/exe")
	t.Cleanup(func() { env = before })
	return "./script"
}

func hostListener(t *testing.T, _ *isolate.Spec) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func hostSegment(t *testing.T, _ *isolate.Spec) string {
	key := os.Getpid() | 0x66000000
	id, _, e := syscall.Syscall(unix.SYS_SHMGET, uintptr(key), 4096, unix.IPC_CREAT|0o666)
	if e != 0 {
		t.Fatal(e)
	}
	t.Cleanup(func() { _, _, _ = syscall.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0) })
	return fmt.Sprint(key)
}

// hostFile is a file of this account outside every private folder.
func hostFile(t *testing.T, _ *isolate.Spec) string {
	base := "/var"
	if os.Getuid() != 0 {
		var err error
		if base, err = os.UserHomeDir(); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp(base, "fumehood-test-")
	if err != nil {
		t.Skipf("got %v, want a folder of this account outside /tmp", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, dir)
	testkit.Own(t, file)
	return file
}

func hostProcess(t *testing.T, _ *isolate.Spec) string {
	cmd := exec.Command("/bin/sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)
}

func hostTerminal(t *testing.T, _ *isolate.Spec) string {
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("got %v, want a terminal", err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("/dev/pts/%d", n)
	testkit.Own(t, name)
	return name
}

func hostInput(t *testing.T, sp *isolate.Spec) string {
	dir := testkit.Folder(t, "input")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, file)
	sp.ReadOnly = []isolate.Mount{{Host: dir, Inside: "/home/someone/input"}}
	return file
}

func lockFromOutside(t *testing.T, file string) string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return said(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}

func deepWorkspace(_ *testing.T, sp *isolate.Spec) string {
	sp.Workspace.Inside = "/tmp/a/b/project"
	return ""
}

func leakDescriptor(t *testing.T, _ *isolate.Spec) string {
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, _, e := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_DUPFD, 200)
	if e != 0 {
		t.Fatal(e)
	}
	t.Cleanup(func() { _ = syscall.Close(int(fd)) })
	return fmt.Sprint(fd)
}

func ignoreHangup(t *testing.T, _ *isolate.Spec) string {
	signal.Ignore(syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset() })
	return ""
}

func exists(path string) string {
	if _, err := os.Lstat(path); err == nil {
		return "there"
	}
	return "absent"
}

// share is what is left of the account's share of inotify instances: the few
// that the session's own processes hold count too.
func share(t *testing.T) string {
	n := 0
	if _, err := fmt.Sscan(content("/proc/sys/fs/inotify/max_user_instances"), &n); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(max(16, n/4))
}
