package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate"
	"fumehood/isolate/seccomp"
	"fumehood/isolate/testkit"
)

// deed is one harmless action, and how it comes out with every part in force
// and with one left out. Where both are the same the part is a second wall.
type deed struct {
	part string
	act  string
	arg  string
	// make prepares what the action is about and gives its argument.
	make func(t *testing.T, sp *isolate.Spec) string
	// see looks from outside, instead of what the action said.
	see           func(t *testing.T) string
	with, without string
}

// anything but what it is with the part
const otherwise = "otherwise"

func deeds(t *testing.T) []deed {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	ours := func(ns string) string { to, _ := os.Readlink("/proc/self/ns/" + ns); return to }
	shared := filepath.Join("/tmp", fmt.Sprintf("fumehood-test-%d", os.Getpid()))
	t.Cleanup(func() { _ = os.Remove(shared) }) // mostly not there
	var locked string
	uid, _ := testkit.IDs()
	rows := []deed{
		{part: "network namespace", act: "connect", make: hostListener, with: "ECONNREFUSED", without: "0"},
		{part: "ipc namespace", act: "segment", make: hostSegment, with: "ENOENT", without: "0"},
		{part: "uts namespace", act: "uname", with: "fumehood", without: host},
		{part: "cgroup namespace", act: "nslink", arg: "/proc/self/ns/cgroup", with: otherwise, without: ours("cgroup")},
		{part: "minimal root", act: "chmod as it is", make: hostFile, with: "ENOENT", without: "0"},
		{part: "own /proc", act: "read", make: hostProcess, with: "ENOENT", without: "0"},
		{part: "own temporary folders", act: "create", arg: shared, see: func(*testing.T) string { return exists(shared) }, with: "absent", without: "there"},
		{part: "own terminals", act: "write", make: hostTerminal, with: "ENOENT", without: "0"},
		{
			part: "overlays over host folders", act: "hold", make: func(t *testing.T, sp *isolate.Spec) string {
				locked = hostInput(t, sp)
				return "/home/someone/input/file"
			}, see: func(t *testing.T) string { return lockFromOutside(t, locked) }, with: "0", without: "EAGAIN",
		},
		{part: "read-only root", act: "chmod", arg: "/etc/hosts", with: "EROFS", without: "0"},
		{part: "read-only folders above the workspace", act: "mkdir", arg: "/tmp/a/b/beside", make: deepWorkspace, with: "EROFS", without: "0"},
		{part: "no set-user-id on mounts", act: "effective id", with: fmt.Sprint(uid), without: fmt.Sprint(uid)},
		{part: "no devices on mounts", act: "trial", arg: string(seccomp.Nodes), with: "EPERM", without: "EPERM"},
		{part: "covered files of /proc", act: "some", arg: "/proc/kallsyms", with: "nothing", without: "content"},
		{part: "read-only /proc/sys", act: "write", arg: "/proc/sys/kernel/core_pattern", with: "EACCES", without: "EACCES"},
		{part: "no further user namespaces", act: "show", arg: "/proc/sys/user/max_user_namespaces", with: "0", without: otherwise},
		{part: "share of inotify watches", act: "watches", with: share(t), without: otherwise},
		{part: "read-only own program", act: "as interpreter", with: "EROFS", without: ownsProgram(t)},
		{part: "hidden own program", act: "read", arg: "/fumehood/spawner", with: "EACCES", without: "0"},
		{part: "canary taken away", act: "create", arg: "/fumehood/canary/allowed/x", with: "ENOENT", without: "0"},

		{part: "process limit", act: "fork", arg: "150", with: "EAGAIN", without: "0"},
		{part: "data limit", act: "map", arg: fmt.Sprint(1 << 30), with: "ENOMEM", without: "0"},
		{part: "open file limit", act: "dup", arg: "300", with: "EBADF", without: "0"},
		{part: "file size limit", act: "grow", arg: fmt.Sprint(64 << 20), with: "EFBIG", without: "0"},
		{part: "no core files", act: "core", with: "EPERM", without: "0"},
		{part: "size of temporary folders", act: "fill", arg: fmt.Sprint(9 << 20), with: "ENOSPC", without: "0"},
		{part: "bound processors", act: "affinity", with: "1", without: otherwise},
		{part: "first to be ended when memory is short", act: "show", arg: "/proc/self/oom_score_adj", with: "900", without: content("/proc/self/oom_score_adj")},

		{part: "no_new_privs", act: "status", arg: "NoNewPrivs", with: "1", without: "0"},
		{part: "no_new_privs", act: "effective id", with: fmt.Sprint(uid), without: fmt.Sprint(uid)},
		{part: "capabilities dropped", act: "mtu", with: "EPERM", without: "0"},
		{part: "bounding set dropped", act: "mtu", with: "EPERM", without: "EPERM"},
		{part: "supplementary groups dropped", act: "read", make: groupsFile, with: "EACCES", without: "0"},
		{part: "undumpable process 1", act: "list", arg: "/proc/1/fd", with: "EACCES", without: "0"},
		{part: "undumpable process 1", act: "read", arg: "/proc/1/environ", with: "EACCES", without: "EACCES"},
		{part: "inherited descriptors closed", act: "descriptor", make: leakDescriptor, with: "EBADF", without: "0"},
		{part: "terminal session of its own", act: "write", arg: "/dev/tty", with: "ENXIO", without: "ENXIO"},
		{part: "default signal actions", act: "status", arg: "SigIgn", make: ignoreHangup, with: "0000000000000000", without: otherwise},
		{part: "empty environment of process 1", act: "read", arg: "/proc/1/environ", with: "EACCES", without: "EACCES"},

		{part: "Landlock files", act: "write", arg: "/proc/self/oom_score_adj", with: "EACCES", without: "0"},
		{part: "Landlock scopes", act: "signal", arg: "1", with: "EPERM", without: "0"},

		{part: "filter", act: "trace me", with: "EPERM", without: "0"},
		{part: "refusal of foreign ABIs", act: "32-bit getpid", with: "ENOSYS", without: "0"},
		{part: "filter: terminal ioctls", act: "line discipline", with: "EPERM", without: "0"},
		{part: "filter: file systems' own requests", act: "no dump", with: "ENOTTY", without: "0"},
		{part: "filter: leases", act: "lease", with: "EPERM", without: "0"},
		{part: "filter: nested namespaces", act: "new user namespace", with: "EPERM", without: "ENOSPC"},
		{part: "filter: mount calls", act: "change root", arg: "/", with: "EPERM", without: "EPERM"},
		{part: "filter: mount listings", act: "list mounts", with: "ENOSYS", without: "0"},
		{part: "filter: tracing", act: "read self", with: "EPERM", without: "0"},
		{part: "filter: tracing", act: "trace me", with: "EPERM", without: "0"},
		{part: "filter: filter listeners", act: "listener", with: "EPERM", without: "0"},
		{part: "filter: personality", act: "executable reads", with: "EPERM", without: "0"},
		{part: "filter: socket families", act: "generic netlink", with: "EPROTONOSUPPORT", without: "0"},
		{part: "filter: protocols beside TCP and UDP", act: "MPTCP", with: "EPROTONOSUPPORT", without: "0"},
		{part: "filter: Fast Open", act: "fast open", with: "EPERM", without: "0"},
		{part: "filter: large System V objects", act: "large segment", with: "EINVAL", without: "0"},
		{part: "filter: large System V objects", act: "large set", with: "EINVAL", without: "0"},
		{part: "filter: rare calls", act: "userfault", with: "EPERM", without: "0"},
		{part: "filter: io_uring", act: "io_uring", with: "ENOSYS", without: "0"},
		{part: "filter: asynchronous I/O contexts", act: "context", with: "ENOSYS", without: "0"},
		{part: "filter: keyrings", act: "key", with: "ENOSYS", without: "0"},
		{part: "filter: secret memory", act: "secret", with: "ENOSYS", without: "0"},
		{part: "filter: secret memory", act: "page into a pipe", with: "ENOSYS", without: "0"},
		{part: "filter: secret memory", act: "pages into a socket", with: "ENOPROTOOPT", without: "0"},
		{part: "filter: file handles", act: "handle", arg: ".", with: "EPERM", without: "0"},
		{part: "filter: the machine's own", act: "clock", with: "EPERM", without: "0"},
		{part: "filter: affinity", act: "bind to processors", with: "EPERM", without: "0"},
		{part: "filter: memory placement", act: "placement", with: "EPERM", without: "0"},
	}
	for _, tr := range seccomp.Trials() {
		_, errno, _ := seccomp.TrialOf(tr.Group)
		rows = append(rows, deed{part: "filter: " + string(tr.Group), act: "trial", arg: string(tr.Group), with: unix.ErrnoName(syscall.Errno(errno)), without: otherwise})
	}
	return rows
}

