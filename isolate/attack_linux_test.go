package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/layer"
	"fumehood/isolate/testkit"
)

func init() {
	parts["own program"] = ownProgram
	parts["watches"] = takeWatches
}

// ownProgram tries, through /proc/self/exe, what the owner of a file may do to
// it whatever Landlock says, and what only Landlock or the mount refuse.
func ownProgram() {
	const exe = "/proc/self/exe"
	say := func(what string, err error) {
		fmt.Printf("%s: %v\n", what, err)
	}
	var st unix.Stat_t
	say("stat", unix.Stat(exe, &st))
	say("chmod", unix.Chmod(exe, st.Mode&0o777))
	say("chown", unix.Chown(exe, int(st.Uid), int(st.Gid)))
	say("utimes", unix.UtimesNanoAt(unix.AT_FDCWD, exe, nil, 0))
	say("setxattr", unix.Setxattr(exe, "user.fumehood", []byte("x"), 0))
	say("removexattr", unix.Removexattr(exe, "user.fumehood"))
	say("link", unix.Linkat(unix.AT_FDCWD, exe, unix.AT_FDCWD, "/tmp/linked", unix.AT_SYMLINK_FOLLOW))
}

// A script may name /proc/self/exe as its interpreter. The kernel looks that up
// in the spawner's child, so fumehood's own program, a file of the host, then
// runs inside in a process that can be looked into.
func TestTheHostsProgramCantBeReachedThroughAnInterpreter(t *testing.T) {
	sp := spec(t)
	script := filepath.Join(sp.Workspace.Host, "script")
	if err := os.WriteFile(script, []byte("#!/proc/self/exe\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, script)
	before, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, sp)
	env = append(env, "FUMEHOOD_TEST_PART=own program")
	defer func() { env = env[:len(env)-1] }()
	o := run(t, s, "./script")
	// The control is that it ran at all.
	o.must(t, strings.Join([]string{
		"stat: <nil>", "chmod: read-only file system", "chown: read-only file system", "utimes: read-only file system",
		"setxattr: read-only file system", "removexattr: read-only file system", "link: invalid cross-device link",
	}, "\n"))
	after, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the program is %v of %v, was %v of %v", after.Mode(), after.ModTime(), before.Mode(), before.ModTime())
	}
}

// A new version put in place while an old one runs must not end its sessions'
// starts, nor make it start something else.
func TestStartFromAProgramThatWasRemoved(t *testing.T) {
	const test = "TestTheHostsProgramCantBeReachedThroughAnInterpreter"
	dir := t.TempDir()
	old := filepath.Join(dir, copyOfThis(t, dir, "old"))
	out, err := exec.Command("/bin/sh", "-c", `exec 9<"$1" && rm "$1" && exec /proc/self/fd/9 -test.v -test.run "^$2$"`, "sh", old, test).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("got %v: %s", err, out)
	}
}

// takeWatches takes every inotify instance that it can get.
func takeWatches() {
	for n := 0; ; n++ {
		if _, err := unix.InotifyInit(); err != nil {
			fmt.Println(n, err)
			return
		}
	}
}

// The kernel counts them together for the account and its namespaces.
func TestASessionCantTakeTheAccountsWatches(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	if err != nil {
		t.Skipf("got %v, want a kernel with inotify", err)
	}
	host, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	sp := spec(t)
	program := copyOfThis(t, sp.Workspace.Host, "probe")
	s := start(t, sp)
	o := sh(t, s, "FUMEHOOD_TEST_PART=watches exec ./"+program)
	var got int
	if _, err := fmt.Sscan(o.out, &got); err != nil || o.status.Code != 0 {
		t.Fatalf("got %v, want a number", o)
	}
	if want := max(16, host/4); got > want || got < min(8, want) {
		t.Errorf("got %d instances inside, want at most %d and at least a few", got, want)
	}
}

// The machine has some three thousand terminals for all namespaces together.
func TestASessionCantTakeTheMachinesTerminals(t *testing.T) {
	testkit.RequireProgram(t, "python3")
	s := start(t, spec(t))
	o := run(t, s, "/usr/bin/python3", "-c", `
import errno, os, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
try:
    while len(held) < 1000: held.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError as e: print(errno.errorcode[e.errno], end=" ")
print(len(held), end="")
`)
	o.must(t, "ENOSPC 256")
}

// A spawner that did not come up was waited for without end. Which of the
// starts fail depends on when its limit meets it; none may take long.
func TestASpawnerThatDoesNotComeUpEndsTheStart(t *testing.T) {
	for range 10 {
		sp := spec(t)
		sp.DataBytes = 1
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		s, err := isolate.Start(ctx, sp)
		late := ctx.Err()
		cancel()
		if late != nil {
			t.Fatalf("got %v after 20 s, want an end at once", err)
		}
		if err == nil {
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			continue
		}
		var le *layer.Error
		if !errors.As(err, &le) {
			t.Errorf("got %v, want the layer", err)
		}
	}
}

// copyOfThis puts this test binary into a folder, for parts that are started
// by other programs.
func copyOfThis(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Own(t, filepath.Join(dir, name))
	return name
}

// PID 1 and the spawner hold sockets to the starter: whoever could take one
// over could forge how commands end, or keep the session alive.
func TestTheOwnProcessesCantBeLookedInto(t *testing.T) {
	s := start(t, spec(t))
	// "self" is the control: each of these can be opened at all.
	const script = `
can() {
	if test -L "$1"; then readlink "$1"; elif test -d "$1"; then ls "$1"; else (: <"$1"); fi >/dev/null 2>&1
}
for p in /proc/[0-9]*; do
	if test "$(tr "\\0" " " <$p/cmdline)" = "fumehood __spawner "; then spawner=${p#/proc/}; fi
done 2>/dev/null
for p in 1 $spawner self; do
	open=
	for f in environ maps mem auxv io syscall fd fdinfo map_files cwd root exe ns/mnt ns/net; do
		if can /proc/$p/$f; then open="$open $f"; fi
	done
	echo "open:$open"
done`
	sh(t, s, script).must(t, "open:\nopen:\nopen: environ maps mem auxv io syscall fd fdinfo map_files cwd root exe ns/mnt ns/net")
}
