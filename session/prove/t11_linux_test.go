package prove

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/limits"
	"fumehood/isolate/walls"
	"fumehood/isolate/walls/probe"
)

func TestNothingOutlivesASession(t *testing.T) {
	rec := runTest(t, 11)
	if got := rec.Tests[0]; got.Verdict != walls.Held || len(got.Attempts) != len(endings) {
		t.Errorf("got %s: %s, with %d attempts; want %d held", got.Verdict, got.Reason, len(got.Attempts), len(endings))
	}
	for _, a := range rec.Tests[0].Attempts {
		if a.Verdict != walls.Held {
			t.Errorf("%s: got %s, %s (%s)", a.ID, a.Verdict, a.Observed, a.Evidence)
		}
	}
}

func TestWithoutASandboxADaemonOutlivesItsStart(t *testing.T) {
	rec := runTest(t, 11, "{}")
	for _, a := range rec.Tests[0].Attempts {
		if a.Verdict != walls.Failed {
			t.Errorf("%s: got %s, %s; want failed", a.ID, a.Verdict, a.Observed)
		}
	}
	if got := len(rec.Tests[0].Attempts); got != len(launchEndings) {
		t.Errorf("got %d attempts, want %d", got, len(launchEndings))
	}
}

func TestABareSandboxEndsWithItsFirstProcess(t *testing.T) {
	got, err := tryMutation(t.Context(), ownState(t), "", mutation{name: "nothing", quick: []int{11}})
	if err != nil || len(got.red) > 0 {
		t.Errorf("got %v, %v; want that nothing outlives it", got.red, err)
	}
}

// child starts this binary as one of the probe's children.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = probe.Name + "-test"
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_ = w.Close() // the child's
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 64)); err != nil {
		t.Fatalf("it did not begin: %v", err)
	}
	return cmd
}

// A run that is killed leaves nobody who would end them.
func TestADaemonEndsByItself(t *testing.T) {
	_, word := nonce()
	beat := filepath.Join(t.TempDir(), "beat")
	tick := child(t, "daemon-tick", word, "700ms", beat)
	stand := child(t, "daemon-stand", word, "700ms", beat)
	daemon, stopped, l := observe(t.Context(), word)
	if daemon != tick.Process.Pid || stopped != stand.Process.Pid || !l.stopped || l.wakeups < fewWakeups {
		t.Errorf("got %d, %d and %s; want %d and %d alive", daemon, stopped, l.live(), tick.Process.Pid, stand.Process.Pid)
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGALRM} {
		if err := tick.Process.Signal(sig); err != nil {
			t.Errorf("%v: got %v, want a daemon that heeds none", sig, err)
		}
	}
	if err := tick.Wait(); err != nil {
		t.Errorf("got %v, want an end by itself", err)
	}
	if text, err := os.ReadFile(beat); err != nil || strings.TrimSpace(string(text)) == "" {
		t.Errorf("got %q, %v; want that it ticked into its file", text, err)
	}
	_ = stand.Wait() // its status says how
	if ws, ok := stand.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Errorf("got %v, want the timer's SIGKILL", stand.ProcessState)
	}
}

func TestWhatStandsStillIsAlive(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h, err := herdBelow(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, alive := h.ended(ctx); len(alive) != 1 {
		t.Errorf("got %v, want the stopped process", alive)
	}
	if got := (herd{os.Getpid(): "1"}).alive(); len(got) != 0 {
		t.Errorf("got %v, want that another process of the same number is not meant", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if took, alive := h.ended(t.Context()); len(alive) != 0 || took > endsWithin {
		t.Errorf("got %v after %v, want none: nobody has waited for it yet", alive, took)
	}
}

// A process that hangs notices nothing, and is continued afterwards.
func TestAHeldProcessGoesOnWhenReleased(t *testing.T) {
	// Not this process's own child: os/exec's wait would take its stops.
	shell := exec.Command("/bin/sh", "-c", "sleep 60 & echo $!; wait")
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shell.Process.Kill(); _ = shell.Wait() }()
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	release, err := hang(pid)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := limits.ReadStat(pid, 0); err != nil || st.State != 't' {
		t.Errorf("got state %c, %v; want it held", st.State, err)
	}
	release()
	state := byte('t')
	for end := time.Now().Add(5 * time.Second); state == 't' && time.Now().Before(end); waitBriefly(t.Context(), time.Millisecond) {
		st, err := limits.ReadStat(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		state = st.State
	}
	if state == 't' {
		t.Error("got a process that is held still, want it to go on")
	}
}

func TestAClientHangsOn(t *testing.T) {
	dir := t.TempDir()
	l, err := openListener(unixSock(unix.SOCK_STREAM, filepath.Join(dir, "sock")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.fresh()
	cmd := exec.Command("/proc/self/exe", "client", "68656c6c6f")
	cmd.Args[0], cmd.Dir = probe.Name+"-test", dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := false
	for end := time.Now().Add(5 * time.Second); !said && time.Now().Before(end); waitBriefly(t.Context(), time.Millisecond) {
		l.mu.Lock()
		said = l.has("hello")
		l.mu.Unlock()
	}
	if !said {
		t.Error("got nothing from the client within 5 s")
	}
	if got := (herd{cmd.Process.Pid: startOf(cmd.Process.Pid)}).alive(); len(got) != 1 {
		t.Errorf("got %v, want that it stays until the other end closes", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func startOf(pid int) string {
	st, err := limits.ReadStat(pid, 0)
	if err != nil {
		return ""
	}
	return st.Start
}
