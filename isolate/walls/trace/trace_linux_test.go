package trace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The traced process is this binary, started once more. It is the child of a
// shell, since a wait of ours for a child of our own takes its stops away.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_TRACED") != "" {
		beTraced()
	}
	os.Exit(m.Run())
}

func say(phase, seq int, nonce uint64) {
	_, _, _ = unix.RawSyscall6(unix.SYS_PRCTL, Mark, uintptr(phase), uintptr(seq), uintptr(nonce), 0, 0)
}

func beTraced() {
	fmt.Println(os.Getpid())
	var one [1]byte
	_, _ = os.Stdin.Read(one[:])
	runtime.LockOSThread()
	say(Begin, 1, 0xabc)
	_, _ = os.ReadFile(os.Getenv("TEST_FILE"))
	_ = os.Mkdir("/proc/self/nowhere", 0o700)
	say(End, 1, 0xabc)
	_ = os.Mkdir("/proc/self/between", 0o700)
	say(Begin, 2, 0xdef)
	_ = exec.Command("/bin/sh", "-c", "exec 3</no/such/file").Run()
	say(End, 2, 0xdef)
	say(Begin, 3, 1)
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	select {}
}

func begin(t *testing.T) (pid int, proceed func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("a secret word"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", exe+"; true")
	cmd.Env = append(os.Environ(), "TEST_TRACED=1", "TEST_FILE="+file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	return pid, func() { _, _ = in.Write([]byte("x")) }
}

func TestTheKernelsAnswersAreWrittenDown(t *testing.T) {
	pid, proceed := begin(t)
	tr, err := Attach(pid, "a secret", "another")
	if err != nil {
		t.Fatal(err)
	}
	proceed()
	select {
	case <-tr.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the traced process did not end within 20 s")
	}
	log := tr.Wait()
	if log.Err != nil {
		t.Fatal(log.Err)
	}
	one := log.Segments[1]
	if one == nil || !one.Ended || one.Nonce != 0xabc {
		t.Fatalf("got %+v, want the first attempt from mark to mark", one)
	}
	opens, reads, dirs := one.Find("openat"), one.Find("read"), one.Find("mkdirat")
	if len(opens) == 0 || !opens[0].OK() || !strings.HasSuffix(opens[0].Text[1], `/file"`) {
		t.Errorf("got %v, want the file opened, by name", opens)
	}
	if len(reads) == 0 || string(reads[0].Data) != "a secret word" {
		t.Errorf("got %v, want what the kernel gave to the read", reads)
	}
	if len(reads) == 0 || !slices.Equal(reads[0].Found, []string{"a secret"}) {
		t.Errorf("got %v, want the one text that was sought found in what the read was given", reads)
	}
	if len(dirs) != 1 || dirs[0].Errno() != syscall.ENOENT || !strings.Contains(dirs[0].String(), `"/proc/self/nowhere"`) || !strings.Contains(dirs[0].String(), "ENOENT") {
		t.Errorf("got %v, want one folder refused, and none from between the attempts", dirs)
	}
	two := log.Segments[2]
	found := false
	for _, c := range append(two.Find("openat"), two.Find("open")...) {
		found = found || strings.Contains(c.String(), "/no/such/file") && c.Errno() == syscall.ENOENT
	}
	if !found {
		t.Errorf("got %v, want what a child did as well", two.Calls)
	}
	if three := log.Segments[3]; three == nil || three.Ended || three.Signal != syscall.SIGKILL {
		t.Error("an attempt that a signal ended does not name it")
	}
}

func TestNobodyIsTracedThatIsNotThere(t *testing.T) {
	if tr, err := Attach(1 << 30); err == nil {
		t.Errorf("got %v, want an error", tr)
	}
}

func TestAddresses(t *testing.T) {
	for want, b := range map[string][]byte{
		"127.0.0.1:80":       {2, 0, 0, 80, 127, 0, 0, 1},
		`unix:"/run/x"`:      append([]byte{1, 0}, "/run/x\x00junk"...),
		`unix:@"abstract"`:   append([]byte{1, 0, 0}, "abstract"...),
		"family 40 01020304": {40, 0, 1, 2, 3, 4},
		"07":                 {7},
	} {
		if got := Address(b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Go starts a process from whatever thread runs just then, and the kernel gives
// its end to that thread first.
func TestTheTracersThreadHasNoChildOfAnother(t *testing.T) {
	const several = 8
	var cmds []*exec.Cmd
	started := make(chan *exec.Cmd, several)
	quit := make(chan struct{})
	for range several {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cmd := exec.Command("/bin/sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Error(err)
			}
			started <- cmd
			<-quit
		}()
	}
	for range several {
		cmds = append(cmds, <-started)
	}
	close(quit) // the threads are anybody's again, with a child each
	defer func() {
		for _, cmd := range cmds {
			_ = cmd.Process.Kill()
			if err := cmd.Wait(); err == nil || strings.Contains(err.Error(), "no child") {
				t.Errorf("got %v, want an end by a signal", err)
			}
		}
	}()
	for range several * 2 {
		done := make(chan struct{})
		go ownThread(func() {
			children, err := os.ReadFile("/proc/thread-self/children")
			if err != nil {
				t.Error(err)
			}
			if len(children) > 0 {
				t.Errorf("got the children %s, want none", children)
			}
			close(done)
		})
		<-done
	}
}