// mutantSpec is an ordinary session's with every limit that there is.
func mutantSpec(t *testing.T) isolate.Spec {
	sp := spec(t)
	sp.CPUs, sp.OpenFiles, sp.FileBytes, sp.TmpBytes, sp.Processes, sp.DataBytes = 1, 256, 32<<20, 8<<20, 100, 512<<20
	return sp
}

// TestEachPartAloneRefusesWhatItSays is the proof that no part is silent: the
// action comes out one way behind all of the walls, and another without the one
// part, with all others in force.
func TestEachPartAloneRefusesWhatItSays(t *testing.T) {
	byName := map[string]isolate.Part{}
	for _, p := range isolate.Parts() {
		byName[p.Name] = p
	}
	for _, d := range deeds(t) {
		t.Run(d.part+"/"+d.act, func(t *testing.T) {
			p, ok := byName[d.part]
			if !ok {
				t.Fatalf("no part %q", d.part)
			}
			if p.Cannot != "" {
				t.Skipf("got %q, want a machine and an account where the part can be left out", p.Cannot)
			}
			d.show(t, "with", d.with, d.without, func(ctx context.Context, sp isolate.Spec) (*isolate.Sandbox, error) { return isolate.Start(ctx, sp) })
			d.show(t, "without", d.without, d.with, func(ctx context.Context, sp isolate.Spec) (*isolate.Sandbox, error) {
				return isolate.StartWithout(ctx, sp, p)
			})
		})
	}
}

