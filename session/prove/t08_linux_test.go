package prove

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fumehood/isolate"
	"fumehood/isolate/policy"
	"fumehood/isolate/walls"
)

// every is a policy with every limit.
func every(t *testing.T, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "every.toml")
	text := "[limits]\ncpus = 1\nmemory = \"256MiB\"\nprocesses = 128\nrun_time = \"5s\"\nsession_time = \"60s\"\n" + more + "[lifecycle]\nidle = \"10s\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func runWith(t *testing.T, file string, number int, against ...string) walls.Result {
	t.Helper()
	rec, err := Run(t.Context(), ownState(t), walls.Run{Policy: file, Only: []int{number}, Against: against}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Left) > 0 {
		t.Errorf("left behind: %v", rec.Left)
	}
	return rec.Tests[0]
}

func TestHogsAreHeldInASession(t *testing.T) {
	res := runWith(t, every(t, ""), 8)
	for _, a := range res.Attempts {
		disk := strings.HasPrefix(a.ID, "disk") || a.ID == "inodes"
		switch {
		case disk && a.Verdict == walls.NA, a.Verdict == walls.Held && a.Evidence != "":
		case a.ID == "memory in flight" && a.Verdict == walls.NA: // a cgroup counts it, and nothing else does
		default:
			t.Errorf("%s: got %s, %s (%s); want held", a.ID, a.Verdict, a.Observed, a.Evidence)
		}
	}
	if len(res.Attempts) < 20 {
		t.Errorf("got %d attempts, want some twenty", len(res.Attempts))
	}
}

func TestWithoutASandboxEveryHogGoesOn(t *testing.T) {
	res := runWith(t, "", 8, "{}")
	for _, a := range res.Attempts {
		if a.Verdict != walls.Failed && a.Verdict != walls.NA {
			t.Errorf("%s: got %s, %s; want failed", a.ID, a.Verdict, a.Observed)
		}
	}
}

// Each clock and cap of the supervisor is noticed when it alone is missing.
func TestAMissingClockOrCapIsNoticed(t *testing.T) {
	for _, m := range []mutation{
		{loosen: func(p *policy.Policy) { p.Limits.RunTime = 0 }, quick: []int{9}, name: "9.run_time sleep 9.run_time spin"},
		{loosen: func(p *policy.Policy) { p.Limits.SessionTime = 0 }, quick: []int{9}, name: "9.session_time"},
		{loosen: func(p *policy.Policy) { p.Lifecycle.Idle = 0 }, quick: []int{9}, name: "9.idle"},
		{loosen: func(p *policy.Policy) { p.Limits.OutputChars = 0 }, quick: []int{10}, name: "10.much"},
	} {
		got, err := tryMutation(t.Context(), ownState(t), "", m)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(got.red, " "); text != m.name {
			t.Errorf("got red %q, want %q", text, m.name)
		}
	}
}

func TestClocksAndResultsHoldInASession(t *testing.T) {
	for _, number := range []int{9, 10} {
		res := runWith(t, every(t, ""), number)
		for _, a := range res.Attempts {
			if a.Verdict != walls.Held || a.Evidence == "" {
				t.Errorf("test %d: %s: got %s, %s (%s); want held", number, a.ID, a.Verdict, a.Observed, a.Evidence)
			}
		}
		if want := map[int]int{9: 4, 10: 8}[number]; len(res.Attempts) != want {
			t.Errorf("test %d: got %d attempts, want %d", number, len(res.Attempts), want)
		}
	}
}

func TestWithoutASandboxAClockIsOutlasted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "short.toml")
	if err := os.WriteFile(file, []byte("[limits]\nrun_time = \"300ms\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := runWith(t, file, 9, "{}"); res.Verdict != walls.Failed {
		t.Errorf("got %s: %s, want failed", res.Verdict, res.Reason)
	}
	if res := runWith(t, file, 10, "{}"); res.Verdict != walls.NA {
		t.Errorf("got %s: %s, want n.a.", res.Verdict, res.Reason)
	}
}

// A hog that was not let begin, and one whose probe is killed, show nothing.
func TestAHogThatWasNotSeenIsAnError(t *testing.T) {
	h := hogOf(t, "forks")
	b, _ := boundOf(h, &policy.Policy{Limits: policy.Limits{Processes: 96}}, &policy.Policy{Limits: policy.Limits{Processes: 96}}, 0)
	for name, s := range map[string]hogBurst{
		"nothing seen": {ended: "exit 0"},
		"killed early": {ended: "signal SIGKILL", peak: 3},
	} {
		s.forks = []time.Duration{time.Millisecond}
		if got := judgeHog(h, b, s); got.verdict != walls.Errored {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func TestTheWatchSeesMemoryThreadsAndLimits(t *testing.T) {
	self := os.Getpid()
	if got := memoryOf([]int{self}); got < 1<<20 {
		t.Errorf("got %d bytes of this process, want more than a MiB", got)
	}
	if got := countThreads([]int{self}); got < 2 {
		t.Errorf("got %d threads of this process, want some", got)
	}
	if got := boundsOf(self); got != "" {
		t.Errorf("got %q, want nothing beside what bounds this process", got)
	}
	if got := limitLines(fmt.Sprint(self))["Max open files"]; got == "" {
		t.Error("got no limit of open files")
	}
	if took, err := forkOnce(); err != nil || took <= 0 {
		t.Errorf("got %v, %v, want a fork", took, err)
	}
}

// Each part of a sandbox that stands before what is limited is noticed by
// itself.
func TestAMissingPartOfTheLimitsIsNoticed(t *testing.T) {
	want := map[string]string{
		"process limit":                          "8.forks",
		"data limit":                             "8.mapping",
		"open file limit":                        "8.one more descriptor",
		"file size limit":                        "8.large file",
		"no core files":                          "8.core",
		"size of temporary folders":              "8.armed",
		"bound processors":                       "8.cpu",
		"first to be ended when memory is short": "8.armed",
		"filter: large System V objects":         "8.segment",
		"filter: affinity":                       "8.more processors",
	}
	h := ownState(t)
	whole, err := tryMutation(t.Context(), h, "", mutation{name: "nothing", quick: []int{8}})
	if err != nil || len(whole.red) > 0 {
		t.Fatalf("got %v, %v; want nothing to notice with every part in force", whole.red, err)
	}
	for _, p := range isolate.Parts() {
		id, ok := want[p.Name]
		if !ok {
			continue
		}
		delete(want, p.Name)
		if p.Cannot != "" {
			t.Logf("%s can't be left out: %s", p.Name, p.Cannot)
			continue
		}
		got, err := tryMutation(t.Context(), h, "", mutation{name: p.Name, piece: &p, quick: []int{8}})
		if err != nil || !slices.Contains(got.red, id) {
			t.Errorf("without %s: got %v, %v; want %s among them", p.Name, got.red, err, id)
		}
		t.Logf("without %s: %v", p.Name, got.red)
	}
	if len(want) > 0 {
		t.Errorf("there is no part %v", want)
	}
}
