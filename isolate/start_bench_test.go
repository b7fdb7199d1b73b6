package isolate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/testkit"
)

// TestStartAgainstBubblewrap measures the budget: closing every wall and running
// "true" takes at most 1.2 times what bubblewrap takes for the same mounts. Both
// are stopped when the status of "true" is known; bubblewrap returns then, and
// leaves the end of its namespaces to the kernel. It is a ratio of medians of one run, taken in turns, since
// absolute numbers say little on a shared machine.
func TestStartAgainstBubblewrap(t *testing.T) {
	if testing.Short() || os.Getenv("FUMEHOOD_BUDGETS") == "" {
		t.Skip("got no FUMEHOOD_BUDGETS, want it set: a measurement needs a quiet machine")
	}
	testkit.RequireProgram(t, "bwrap")
	sp := spec(t)
	uid, gid := testkit.IDs()
	for _, dir := range []string{sp.Workspace.Host, sp.Home.Host} { // bubblewrap goes there by path
		for _, d := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	var ours, theirs []time.Duration
	var cpu [2]time.Duration
	for range 40 {
		began, before := time.Now(), cpuTime(t)
		s := once(t, sp)
		ours = append(ours, time.Since(began))
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		cpu[0] += cpuTime(t) - before
		began, before = time.Now(), cpuTime(t)
		cmd := exec.Command("bwrap", bwrapArgs(sp)...)
		if os.Getuid() == 0 {
			cmd = exec.Command("setpriv", append([]string{fmt.Sprintf("--reuid=%d", uid), fmt.Sprintf("--regid=%d", gid), "--clear-groups", "bwrap"}, bwrapArgs(sp)...)...)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("bwrap: %v: %s", err, out)
		}
		theirs = append(theirs, time.Since(began))
		cpu[1] += cpuTime(t) - before
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	mine, other := ours[len(ours)/2], theirs[len(theirs)/2]
	ratio := float64(mine) / float64(other)
	t.Logf("fumehood %v, bwrap %v, ratio %.2f; processor time %v and %v", mine, other, ratio, cpu[0]/40, cpu[1]/40)
	if ratio > 1.2 {
		t.Errorf("got %.2f times bubblewrap's time, want at most 1.2", ratio)
	}
}

// cpuTime is what this process and its ended children have used.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if err := syscall.Getrusage(who, &ru); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	return sum
}

func once(t testing.TB, sp isolate.Spec) *isolate.Sandbox {
	s, err := isolate.Start(context.Background(), sp)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Spawn(isolate.Command{Argv: []string{"/bin/true"}, Env: env, Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if st := p.Wait(); st != (isolate.Status{}) {
		t.Fatalf("got %+v, want success", st)
	}
	return s
}

// bwrapArgs mounts what a session has.
func bwrapArgs(sp isolate.Spec) []string {
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--hostname", "fumehood",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp", "--tmpfs", "/run",
		"--bind", sp.Workspace.Host, sp.Workspace.Inside, "--bind", sp.Home.Host, sp.Home.Inside,
	}
	for _, dir := range []string{
		"/opt", "/etc/alternatives", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/ca-certificates", "/etc/profile.d",
		"/etc/terminfo", "/etc/vim", "/etc/fonts", "/etc/java-17-openjdk", "/etc/perl", "/etc/python3", "/etc/python3.11", "/etc/bash_completion.d",
	} {
		if _, err := os.Stat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	for _, file := range []string{
		"ld.so.cache", "ld.so.conf", "localtime", "os-release", "services", "protocols", "ethertypes", "rpc", "host.conf",
		"gai.conf", "inputrc", "bash.bashrc", "profile", "shells", "login.defs", "locale.alias", "mime.types", "magic", "magic.mime",
		"ssl/openssl.cnf", "ca-certificates.conf", "manpath.config", "passwd", "group", "hostname", "hosts", "nsswitch.conf", "resolv.conf", "machine-id",
	} {
		if _, err := os.Stat("/etc/" + file); err == nil {
			args = append(args, "--ro-bind", "/etc/"+file, "/etc/"+file)
		}
	}
	for _, mask := range []string{"kcore", "keys", "key-users", "sysrq-trigger", "timer_list", "kallsyms", "kmsg"} {
		if _, err := os.Stat("/proc/" + mask); err == nil {
			args = append(args, "--ro-bind", "/dev/null", "/proc/"+mask)
		}
	}
	args = append(args, "--ro-bind", "/proc/sys", "/proc/sys")
	return append(args, "/bin/true")
}
