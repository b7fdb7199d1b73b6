package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// starvedEnv makes the test binary a process from which something was taken
// away, which then probes.
const starvedEnv = "DOCTOR_TEST_STARVED"

// takeAway is what is done before the probe, in namespaces of its own.
var takeAway = map[string]func() error{
	"user namespaces": func() error {
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	},
	// As container engines do; a new /proc would uncover it.
	"proc": func() error { return unix.Mount("none", "/proc/sys", "tmpfs", unix.MS_RDONLY, "") },
}

func TestMain(m *testing.M) {
	Dispatch()
	if what := os.Getenv(starvedEnv); what != "" {
		starved(takeAway[what])
	}
	os.Exit(m.Run())
}

func starved(take func() error) {
	if err := take(); err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(3)
	}
	if err := json.NewEncoder(os.Stdout).Encode(Probe(context.Background(), os.TempDir())); err != nil {
		os.Exit(4)
	}
	os.Exit(0)
}

// canUnshare asks another program whether user namespaces are to be had.
func canUnshare(t *testing.T) bool {
	t.Helper()
	path, err := exec.LookPath("unshare")
	if err != nil {
		t.Skipf("got %v, want unshare(1) as a second witness", err)
	}
	return exec.Command(path, "-Urmpinu", "--fork", "mount", "-t", "tmpfs", "none", "/tmp").Run() == nil
}

func TestProbeAgreesWithAnotherWitness(t *testing.T) {
	want := canUnshare(t)
	f := Probe(t.Context(), t.TempDir())
	if got := f.Namespaces.Done && f.Tmpfs.Done; got != want {
		t.Errorf("got namespaces %+v, tmpfs %+v, want what unshare(1) got: %t", f.Namespaces, f.Tmpfs, want)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil || f.Kernel != unix.ByteSliceToString(u.Release[:]) {
		t.Errorf("got kernel %q, want that of uname", f.Kernel)
	}
	if git, err := exec.LookPath("git"); err == nil {
		out, err := exec.Command(git, "version").Output()
		if err != nil || f.GitVersion == "" || !strings.Contains(string(out), f.GitVersion) {
			t.Errorf("got git %q, want that of %q", f.GitVersion, out)
		}
	}
	if !f.StateOK.Done || f.StateFS == "" {
		t.Errorf("got state %+v on %q, want a folder that can be written", f.StateOK, f.StateFS)
	}
	soundCheck(t, Report(f))
	if want && !(f.Overlay.Done && f.Proc.Done && f.Devpts.Done && f.ReadOnly.Done) {
		t.Logf("namespaces are to be had, but: overlay %+v, proc %+v, devpts %+v, read-only %+v", f.Overlay, f.Proc, f.Devpts, f.ReadOnly)
	}
}

// probeWithout probes in a process from which something was taken away.
func probeWithout(t *testing.T, what string) Facts {
	t.Helper()
	if !canUnshare(t) {
		t.Skip("got no user namespaces, want some to take something away in")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), starvedEnv+"="+what)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_ADMIN},
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the process without %s: %v", what, err)
	}
	var f Facts
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestProbeSeesThatUserNamespacesAreMissing: the same probe that found them
// must not when there are none.
func TestProbeSeesThatUserNamespacesAreMissing(t *testing.T) {
	f := probeWithout(t, "user namespaces")
	if f.Namespaces.Done || f.Namespaces.Err != "ENOSPC" || f.Users.Done || f.Tmpfs.Done {
		t.Errorf("got namespaces %+v, users %+v, tmpfs %+v, want ENOSPC", f.Namespaces, f.Users, f.Tmpfs)
	}
	c := find(t, Report(f), "user namespaces")
	if c.OK || !Bad(Report(f)) || !strings.Contains(c.Remedy, "user.max_user_namespaces") {
		t.Errorf("got %+v, want it missing, and the setting named", c)
	}
}

func TestProbeSeesThatProcIsCovered(t *testing.T) {
	if f := Probe(t.Context(), t.TempDir()); !f.Proc.Done {
		t.Skipf("got a new /proc refused already (%s), want it to be had, so as to cover it", f.Proc.Err)
	}
	f := probeWithout(t, "proc")
	if f.Proc.Done || f.Proc.Err != "EPERM" || !f.Tmpfs.Done {
		t.Errorf("got proc %+v, tmpfs %+v, want proc alone refused with EPERM", f.Proc, f.Tmpfs)
	}
	c := find(t, Report(f), "new /proc")
	if c.OK || !Bad(Report(f)) || !strings.Contains(c.Remedy, "systempaths=unconfined") {
		t.Errorf("got %+v, want it missing, and what helps", c)
	}
}

func TestProbeLeavesNothingBehind(t *testing.T) {
	look := func() string {
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return string(mounts)
	}
	before, state := look(), t.TempDir()
	Probe(t.Context(), filepath.Join(state, "not", "yet", "there"))
	if after := look(); after != before {
		t.Errorf("the mount table changed from\n%s\nto\n%s", before, after)
	}
	if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v in the state folder, want nothing", left, err)
	}
}

func TestProbeOfAStateFolderThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/self/fumehood"} {
		f := Facts{State: dir}
		f.state()
		if f.StateOK.Done || f.StateOK.Err == "" {
			t.Errorf("%s: got %+v, want a reason", dir, f.StateOK)
		}
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	start := time.Now()
	f := Probe(ctx, t.TempDir())
	if f.Namespaces.Done || f.Namespaces.Err == "" {
		t.Errorf("got %+v, want a reason", f.Namespaces)
	}
	if took := time.Since(start); took > probeTime {
		t.Errorf("took %v after the end of its context", took)
	}
}

// TestTheChildRefusesToRunByHand: started without a mount namespace of its own
// it would mount over the host's /tmp.
func TestTheChildRefusesToRunByHand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{}, {outsideEnv + "=" + own}} {
		cmd := exec.CommandContext(t.Context(), exe, childArg)
		cmd.Env = env
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
			t.Errorf("env %q: got %v, %q, want exit status 125", env, err, out)
		}
	}
}

func TestBoundedKeepsItsBound(t *testing.T) {
	var b bounded
	for range 100 {
		if n, err := b.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatalf("got %d, %v, want all taken", n, err)
		}
	}
	if b.Len() != 64<<10 {
		t.Errorf("got %d bytes, want 64 KiB", b.Len())
	}
}