func (d deed) show(t *testing.T, how, want, other string, start func(context.Context, isolate.Spec) (*isolate.Sandbox, error)) {
	t.Helper()
	sp := mutantSpec(t)
	arg := d.arg
	if d.make != nil {
		if made := d.make(t, &sp); made != "" {
			arg = made
		}
	}
	probe := inWorkspace(t, sp)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := start(ctx, sp)
	if errors.Is(err, isolate.ErrUnfit) {
		t.Skipf("got %v, want a kernel that has what the part refuses", err)
	}
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	defer func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	}()
	script := fmt.Sprintf("FUMEHOOD_TEST_PART=act TEST_ACT=%q TEST_ARG=%q exec %s", d.act, arg, probe)
	if d.act == "hold" {
		script = strings.Replace(script, "exec ", "", 1) + " >/dev/null 2>&1 & while ! grep -q FLOCK /proc/locks; do kill -0 $! || exit 1; done"
	}
	argv := []string{"/bin/sh", "-c", script}
	if d.act == "as interpreter" {
		argv = []string{chmodAsInterpreter(t, sp)}
	}
	o := runIn(t, s, sp.Workspace.Inside, argv...)
	got := o.out
	if d.see != nil {
		got = d.see(t)
	}
	if o.status != (isolate.Status{}) {
		t.Fatalf("%s: the action did not run: %v", how, o)
	}
	if want == "0" && other != "0" && slices.Contains([]string{"ENOSYS", "EPROTONOSUPPORT", "EAFNOSUPPORT", "EOPNOTSUPP"}, got) {
		t.Skipf("got %s from this kernel's own code, want one that has the call", got)
	}
	if want == otherwise && got == other || want != otherwise && got != want {
		t.Errorf("%s: got %q, want %q (%v)", how, got, want, o)
	}
	t.Logf("%s: %s %s: %s", how, d.act, arg, got)
}

// Every part has a deed, or is one that a test of its own shows.
func TestEveryPartIsShown(t *testing.T) {
	elsewhere := []string{"watch of the starter", "parent-death signal"} // below
	rows := deeds(t)
	for _, p := range isolate.Parts() {
		shown := slices.ContainsFunc(rows, func(d deed) bool { return d.part == p.Name }) || slices.Contains(elsewhere, p.Name)
		if !shown && p.Cannot == "" {
			t.Errorf("nothing shows what %q is good for", p.Name)
		}
		if p.Why == "" || p.Cannot == "" && p.Only == "" {
			t.Errorf("%q has no reason, or no action", p.Name)
		}
	}
}

func TestWhatCantBeLeftOutIsNotStarted(t *testing.T) {
	var refused int
	for _, p := range append(isolate.Parts(), isolate.Part{}) {
		if p.Cannot == "" && p.Name != "" {
			continue
		}
		refused++
		if s, err := isolate.StartWithout(t.Context(), spec(t), p); err == nil {
			t.Errorf("%q was left out: %v", p.Name, s.Kill())
		}
	}
	if refused < 6 {
		t.Errorf("got %d that can't be left out, want the user, mount and pid namespaces and others", refused)
	}
}

// A part that the session does not have would be left out of nothing.
func TestAPartThatIsNotThereIsNotLeftOut(t *testing.T) {
	for _, p := range isolate.Parts() {
		if !slices.Contains([]string{"open file limit", "file size limit", "bound processors", "read-only folders above the workspace"}, p.Name) {
			continue
		}
		s, err := isolate.StartWithout(t.Context(), spec(t), p)
		if err == nil {
			t.Errorf("%q was left out: %v", p.Name, s.Kill())
		} else if !errors.Is(err, isolate.ErrUnfit) || !strings.Contains(err.Error(), "has none") {
			t.Errorf("%q: got %v, want that there is none", p.Name, err)
		}
	}
}
