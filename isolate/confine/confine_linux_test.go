package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/seccomp"
	"fumehood/isolate/testkit"
)

func TestMain(m *testing.M) {
	testkit.Parts(parts)
	os.Exit(m.Run())
}

// parts is what this binary can be re-executed for: each kind of process.
var parts = map[string]func(){
	"nothing": func() { play(Keep{}) },
	"folder":  func() { play(Keep{Folders: []string{os.Getenv("KEPT"), os.Getenv("KEPT") + "/absent"}, Sockets: true}) },
}

// attempts are what a process tries. Each works, or is refused for a reason of its
// own, where nothing is confined.
var attempts = []struct {
	name            string
	do              func() error
	nothing, folder error // nil: it works still
}{
	{"read a file outside", func() error { return read(os.Getenv("OUTSIDE") + "/secret") }, unix.EACCES, unix.EACCES},
	{"list a folder outside", func() error { _, err := os.ReadDir(os.Getenv("OUTSIDE")); return err }, unix.EACCES, unix.EACCES},
	{"write a file outside", func() error { return write(os.Getenv("OUTSIDE") + "/new") }, unix.EACCES, unix.EACCES},
	{"read a file inside", func() error { return read(os.Getenv("KEPT") + "/known") }, unix.EACCES, nil},
	{"write a file inside", func() error { return write(os.Getenv("KEPT") + "/new") }, unix.EACCES, nil},
	{"replace a file inside", func() error { return os.Rename(os.Getenv("KEPT")+"/new", os.Getenv("KEPT")+"/newer") }, unix.EACCES, nil},
	{"move a file out", func() error {
		return os.Rename(os.Getenv("KEPT")+"/newer", os.Getenv("OUTSIDE")+"/newer")
	}, unix.EACCES, unix.EACCES},
	{"a mode outside", func() error { return os.Chmod(os.Getenv("OUTSIDE")+"/secret", 0o600) }, unix.EACCES, nil},
	{"start a program", func() error {
		return (&exec.Cmd{Path: "/bin/true", Stdin: os.Stderr, Stdout: os.Stderr, Stderr: os.Stderr}).Run()
	}, unix.EPERM, unix.EPERM},
	{"become a program that is not there", func() error {
		return ignore(unix.Exec("/nowhere", nil, nil), unix.ENOENT)
	}, unix.EPERM, unix.EPERM},
	{"a socket for TCP", func() error { return socket(unix.AF_INET, unix.SOCK_STREAM) }, unix.EPERM, unix.EPERM},
	{"a socket for UDP", func() error { return socket(unix.AF_INET6, unix.SOCK_DGRAM) }, unix.EPERM, unix.EPERM},
	{"a unix socket", func() error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) }, unix.EPERM, nil},
	{"signal the parent", func() error { return unix.Kill(os.Getppid(), 0) }, unix.EPERM, unix.EPERM},
	{"signal the group", func() error { return unix.Kill(0, 0) }, unix.EPERM, unix.EPERM},
	{"signal itself", func() error { return unix.Kill(os.Getpid(), 0) }, nil, nil},
	{"another's limits", func() error {
		return unix.Prlimit(os.Getppid(), unix.RLIMIT_CORE, nil, new(unix.Rlimit))
	}, unix.EPERM, unix.EPERM},
	{"type into a terminal", func() error {
		// On no terminal the kernel's own code says that it is none.
		return ignore(unix.IoctlSetInt(0, unix.TIOCSTI, 0), unix.ENOTTY, unix.EIO)
	}, unix.EPERM, unix.EPERM},
	{"a thread", func() error { return <-onNewThread(func() error { return nil }) }, nil, nil},
}

func ignore(err error, whats ...error) error {
	for _, w := range whats {
		if errors.Is(err, w) {
			return nil
		}
	}
	return err
}

func read(path string) error { _, err := os.ReadFile(path); return err }

func write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func socket(family, typ int) error {
	fd, err := unix.Socket(family, typ, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// onNewThread has a thread that was made just now do something, and end.
func onNewThread(do func() error) <-chan error {
	out := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		out <- do()
	}()
	return out
}

// found is what one round of attempts came to: an errno for each, 0 for success.
type found map[string]syscall.Errno

func try() found {
	out := found{}
	for _, a := range attempts {
		err := a.do()
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			errno = 9999
			fmt.Fprintln(os.Stderr, a.name, err)
		}
		out[a.name] = errno
	}
	return out
}

// play tries, confines this process, and tries again: on a thread that was there
// before, and on this one.
func play(k Keep) {
	before := try()
	confined, old := make(chan struct{}), make(chan found)
	var ready sync.WaitGroup
	ready.Add(1)
	go func() {
		runtime.LockOSThread()
		ready.Done()
		<-confined
		old <- try()
	}()
	ready.Wait()
	if _, err := Process(k); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	close(confined)
	onOld := <-old
	b, err := json.Marshal([]found{before, onOld, try()})
	if err != nil {
		os.Exit(4)
	}
	_, _ = os.Stdout.Write(b)
}

func TestWhatAConfinedProcessCantDo(t *testing.T) {
	testkit.RequireABI(t, 1)
	for part, want := range map[string]func(i int) error{
		"nothing": func(i int) error { return attempts[i].nothing },
		"folder":  func(i int) error { return attempts[i].folder },
	} {
		t.Run(part, func(t *testing.T) {
			top := t.TempDir()
			for _, f := range []string{"outside/secret", "kept/known"} {
				if err := os.MkdirAll(filepath.Join(top, filepath.Dir(f)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(top, f), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := testkit.RunInSubprocess(t, part, "OUTSIDE="+top+"/outside", "KEPT="+top+"/kept")
			var said strings.Builder
			cmd.Stderr = &said
			// A group of its own: the attempt at its group is at nobody else.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said.String())
			}
			var got []found
			if err := json.Unmarshal(out, &got); err != nil || len(got) != 3 {
				t.Fatalf("got %q, %v, want three rounds", out, err)
			}
			for i, a := range attempts {
				if e := got[0][a.name]; e != 0 {
					t.Errorf("%s, before: got %v, want it done: the attempt shows nothing", a.name, e)
				}
				w, _ := want(i).(syscall.Errno)
				for round, when := range []string{1: "on an old thread", 2: "on the one that confined"} {
					if e := got[round][a.name]; round > 0 && e != w {
						t.Errorf("%s, %s: got %v, want %v", a.name, when, e, want(i))
					}
				}
			}
		})
	}
}

// A row with a name that no machine has would be left out without a word.
func TestEveryRowIsACallOfSomeMachine(t *testing.T) {
	for _, k := range []Keep{{}, {Folders: []string{"/"}, Sockets: true}} {
		for _, r := range rows(k, 1) {
			_, x86 := seccomp.X86().Calls[r.Call]
			_, arm := seccomp.ARM().Calls[r.Call]
			if !x86 && !arm {
				t.Errorf("got a row for %q, want a call", r.Call)
			}
		}
		for _, a := range []seccomp.Arch{seccomp.X86(), seccomp.ARM()} {
			if _, err := seccomp.Compile(a, rows(k, 1)); err != nil {
				t.Error(err)
			}
		}
	}
}
