package prove

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
	"fumehood/session"
)

// killedRun is a run of the wall tests that a test kills in the middle.
func killedRun() {
	h, err := session.NewHost("")
	if err != nil {
		os.Exit(2)
	}
	_, _ = Run(context.Background(), h, walls.Run{Only: []int{1, 12}}, nil)
	os.Exit(0)
}

func runFolders(t *testing.T, h *session.Host) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(string(h.Root)), "walls", "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The sessions of a killed run end with it; the files it leaves, and what else it
// started, the next one takes away.
func TestTheNextRunClearsUpAfterAKilledOne(t *testing.T) {
	h := ownState(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "TEST_KILLED_RUN=1", "XDG_STATE_HOME="+filepath.Dir(filepath.Dir(string(h.Root))))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := ""
	for deadline := time.Now().Add(20 * time.Second); id == ""; {
		for _, dir := range runFolders(t, h) {
			name := strings.TrimPrefix(filepath.Base(dir), "run-")
			if live, err := processesOf(name); err == nil && len(live) > 0 {
				id = name
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no session of the run within 20 s")
		}
	}
	if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for deadline := time.Now().Add(20 * time.Second); ; {
		live, err := processesOf(id)
		if err == nil && len(live) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("20 s after the kill: %v, %v; want no session of the run", live, err)
		}
	}
	rec, err := Run(t.Context(), h, walls.Run{Only: []int{5}}, nil)
	if err != nil || len(rec.Left) > 0 {
		t.Fatalf("got %+v, %v", rec, err)
	}
	if left := runFolders(t, h); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if left, err := processesOf(id); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestARunThatIsEndedIsNoPass(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := false
	rec, err := Run(ctx, ownState(t), walls.Run{Only: []int{1, 2}}, func(e walls.Event) {
		if e.Attempt != nil && !begun {
			begun = true
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if rec.Clean() || len(rec.Left) > 0 {
		t.Errorf("got clean %v, left %v; want no pass, and nothing left", rec.Clean(), rec.Left)
	}
}

func TestTwoRunsAtOnceDoNotDisturbEachOther(t *testing.T) {
	h := ownState(t)
	type res struct {
		rec *walls.Record
		err error
	}
	out := make(chan res, 2)
	for range 2 {
		go func() {
			rec, err := Run(t.Context(), h, walls.Run{Only: []int{1, 14}}, nil)
			out <- res{rec, err}
		}()
	}
	for range 2 {
		r := <-out
		if r.err != nil {
			t.Fatal(r.err)
		}
		for _, tt := range r.rec.Tests {
			if tt.Verdict != walls.Held {
				t.Errorf("%d: got %s: %s", tt.Number, tt.Verdict, tt.Reason)
			}
		}
		if len(r.rec.Left) > 0 {
			t.Errorf("left: %v", r.rec.Left)
		}
	}
}

func TestAStateFolderThatCantBeWrittenIsAnError(t *testing.T) {
	h := ownState(t)
	h.Root = "/dev/null/sessions"
	if rec, err := Run(t.Context(), h, walls.Run{Only: []int{1}}, nil); err == nil {
		t.Errorf("got %+v, want an error", rec)
	}
}
