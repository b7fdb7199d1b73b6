package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Session ids for tests that root runs; an ordinary user has only its own.
const (
	rootsUID = 61999
	rootsGID = 61999
)

// IDs is what a session of this account may run as.
func IDs() (uid, gid int) {
	if os.Getuid() == 0 {
		return rootsUID, rootsGID
	}
	return os.Getuid(), os.Getgid()
}

// Folder makes a folder for a session, owned by its id.
func Folder(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	Own(t, dir)
	return dir
}

// Own gives a path to the session's id.
func Own(t testing.TB, path string) {
	t.Helper()
	uid, gid := IDs()
	if err := os.Lchown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// RequireABI skips a test on a kernel whose Landlock is older.
func RequireABI(t testing.TB, want int) {
	t.Helper()
	got, err := ll.LandlockGetABIVersion()
	if err != nil || got < want {
		t.Skipf("got Landlock ABI %d (%v), want %d", got, err, want)
	}
}

// RequireProgram skips a test on a machine without a program of the system's.
func RequireProgram(t testing.TB, names ...string) {
	t.Helper()
	for _, n := range names {
		if _, err := os.Stat("/usr/bin/" + n); err != nil {
			t.Skipf("got no /usr/bin/%s, want it", n)
		}
	}
}

// partEnv tells a re-executed test binary which part to play.
const partEnv = "FUMEHOOD_TEST_PART"

// Parts runs the part that this process was started for, if any; it is called
// from TestMain. It does not return then.
func Parts(parts map[string]func()) {
	name := os.Getenv(partEnv)
	if name == "" {
		return
	}
	part, ok := parts[name]
	if !ok {
		os.Exit(97)
	}
	part()
	os.Exit(0)
}

// RunInSubprocess prepares this test binary to play a part.
func RunInSubprocess(t testing.TB, part string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), append(env, partEnv+"="+part)...)
	return cmd
}

// Eventually polls until ok holds, for at most within.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
		runtime.Gosched()
		<-time.After(2 * time.Millisecond)
	}
}

// LeakCheck fails a test after which this process has more descriptors or
// goroutines than before.
func LeakCheck(t testing.TB) {
	t.Helper()
	fds, routines := countFDs(t), runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for {
			f, r := countFDs(t), runtime.NumGoroutine()
			if f <= fds && r <= routines {
				return
			}
			if time.Now().After(deadline) {
				buf := make([]byte, 64<<10)
				t.Errorf("got %d descriptors and %d goroutines, want %d and %d\n%s", f, r, fds, routines, buf[:runtime.Stack(buf, true)])
				return
			}
			<-time.After(5 * time.Millisecond)
		}
	})
}

func countFDs(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		// The runtime's own poller comes with the first use, and stays.
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:[event") {
			n++
		}
	}
	return n
}
