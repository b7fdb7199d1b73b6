package prove

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"fumehood/isolate/walls"
)

func TestAVictimWritesDownWhatItReceives(t *testing.T) {
	v, err := (&env{id: "test", token: "secret"}).newVictim(os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	before, err := v.log(0)
	if err != nil || judgeLog(before, 40).verdict != walls.Held {
		t.Errorf("got %q, %v, want nothing yet", before, err)
	}
	from := len(v.since(0))
	if err := unix.Kill(v.pid, 40); err != nil {
		t.Fatal(err)
	}
	lines, err := v.log(from)
	if err != nil || judgeLog(lines, 40).verdict != walls.Failed || judgeLog(lines, 41).verdict != walls.Held {
		t.Errorf("got %q, %v, want signal 40 alone", lines, err)
	}
}

func TestADeadVictimIsNoWitness(t *testing.T) {
	v, err := (&env{id: "test", token: "secret"}).newVictim(os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.close(); err != nil {
		t.Fatal(err)
	}
	if lines, err := v.log(0); err == nil {
		t.Errorf("got %q, want an error", lines)
	}
}

// failedOf lists the attempts of one test that failed.
func failedOf(res walls.Result) []string {
	var out []string
	for _, a := range res.Attempts {
		if a.Verdict == walls.Failed && !slices.Contains(out, a.ID) {
			out = append(out, a.ID)
		}
	}
	return out
}

// isHeld wants a real session's test to hold, each attempt of it.
func isHeld(t *testing.T, number int) {
	t.Helper()
	res := runTest(t, number).Tests[0]
	if res.Verdict != walls.Held {
		t.Errorf("got %s: %s, want held", res.Verdict, res.Reason)
	}
	for _, a := range res.Attempts {
		if a.Verdict != walls.Held && a.Verdict != walls.NA {
			t.Errorf("%s: got %s, %s (%s)", a.ID, a.Verdict, a.Observed, a.Evidence)
		}
	}
}

// isRed wants these attempts to fail where there is no sandbox, and none to be in error.
func isRed(t *testing.T, number int, ids ...string) {
	t.Helper()
	res := runTest(t, number, "{}").Tests[0]
	got := failedOf(res)
	for _, id := range ids {
		if !slices.Contains(got, id) {
			t.Errorf("got %q, want %q among what fails without a sandbox", got, id)
		}
	}
	for _, a := range res.Attempts {
		if a.Verdict == walls.Errored {
			t.Errorf("%s: got an error, %s (%s)", a.ID, a.Observed, a.Evidence)
		}
	}
}

func TestASessionGainsNothing(t *testing.T) { isHeld(t, 14) }

func TestWithoutASandboxTheKernelIsReached(t *testing.T) {
	isRed(t, 14, "kill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal", "memory file", "trace", "typing requests", "typing",
		"filter: mount calls", "filter: keyrings", "filter: tracing", "filter: socket families")
}

func TestASessionReachesNoFileByAnotherName(t *testing.T) { isHeld(t, 3) }

func TestWithoutASandboxOtherNamesLeadOut(t *testing.T) {
	isRed(t, 3, "symlink", "symlink-write", "hard-link", "rename-in", "rename-out", "exchange", "swap-race", "proc", "proc-host",
		"descriptors", "flock", "ofd lock", "lease", "watch")
}

func TestTheNextSessionFindsNothing(t *testing.T) { isHeld(t, 12) }

func TestWithoutASandboxTheNextOneFindsAll(t *testing.T) {
	isRed(t, 12, "file in /tmp (beside)", "file in the home (beside)", "shared memory (beside)", "semaphore (back)", "message queue (back)",
		"abstract socket (beside)", "socket with a path (beside)", "process (beside)")
}
