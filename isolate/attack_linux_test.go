package isolate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/testkit"
)

func init() { parts["own program"] = ownProgram }

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
	old := filepath.Join(t.TempDir(), "old")
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, b, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/bin/sh", "-c", `exec 9<"$1" && rm "$1" && exec /proc/self/fd/9 -test.v -test.run "^$2$"`, "sh", old, test).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+test) {
		t.Errorf("got %v: %s", err, out)
	}
}
